-- Nodes that etcd's registry has or had (baseserver, sirdar-cgi, taskbroker): name is their UUID,
-- body what they say of themselves and when it was seen; a version each change.
CREATE TABLE lb_node (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
