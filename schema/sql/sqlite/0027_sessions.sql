-- Who is signed in: a row a person, each takes the former's place. body: a JSON object (sessions: a list
-- of id, hash of the secret, since, begun, expires, via, address, agent, face).
CREATE TABLE lb_session (id INTEGER NOT NULL PRIMARY KEY, version INTEGER NOT NULL,
  name TEXT NOT NULL, retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL,
  body TEXT NOT NULL) STRICT;
