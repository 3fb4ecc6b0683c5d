-- What ended, per local day (days since 1970-01-01 in the task's zone), task (0: all of them),
-- state it went to and bucket of its duration (lib/sched/measure.h; -1: it never ran). Added
-- to in the transaction that stores the ends. The key begins with the day: today's rows are
-- neighbours, and old days go in one range.
CREATE TABLE lb_statistic (
  day        INTEGER NOT NULL,
  task_id    INTEGER NOT NULL,
  job_status INTEGER NOT NULL,
  bucket     INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  sum_us     INTEGER NOT NULL,
  PRIMARY KEY (day, task_id, job_status, bucket)
) STRICT, WITHOUT ROWID;
