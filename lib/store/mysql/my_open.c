#include <inttypes.h>
#include <stdlib.h>

#include "store/admin.h"
#include "store/module.h"
#include "store/mysql/mysql.h"
#include "store/read_impl.h"
#include "store/schema.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"

void my_free(struct my_store *s)
{
	my_hang_up(s);
	my_url_done(&s->url);
	map_done(&s->cycles);
	my_wide_free(s);
	buf_done(&s->sql);
	free(s->gone);
	free(s);
}

static void my_close(struct store *st)
{
	my_free((struct my_store *)st);
}

int my_open_bare(const char *rest, struct my_store **ret, struct err *err)
{
	struct my_store *s = mem_new(sizeof *s);
	int r;

	s->base.ops = &store_mysql_ops;
	buf_init(&s->sql);
	map_init(&s->cycles);
	r = my_url_parse(rest, &s->url, err);
	if (r < 0)
		my_free(s);
	else
		*ret = s;
	return r;
}

static int my_open(const char *rest, struct store **ret_store, struct err *err)
{
	struct my_store *s = NULL;
	int r = my_open_bare(rest, &s, err);

	if (r < 0)
		return err_wrap(err, r, "store");
	r = my_ready(s, err);
	if (r == 0)
		r = my_migrate(s, err);
	if (r == 0)
		r = my_days_ahead(s, clock_wall_us(&clock_machine), err);
	if (r == E_BUSY) /* somebody reads history just now: later */
		r = 0;
	if (r < 0) {
		my_close(&s->base);
		return err_wrap(err, r, "store");
	}
	*ret_store = &s->base;
	return 0;
}

/* A failure shows at the next commit, or when retention looks again. */
static void my_idle(struct store *st)
{
	my_days_ahead((struct my_store *)st, clock_wall_us(&clock_machine), NULL);
}

static int ask_tip(struct my_store *s, struct store_tip *ret, const char *text, struct err *err)
{
	struct rows *rows = NULL;
	int r = my_ask(s, "lb_leader", &rows, err, text, "");

	if (r < 0)
		return r;
	r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_CORRUPT, STORE_NO_LEADER_ROW);
	if (r > 0)
		r = rows_tip(rows, ret, err);
	rows_close(rows);
	return r;
}

int my_ask_leader(struct my_store *s, int64_t *ret_epoch, int64_t *ret_number, struct err *err)
{
	/* Waits for a commit whose answer was lost, if it is still on its way. */
	int r = ask_tip(s, &s->base.tip,
	                "SELECT " TIP_COLUMNS " FROM lb_leader WHERE id = 1 FOR UPDATE", err);

	if (r == 0) {
		*ret_epoch = s->base.tip.epoch;
		*ret_number = (int64_t)s->base.tip.number;
	}
	return r;
}

static int my_tip(struct store *st, struct store_tip *ret, struct err *err)
{
	return ask_tip((struct my_store *)st, ret,
	               "SELECT " TIP_COLUMNS " FROM lb_leader WHERE id = 1", err);
}

static int my_events(struct store *st, uint64_t after, uint64_t upto,
                     int (*each)(void *ctx, const int64_t *columns, size_t n), void *ctx,
                     struct err *err)
{
	struct rows *rows = NULL;
	int r = my_ask((struct my_store *)st, "lb_task_event", &rows, err,
	               "SELECT " EVENT_COLUMNS
	               " FROM lb_task_event WHERE number > ? AND number <= ? ORDER BY number",
	               "ii", (int64_t)after, (int64_t)upto);

	if (r == 0)
		r = rows_each_event(rows, each, ctx, err);
	rows_close(rows);
	return r;
}

static int my_take_epoch(struct store *st, const char *who, uint32_t *ret_epoch, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	int64_t epoch = 0, number = 0;
	int r = my_begin(s, 0, NULL, err);

	if (r < 0)
		return r;
	r = my_ask_leader(s, &epoch, &number, err);
	if (r == 0)
		r = my_do(s, err,
		          "UPDATE lb_leader SET epoch = ?, since_us = ?, who = ? WHERE id = 1",
		          "iit", epoch + 1, clock_wall_us(&clock_machine), who);
	r = my_end(s, r, err);
	if (r == 0)
		*ret_epoch = (uint32_t)(epoch + 1);
	return r < 0 ? err_wrap(err, r, "take epoch") : 0;
}

static int my_position(struct store *st, uint64_t *ret_number, uint32_t *ret_epoch, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	int64_t epoch = 0, number = 0;
	int r = my_ask_leader(s, &epoch, &number, err);

	if (r == 0) {
		*ret_number = (uint64_t)number;
		*ret_epoch = (uint32_t)epoch;
	}
	return r;
}

const struct store_ops store_mysql_ops = {
	.prefix = "mysql:",
	.waits = true,
	.open = my_open,
	.close = my_close,
	.take_epoch = my_take_epoch,
	.open_standby = my_open,
	.lease = my_lease,
	.take_lease = my_take_lease,
	.renew_lease = my_renew_lease,
	.add_gap = my_add_gap,
	.load_gaps = my_load_gaps,
	.give_lease = my_give_lease,
	.show_node = my_show_node,
	.each_node = my_each_node,
	.now = my_now,
	.position = my_position,
	.tip = my_tip,
	.events = my_events,
	.commit = my_commit,
	.idle = my_idle,
	.load_docs = my_load_docs,
	.find_workflow = my_find_workflow,
	.load_tasks = my_load_tasks,
	.load_live = my_load_live,
	.scan_live = my_scan_live,
	.read_live = my_read_live,
	.load_outcomes = my_load_outcomes,
	.load_ranges = my_load_ranges,
	.find_range = my_find_range,
	.load_commands = my_load_commands,
	.load_alerts = my_load_alerts,
	.find_done = my_find_done,
	.find_data = my_find_data,
	.find_command = my_find_command,
	.save_outcomes = my_save_outcomes,
	.retain = my_retain,
	.load_items = my_load_items,
	.load_stats = my_load_stats,
	.drop_stats = my_drop_stats,
};

/* What the program looks up in this file: see ../module.h. */
__attribute__((visibility("default"))) const struct store_module sirdar_store_module = {
	.abi = STORE_MODULE_ABI,
	.ops_size = sizeof(struct store_ops),
	.batch_size = sizeof(struct store_batch),
	.ops = &store_mysql_ops,
	.reading = &read_mysql_ops,
	.admin = &admin_mysql_ops,
};
