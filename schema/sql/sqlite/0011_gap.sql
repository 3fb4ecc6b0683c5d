-- Times when nobody led: they do not count for what waited. A live row that waits and whose
-- last_number is at most `number` is due so much later than its eff_due_us says.
CREATE TABLE lb_gap (
  number  INTEGER NOT NULL, -- the last transition before it
  from_us INTEGER NOT NULL,
  to_us   INTEGER NOT NULL,
  PRIMARY KEY (number, to_us)
) STRICT;
-- From now on the last sign of life: of commits too. What stands there was the take-over.
UPDATE lb_leader SET renewed_us = 0;
