/* The lease in the leader's row, and those who wait for it. */
#include "store/mysql/mysql.h"
#include "util/clock.h"
#include "util/err.h"

#define NOW_US "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)"

/* A leader that is stopped within a transaction would hold the row for as long as its
 * connection stands: its own database ends one that is silent for the length of the lease. */
static void limit_silence(struct my_store *s, uint32_t lease_ms)
{
	s->silence_s = lease_ms ? lease_ms / 1000 + 1 : 0;
	s->silence_set = false; /* my_ready() tells it */
}

int my_take_lease(struct store *st, const struct store_lease *seen, const struct store_lease *mine,
                  uint32_t *ret_epoch, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	struct store_lease now = { 0 };
	int64_t epoch = 0, number = 0, us = clock_wall_us(&clock_machine);
	int r = my_begin(s, 0, NULL, err);

	if (r < 0)
		return err_wrap(err, r, "take the lease");
	r = my_ask_leader(s, &epoch, &number, err);
	if (r == 0)
		r = row_lease(st, &now, err);
	if (r == 0 &&
	    (epoch != seen->epoch || (uint64_t)number != seen->number || now.beat != seen->beat))
		r = err_set(err, E_CONFLICT, "%s leads, epoch %u", now.who, now.epoch);
	if (r == 0)
		r = my_do(s, err,
		          "UPDATE lb_leader SET epoch = ?, beat = beat + 1, since_us = ?,"
		          " lease_ms = ?, who = ?, address = ? WHERE id = 1",
		          "iiitt", epoch + 1, us, (int64_t)mine->lease_ms, mine->who,
		          mine->address);
	if (r == 0)
		r = my_do(s, err, "DELETE FROM lb_standby WHERE who = ?", "t", mine->who);
	r = my_end(s, r, err);
	if (r < 0)
		return err_wrap(err, r, "take the lease");
	limit_silence(s, mine->lease_ms);
	*ret_epoch = (uint32_t)(epoch + 1);
	return 0;
}

int my_renew_lease(struct store *st, uint32_t epoch, int64_t now_us, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	int r = my_begin(s, epoch, NULL, err);

	if (r < 0)
		return r;
	r = my_do(s, err,
	          "UPDATE lb_leader SET beat = beat + 1,"
	          " renewed_us = COALESCE(NULLIF(?, 0), renewed_us) WHERE id = 1",
	          "i", now_us);
	return my_end(s, r, err);
}

/* The oldest go one by one, at most: each server that begins adds one. */
int my_add_gap(struct store *st, uint32_t epoch, const struct store_gap *g, uint64_t oldest,
               struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	int64_t n = 0;
	int r = my_begin(s, epoch, NULL, err);

	if (r < 0)
		return r;
	r = my_do(s, err, "DELETE FROM lb_gap WHERE number < ?", "i", (int64_t)oldest);
	if (r == 0)
		r = my_do(s, err, "REPLACE INTO lb_gap (" GAP_COLUMNS ") VALUES (?, ?, ?)", "iii",
		          (int64_t)g->number, g->from_us, g->to_us);
	if (r == 0)
		r = my_ask_number(s, "lb_gap", &n, err, "SELECT COUNT(*) FROM lb_gap", "");
	if (r == 0 && n > STORE_GAPS_MAX)
		r = my_do(s, err, "DELETE FROM lb_gap ORDER BY number, to_us LIMIT 1", "");
	if (r == 0)
		r = my_do(s, err,
		          "UPDATE lb_leader SET beat = beat + 1, renewed_us = ? WHERE id = 1", "i",
		          g->to_us);
	return my_end(s, r, err);
}

int my_give_lease(struct store *st, uint32_t epoch, int64_t now_us, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	int r = my_begin(s, epoch, NULL, err);

	if (r < 0)
		return r;
	r = my_do(s, err,
	          "UPDATE lb_leader SET beat = beat + 1, lease_ms = 0,"
	          " renewed_us = COALESCE(NULLIF(?, 0), renewed_us) WHERE id = 1",
	          "i", now_us);
	r = my_end(s, r, err);
	my_hang_up(s); /* and its limit with it */
	s->silence_s = 0;
	return r;
}

int my_now(struct store *st, int64_t *ret_us, struct err *err)
{
	return my_ask_number((struct my_store *)st, "clock", ret_us, err, "SELECT " NOW_US, "");
}

int my_show_node(struct store *st, const struct store_node *n, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	int r = my_ready(s, err);

	return r < 0 ? r
	             : my_do(s, err,
	                     "REPLACE INTO lb_standby (who, address, number, seen_us) VALUES"
	                     " (?, ?, ?, " NOW_US ")",
	                     "tti", n->who, n->address, (int64_t)n->number);
}

int my_each_node(struct store *st, int64_t max_age_us,
                 int (*each)(void *ctx, const struct store_node *n), void *ctx, struct err *err)
{
	struct rows *rows = NULL;
	struct store_node n;
	int r = my_ask((struct my_store *)st, "lb_standby", &rows, err,
	               "SELECT number, " NOW_US " - seen_us, who, address FROM lb_standby"
	               " WHERE seen_us > " NOW_US " - ? ORDER BY who",
	               "i", max_age_us);

	while ((r = rows_next(rows, r, err)) > 0) {
		r = rows_node(rows, &n, err);
		if (r == 0)
			r = each(ctx, &n);
	}
	return r;
}
