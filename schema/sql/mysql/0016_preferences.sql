-- What a person has set for his browsers: the newest version alone, each takes the former's place.
CREATE TABLE IF NOT EXISTS lb_preferences (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
