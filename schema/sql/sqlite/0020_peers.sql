-- Peers: what the owner of a key is, and what it may be here. name: the key's. body: a JSON object
-- (kind, groups, types, projects, expires, state; an empty list is no bound).
CREATE TABLE lb_peer (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
-- Who was here as a broker stays one, and may be nothing else.
INSERT INTO lb_peer (id, version, name, retired, actor, at_us, body)
  SELECT id, 1, name, 0, 'migration', at_us,
    '{"kind":"broker","groups":[],"types":[],"projects":[],"expires":0,"state":"active"}'
  FROM lb_broker AS b
  WHERE retired = 0 AND version = (SELECT max(version) FROM lb_broker AS e WHERE e.id = b.id);
