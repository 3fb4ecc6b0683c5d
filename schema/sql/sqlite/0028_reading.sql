-- Whose a command is: the projects that it touches, each between colons (":retail::finance:"). '': of
-- none, or of before there was the column; who reads some projects only is not shown it.
ALTER TABLE lb_command ADD COLUMN projects TEXT NOT NULL DEFAULT '';
