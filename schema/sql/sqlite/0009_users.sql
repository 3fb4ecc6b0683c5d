-- Users are documents like others, with their versions. Nothing has ever written to the old table.
DROP TABLE lb_user;
CREATE TABLE lb_user (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
