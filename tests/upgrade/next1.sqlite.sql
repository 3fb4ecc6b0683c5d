-- A column that older programs do not name: it must have a value without them.
ALTER TABLE lb_task_run ADD COLUMN next1 INTEGER;
ALTER TABLE lb_task_run_history ADD COLUMN next1 INTEGER;
