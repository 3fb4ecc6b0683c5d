-- See ../sqlite/0028_reading.sql.
ALTER TABLE lb_command ADD COLUMN projects VARCHAR(4096) NOT NULL DEFAULT '';
