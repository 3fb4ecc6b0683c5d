-- See ../sqlite/0018_store_key.sql. The server draws it: MariaDB had no RANDOM_BYTES() before 10.10.
ALTER TABLE lb_leader ADD COLUMN store_key VARCHAR(64) NOT NULL DEFAULT '';
