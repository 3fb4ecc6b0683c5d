/* row_read.c — reading back from a store of rows: what a server asks before its first commit, and
 * the few rows it looks up later.
 *
 * Each verb asks one statement of row_stmt.def. A list is a loop of rows_next(): a row is decoded
 * and given to each(), whose negative answer ends the loop; the rows are closed in any case, since
 * an open query holds a snapshot (SQLite) or the connection (MySQL). A single row that is not
 * there is E_NOT_FOUND.
 */
#include <inttypes.h>

#include "store/row_store.h"
#include "store/schema.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

static struct row_store *of(struct store *s)
{
	return (struct row_store *)s;
}

int row_lease(struct store *s, struct store_lease *ret, struct err *err)
{
	struct rows *rows = NULL;
	int r = row_ask(of(s), ROW_LEASE, &rows, err, "");

	if (r == 0)
		r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_CORRUPT, STORE_NO_LEADER_ROW);
	else if (r > 0)
		r = rows_lease(rows, ret, err);
	rows_close(rows);
	return r;
}

int row_load_gaps(struct store *s, uint64_t number,
                  int (*each)(void *ctx, const struct store_gap *g), void *ctx, struct err *err)
{
	struct store_gap gap;
	struct rows *rows = NULL;
	int r = row_ask(of(s), ROW_GAPS, &rows, err, "i", (int64_t)number);

	while ((r = rows_next(rows, r, err)) > 0) {
		r = rows_gap(rows, &gap, err);
		if (r == 0)
			r = each(ctx, &gap);
	}
	return r;
}

int row_events(struct store *s, uint64_t after, uint64_t upto,
               int (*each)(void *ctx, const int64_t *columns, size_t n), void *ctx, struct err *err)
{
	struct rows *rows = NULL;
	int r = row_ask(of(s), ROW_EVENTS, &rows, err, "ii", (int64_t)after, (int64_t)upto);

	if (r == 0)
		r = rows_each_event(rows, each, ctx, err);
	rows_close(rows);
	return r;
}

static const enum row_id docs[] = {
	[DOC_WORKFLOW] = ROW_DOC_WORKFLOW, [DOC_CALENDAR] = ROW_DOC_CALENDAR,
	[DOC_RUNNER] = ROW_DOC_RUNNER,     [DOC_BROKER] = ROW_DOC_BROKER,
	[DOC_TYPE] = ROW_DOC_TYPE,         [DOC_SERVER] = ROW_DOC_SERVER,
	[DOC_POOL] = ROW_DOC_POOL,         [DOC_SETTING] = ROW_DOC_SETTING,
	[DOC_PLAN] = ROW_DOC_PLAN,         [DOC_NODE] = ROW_DOC_NODE,
	[DOC_USER] = ROW_DOC_USER,         [DOC_SILENCE] = ROW_DOC_SILENCE,
	[DOC_GROUP] = ROW_DOC_GROUP,       [DOC_TOKEN] = ROW_DOC_TOKEN,
	[DOC_DRAFT] = ROW_DOC_DRAFT,       [DOC_DEVICE] = ROW_DOC_DEVICE,
	[DOC_PREFS] = ROW_DOC_PREFS,       [DOC_PEER] = ROW_DOC_PEER,
	[DOC_TRUST] = ROW_DOC_TRUST,       [DOC_EXPOSED] = ROW_DOC_EXPOSED,
	[DOC_FACTOR] = ROW_DOC_FACTOR,     [DOC_SESSION] = ROW_DOC_SESSION,
	[DOC_CHANNEL] = ROW_DOC_CHANNEL,   [DOC_ONCALL] = ROW_DOC_ONCALL,
	[DOC_RULE] = ROW_DOC_RULE,
};

