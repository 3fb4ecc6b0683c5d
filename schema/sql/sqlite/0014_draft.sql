-- Workflows as they were drawn, for a test run of what is not saved: documents, never in force.
CREATE TABLE lb_draft (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
