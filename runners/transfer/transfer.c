/* transfer.c — rows of a table or query to a file or a table elsewhere: README.md.
 *
 * The source is read row by row while the target is written: nothing is held but a chunk.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "runners/common/apart.h"
#include "runners/common/run.h"
#include "runners/transfer/transfer.h"

#define TELL_EVERY_ROWS 5000

struct transfer {
	const struct run *run;
	struct plan plan;
	struct db *source;
	struct text query; /* the plan's, with its values */
	struct target target;
	int64_t total; /* -1: not counted */
	int code;      /* the target's, when it refused a row */
};

static int on_types(void *ctx, size_t n, const struct db_type *types)
{
	struct transfer *t = ctx;

	return t->code = target_types(&t->target, n, types);
}

static int on_columns(void *ctx, size_t n, const char *const *names)
{
	struct transfer *t = ctx;

	return t->code = target_columns(&t->target, n, names);
}

static int on_row(void *ctx, size_t n, const char *const *values, const size_t *lens)
{
	struct transfer *t = ctx;

	t->code = target_row(&t->target, n, values, lens);
	if (t->target.rows % TELL_EVERY_ROWS == 0)
		run_progress(t->run,
		             t->total > 0 ? (uint32_t)(t->target.rows * 1000 / t->total) : 0,
		             "%" PRId64 " rows", t->target.rows);
	return t->code;
}

/* The rows that are wanted, without an order. */
static void add_rows(struct transfer *t, struct text *sql)
{
	if (t->plan.table)
		db_quote_name(t->source, t->plan.table, sql);
	else
		text_addf(sql, "(%s) sirdar_source", text_str(&t->query));
	if (!t->target.has_mark)
		return;
	text_str_add(sql, " WHERE ");
	db_quote_column(t->source, t->plan.watermark, sql);
	text_str_add(sql, " > ");
	db_quote(t->source, text_str(&t->target.mark), t->target.mark.len, sql);
}

static int transfer_count(struct transfer *t)
{
	struct text sql = { 0 }, value = { 0 };
	bool is_row = false, is_null = false;
	int code;

	t->total = -1;
	if (!t->plan.counts)
		return DB_OK;
	text_str_add(&sql, "SELECT count(*) FROM ");
	add_rows(t, &sql);
	code = db_ask(t->source, text_str(&sql), &value, &is_row, &is_null);
	if (code == DB_OK && !text_number(text_str(&value), &t->total))
		t->total = -1;
	text_done(&sql);
	text_done(&value);
	return code;
}

static int transfer_copy(struct transfer *t)
{
	struct db_sink sink = { .ctx = t, .types = on_types, .columns = on_columns, .row = on_row };
	struct text sql = { 0 };
	int code;

	text_str_add(&sql, "SELECT * FROM ");
	add_rows(t, &sql);
	if (t->plan.watermark) {
		text_str_add(&sql, " ORDER BY ");
		db_quote_column(t->source, t->plan.watermark, &sql);
	}
	code = db_run(t->source, text_str(&sql), &sink);
	text_done(&sql);
	return code;
}

/* Whose words say what went wrong. */
static int transfer_transfer_end(struct transfer *t, int code, const char *where,
                                 const struct db *db)
{
	if (code == DB_REFUSED && t->target.why[0])
		return run_end(t->run, RUNNER_BY_CODE, "%s", t->target.why);
	if (code == DB_REFUSED && t->code < 0 && t->code != DB_REFUSED)
		return db_end(t->run, t->target.db, t->code, "target");
	return db_end(t->run, db, code, where);
}

static int transfer_work(struct transfer *t)
{
	int code = target_open(&t->target, t->run, &t->plan);

	if (code == DB_OK)
		code = target_begin(&t->target);
	if (code < 0)
		return transfer_transfer_end(t, code, "target", t->target.db);
	if (t->target.has_mark)
		run_log(t->run, "continues after %s = %s", t->plan.watermark,
		        text_str(&t->target.mark));
	code = db_open(t->run, &t->plan.source, &t->source);
	if (code == DB_OK && t->plan.query &&
	    db_values(t->run, t->source, t->plan.query, &t->query) < 0)
		return RUNNER_FAILED;
	if (code == DB_OK)
		code = value_session(t->source);
	if (code == DB_OK)
		code = transfer_count(t);
	if (code == DB_OK)
		code = transfer_copy(t);
	if (code < 0)
		return transfer_transfer_end(t, code, "source", t->source);
	code = target_keep(&t->target);
	if (code < 0)
		return transfer_transfer_end(t, code, "target", t->target.db);
	run_progress(t->run, 1000, "%" PRId64 " rows", t->target.rows);
	run_output(t->run, "rows", "%" PRId64, t->target.rows);
	if (t->target.has_mark)
		run_output(t->run, "watermark", "%s", text_str(&t->target.mark));
	return RUNNER_DONE;
}

static int transfer_execute(void *self, void *state, const struct runner_job *job,
                            struct runner_result *result)
{
	struct run r = run_of(job, result);
	struct transfer t = { .run = &r };
	int answer = plan_read(&r, &t.plan);

	(void)self;
	(void)state;
	if (answer == 0 && (t.plan.rows.csv_file || t.plan.source.kind == DB_SQLITE ||
	                    t.plan.target.kind == DB_SQLITE))
		answer = apart_begin(&r);
	if (answer == 0)
		answer = transfer_work(&t);
	text_done(&t.query);
	db_close(t.source);
	target_close(&t.target);
	plan_done(&t.plan);
	return answer;
}

RUN_PLUGIN("transfer", .flags = RUNNER_NO_PROCESS, .open = apart_open, .close = run_close,
           .execute = transfer_execute);