int row_load_docs(struct store *s, enum store_doc_kind kind,
                  int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	struct store_doc d;
	struct rows *rows = NULL;
	int r;

	if (!doc_table(kind))
		return err_set(err, E_INVALID, "document kind %d", (int)kind);
	r = row_ask(of(s), docs[kind], &rows, err, "");
	while ((r = rows_next(rows, r, err)) > 0) {
		r = rows_doc(rows, kind, &d, err);
		if (r == 0)
			r = each(ctx, &d);
	}
	return r;
}

int row_find_workflow(struct store *s, uint32_t id, uint32_t version,
                      int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	enum store_doc_kind kind = workflow_kind(version);
	struct rows *rows = NULL;
	struct store_doc d;
	int r = row_ask(of(s), kind == DOC_DRAFT ? ROW_FIND_DRAFT : ROW_FIND_WORKFLOW, &rows, err,
	                "ii", (int64_t)id, (int64_t)version);

	if (r == 0)
		r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND, "no version %" PRIu32 " of workflow %" PRIu32,
		            version, id);
	else if (r > 0)
		r = rows_doc(rows, kind, &d, err);
	if (r == 0)
		r = each(ctx, &d);
	rows_close(rows);
	return r;
}

int row_load_tasks(struct store *s, int (*each)(void *ctx, const struct store_task *t), void *ctx,
                   struct err *err)
{
	struct store_task t = { 0 };
	struct rows *rows = NULL;
	int r = row_ask(of(s), ROW_TASKS, &rows, err, "");

	while ((r = rows_next(rows, r, err)) > 0) {
		r = rows_task(rows, &t, err);
		if (r == 0)
			r = each(ctx, &t);
	}
	return r;
}

int row_scan_live(struct store *s, uint32_t from, size_t max,
                  int (*each)(void *ctx, uint32_t slot, uint64_t last_number), void *ctx,
                  struct err *err)
{
	struct rows *rows = NULL;
	int64_t id = 0, number = 0;
	int r = row_ask(of(s), ROW_SCAN_LIVE, &rows, err, "ii", (int64_t)from + 1,
	                max > INT64_MAX ? INT64_MAX : (int64_t)max);

	while ((r = rows_next(rows, r, err)) > 0) {
		r = rows_int(rows, 0, 1, UINT32_MAX, &id, err);
		if (r == 0)
			r = rows_int(rows, 1, 0, INT64_MAX, &number, err);
		if (r == 0)
			r = each(ctx, (uint32_t)(id - 1), (uint64_t)number);
	}
	return r;
}

int row_load_commands(struct store *s, bool unfinished_only,
                      int (*each)(void *ctx, const struct store_command *c), void *ctx,
                      struct err *err)
{
	struct store_command c = { 0 };
	struct rows *rows = NULL;
	int r = row_ask(of(s), unfinished_only ? ROW_OPEN_COMMANDS : ROW_COMMANDS, &rows, err, "");

	while ((r = rows_next(rows, r, err)) > 0) {
		r = rows_command(rows, &c, err);
		if (r == 0)
			r = each(ctx, &c);
	}
	return r;
}

int row_find_command(struct store *s, const char *request_id,
                     int (*each)(void *ctx, const struct store_command *c), void *ctx,
                     struct err *err)
{
	struct store_command c = { 0 };
	struct rows *rows = NULL;
	int r = row_ask(of(s), ROW_FIND_COMMAND, &rows, err, "t", request_id);

	if (r == 0)
		r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND, "no command with request id %.80s", request_id);
	else if (r > 0)
		r = rows_command(rows, &c, err);
	if (r == 0)
		r = each(ctx, &c);
	rows_close(rows);
	return r < 0 ? r : 0;
}

int row_load_items(struct store *s, uint64_t command,
                   int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                   struct err *err)
{
	struct store_command_item item;
	struct rows *rows = NULL;
	int r = row_ask(of(s), ROW_ITEMS, &rows, err, "i", (int64_t)command);

	while ((r = rows_next(rows, r, err)) > 0) {
		r = rows_item(rows, command, &item, err);
		if (r == 0)
			r = each(ctx, &item);
	}
	return r;
}

