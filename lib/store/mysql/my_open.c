/* A MySQL or MariaDB store: opened, migrated, its partitions made ahead; epoch and position; the
 * table of its verbs, which the program looks up in this module. Opening waits for one connection
 * only. A store that somebody reads just then opens all the same, and its partitions come later. */
#include <stdlib.h>

#include "store/admin.h"
#include "store/module.h"
#include "store/mysql/mysql.h"
#include "store/read_ops.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"

void my_free(struct my_store *s)
{
	my_hang_up(s);
	my_url_done(&s->url);
	map_done(&s->rows.cycles);
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
	map_init(&s->rows.cycles);
	s->rows.ops = &my_row_ops;
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

static int my_tip(struct store *st, struct store_tip *ret, struct err *err)
{
	return row_tip((struct row_store *)st, ROW_TIP, ret, err);
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
	ROW_STORE_OPS,
	.prefix = "mysql:",
	.waits = true,
	.open = my_open,
	.close = my_close,
	.take_epoch = my_take_epoch,
	.open_standby = my_open,
	.lease = row_lease,
	.take_lease = my_take_lease,
	.renew_lease = my_renew_lease,
	.add_gap = my_add_gap,
	.give_lease = my_give_lease,
	.show_node = my_show_node,
	.each_node = my_each_node,
	.now = my_now,
	.position = my_position,
	.tip = my_tip,
	.commit = my_commit,
	.idle = my_idle,
	.load_live = my_load_live,
	.read_live = my_read_live,
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
