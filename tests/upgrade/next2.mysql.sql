-- See next2.sqlite.sql.
ALTER TABLE lb_task ADD COLUMN next2 BIGINT NULL;
