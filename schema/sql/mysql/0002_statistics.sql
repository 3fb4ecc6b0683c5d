-- How attempts and instances ended, by local day: see ../sqlite/0002_statistics.sql.
CREATE TABLE IF NOT EXISTS lb_statistic (
  day        INT NOT NULL,
  task_id    INT UNSIGNED NOT NULL,
  job_status INT NOT NULL,
  bucket     INT NOT NULL,
  count      INT UNSIGNED NOT NULL,
  sum_us     BIGINT NOT NULL,
  PRIMARY KEY (day, task_id, job_status, bucket)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
