-- What brokers are told of the store is proven with it, see lib/store/proof.h.
ALTER TABLE lb_leader ADD COLUMN store_key TEXT NOT NULL DEFAULT ''; -- drawn once
UPDATE lb_leader SET store_key = lower(hex(randomblob(16)));
