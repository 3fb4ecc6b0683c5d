-- The leader's row becomes a lease. Those who wait watch epoch, beat and number: when they stand
-- still for lease_ms, it may be taken. lease_ms 0: given back. renewed_us is the holder's clock, for people.
ALTER TABLE lb_leader
  ADD COLUMN beat BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN lease_ms BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN renewed_us BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN address VARCHAR(512) NOT NULL DEFAULT '';
-- Servers that wait, as they last showed themselves; seen_us is the database's clock.
CREATE TABLE IF NOT EXISTS lb_standby (
  who     VARCHAR(128) PRIMARY KEY,
  address VARCHAR(512) NOT NULL,
  number  BIGINT NOT NULL,
  seen_us BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
