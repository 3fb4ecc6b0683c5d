/* Housekeeping on the writing connection: outcomes are saved as ranges, old rows are dropped.
 *
 * The maintainer asks for it; after an edit that moved outcomes the ledger does so itself. It
 * begins only when all that is applied is durable, because outcomes are saved up to a durable
 * number and no further. Retention never drops what saved outcomes do not know yet
 * (lib/store rule 9). */
#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "rt/actor.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/log.h"

static size_t keep_gather(const struct ledger *l, struct store_outcome **ret)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; i < l->tasks_cap; i++)
		n += l->tasks[i] ? l->tasks[i]->outcomes.len : 0;
	struct store_outcome *all = mem_array(n + 1, sizeof *all);
	for (size_t i = 0; i < l->tasks_cap; i++)
		for (size_t k = 0; l->tasks[i] && k < l->tasks[i]->outcomes.len; k++) {
			const struct outcome_range *r = &l->tasks[i]->outcomes.ranges[k];
			all[at++] = (struct store_outcome){ .task = (uint32_t)i,
				                            .generation = r->generation,
				                            .lo = r->lo,
				                            .hi = r->hi,
				                            .state = r->state,
				                            .reason = r->reason };
		}
	*ret = all;
	return n;
}

struct housework {
	struct job job;
	struct store_outcome *all; /* to be saved, or NULL */
	size_t n;
	uint32_t epoch;
	uint64_t upto;
	struct keep *k; /* who asked; NULL: the ledger itself */
	int code;
	struct err err;
};

void ledger__keep_answer(struct keep *k, int code)
{
	k->ask.code = code;
	k->letter.deliver = k->ask.answered;
	if (!k->ask.reply_to || actor_post_credit(k->ask.reply_to, &k->letter) < 0)
		free(k);
}

static int retain(struct housework *h, struct store *s, struct ledger_keep *ask)
{
	size_t figures = 0;
	int r = store_retain(
		s, h->epoch,
		&(struct store_retention){ ask->before_us, ask->rows_max, ask->dry_run },
		&ask->rows, &h->err);

	if (r == 0 && ask->figures_before && !ask->dry_run)
		r = store_drop_stats(s, h->epoch, ask->figures_before, ask->rows_max, &figures,
		                     &h->err);
	ask->rows = ask->rows > figures ? ask->rows : figures;
	return r;
}

static void ledger_keep_work(struct job *job, struct store *s)
{
	struct housework *h = (struct housework *)job;
	int r = 0;

	if (h->all)
		r = store_save_outcomes(s, h->epoch, h->all, h->n, h->upto, &h->err);
	if (r == 0 && h->k)
		r = retain(h, s, &h->k->ask);
	h->code = r;
}

static void keep_done(struct ledger *l, struct job *job)
{
	struct housework *h = (struct housework *)job;

	CHECK(l->housework == job);
	l->housework = NULL;
	if (h->code < 0)
		log_warn("ledger.retain", "code=%s text=\"%s\"", err_name(h->code), h->err.text);
	else if (h->all)
		l->replanned = false;
	if (h->k)
		ledger__keep_answer(h->k, h->code);
	l->hold = false;
	ledger__rows_rest(l); /* what was found may be gone */
	free(h->all);
	free(h);
}

void ledger__housework(struct ledger *l, struct keep *k)
{
	struct housework *h = mem_new(sizeof *h);

	/* Outcomes are saved up to a durable number, and no further. */
	CHECK(!l->housework && stream_last(l->stream) == stream_last_durable(l->stream));
	h->job.work = ledger_keep_work;
	h->job.done = keep_done;
	h->epoch = l->epoch;
	h->upto = stream_last_durable(l->stream);
	h->k = k;
	if (!k || k->ask.save)
		h->n = keep_gather(l, &h->all);
	l->housework = &h->job;
	ledger__do(l, &h->job);
}

void ledger__keep_free(struct ledger *l)
{
	struct housework *h = (struct housework *)l->housework;

	if (h) {
		free(h->all);
		free(h->k);
	}
	free(h);
}
