-- Times when nobody led: see ../sqlite/0011_gap.sql.
CREATE TABLE IF NOT EXISTS lb_gap (
  number  BIGINT NOT NULL,
  from_us BIGINT NOT NULL,
  to_us   BIGINT NOT NULL,
  PRIMARY KEY (number, to_us)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
UPDATE lb_leader SET renewed_us = 0;
