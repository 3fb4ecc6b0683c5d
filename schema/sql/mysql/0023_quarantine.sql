-- See ../sqlite/0023_quarantine.sql.
ALTER TABLE lb_task ADD COLUMN quarantined_us BIGINT NOT NULL DEFAULT 0;
