-- A workflow that held up the server stands still from then on; us, 0: it does not.
ALTER TABLE lb_task ADD COLUMN quarantined_us INTEGER NOT NULL DEFAULT 0;
