/* A commit: multi-row statements, each of at most STATEMENT_BYTES.
 *
 * A round trip costs more than a row, so rows of one table go together, and the statement is cut
 * where it would pass the server's limit. All of a commit is one transaction, which locks the
 * leader's row first and proves our epoch by it (my_transaction.c): a server that was replaced
 * meanwhile writes nothing. */
#include <stdlib.h>

#include "store/mysql/mysql.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

static int64_t next_run_date(struct my_store *s, struct inst_key key)
{
	uint32_t cycle_s = map_get(&s->rows.cycles, key.task);

	return cycle_s == MAP_NONE || key.run_date > INT64_MAX - cycle_s ? key.run_date
	                                                                 : key.run_date + cycle_s;
}

static void put_image(struct my_wide *w, const struct instance *i)
{
	my_wide_int(w, next_run_date(w->out.s, i->key));
	my_wide_int(w, state_number((enum state)i->state));
#define COL(column, member, lo, hi) my_wide_int(w, (int64_t)i->member);
#include "store/instance_cols.def"
#undef COL
}

/* A live row's id is the place its instance has in the ledger: lib/store rule 2. */
static int64_t id_of(const struct instance *i)
{
	return (int64_t)i->slot + 1;
}

static int put_live(struct my_wide *w, const struct instance *i, struct err *err)
{
	int r = my_wide_row(w, err);

	if (r < 0)
		return r;
	my_wide_int(w, id_of(i));
	put_image(w, i);
	return 0;
}

