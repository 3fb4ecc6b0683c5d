-- The ledger's tables. Instants are UTC: *_us microseconds, others seconds; 0 = not yet.
-- Numbers of states are those of schema/tbl/state.def. Applied as one transaction.

-- The leader, its epoch, and the last transition: one row, compared and set in every commit.
CREATE TABLE lb_leader (
  id             INTEGER PRIMARY KEY CHECK (id = 1),
  epoch          INTEGER NOT NULL,
  number         INTEGER NOT NULL,
  outcome_number INTEGER NOT NULL, -- lb_outcome knows all that finished up to here
  who            TEXT    NOT NULL,
  since_us       INTEGER NOT NULL
) STRICT;
INSERT INTO lb_leader VALUES (1, 0, 0, 0, '', 0);

CREATE TABLE lb_meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The three tables below have no NOT NULL: one check a column a row was a tenth of a commit's
-- time. The writer gives every column an integer, and loading refuses NULL.

-- Unfinished instances only. `id` follows creation, so that the rows of a run are
-- neighbours; that an instance has one row is kept by the writer and verified at load
-- (a second index would cost more than the row).
CREATE TABLE lb_task_run (
  id            INTEGER PRIMARY KEY,
  next_run_date INTEGER,
  job_status    INTEGER,
  task_id       INTEGER,
  curr_run_date INTEGER,
  part          INTEGER,
  due           INTEGER,
  eff_due_us    INTEGER,
  created_us    INTEGER,
  started_us    INTEGER,
  ended_us      INTEGER,
  retry_at_us   INTEGER,
  token         INTEGER,
  last_number   INTEGER,
  cause         INTEGER,
  generation    INTEGER,
  revision      INTEGER,
  version       INTEGER,
  broker_id     INTEGER,
  exit_code     INTEGER,
  attempt       INTEGER,
  infra         INTEGER,
  reason        INTEGER,
  flags         INTEGER,
  origin        INTEGER,
  priority      INTEGER,
  intent        INTEGER
) STRICT;

-- Finished instances, in the order in which they finished. The one index begins with the
-- run date: what finishes now has dates near now, so that it grows at its end.
CREATE TABLE lb_task_run_history (
  last_number   INTEGER PRIMARY KEY,
  next_run_date INTEGER,
  job_status    INTEGER,
  task_id       INTEGER,
  curr_run_date INTEGER,
  part          INTEGER,
  due           INTEGER,
  eff_due_us    INTEGER,
  created_us    INTEGER,
  started_us    INTEGER,
  ended_us      INTEGER,
  retry_at_us   INTEGER,
  token         INTEGER,
  cause         INTEGER,
  generation    INTEGER,
  revision      INTEGER,
  version       INTEGER,
  broker_id     INTEGER,
  exit_code     INTEGER,
  attempt       INTEGER,
  infra         INTEGER,
  reason        INTEGER,
  flags         INTEGER,
  origin        INTEGER,
  priority      INTEGER,
  intent        INTEGER
) STRICT;
CREATE UNIQUE INDEX lb_task_run_history_key
  ON lb_task_run_history (curr_run_date, task_id, part);
-- What people look for: StopSchedule and Killed. Few, so it costs nearly nothing.
CREATE INDEX lb_task_run_history_bad
  ON lb_task_run_history (curr_run_date, task_id, part) WHERE job_status IN (5, 8);

-- One row per transition of an instance, append only. `prev` is the transition before it of
-- the same instance (0: none): its history is a walk from last_number, without an index.
CREATE TABLE lb_task_event (
  number        INTEGER PRIMARY KEY,
  prev          INTEGER,
  task_id       INTEGER,
  curr_run_date INTEGER,
  part          INTEGER,
  at_us         INTEGER,
  event         INTEGER,
  from_status   INTEGER, -- -2: none
  to_status     INTEGER,
  reason        INTEGER,
  actor_kind    INTEGER,
  epoch         INTEGER,
  session       INTEGER,
  cause         INTEGER,
  generation    INTEGER,
  revision      INTEGER,
  attempt       INTEGER,
  broker_id     INTEGER,
  token         INTEGER,
  exit_code     INTEGER,
  note          TEXT
) STRICT;

