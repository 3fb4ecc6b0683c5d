-- See next1.sqlite.sql.
ALTER TABLE lb_task_run ADD COLUMN next1 BIGINT NULL;
ALTER TABLE lb_task_run_history ADD COLUMN next1 BIGINT NULL;
