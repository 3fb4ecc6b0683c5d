-- A column that older programs do not name: it must have a value without them.
ALTER TABLE lb_task ADD COLUMN next2 INTEGER;
