-- The ledger's tables for MariaDB and MySQL, column for column those of ../sqlite. Instants are UTC:
-- *_us microseconds, others seconds; 0 = not yet. Numbers of states are those of
-- schema/tbl/state.def. A statement ends with a semicolon at the end of its line. Changes of shape
-- are no transactions here: each statement may be repeated.

-- The leader, its epoch, and the last transition: one row, locked and compared in every commit.
CREATE TABLE IF NOT EXISTS lb_leader (
  id             INT PRIMARY KEY,
  epoch          BIGINT NOT NULL,
  number         BIGINT NOT NULL,
  outcome_number BIGINT NOT NULL, -- lb_outcome knows all that finished up to here
  who            VARCHAR(512) NOT NULL,
  since_us       BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
INSERT IGNORE INTO lb_leader VALUES (1, 0, 0, 0, '', 0);

CREATE TABLE IF NOT EXISTS lb_meta (
  name  VARCHAR(128) PRIMARY KEY,
  value TEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Unfinished instances only. `id` is the place of the instance in the ledger, so that the rows of
-- one time are neighbours.
CREATE TABLE IF NOT EXISTS lb_task_run (
  id            BIGINT PRIMARY KEY,
  next_run_date BIGINT NOT NULL,
  job_status    INT NOT NULL,
  task_id       INT UNSIGNED NOT NULL,
  curr_run_date BIGINT NOT NULL,
  part          INT NOT NULL,
  due           BIGINT NOT NULL,
  eff_due_us    BIGINT NOT NULL,
  created_us    BIGINT NOT NULL,
  started_us    BIGINT NOT NULL,
  ended_us      BIGINT NOT NULL,
  retry_at_us   BIGINT NOT NULL,
  token         BIGINT NOT NULL,
  last_number   BIGINT NOT NULL,
  cause         BIGINT NOT NULL,
  generation    INT UNSIGNED NOT NULL,
  revision      INT UNSIGNED NOT NULL,
  version       INT UNSIGNED NOT NULL,
  broker_id     INT UNSIGNED NOT NULL,
  exit_code     INT NOT NULL,
  attempt       SMALLINT UNSIGNED NOT NULL,
  infra         SMALLINT UNSIGNED NOT NULL,
  reason        SMALLINT UNSIGNED NOT NULL,
  flags         SMALLINT UNSIGNED NOT NULL,
  origin        SMALLINT UNSIGNED NOT NULL,
  priority      SMALLINT UNSIGNED NOT NULL,
  intent        SMALLINT UNSIGNED NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Finished instances, a day a partition. A partition's key must be part of every unique key; that an
-- instance has one row here is kept by the ledger.
CREATE TABLE IF NOT EXISTS lb_task_run_history (
  last_number   BIGINT NOT NULL,
  next_run_date BIGINT NOT NULL,
  job_status    INT NOT NULL,
  task_id       INT UNSIGNED NOT NULL,
  curr_run_date BIGINT NOT NULL,
  part          INT NOT NULL,
  due           BIGINT NOT NULL,
  eff_due_us    BIGINT NOT NULL,
  created_us    BIGINT NOT NULL,
  started_us    BIGINT NOT NULL,
  ended_us      BIGINT NOT NULL,
  retry_at_us   BIGINT NOT NULL,
  token         BIGINT NOT NULL,
  cause         BIGINT NOT NULL,
  generation    INT UNSIGNED NOT NULL,
  revision      INT UNSIGNED NOT NULL,
  version       INT UNSIGNED NOT NULL,
  broker_id     INT UNSIGNED NOT NULL,
  exit_code     INT NOT NULL,
  attempt       SMALLINT UNSIGNED NOT NULL,
  infra         SMALLINT UNSIGNED NOT NULL,
  reason        SMALLINT UNSIGNED NOT NULL,
  flags         SMALLINT UNSIGNED NOT NULL,
  origin        SMALLINT UNSIGNED NOT NULL,
  priority      SMALLINT UNSIGNED NOT NULL,
  intent        SMALLINT UNSIGNED NOT NULL,
  PRIMARY KEY (last_number, ended_us),
  KEY lb_task_run_history_key (curr_run_date, task_id, part)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
PARTITION BY RANGE (ended_us) (PARTITION pmax VALUES LESS THAN MAXVALUE);

-- One row per transition of an instance, append only, a day a partition. `prev` is the transition
-- before it of the same instance (0: none).
CREATE TABLE IF NOT EXISTS lb_task_event (
  number        BIGINT NOT NULL,
  prev          BIGINT NOT NULL,
  task_id       INT UNSIGNED NOT NULL,
  curr_run_date BIGINT NOT NULL,
  part          INT NOT NULL,
  at_us         BIGINT NOT NULL,
  event         INT NOT NULL,
  from_status   INT NOT NULL,
  to_status     INT NOT NULL,
  reason        SMALLINT UNSIGNED NOT NULL,
  actor_kind    SMALLINT UNSIGNED NOT NULL,
  epoch         INT UNSIGNED NOT NULL,
  session       INT UNSIGNED NOT NULL,
  cause         BIGINT NOT NULL,
  generation    INT UNSIGNED NOT NULL,
  revision      INT UNSIGNED NOT NULL,
  attempt       SMALLINT UNSIGNED NOT NULL,
  broker_id     INT UNSIGNED NOT NULL,
  token         BIGINT NOT NULL,
  exit_code     INT NOT NULL,
  note          TEXT,
  PRIMARY KEY (number, at_us)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin
PARTITION BY RANGE (at_us) (PARTITION pmax VALUES LESS THAN MAXVALUE);

CREATE TABLE IF NOT EXISTS lb_task (
  task_id         INT UNSIGNED PRIMARY KEY,
  task_name       VARCHAR(512) NOT NULL,
  task_type       VARCHAR(255) NOT NULL,
  task_cycle      BIGINT NOT NULL, -- s
  start_date      BIGINT NOT NULL,
  end_date        BIGINT NOT NULL,
  task_status     INT    NOT NULL, -- 0 draft, 1 online, 2 offline, 3 retired
  frozen          INT    NOT NULL,
  workflow_id     INT UNSIGNED NOT NULL,
  version         INT UNSIGNED NOT NULL,
  anchor          BIGINT NOT NULL,
  online_from     BIGINT NOT NULL,
  planned_through BIGINT NOT NULL,
  owner           VARCHAR(255) NOT NULL,
  priority        INT    NOT NULL,
  KEY lb_task_name (task_name),
  KEY lb_task_workflow (workflow_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lb_task_link (
  task_to_id    INT UNSIGNED NOT NULL,
  seq           INT NOT NULL, -- order in the definition
  task_from_id  INT UNSIGNED NOT NULL,
  depend_type   INT NOT NULL, -- 1, 2, 3, -n; 0: a window
  `window`      TEXT,
  on_end        INT NOT NULL,
  strategy      INT NOT NULL,
  strategy_n    INT NOT NULL,
  PRIMARY KEY (task_to_id, seq),
  KEY lb_task_link_from (task_from_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Documents, whole, one row per version.
CREATE TABLE IF NOT EXISTS lb_workflow (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
CREATE TABLE IF NOT EXISTS lb_calendar (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
CREATE TABLE IF NOT EXISTS lb_runner (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
CREATE TABLE IF NOT EXISTS lb_broker (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
CREATE TABLE IF NOT EXISTS lb_task_type (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
CREATE TABLE IF NOT EXISTS lb_server (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
CREATE TABLE IF NOT EXISTS lb_pool (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
CREATE TABLE IF NOT EXISTS lb_setting (id INT UNSIGNED NOT NULL, version INT UNSIGNED NOT NULL,
  name VARCHAR(512) NOT NULL, retired INT NOT NULL, actor VARCHAR(255) NOT NULL,
  at_us BIGINT NOT NULL, body LONGTEXT NOT NULL, PRIMARY KEY (id, version)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lb_outcome (
  task_id    INT UNSIGNED NOT NULL,
  lo         BIGINT NOT NULL,
  hi         BIGINT NOT NULL,
  job_status INT NOT NULL,
  reason     INT NOT NULL,
  generation INT UNSIGNED NOT NULL,
  PRIMARY KEY (task_id, lo)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lb_command (
  id         BIGINT PRIMARY KEY,
  request_id VARCHAR(512) NOT NULL,
  actor      VARCHAR(255) NOT NULL,
  kind       VARCHAR(64)  NOT NULL,
  args       LONGTEXT NOT NULL,
  error      TEXT   NOT NULL,
  state      INT    NOT NULL,
  created_us BIGINT NOT NULL,
  ended_us   BIGINT NOT NULL,
  total      BIGINT NOT NULL,
  done       BIGINT NOT NULL,
  failed     BIGINT NOT NULL,
  `cursor`   LONGTEXT NOT NULL,
  UNIQUE KEY lb_command_request (request_id),
  KEY lb_command_open (ended_us, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lb_command_item (
  command_id    BIGINT NOT NULL,
  task_id       INT UNSIGNED NOT NULL,
  curr_run_date BIGINT NOT NULL,
  part          INT NOT NULL,
  code          INT NOT NULL,
  text          TEXT NOT NULL,
  PRIMARY KEY (command_id, task_id, curr_run_date, part)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Audit: who did what, and when.
CREATE TABLE IF NOT EXISTS lb_action (
  id     BIGINT PRIMARY KEY AUTO_INCREMENT,
  at_us  BIGINT NOT NULL,
  actor  VARCHAR(255) NOT NULL,
  action VARCHAR(255) NOT NULL,
  object VARCHAR(512) NOT NULL,
  detail LONGTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS lb_user (
  id         BIGINT PRIMARY KEY AUTO_INCREMENT,
  name       VARCHAR(255) NOT NULL,
  role       VARCHAR(64)  NOT NULL,
  secret     TEXT NOT NULL,
  retired    INT  NOT NULL,
  created_us BIGINT NOT NULL,
  UNIQUE KEY lb_user_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;
