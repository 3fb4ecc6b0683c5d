/* Everything applied since the last commit becomes durable in one transaction; only
 * then does anything of it leave the process. */
#include <stdlib.h>

#include "baseserver/ledger_impl.h"
#include "rt/actor.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/log.h"

bool ledger_has_work(const struct ledger *l)
{
	return l->batch_since_us != 0 || l->edits.head || l->records.head || l->answers.head;
}

/* What one commit hands to the store, beyond the ledger's own scratch arrays. */
struct gathered {
	struct store_batch b;
	struct store_task *tasks;
	uint32_t *links_of;
	struct store_link *links;
	struct store_doc *docs;
	struct store_command *commands;
	struct store_command_item *items;
	struct store_stat *stats;
};

static void gather_events(struct ledger *l, struct gathered *g)
{
	uint64_t first = stream_seen(l->keep) + 1, last = stream_last(l->stream);
	size_t n = (size_t)(last + 1 - first);

	if (n > l->events_cap) {
		l->events_cap = n * 2;
		l->events = mem_grow(l->events, l->events_cap, sizeof *l->events);
	}
	for (uint64_t no = first; no <= last; no++) {
		const struct transition *tr = stream_at(l->stream, no);
		if (tr->kind == TK_INSTANCE)
			l->events[g->b.n_events++] = tr;
	}
	g->b.first = first;
	g->b.last = last;
	g->b.events = l->events;
}

static void gather_images(struct ledger *l, struct gathered *g)
{
	if (l->n_dirty > l->images_cap) {
		l->images_cap = l->n_dirty * 2;
		l->live = mem_grow(l->live, l->images_cap, sizeof *l->live);
		l->done = mem_grow(l->done, l->images_cap, sizeof *l->done);
		l->reopened = mem_grow(l->reopened, l->images_cap, sizeof *l->reopened);
	}
	for (size_t k = 0; k < l->n_dirty; k++) {
		const struct entry *e = table_at(&l->table, l->dirty[k]);
		/* Out of history first; what is final again goes back in with its new image. */
#ifdef BUG_14 /* a reopened row stays in history as well */
		if (e->inst.marks & EM_HISTORY && !state_final((enum state)e->inst.state)) {
			l->live[g->b.n_live++] = &e->inst;
			continue;
		}
#endif
		if (e->inst.marks & EM_HISTORY)
			l->reopened[g->b.n_reopened++] = &e->inst;
		if (state_final((enum state)e->inst.state))
			l->done[g->b.n_done++] = &e->inst;
		else if (!(e->inst.marks & EM_HISTORY))
			l->live[g->b.n_live++] = &e->inst;
	}
	g->b.live = l->live;
	g->b.done = l->done;
	g->b.reopened = l->reopened;
}

static void gather_edits(struct ledger *l, struct gathered *g)
{
	const struct edit *e = (const struct edit *)l->edits.head;

	g->tasks = mem_array(l->n_dirty_tasks + 1, sizeof *g->tasks);
	for (size_t k = 0; k < l->n_dirty_tasks; k++)
		g->tasks[g->b.n_tasks++] = ledger_task_of(l, l->dirty_tasks[k])->row;
	g->b.tasks = g->tasks;
	if (!e)
		return;
	CHECK(!e->letter.next); /* one edit a commit: see on_edit() */
	g->links_of = mem_array(e->n_tasks + 1, sizeof *g->links_of);
	for (size_t k = 0; k < e->n_tasks && !e->keep_links; k++)
		g->links_of[g->b.n_links_of++] = e->tasks[k]->id;
	g->b.links_of = g->links_of;
	g->b.links = e->links;
	g->b.n_links = e->n_links;
	g->b.docs = e->docs;
	g->b.n_docs = e->n_docs;
}

/* What a command did to an instance is kept in the commit that does it: a restart finds both
 * or neither. */
static void gather_outcomes(const struct answers *as, struct gathered *g)
{
#ifdef BUG_21 /* outcomes are not kept with the change */
	return;
#endif
	for (size_t k = 0; k < as->n && as->command; k++)
		g->items[g->b.n_items++] = (struct store_command_item){
			.command = as->command,
			.key = as->a[k].key,
			.code = as->a[k].code,
			.text = as->a[k].code < 0 ? err_text(as->a[k].code) : ""
		};
}

static void gather_records(struct ledger *l, struct gathered *g)
{
	size_t n = 0, items = 0;

	for (const struct letter *at = l->records.head; at; at = at->next) {
		n++;
		items += ((const struct record *)at)->n_items;
	}
	for (const struct letter *at = l->answers.head; at; at = at->next)
		items += ((const struct answers *)at)->command ? ((const struct answers *)at)->n
		                                               : 0;
	g->commands = mem_array(n + 1, sizeof *g->commands);
	g->items = mem_array(items + 1, sizeof *g->items);
	for (const struct letter *at = l->records.head; at; at = at->next) {
		const struct record *r = (const struct record *)at;
		g->commands[g->b.n_commands++] = r->command;
		for (size_t k = 0; k < r->n_items; k++)
			g->items[g->b.n_items++] = r->items[k];
	}
	for (const struct letter *at = l->answers.head; at; at = at->next)
		gather_outcomes((const struct answers *)at, g);
	g->b.commands = g->commands;
	g->b.items = g->items;
}

