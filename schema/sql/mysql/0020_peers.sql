-- See ../sqlite/0020_peers.sql.
CREATE TABLE IF NOT EXISTS lb_peer (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
INSERT IGNORE INTO lb_peer (id, version, name, retired, actor, at_us, body)
  SELECT id, 1, name, 0, 'migration', at_us,
    '{"kind":"broker","groups":[],"types":[],"projects":[],"expires":0,"state":"active"}'
  FROM lb_broker AS b
  WHERE retired = 0 AND version = (SELECT max(version) FROM lb_broker AS e WHERE e.id = b.id);
