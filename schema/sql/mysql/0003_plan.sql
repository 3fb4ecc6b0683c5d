-- What the plan of a task was before its edits (lib/sched/plan.h, plan_past_print), one row a
-- task, version 1: an edit replaces it.
CREATE TABLE IF NOT EXISTS lb_plan (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
