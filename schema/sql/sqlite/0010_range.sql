-- Planned dates of a task that were left out together (catch-up): Skipped, with no rows of their
-- own. A date in it that has a row, in lb_task_run or lb_task_run_history, is what that row says.
CREATE TABLE lb_task_range (
  number   INTEGER PRIMARY KEY, -- of the transition that left them out; no lb_task_event has it
  task_id  INTEGER NOT NULL,
  lo       INTEGER NOT NULL, -- run dates, both included
  hi       INTEGER NOT NULL,
  dates    INTEGER NOT NULL, -- planned ones in it that had no row
  taken    INTEGER NOT NULL, -- of them, those that got one since
  at_us    INTEGER NOT NULL,
  reason   INTEGER NOT NULL,
  version  INTEGER NOT NULL, -- of the task
  priority INTEGER NOT NULL
) STRICT;
CREATE INDEX lb_task_range_task ON lb_task_range (task_id, lo);
