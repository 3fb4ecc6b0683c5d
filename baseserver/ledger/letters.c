/* Letters, made and freed: what each kind owns.
 *
 * A letter owns all that it points at, unless letters.h says borrowed. Who takes something out of a
 * letter (the ledger takes notes and data) leaves NULL there. So a letter may be freed at any time:
 * after its answer, or undelivered when the process ends. */
#include "baseserver/ledger/letters.h"

#include <stdlib.h>

#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

static void proposals_discard(struct letter *l)
{
	proposals_free((struct proposals *)l);
}

struct proposals *proposals_new(enum proposer from, size_t cap, struct actor *reply_to,
                                void (*answered)(struct letter *l, void *self))
{
	struct proposals *ps = mem_new(sizeof *ps + cap * sizeof ps->p[0]);

	ps->letter.discard = proposals_discard;
	ps->from = from;
	ps->cap = cap;
	ps->reply_to = reply_to;
	ps->answered = answered;
	return ps;
}

struct proposal *proposals_add(struct proposals *ps, enum ask ask, struct inst_key key)
{
	CHECK(ps->n <= ps->cap && ask < ASK_COUNT);
	if (ps->n == ps->cap)
		return NULL;
	struct proposal *p = &ps->p[ps->n++];
	p->ask = (uint8_t)ask;
	p->key = key;
	return p;
}

void proposals_free(struct proposals *ps)
{
	if (!ps)
		return;
	for (size_t i = 0; i < ps->n; i++) {
		free(ps->p[i].note);
		free(ps->p[i].data);
		free(ps->p[i].brokers);
		free(ps->p[i].branch);
	}
	free(ps);
}

void edit_free(struct edit *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->n_tasks; i++)
		task_unref(e->tasks[i]);
	for (size_t i = 0; i < e->n_docs; i++) {
		free((void *)e->docs[i].name);
		free((void *)e->docs[i].body);
		free((void *)e->docs[i].actor);
	}
	for (size_t i = 0; i < e->n_links; i++)
		free((void *)e->links[i].window);
	free(e->tasks);
	free(e->rows);
	free(e->docs);
	free(e->links);
	free(e);
}

void record_free(struct record *r)
{
	if (!r)
		return;
	free((void *)r->command.request_id);
	free((void *)r->command.actor);
	free((void *)r->command.kind);
	free((void *)r->command.args);
	free((void *)r->command.told);
	free((void *)r->command.error);
	free((void *)r->command.cursor);
	free((void *)r->command.projects);
	for (size_t i = 0; i < r->n_items; i++)
		free((void *)r->items[i].text);
	free(r->items);
	for (size_t i = 0; i < r->n_alerts; i++) {
		free((void *)r->alerts[i].kind);
		free((void *)r->alerts[i].subject);
		free((void *)r->alerts[i].body);
		free((void *)r->alerts[i].acked_by);
		free((void *)r->alerts[i].ack_note);
	}
	free(r->alerts);
	free(r);
}

void session_news_free(struct session_news *n)
{
	if (!n)
		return;
	for (char **g = n->groups; g && *g; g++)
		free(*g);
	free(n->groups);
	free(n->type);
	free(n->broker_name);
	free(n);
}
