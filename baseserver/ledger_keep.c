/* Housekeeping on the writing connection: outcomes as ranges, rows that are old enough. */
#include <stdlib.h>

#include "baseserver/ledger_impl.h"
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

int ledger_save_outcomes(struct ledger *l, struct err *err)
{
	struct store_outcome *all;
	size_t n = gather(l, &all);
	int r = store_save_outcomes(l->store, l->epoch, all, n, stream_last_durable(l->stream),
	                            err);

	free(all);
	return r;
}

static void answer(struct keep *k)
{
	k->letter.deliver = k->ask.answered;
	if (!k->ask.reply_to || actor_post_credit(k->ask.reply_to, &k->letter) < 0)
		free(k);
}

static void on_keep(struct letter *letter, void *self)
{
	struct ledger *l = self;
	struct keep *k = (struct keep *)letter;
	struct err err = { 0 };
	size_t figures = 0;
	int r = 0;

	if (!l->down && ledger_has_work(l))
		ledger_commit(l); /* outcomes are saved up to a durable number */
	if (l->down || l->dead) {
		k->ask.code = E_BUSY;
		answer(k);
		return;
	}
	if (k->ask.save)
		r = ledger_save_outcomes(l, &err);
	if (r == 0)
		r = store_retain(l->store, l->epoch, k->ask.before_us, k->ask.rows_max,
		                 k->ask.dry_run, &k->ask.rows, &err);
	if (r == 0 && k->ask.figures_before && !k->ask.dry_run)
		r = store_drop_stats(l->store, l->epoch, k->ask.figures_before, k->ask.rows_max,
		                     &figures, &err);
	k->ask.rows = k->ask.rows > figures ? k->ask.rows : figures;
	if (r < 0)
		log_warn("ledger.retain", "code=%s text=\"%s\"", err_name(r), err.text);
	k->ask.code = r;
	answer(k);
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
