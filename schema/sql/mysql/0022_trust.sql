-- See ../sqlite/0022_trust.sql.
CREATE TABLE IF NOT EXISTS lb_trust (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
INSERT IGNORE INTO lb_trust (id, version, name, retired, actor, at_us, body)
  SELECT min(id), 1, substring_index(name, '/', 1), 0, 'migration', min(at_us),
    '{"trusted":true,"by":"upgrade"}'
  FROM lb_workflow AS w
  WHERE retired = 0 AND locate('/', name) > 1
    AND version = (SELECT max(version) FROM lb_workflow AS e WHERE e.id = w.id)
  GROUP BY substring_index(name, '/', 1);
