/* Rows of history. Where the store is another thread's, a row is asked for, and who needs it
 * comes again when it is there: nothing else is applied meanwhile, so that order stays. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger_impl.h"
#include "rt/actor.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/log.h"

struct fetch {
	struct job job;
	struct founds rows;
};

static int by_key(const void *a, const void *b)
{
	const struct inst_key *x = &((const struct found *)a)->key,
			      *y = &((const struct found *)b)->key;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->run_date != y->run_date)
		return x->run_date < y->run_date ? -1 : 1;
	return x->part < y->part ? -1 : x->part > y->part;
}

static bool is_same(const struct inst_key *a, const struct inst_key *b)
{
	return a->task == b->task && a->run_date == b->run_date && a->part == b->part;
}

static struct found *rows_find(const struct founds *f, struct inst_key key)
{
	struct found want = { .key = key };

	return f->n ? bsearch(&want, f->items, f->n, sizeof *f->items, by_key) : NULL;
}

static struct found *rows_add(struct founds *f, struct inst_key key)
{
	f->items = mem_room(f->items, &f->cap, f->n + 1, sizeof *f->items);
	f->items[f->n] = (struct found){ .key = key };
	return &f->items[f->n++];
}

/* They come in runs: the last one asked for is the one asked for again. */
static void rows_want(struct ledger *l, struct inst_key key)
{
	if (l->wanted.n == 0 || !is_same(&l->wanted.items[l->wanted.n - 1].key, &key))
		rows_add(&l->wanted, key);
}

int ledger__row(struct ledger *l, struct inst_key key, struct instance *ret)
{
	const struct found *f = rows_find(&l->found, key);
	if (!f && !l->set.waits)
		return ledger__read_row(l->store, key, ret);
	if (!f) {
		rows_want(l, key);
		return E_AGAIN;
	}
	if (f->code == 0)
		*ret = f->row;
	return f->code;
}

bool ledger__knows_done(struct ledger *l, struct inst_key key)
{
	if (!l->set.waits || rows_find(&l->found, key))
		return true;
	rows_want(l, key);
	return false;
}

void ledger__ask_row(struct ledger *l, struct inst_key key)
{
	if (!rows_find(&l->found, key))
		rows_want(l, key);
}

void ledger__forget_done(struct ledger *l, struct inst_key key)
{
	struct found *f = rows_find(&l->found, key);

	if (!f)
		return;
	size_t at = (size_t)(f - l->found.items);
	CHECK(at < l->found.n);
	memmove(f, f + 1, (--l->found.n - at) * sizeof *f);
}

static void sort(struct founds *f)
{
	size_t n = 0;

	if (f->n)
		qsort(f->items, f->n, sizeof *f->items, by_key);
	for (size_t i = 0; i < f->n; i++)
		if (n == 0 || !is_same(&f->items[n - 1].key, &f->items[i].key))
			f->items[n++] = f->items[i];
	f->n = n;
}

static void look_up(struct job *job, struct store *s)
{
	struct fetch *f = (struct fetch *)job;

	for (size_t i = 0; i < f->rows.n; i++)
		f->rows.items[i].code = ledger__read_row(s, f->rows.items[i].key,
		                                         &f->rows.items[i].row);
}

static bool may_pass(int code)
{
	return code < 0 && code != E_NOT_FOUND && code != E_CORRUPT;
}

static void looked_up(struct ledger *l, struct job *job)
{
	struct fetch *f = (struct fetch *)job;
	size_t failed = 0;

	CHECK(l->fetching == job);
	for (size_t i = 0; i < f->rows.n; i++) {
		const struct found *r = &f->rows.items[i];
		if (may_pass(r->code)) {
			rows_add(&l->wanted, r->key);
			failed++;
		} else {
			*rows_add(&l->found, r->key) = *r;
		}
	}
	sort(&l->found);
	if (failed) {
		log_warn("ledger.rows", "text=\"history cannot be read now\" rows=%zu", failed);
		l->rows_after_us = actor_mono_us(l->me) + l->set.retry_us;
		actor_alarm(l->me, l->rows_after_us);
	}
	free(f->rows.items);
	free(f);
	l->fetching = NULL;
	actor_wake(l->me); /* who waits for them goes on */
}

bool ledger__fetch_rows(struct ledger *l)
{
	if (l->wanted.n == 0 || l->busy || actor_mono_us(l->me) < l->rows_after_us)
		return false;
	CHECK(!l->fetching);
	struct fetch *f = mem_new(sizeof *f);
	f->job.work = look_up;
	f->job.done = looked_up;
	f->rows = l->wanted;
	l->wanted = (struct founds){ 0 };
	l->fetching = &f->job;
	ledger__do(l, &f->job);
	return true;
}

void ledger__rows_rest(struct ledger *l)
{
	if (l->found.cap > 4096) {
		free(l->found.items);
		l->found = (struct founds){ 0 };
	}
	l->found.n = 0;
}

void ledger__rows_free(struct ledger *l)
{
	struct fetch *f = (struct fetch *)l->fetching;

	if (f)
		free(f->rows.items);
	free(f);
	free(l->found.items);
	free(l->wanted.items);
}