static void gathered_done(struct gathered *g)
{
	free(g->tasks);
	free(g->links_of);
	free(g->commands);
	free(g->items);
	free(g->stats);
}

static void forget_batch(struct ledger *l)
{
	for (size_t k = 0; k < l->n_dirty; k++) {
		struct entry *e = table_at(&l->table, l->dirty[k]);
		e->inst.marks = 0;
		if (state_final((enum state)e->inst.state))
			table_remove(&l->table, l->dirty[k]);
	}
	l->n_dirty = 0;
	for (size_t k = 0; k < l->n_dirty_tasks; k++)
		ledger_task_of(l, l->dirty_tasks[k])->dirty = false;
	l->n_dirty_tasks = 0;
	l->batch_since_us = 0;
}

static void release(struct ledger *l, uint64_t number)
{
	struct letter *at;

	while ((at = letters_pop(&l->answers))) {
		struct actor *to = at->to;
		if (actor_post_credit(to, at) < 0)
			at->discard(at);
	}
	while ((at = letters_pop(&l->edits))) {
		struct edit *e = (struct edit *)at;
		e->letter.deliver = e->answered;
		if (!e->reply_to || actor_post_credit(e->reply_to, at) < 0)
			edit_free(e);
	}
	while ((at = letters_pop(&l->records))) {
		struct record *r = (struct record *)at;
		r->number = number;
		r->letter.deliver = r->answered;
		if (!r->reply_to || actor_post_credit(r->reply_to, at) < 0)
			record_free(r);
	}
}

static void succeeded(struct ledger *l, uint64_t last, int64_t began_us)
{
	int64_t took = actor_mono_us(l->me) - began_us;

	l->down = false;
	l->f_down = false;
	l->proof_us = began_us;
	l->f_commits++;
	l->f_commit_us = (uint64_t)took;
	l->f_commit_us_sum += (uint64_t)took;
	forget_batch(l);
	l->f_unfinished = l->table.len;
	stream_durable(l->stream, last);
	while (stream_seen(l->keep) < last)
		stream_next(l->keep);
	release(l, last);
	stream_wake(l->stream);
	if (l->waiting.head)
		actor_wake(l->me);
}

static void failed(struct ledger *l, int code, const struct err *err)
{
#ifdef BUG_16 /* who is deposed goes on trying */
	if (code == E_EPOCH)
		code = E_AGAIN;
#endif
	if (code == E_EPOCH || code == E_CORRUPT) {
		l->dead = true;
		l->set.fatal(l->set.fatal_ctx, err);
		return;
	}
	if (!l->down)
		log_warn("ledger.store-down", "code=%s text=\"%s\" waiting=%zu", err_name(code),
		         err->text, l->n_dirty);
	l->down = true;
	l->f_down = true;
	l->f_retries++;
	actor_alarm(l->me, actor_mono_us(l->me) + l->set.retry_us);
}

/* After a failure nobody knows whether the last commit is in: ask before repeating it. */
static int commit_or_find(struct ledger *l, const struct store_batch *b, struct err *err)
{
	uint64_t number;
	uint32_t epoch;

	if (l->down) {
		int r = store_position(l->store, &number, &epoch, err);
		if (r < 0)
			return r;
		if (epoch != l->epoch)
			return err_set(err, E_EPOCH, "epoch %u leads now, this server has %u",
			               epoch, l->epoch);
		if (number == b->last && b->last >= b->first)
			return 0;
		if (number != b->first - 1)
			return err_set(err, E_CORRUPT, "the store is at %llu, expected %llu",
			               (unsigned long long)number,
			               (unsigned long long)b->first - 1);
	}
	return store_commit(l->store, b, err);
}

void ledger_commit(struct ledger *l)
{
	struct gathered g = { .b = { .epoch = l->epoch } };
	struct err err = { 0 };

	if (l->dead)
		return;
	int64_t began = actor_mono_us(l->me);
	gather_events(l, &g);
	gather_images(l, &g);
	gather_edits(l, &g);
	gather_records(l, &g);
	g.b.n_stats = ledger_gather_stats(l, g.b.events, g.b.n_events, &g.stats);
	g.b.stats = g.stats;
	bool empty = g.b.last < g.b.first && !g.b.n_live && !g.b.n_done && !g.b.n_tasks &&
	             !g.b.n_docs && !g.b.n_commands && !g.b.n_items;
	int r = empty ? 0 : commit_or_find(l, &g.b, &err);
	gathered_done(&g);
	if (r < 0)
		failed(l, r, &err);
	else
		succeeded(l, g.b.last, began);
}
