-- Second factors of people. name: the person's. body: a JSON object (secret, sealed where the server
-- has keys; active, since, step, codes). The newest version alone, each takes the former's place.
CREATE TABLE lb_factor (id INTEGER NOT NULL PRIMARY KEY, version INTEGER NOT NULL,
  name TEXT NOT NULL, retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL,
  body TEXT NOT NULL) STRICT;
