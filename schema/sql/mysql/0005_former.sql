-- The outcome a redo took back (lib/sched/instance.h, `former`), which a cancelled command gives
-- back; and the grace a kill was asked with, 0: the task's.
ALTER TABLE lb_task_run
  ADD COLUMN former SMALLINT UNSIGNED NOT NULL DEFAULT 0,
  ADD COLUMN grace_ms INT UNSIGNED NOT NULL DEFAULT 0;
ALTER TABLE lb_task_run_history
  ADD COLUMN former SMALLINT UNSIGNED NOT NULL DEFAULT 0,
  ADD COLUMN grace_ms INT UNSIGNED NOT NULL DEFAULT 0;
