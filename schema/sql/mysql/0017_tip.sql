-- What tells a store that lost work: see ../sqlite/0017_tip.sql.
ALTER TABLE lb_leader
  ADD COLUMN store_id VARCHAR(64) NOT NULL DEFAULT '',
  ADD COLUMN seq BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN chain_number BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN chain BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN mark_number BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN mark_chain BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN base_epoch BIGINT NOT NULL DEFAULT 0;
UPDATE lb_leader SET store_id = LOWER(MD5(CONCAT(UUID(), RAND()))), chain_number = number, mark_number = number;
