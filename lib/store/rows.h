/* rows.h — the rows of a query, whichever database they come from, and what they decode to.
 * Internal to lib/store. Nothing read is believed: a column outside its range is E_CORRUPT that
 * names table, row and column.
 */
#ifndef STORE_ROWS_H
#define STORE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/read.h"
#include "store/store.h"
#include "store/tip.h"

struct err;
struct rows;

struct rows_ops {
	/* Begin (again) with these values in place of the text's `?`. */
	void (*bind)(struct rows *r, const int64_t *values, size_t n);
	/* 1 a row, 0 the end, negative. */
	int (*step)(struct rows *r, struct err *err);
	/* False: NULL, or no number. */
	bool (*number)(struct rows *r, int column, int64_t *ret);
	/* Borrowed until the next step; NULL for NULL. ret_len may be NULL. */
	const char *(*text)(struct rows *r, int column, size_t *ret_len);
	const char *(*name)(struct rows *r, int column);
	void (*close)(struct rows *r);
};

struct rows {
	const struct rows_ops *ops;
	const char *table; /* for errors */
};

int rows_step(struct rows *r, struct err *err);
/* The next row, when all went well with the last (code >= 0). 1 a row; 0 the end, negative what
 * went wrong: then the rows are closed (NULL is fine where the asking failed). */
int rows_next(struct rows *r, int code, struct err *err);

/* n values of int64_t. */
void rows_bind(struct rows *r, size_t n, ...);
/* NULL is fine. */
void rows_close(struct rows *r);

/* A number within lo..hi. E_CORRUPT. */
int rows_int(struct rows *r, int column, int64_t lo, int64_t hi, int64_t *ret, struct err *err);
/* Text that is not NULL. E_CORRUPT. */
int rows_text(struct rows *r, int column, const char **ret, struct err *err);

/* Rows that were selected with the columns below. Texts are borrowed until the next step. */
int rows_instance(struct rows *r, struct instance *ret, struct err *err);
int rows_task(struct rows *r, struct store_task *ret, struct err *err);
int rows_link(struct rows *r, struct store_link *ret, struct err *err);
int rows_doc(struct rows *r, enum store_doc_kind kind, struct store_doc *ret, struct err *err);
int rows_command(struct rows *r, struct store_command *ret, struct err *err);
int rows_item(struct rows *r, uint64_t command, struct store_command_item *ret, struct err *err);
int rows_action(struct rows *r, struct read_action *ret, struct err *err);
int rows_event(struct rows *r, struct read_event *ret, struct err *err);
int rows_outcome(struct rows *r, struct store_outcome *ret, struct err *err);
int rows_range(struct rows *r, struct store_range *ret, struct err *err);
int rows_gap(struct rows *r, struct store_gap *ret, struct err *err);
int rows_alert(struct rows *r, struct store_alert *ret, struct err *err);
int rows_stat(struct rows *r, struct store_stat *ret, struct err *err);
int rows_lease(struct rows *r, struct store_lease *ret, struct err *err);
int rows_tip(struct rows *r, struct store_tip *ret, struct err *err);
/* Each row of EVENT_COLUMNS, as the numbers of event_cols.def. */
int rows_each_event(struct rows *r, int (*each)(void *ctx, const int64_t *columns, size_t n),
                    void *ctx, struct err *err);
int rows_node(struct rows *r, struct store_node *ret, struct err *err);

#define INSTANCE_COLUMNS \
	"job_status, task_id, curr_run_date, part, due, eff_due_us, created_us, started_us, " \
	"ended_us, retry_at_us, token, last_number, cause, generation, revision, version, " \
	"broker_id, exit_code, attempt, infra, reason, flags, origin, priority, intent, " \
	"former, grace_ms, looks, kept_number"
#define INSTANCE_WIDTH 29
#define TASK_COLUMNS \
	"task_id, task_name, task_type, task_cycle, start_date, end_date, task_status, frozen, " \
	"workflow_id, version, anchor, online_from, planned_through, owner, priority, title, " \
	"workflow_title, zone, grain, quarantined_us"
#define LINK_COLUMNS_BUT_ENDS "depend_type, on_end, strategy, strategy_n, `window`"
#define LINK_COLUMNS          "task_to_id, task_from_id, " LINK_COLUMNS_BUT_ENDS
#define DOC_COLUMNS_BUT_BODY  "id, version, name, retired, actor, at_us"
#define DOC_COLUMNS           DOC_COLUMNS_BUT_BODY ", body"
#define DOC_COLUMNS_N         7
#define COMMAND_COLUMNS \
	"id, request_id, actor, kind, args, error, state, created_us, ended_us, total, done, " \
	"failed, `cursor`, projects"
#define ITEM_COLUMNS   "task_id, curr_run_date, part, code, text"
#define ACTION_COLUMNS "id, at_us, actor, action, object, detail, hash"
#define ALERT_COLUMNS \
	"id, kind, severity, subject, task_id, curr_run_date, generation, attempt, since_us, " \
	"ended_us, acked_us, acked_by, ack_note, body"
#define LEASE_COLUMNS "epoch, beat, number, lease_ms, since_us, renewed_us, who, address"
#define TIP_COLUMNS \
	"epoch, number, outcome_number, seq, chain_number, chain, mark_number, mark_chain, " \
	"base_epoch, store_id, store_key"
#define OUTCOME_COLUMNS "task_id, lo, hi, job_status, reason, generation"
#define RANGE_COLUMNS   "number, task_id, lo, hi, dates, taken, at_us, reason, version, priority"
#define GAP_COLUMNS     "number, from_us, to_us"
#define RANGE_WIDTH     10
#define STAT_COLUMNS    "day, task_id, job_status, bucket, count, sum_us"
#define EVENT_COLUMNS \
	"number, prev, task_id, curr_run_date, part, at_us, event, from_status, to_status, " \
	"reason, actor_kind, epoch, session, cause, generation, revision, attempt, broker_id, " \
	"token, exit_code, note"

/* An event's number, its generation twice, the kind: the newest data on the way back. */
#define DATA_WALK \
	"WITH RECURSIVE chain (number, prev) AS (" \
	"SELECT number, prev FROM lb_task_event WHERE number = ? AND ? IN (0, generation) " \
	"UNION ALL SELECT e.number, e.prev FROM lb_task_event AS e " \
	"JOIN chain AS c ON e.number = c.prev WHERE ? IN (0, e.generation)) " \
	"SELECT d.body FROM chain AS c JOIN lb_task_data AS d ON d.number = c.number " \
	"WHERE d.kind = ? ORDER BY d.number DESC LIMIT 1"

/* An event's number, the kind: the newest data among it and the few events before it. */
#define DATA_NEAR \
	"WITH RECURSIVE chain (number, prev, far) AS (" \
	"SELECT number, prev, 0 FROM lb_task_event WHERE number = ? " \
	"UNION ALL SELECT e.number, e.prev, c.far + 1 FROM lb_task_event AS e " \
	"JOIN chain AS c ON e.number = c.prev WHERE c.far < 8) " \
	"SELECT d.body FROM chain AS c JOIN lb_task_data AS d ON d.number = c.number " \
	"WHERE d.kind = ? ORDER BY d.number DESC LIMIT 1"

const char *doc_table(enum store_doc_kind kind); /* NULL: no such kind */

#endif
