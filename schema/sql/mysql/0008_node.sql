-- Nodes that etcd's registry has or had (baseserver, sirdar-cgi, taskbroker): name is their UUID,
-- body what they say of themselves and when it was seen; a version each change.
CREATE TABLE IF NOT EXISTS lb_node (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