CREATE TABLE lb_task (
  task_id         INTEGER PRIMARY KEY,
  task_name       TEXT    NOT NULL,
  task_type       TEXT    NOT NULL,
  task_cycle      INTEGER NOT NULL, -- s
  start_date      INTEGER NOT NULL,
  end_date        INTEGER NOT NULL,
  task_status     INTEGER NOT NULL, -- 0 draft, 1 online, 2 offline, 3 retired
  frozen          INTEGER NOT NULL,
  workflow_id     INTEGER NOT NULL,
  version         INTEGER NOT NULL,
  anchor          INTEGER NOT NULL,
  online_from     INTEGER NOT NULL,
  planned_through INTEGER NOT NULL,
  owner           TEXT    NOT NULL,
  priority        INTEGER NOT NULL
) STRICT;
CREATE INDEX lb_task_name ON lb_task (task_name);
CREATE INDEX lb_task_workflow ON lb_task (workflow_id);

CREATE TABLE lb_task_link (
  task_to_id    INTEGER NOT NULL,
  seq           INTEGER NOT NULL, -- order in the definition
  task_from_id  INTEGER NOT NULL,
  depend_type   INTEGER NOT NULL, -- 1, 2, 3, -n; 0: a window
  window        TEXT,
  on_end        INTEGER NOT NULL,
  strategy      INTEGER NOT NULL,
  strategy_n    INTEGER NOT NULL,
  PRIMARY KEY (task_to_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX lb_task_link_from ON lb_task_link (task_from_id);

-- Documents, whole, one row per version.
CREATE TABLE lb_workflow (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
CREATE TABLE lb_calendar (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
CREATE TABLE lb_runner (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
CREATE TABLE lb_broker (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
CREATE TABLE lb_task_type (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
CREATE TABLE lb_server (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
CREATE TABLE lb_pool (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;
CREATE TABLE lb_setting (id INTEGER NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL,
  retired INTEGER NOT NULL, actor TEXT NOT NULL, at_us INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (id, version)) STRICT;

CREATE TABLE lb_outcome (
  task_id    INTEGER NOT NULL,
  lo         INTEGER NOT NULL,
  hi         INTEGER NOT NULL,
  job_status INTEGER NOT NULL,
  reason     INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  PRIMARY KEY (task_id, lo)
) STRICT, WITHOUT ROWID;

CREATE TABLE lb_command (
  id         INTEGER PRIMARY KEY,
  request_id TEXT    NOT NULL UNIQUE,
  actor      TEXT    NOT NULL,
  kind       TEXT    NOT NULL,
  args       TEXT    NOT NULL,
  error      TEXT    NOT NULL,
  state      INTEGER NOT NULL,
  created_us INTEGER NOT NULL,
  ended_us   INTEGER NOT NULL,
  total      INTEGER NOT NULL,
  done       INTEGER NOT NULL,
  failed     INTEGER NOT NULL,
  cursor     TEXT    NOT NULL
) STRICT;
CREATE INDEX lb_command_open ON lb_command (id) WHERE ended_us = 0;

CREATE TABLE lb_command_item (
  command_id    INTEGER NOT NULL,
  task_id       INTEGER NOT NULL,
  curr_run_date INTEGER NOT NULL,
  part          INTEGER NOT NULL,
  code          INTEGER NOT NULL,
  text          TEXT    NOT NULL,
  PRIMARY KEY (command_id, task_id, curr_run_date, part)
) STRICT, WITHOUT ROWID;

-- Audit: who did what, and when.
CREATE TABLE lb_action (
  id     INTEGER PRIMARY KEY,
  at_us  INTEGER NOT NULL,
  actor  TEXT    NOT NULL,
  action TEXT    NOT NULL,
  object TEXT    NOT NULL,
  detail TEXT    NOT NULL
) STRICT;

CREATE TABLE lb_user (
  id         INTEGER PRIMARY KEY,
  name       TEXT    NOT NULL UNIQUE,
  role       TEXT    NOT NULL,
  secret     TEXT    NOT NULL,
  retired    INTEGER NOT NULL,
  created_us INTEGER NOT NULL
) STRICT;
