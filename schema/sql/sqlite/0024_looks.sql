-- How often a sensor has looked, and the last of its events, while the looks between the first and
-- the last are left out (lib/sched/instance.h, `looks` and `kept`).
ALTER TABLE lb_task_run ADD COLUMN looks INTEGER DEFAULT 0;
ALTER TABLE lb_task_run ADD COLUMN kept_number INTEGER DEFAULT 0;
ALTER TABLE lb_task_run_history ADD COLUMN looks INTEGER DEFAULT 0;
ALTER TABLE lb_task_run_history ADD COLUMN kept_number INTEGER DEFAULT 0;
