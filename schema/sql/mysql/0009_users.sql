-- Users are documents like others, with their versions. Nothing has ever written to the old table.
DROP TABLE IF EXISTS lb_user;
CREATE TABLE IF NOT EXISTS lb_user (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
