-- Planned dates that were left out together: see ../sqlite/0010_range.sql.
CREATE TABLE IF NOT EXISTS lb_task_range (
  number   BIGINT PRIMARY KEY,
  task_id  INT UNSIGNED NOT NULL,
  lo       BIGINT NOT NULL,
  hi       BIGINT NOT NULL,
  dates    INT UNSIGNED NOT NULL,
  taken    INT UNSIGNED NOT NULL,
  at_us    BIGINT NOT NULL,
  reason   INT NOT NULL,
  version  INT UNSIGNED NOT NULL,
  priority INT NOT NULL,
  KEY lb_task_range_task (task_id, lo)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
