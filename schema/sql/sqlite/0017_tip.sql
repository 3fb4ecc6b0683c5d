-- What tells a store that lost work, or is another one: see lib/store/tip.h.
ALTER TABLE lb_leader ADD COLUMN store_id TEXT NOT NULL DEFAULT '';       -- drawn once
ALTER TABLE lb_leader ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;          -- commits, without gaps
ALTER TABLE lb_leader ADD COLUMN chain_number INTEGER NOT NULL DEFAULT 0; -- the chain stands here
ALTER TABLE lb_leader ADD COLUMN chain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lb_leader ADD COLUMN mark_number INTEGER NOT NULL DEFAULT 0;  -- and stood here: what follows is read again
ALTER TABLE lb_leader ADD COLUMN mark_chain INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lb_leader ADD COLUMN base_epoch INTEGER NOT NULL DEFAULT 0;   -- up to it a loss was accepted
UPDATE lb_leader SET store_id = lower(hex(randomblob(16))), chain_number = number, mark_number = number;
