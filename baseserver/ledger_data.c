/* What came with transitions: outputs of parents, parameters of an instance. Read on the writing
 * connection, on the ledger's thread: few ask, and each read is a walk of a few rows. */
#include <stdlib.h>

#include "baseserver/ledger_impl.h"
#include "rt/actor.h"
#include "sched/link.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "util/alloc.h"

/* The last run_date in [lo, hi) that ended well, by the outcomes in memory. */
static bool last_success(const struct ltask *t, const struct link_span *span, int64_t *ret)
{
	for (size_t k = t->outcomes.len; k-- > 0;) {
		const struct outcome_range *r = &t->outcomes.ranges[k];
		if (r->hi < span->lo)
			return false;
		if (r->lo >= span->hi || r->state != ST_SUCC)
			continue;
		int64_t p = r->hi;
		if (p >= span->hi)
			p = t->def ? plan_prev(t->def->plan, span->hi) : PLAN_BEFORE;
		if (p != PLAN_BEFORE && p >= r->lo && p >= span->lo) {
			*ret = p;
			return true;
		}
	}
	return false;
}

static int find_of_key(struct ledger *l, struct inst_key key, enum inst_data kind, char **ret,
                       struct err *err)
{
	struct instance i;

	if (!ledger_find(l, key, &i)) {
		int r = store_find_done(l->store, key, &i, err);
		if (r < 0)
			return r;
	}
	return store_find_data(l->store, i.last_number, kind == ID_OWN ? 0 : i.generation, kind,
	                       ret, err);
}

static void fill_wish(struct ledger *l, struct data_wish *w)
{
	const struct ltask *t = ledger_task_of(l, w->task);

	w->code = E_NOT_FOUND;
	for (size_t k = w->n_spans; t && k-- > 0;) {
		if (!last_success(t, &w->spans[k], &w->run_date))
			continue;
		w->has_date = true;
		struct inst_key key = { .task = w->task, .run_date = w->run_date };
		w->code = find_of_key(l, key, ID_OUTPUTS, &w->body, NULL);
		return;
	}
}

static char *next_remove(struct ledger *l, struct inst_key key)
{
	for (struct next_params **at = &l->next_params; *at; at = &(*at)->next) {
		struct next_params *n = *at;
		if (!inst_key_eq(n->key, key))
			continue;
		char *body = n->body;
		*at = n->next;
		free(n);
		return body;
	}
	return NULL;
}

/* The kill carries them to the store; here they wait for its end, perhaps in the same batch. */
void ledger_keep_next(struct ledger *l, struct instance *i, struct proposal *p)
{
	if (!p->data)
		return;
	struct next_params *n = mem_new(sizeof *n);
	free(next_remove(l, i->key));
	n->key = i->key;
	n->body = mem_str(p->data);
	n->next = l->next_params;
	l->next_params = n;
	p->data_kind = ID_NEXT;
	i->flags |= IF_NEXT;
}

void ledger_take_next(struct ledger *l, const struct instance *i, struct proposal *p)
{
	if (!(i->flags & IF_NEXT))
		return;
	free(p->data);
	p->data_kind = ID_PARAMS;
	p->data = next_remove(l, i->key);
	if (!p->data) /* the server has started since */
		store_find_data(l->store, i->last_number, i->generation, ID_NEXT, &p->data, NULL);
}

void ledger_next_done(struct ledger *l)
{
	while (l->next_params) {
		struct next_params *n = l->next_params;
		l->next_params = n->next;
		free(n->body);
		free(n);
	}
}

static void on_question(struct letter *letter, void *self)
{
	struct ledger *l = self;
	struct data_question *q = (struct data_question *)letter;

	/* What ended well in memory must be there to be read. */
	if (!l->down && !l->dead && ledger_has_work(l))
		ledger_commit(l);
	q->code = l->down || l->dead ? E_BUSY : 0;
	for (size_t i = 0; q->code == 0 && i < q->n; i++)
		fill_wish(l, &q->wishes[i]);
	if (q->code == 0 && q->wants_params) {
		find_of_key(l, q->key, ID_PARAMS, &q->params, NULL);
		find_of_key(l, q->key, ID_OWN, &q->own, NULL);
	}
	q->letter.deliver = q->answered;
	if (actor_post_credit(q->reply_to, &q->letter) < 0)
		q->letter.discard(&q->letter);
}

int ledger_ask_data(struct ledger *l, struct data_question *q)
{
	q->letter.deliver = on_question;
	return actor_post_credit(l->me, &q->letter);
}

void data_question_done(struct data_question *q)
{
	for (size_t i = 0; i < q->n; i++) {
		free(q->wishes[i].spans);
		free(q->wishes[i].body);
	}
	free(q->wishes);
	free(q->params);
	free(q->own);
}
