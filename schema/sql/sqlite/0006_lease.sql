-- The leader's row becomes a lease. Those who wait watch epoch, beat and number: when they stand
-- still for lease_ms, it may be taken. lease_ms 0: given back. renewed_us is the holder's clock, for people.
ALTER TABLE lb_leader ADD COLUMN beat INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lb_leader ADD COLUMN lease_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lb_leader ADD COLUMN renewed_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lb_leader ADD COLUMN address TEXT NOT NULL DEFAULT '';
