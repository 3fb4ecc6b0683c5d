/* Housekeeping on the writing connection: outcomes are saved as ranges, old rows are dropped.
 *
 * The maintainer asks for it; after an edit that moved outcomes the ledger does so itself. It
 * begins only when all that is applied is durable, because outcomes are saved up to a durable
 * number and no further. Retention never drops what saved outcomes do not know yet
 * (lib/store rule 9). */
#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "rt/actor.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/log.h"

struct keep {
	struct letter letter;
	struct ledger_keep ask;
};

static size_t gather(const struct ledger *l, struct store_outcome **ret)
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

static void answer(struct keep *k)
{
	k->letter.deliver = k->ask.answered;
	if (!k->ask.reply_to || actor_post_credit(k->ask.reply_to, &k->letter) < 0)
		free(k);
}

static int retain(struct housework *h, struct store *s, struct ledger_keep *ask)
{
	size_t figures = 0;
	int r = store_retain(s, h->epoch, ask->before_us, ask->rows_max, ask->dry_run, &ask->rows,
	                     &h->err);

	if (r == 0 && ask->figures_before && !ask->dry_run)
		r = store_drop_stats(s, h->epoch, ask->figures_before, ask->rows_max, &figures,
		                     &h->err);
	ask->rows = ask->rows > figures ? ask->rows : figures;
	return r;
}

static void work(struct job *job, struct store *s)
{
	struct housework *h = (struct housework *)job;
	int r = 0;

	if (h->all)
		r = store_save_outcomes(s, h->epoch, h->all, h->n, h->upto, &h->err);
	if (r == 0 && h->k)
		r = retain(h, s, &h->k->ask);
	h->code = r;
}

static void done(struct ledger *l, struct job *job)
{
	struct housework *h = (struct housework *)job;

	l->housework = NULL;
	if (h->code < 0)
		log_warn("ledger.retain", "code=%s text=\"%s\"", err_name(h->code), h->err.text);
	else if (h->all)
		l->replanned = false;
	if (h->k) {
		h->k->ask.code = h->code;
		answer(h->k);
	}
	l->hold = false;
	ledger_rows_rest(l); /* what was found may be gone */
	free(h->all);
	free(h);
}

static void begin(struct ledger *l, struct keep *k, bool save)
{
	struct housework *h = mem_new(sizeof *h);

	h->job.work = work;
	h->job.done = done;
	h->epoch = l->epoch;
	h->upto = stream_last_durable(l->stream);
	h->k = k;
	if (save)
		h->n = gather(l, &h->all);
	l->housework = &h->job;
	ledger_do(l, &h->job);
}

void ledger_save_outcomes(struct ledger *l)
{
	begin(l, NULL, true);
}

void ledger_keep_free(struct ledger *l)
{
	struct housework *h = (struct housework *)l->housework;

	if (h) {
		free(h->all);
		free(h->k);
	}
	free(h);
}

static void on_keep(struct letter *letter, void *self)
{
	struct ledger *l = self;
	struct keep *k = (struct keep *)letter;

	/* Outcomes are saved up to a durable number, and no further. */
	bool is_still = ledger_is_still(l);
	if (l->down || l->dead) {
		k->ask.code = E_BUSY;
		answer(k);
	} else if (!is_still) {
		letters_push(&l->waiting, letter);
	} else {
		begin(l, k, k->ask.save);
	}
}

static void keep_discard(struct letter *l)
{
	free(l);
}

int ledger_keep(struct ledger *l, const struct ledger_keep *ask)
{
	struct keep *k = mem_new(sizeof *k);

	k->ask = *ask;
	k->letter.deliver = on_keep;
	k->letter.discard = keep_discard;
	int r = actor_post_credit(l->me, &k->letter);
	if (r < 0)
		free(k);
	return r;
}

const struct ledger_keep *ledger_kept(const struct letter *letter)
{
	return &((const struct keep *)letter)->ask;
}
