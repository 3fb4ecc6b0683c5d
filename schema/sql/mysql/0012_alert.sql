-- What people were told of, or would have been: one row an alert, written as the notifier says it.
-- body: a JSON object (reason, note, to whom, by which channel, whether it was delivered). The columns
-- acked_* are the server's own.
CREATE TABLE IF NOT EXISTS lb_alert (
  id            BIGINT PRIMARY KEY,
  kind          VARCHAR(64)  NOT NULL,
  severity      INT NOT NULL,
  subject       VARCHAR(512) NOT NULL,
  task_id       INT UNSIGNED NOT NULL,
  curr_run_date BIGINT NOT NULL,
  generation    INT UNSIGNED NOT NULL,
  attempt       INT UNSIGNED NOT NULL,
  since_us      BIGINT NOT NULL,
  ended_us      BIGINT NOT NULL,
  acked_us      BIGINT NOT NULL,
  acked_by      VARCHAR(255) NOT NULL,
  ack_note      TEXT NOT NULL,
  body          LONGTEXT NOT NULL,
  KEY lb_alert_ended (ended_us, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
-- Times in which nobody is told of some things. name: the number of the command that made it.
CREATE TABLE IF NOT EXISTS lb_silence (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
