-- Data that came with a transition: see ../sqlite/0004_data.sql.
CREATE TABLE IF NOT EXISTS lb_task_data (
  number BIGINT NOT NULL PRIMARY KEY,
  kind   INT NOT NULL,
  body   MEDIUMTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
