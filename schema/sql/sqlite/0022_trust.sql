-- Trust: whether machines that give projects no users of their own may have a project's jobs. name:
-- the project's. body: a JSON object (trusted, and `by` where no person said it).
CREATE TABLE lb_trust (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
-- Projects that had work before there was such a mark go on; people are told to look at them.
INSERT INTO lb_trust (id, version, name, retired, actor, at_us, body)
  SELECT min(id), 1, substr(name, 1, instr(name, '/') - 1), 0, 'migration', min(at_us),
    '{"trusted":true,"by":"upgrade"}'
  FROM lb_workflow AS w
  WHERE retired = 0 AND instr(name, '/') > 1
    AND version = (SELECT max(version) FROM lb_workflow AS e WHERE e.id = w.id)
  GROUP BY substr(name, 1, instr(name, '/') - 1);
