-- What the plan of a task was before its edits (lib/sched/plan.h, plan_past_print), one row a
-- task, version 1: an edit replaces it.
CREATE TABLE lb_plan (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
