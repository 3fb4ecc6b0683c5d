-- What people see besides the id of a task, of its workflow.
ALTER TABLE lb_task ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE lb_task ADD COLUMN workflow_title TEXT NOT NULL DEFAULT '';
