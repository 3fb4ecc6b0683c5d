/* From the store back into memory, before any thread runs.
 *
 * Rows come from the picture that was kept while this server waited, if it proves true, else from
 * the store (ledger_warm.c). Nothing is believed: a row of an unknown task, a second row of a key
 * or a number beyond the leader's row is E_CORRUPT. Slots, flows and the list of parts are worked
 * out from the rows; outcomes are loaded, less those of rows that are live again. Every task's
 * barrier rises to the last number, so that nothing starts before the resolver has looked. */
#include <inttypes.h>

#include "baseserver/ledger/ledger_impl.h"
#include "baseserver/ledger/warm.h"
#include "sched/task.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/log.h"

struct loading {
	struct ledger *l;
	uint64_t number; /* the last one that was committed */
	struct err *err;
};

static int each_live(void *ctx, const struct instance *row)
{
	struct loading *ld = ctx;

	if (!table_restore(&ld->l->table, row))
		return err_set(ld->err, E_CORRUPT, "lb_task_run: two rows have id %u",
		               row->slot + 1);
	return 0;
}

static int count_row(const struct loading *ld, const struct instance *row, uint32_t at)
{
	struct ledger *l = ld->l;
	struct err *err = ld->err;
	struct ltask *t = ledger__task_of(l, row->key.task);
	uint32_t index = at;

	if (!t)
		return err_set(err, E_CORRUPT, "lb_task_run: task_id %u is in no workflow",
		               row->key.task);
	table_find(&l->table, row->key, &index);
	if (index != at)
		return err_set(err, E_CORRUPT, "lb_task_run: two rows for task_id %u at %lld",
		               row->key.task, (long long)row->key.run_date);
	if (row->last_number > ld->number)
		return err_set(
			err, E_CORRUPT,
			"lb_task_run: task_id %u at %lld has last_number %" PRIu64
			", lb_leader is at %" PRIu64 ": they are not of one state of the database",
			row->key.task, (long long)row->key.run_date, row->last_number, ld->number);
	if (inst_holds_slot(row, (enum state)row->state))
		ledger__count_slots(t, 1);
	t->unfinished += row->key.part == 0;
	return 0;
}

/* Of two rows with one key, the one that is not found is refused. */
static int count_rows(const struct loading *ld)
{
	struct ledger *l = ld->l;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < l->table.used; i++) {
		const struct instance *row = &table_at(&l->table, i)->inst;
		if (row->state != ST_NONE)
			r = count_row(ld, row, i);
	}
	return r;
}

/* What we followed while we waited, and what is missing; else everything. */
static int load_rows(struct ledger *l, uint64_t number, struct err *err)
{
	struct loading ld = { l, number, err };
	struct warm_figures f = { 0 };
	struct err why = { 0 };
	int64_t began_us = clock_mono_us(&clock_machine);
	int r = E_NOT_FOUND;

	if (l->set.warm && warm_rows(l->set.warm))
		r = warm_give(l->set.warm, l->store, &l->table, &f, &why);
	if (r < 0 && r != E_NOT_FOUND)
		log_warn("warm.refused", "code=%s text=\"%s\"", err_name(r), why.text);
	if (r < 0)
		r = store_load_live(l->store, each_live, &ld, err);
	if (r == 0)
		r = count_rows(&ld);
	if (r == 0 && l->table.len)
		log_info("ledger.loaded",
		         "rows=%zu warm_rows=%zu caught_up_rows=%zu gone_rows=%zu took_ms=%lld",
		         l->table.len, f.warm, f.caught_up, f.gone,
		         (long long)((clock_mono_us(&clock_machine) - began_us) / US_PER_MS));
	return r;
}

static int each_outcome(void *ctx, const struct store_outcome *o)
{
	struct loading *ld = ctx;
	struct ltask *t = ledger__task_of(ld->l, o->task);

	if (!t)
		return 0; /* of a task that is gone for good */
	CHECK(o->lo <= o->hi && state_final((enum state)o->state));
	if (o->lo == o->hi) {
		outcomes_set(&t->outcomes, t->def ? t->def->plan : NULL, o->lo, o->generation,
		             o->state, o->reason);
		return 0;
	}
	struct outcome_range r = { o->lo, o->hi, o->generation, o->state, o->reason, { 0 } };
	if (!outcomes_put(&t->outcomes, &r))
		return err_set(ld->err, E_CORRUPT,
		               "lb_outcome: ranges of task_id %u overlap at %lld", o->task,
		               (long long)o->lo);
	return 0;
}

static int each_pool(void *ctx, const struct store_doc *d)
{
	struct loading *ld = ctx;
	int32_t size;

	if (!pool_parse(d->body, d->body_len, &size))
		return err_set(ld->err, E_CORRUPT, "lb_pool: the body of %s does not read back",
		               d->name);
	pools_get(&ld->l->pools, d->name)->size = d->retired ? pool_size_unset(d->name) : size;
	return 0;
}

/* A row that runs again is not over, whatever a saved range says. */
static void reopen_live(struct ledger *l)
{
	for (uint32_t i = 0; i < l->table.used; i++) {
		const struct instance *inst = &table_at(&l->table, i)->inst;
		struct ltask *t = ledger__task_of(l, inst->key.task);
		if (inst->state != ST_NONE && inst->key.part == 0)
			outcomes_clear(&t->outcomes, t->def ? t->def->plan : NULL,
			               inst->key.run_date);
	}
}

int ledger__load(struct ledger *l, const char *who, struct err *err)
{
	struct loading ld = { .l = l, .err = err };
	uint64_t number;
	uint32_t epoch;
	int r = 0;

	l->epoch = l->set.epoch;
	if (!l->epoch)
		r = store_take_epoch(l->store, who, &l->epoch, err);
	if (r < 0)
		return r;
	r = store_position(l->store, &number, &epoch, err);
	if (r < 0)
		return r;
	if (epoch != l->epoch)
		return err_set(err, E_EPOCH, "epoch %u was taken over by %u", l->epoch, epoch);
	/* The epoch stands in the high bits: a new leader's tokens are all larger. */
	CHECK(l->epoch > 0);
	l->next_token = (uint64_t)l->epoch << 40 | 1;
	r = store_load_docs(l->store, DOC_POOL, each_pool, &ld, err);
	if (r == 0)
		r = load_rows(l, number, err);
	if (r == 0) /* those who wait must see that we live */
		r = store_renew_lease(l->store, l->epoch, 0, err);
	if (r == 0)
		r = store_load_outcomes(l->store, each_outcome, &ld, err);
	if (r < 0)
		return r;
	r = ledger__load_ranges(l, err);
	if (r < 0)
		return r;
	table_restored(&l->table);
	r = ledger__next_restore(l, err);
	if (r < 0)
		return r;
	reopen_live(l);
	ledger__branches_restore(l);
	ledger__list_parts(l, 0);
	ledger__flows_build(l);
	ledger__flows_restore(l);
	l->f_unfinished = l->table.len;
	/* An edit or a redo of the last moment may have left withdrawals to make: nothing starts
	 * before the resolver has looked. */
	for (size_t i = 0; i < l->tasks_cap; i++)
		if (l->tasks[i])
			l->tasks[i]->barrier = number;
	l->stream = stream_new(l->set.ring_slots, sizeof(struct transition), number, NULL);
	return 0;
}
