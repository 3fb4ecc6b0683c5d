-- Who is signed in: a row a person, each takes the former's place. body: a JSON object (sessions: a list
-- of id, hash of the secret, since, begun, expires, via, address, agent, face).
CREATE TABLE IF NOT EXISTS lb_session (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
