-- Exposed: which secrets a peer was given. name: the peer's, '/', the target server's. body: a JSON
-- object (first, last: us). One row for each of the two, which is replaced: version is always 1.
CREATE TABLE lb_exposed (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
