-- Data that came with a transition of an instance: what its job gave out (kind 1), the
-- parameters it was started with (kind 2). A JSON object of texts, as one text. Few
-- transitions have any, so it is a table of its own; it goes with its event.
CREATE TABLE lb_task_data (
  number INTEGER PRIMARY KEY, -- of the lb_task_event
  kind   INTEGER NOT NULL,
  body   TEXT    NOT NULL
) STRICT;
