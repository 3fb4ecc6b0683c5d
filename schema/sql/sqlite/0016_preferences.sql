-- What a person has set for his browsers: the newest version alone, each takes the former's place.
CREATE TABLE lb_preferences (id INTEGER NOT NULL PRIMARY KEY, version INTEGER NOT NULL,
  name TEXT NOT NULL, retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL,
  body TEXT NOT NULL) STRICT;
