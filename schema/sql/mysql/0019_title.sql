-- See ../sqlite/0019_title.sql.
ALTER TABLE lb_task ADD COLUMN title VARCHAR(255) NOT NULL DEFAULT '',
  ADD COLUMN workflow_title VARCHAR(255) NOT NULL DEFAULT '';
