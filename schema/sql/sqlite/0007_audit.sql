-- Each row of the audit proves the ones before it: lib/util/chain.h says how. '': from before this.
ALTER TABLE lb_action ADD COLUMN hash TEXT NOT NULL DEFAULT '';
