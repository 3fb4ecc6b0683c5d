-- What makes a label of a run_date: the zone of the task and how coarse its cycle is (enum label_grain). '': a row of a
-- release before; it is filled when the task is written next.
ALTER TABLE lb_task ADD COLUMN zone TEXT NOT NULL DEFAULT '';
ALTER TABLE lb_task ADD COLUMN grain INTEGER NOT NULL DEFAULT 0;
