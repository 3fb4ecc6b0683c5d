-- What people were told of, or would have been: one row an alert, written as the notifier says it.
-- body: a JSON object (reason, note, to whom, by which channel, whether it was delivered). The columns
-- acked_* are the server's own.
CREATE TABLE lb_alert (
  id            INTEGER PRIMARY KEY, -- the notifier's: grows with time
  kind          TEXT    NOT NULL,    -- a word of schema/tbl/alert.def
  severity      INTEGER NOT NULL,    -- 0 notice, 1 warning, 2 critical
  subject       TEXT    NOT NULL,    -- project/workflow/task, or what it is of
  task_id       INTEGER NOT NULL,    -- 0: of no task
  curr_run_date INTEGER NOT NULL,
  generation    INTEGER NOT NULL,
  attempt       INTEGER NOT NULL,
  since_us      INTEGER NOT NULL,
  ended_us      INTEGER NOT NULL,    -- 0: open
  acked_us      INTEGER NOT NULL,    -- 0: not acknowledged
  acked_by      TEXT    NOT NULL,
  ack_note      TEXT    NOT NULL,
  body          TEXT    NOT NULL
) STRICT;
CREATE INDEX lb_alert_ended ON lb_alert (ended_us, id);
-- Times in which nobody is told of some things. name: the number of the command that made it.
CREATE TABLE lb_silence (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