int row_load_alerts(struct store *s, int (*each)(void *ctx, const struct store_alert *a), void *ctx,
                    struct err *err)
{
	struct rows *rows = NULL;
	struct store_alert a;
	int r = row_ask(of(s), ROW_ALERTS_OPEN, &rows, err, "");

	while ((r = rows_next(rows, r, err)) > 0) {
		r = rows_alert(rows, &a, err);
		if (r == 0)
			r = each(ctx, &a);
	}
	return r;
}

int row_load_ranges(struct store *s, bool unsaved,
                    int (*each)(void *ctx, const struct store_range *r), void *ctx, struct err *err)
{
	struct store_range range;
	struct rows *rows = NULL;
	int64_t saved = 0;
	int r = unsaved ? row_saved(of(s), &saved, err) : 0;

	if (r == 0)
		r = row_ask(of(s), ROW_RANGES, &rows, err, "i", saved);
	while ((r = rows_next(rows, r, err)) > 0) {
		r = rows_range(rows, &range, err);
		if (r == 0)
			r = each(ctx, &range);
	}
	return r;
}

int row_find_range(struct store *s, uint32_t task, int64_t run_date, struct store_range *ret,
                   struct err *err)
{
	struct rows *rows = NULL;
	int r = row_ask(of(s), ROW_FIND_RANGE, &rows, err, "iii", (int64_t)task, run_date,
	                run_date);

	if (r == 0)
		r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND, "task %" PRIu32 " has no range over %" PRId64, task,
		            run_date);
	else if (r > 0)
		r = rows_range(rows, ret, err);
	rows_close(rows);
	return r;
}

int row_find_done(struct store *s, struct inst_key key, struct instance *ret, struct err *err)
{
	struct rows *rows = NULL;
	int r = row_ask(of(s), ROW_FIND_DONE, &rows, err, "iii", key.run_date, (int64_t)key.task,
	                (int64_t)key.part);

	if (r == 0)
		r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND,
		            "no finished instance of task %" PRIu32 " at %" PRId64
		            ", part %" PRId32,
		            key.task, key.run_date, key.part);
	else if (r > 0)
		r = rows_instance(rows, ret, err);
	rows_close(rows);
	return r;
}

int row_find_data(struct store *s, uint64_t last_number, uint32_t generation, enum inst_data kind,
                  char **ret_body, struct err *err)
{
	struct rows *rows = NULL;
	const char *body = NULL;
	int r = row_ask(of(s), ROW_FIND_DATA, &rows, err, "iiii", (int64_t)last_number,
	                (int64_t)generation, (int64_t)generation, (int64_t)kind);

	if (r == 0)
		r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND, "no data of kind %d at %" PRIu64, (int)kind,
		            last_number);
	else if (r > 0)
		r = rows_text(rows, 0, &body, err);
	if (r == 0)
		*ret_body = mem_str(body);
	rows_close(rows);
	return r;
}

int row_load_stats(struct store *s, const struct store_stat_days *days,
                   int (*each)(void *ctx, const struct store_stat *st), void *ctx, struct err *err)
{
	const int64_t at_once = of(s)->ops->stat_days;
	struct store_stat row;
	int r = 0;

	CHECK(at_once > 0);
	for (int64_t day = days->lo; day <= days->hi && r == 0; day += at_once) {
		int64_t last = days->hi < day + at_once - 1 ? days->hi : day + at_once - 1;
		struct rows *rows = NULL;

		r = row_ask(of(s), ROW_STATS, &rows, err, "iii", (int64_t)days->task, day, last);
		while ((r = rows_next(rows, r, err)) > 0) {
			r = rows_stat(rows, &row, err);
			if (r == 0)
				r = each(ctx, &row);
		}
	}
	return r;
}