static int write_live(struct my_store *s, const struct store_batch *b, struct err *err)
{
	struct my_wide w = my_wide(s, MY_WIDE_LIVE);
	int r = 0;

	for (size_t i = 0; i < b->n_live && r == 0; i++)
		r = put_live(&w, b->live[i], err);
	for (size_t i = 0; i < b->n_reopened && r == 0; i++)
		if (!state_final((enum state)b->reopened[i]->state))
			r = put_live(&w, b->reopened[i], err);
	return my_wide_end(&w, r, err);
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Ids that follow each other leave by their range, the others by name. */
static int delete_gone(struct my_store *s, size_t n, struct err *err)
{
	struct my_out o = { s, "DELETE FROM lb_task_run WHERE id IN (", ")", 0 };
	int r = 0;

	qsort(s->gone, n, sizeof *s->gone, by_number);
	for (size_t i = 0, end; i < n && r == 0; i = end) {
		for (end = i + 1; end < n && s->gone[end] == s->gone[end - 1] + 1; end++)
			;
		CHECK(s->gone[end - 1] - s->gone[i] == (int64_t)(end - 1 - i));
		if (end - i < 8) {
			for (size_t k = i; k < end && r == 0; k++) {
				r = my_out_row(&o, err);
				sql_put_int(&s->sql, s->gone[k]);
			}
			continue;
		}
		r = my_out_end(&o, 0, err);
		if (r == 0)
			r = my_do(s, err, "DELETE FROM lb_task_run WHERE id BETWEEN ? AND ?", "ii",
			          s->gone[i], s->gone[end - 1]);
	}
	return my_out_end(&o, r, err);
}

static int write_done(struct my_store *s, const struct store_batch *b, struct err *err)
{
	int r = 0;

	s->gone = mem_room(s->gone, &s->gone_cap, b->n_done, sizeof *s->gone);
	for (size_t i = 0; i < b->n_done; i++)
		s->gone[i] = id_of(b->done[i]);
	if (b->n_done)
		r = delete_gone(s, b->n_done, err);
	if (r < 0)
		return r;
	struct my_wide w = my_wide(s, MY_WIDE_DONE);
	for (size_t i = 0; i < b->n_done && r == 0; i++) {
		r = my_wide_row(&w, err);
		if (r == 0)
			put_image(&w, b->done[i]);
	}
	return my_wide_end(&w, r, err);
}

static int write_reopened(struct my_store *s, const struct store_batch *b, struct err *err)
{
	struct my_out o = { s,
		            "DELETE FROM lb_task_run_history"
		            " WHERE (curr_run_date, task_id, part) IN (",
		            ")", 0 };
	int r = 0;

	for (size_t i = 0; i < b->n_reopened && r == 0; i++) {
		struct inst_key k = b->reopened[i]->key;

		r = my_out_row(&o, err);
		buf_putc(&s->sql, '(');
		sql_put_int(&s->sql, k.run_date);
		buf_putc(&s->sql, ',');
		sql_put_int(&s->sql, k.task);
		buf_putc(&s->sql, ',');
		sql_put_int(&s->sql, k.part);
		buf_putc(&s->sql, ')');
	}
	return my_out_end(&o, r, err);
}

static int write_events(struct my_store *s, const struct store_batch *b, struct err *err)
{
	struct my_wide w = my_wide(s, MY_WIDE_EVENT);
	int r = 0;

	for (size_t i = 0; i < b->n_events && r == 0; i++) {
		const struct transition *t = b->events[i];

		if (t->kind != TK_INSTANCE)
			continue;
		r = my_wide_row(&w, err);
		if (r < 0)
			break;
#define ECOL(column, value) my_wide_int(&w, (int64_t)(value));
#include "store/event_cols.def"
#undef ECOL
		my_wide_text(&w, t->note);
	}
	return my_wide_end(&w, r, err);
}

static int write_data(struct my_store *s, const struct store_batch *b, struct err *err)
{
	struct my_out o = { s, "REPLACE INTO lb_task_data (number, kind, body) VALUES ", "", 0 };
	int r = 0;

	for (size_t i = 0; i < b->n_events && r == 0; i++) {
		const struct transition *t = b->events[i];

		if (t->data)
			r = my_out_put(&o, err, "iit", (int64_t)t->number, (int64_t)t->data_kind,
			               t->data);
	}
	return my_out_end(&o, r, err);
}

static int write_all(struct my_store *s, const struct store_batch *b, const struct store_tip *next,
                     struct err *err)
{
	static int (*const parts[])(struct my_store *, const struct store_batch *, struct err *) = {
		my_write_docs, write_reopened, write_live,      write_done,
		write_events,  write_data,     my_write_ranges, my_write_stats,
	};
	bool moved = next->number > s->base.tip.number;
	int r = 0;

	for (size_t i = 0; i < sizeof parts / sizeof parts[0] && r == 0; i++)
		r = parts[i](s, b, err);
	if (r < 0)
		return r;
	return my_do(s, err,
	             "UPDATE lb_leader SET number = ?,"
	             " renewed_us = COALESCE(NULLIF(?, 0), renewed_us), beat = beat + ?, seq = ?,"
	             " chain_number = ?, chain = ?, mark_number = ?, mark_chain = ? WHERE id = 1",
	             "iiiiiiii", (int64_t)next->number, moved ? b->at_us : 0, (int64_t)!moved,
	             (int64_t)next->seq, (int64_t)next->chain_number, (int64_t)next->chain,
	             (int64_t)next->mark_number, (int64_t)next->mark_chain);
}

int my_commit(struct store *st, const struct store_batch *b, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	struct store_tip next = { 0 };
	uint64_t stored = 0;
	int r = row_know_cycles(&s->rows, err);

	if (r == 0)
		r = my_begin(s, b->epoch, &stored, err);
	if (r < 0)
		return err_wrap(err, r, "commit");
	r = store__check_numbers(b, stored, err);
	if (r == 1) { /* a repeat of what is in */
		my_end(s, E_EXISTS, NULL);
		return 0;
	}
	if (r == 0) {
		next = tip_next(&s->base.tip, b);
		r = write_all(s, b, &next, err);
	}
	r = my_end(s, r, err);
	if (r < 0)
		return err_wrap(err, r, "commit");
	row_remember(&s->rows, b);
	s->base.tip = next;
	return 0;
}
