/* What came with transitions: outputs of parents, parameters of an instance. Read on the writing
 * connection, one question after the other: few ask, and each read is a walk of a few rows. */
#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "rt/actor.h"
#include "sched/link.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

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

/* An instance whose data is read: where its walk begins, if that is in memory. */
struct source {
	struct inst_key key;
	uint64_t chain; /* 0: the row is in history */
	uint32_t generation;
};

struct reading {
	struct job job;
	struct data_question *q;
	struct source *wishes, own, whole; /* whole: of a part */
};

/* False: it changed and is not durable yet. */
static bool source_of(const struct ledger *l, struct inst_key key, struct source *ret)
{
	uint32_t index;
	const struct entry *e = table_find(&l->table, key, &index);

	*ret = (struct source){ .key = key };
	if (!e)
		return true;
	ret->chain = inst_chain(&e->inst);
	ret->generation = e->inst.generation;
	return e->inst.last_number <= stream_last_durable(l->stream);
}

/* One that is over is looked up later, with the rest. */
static void row_of(const struct ledger *l, struct data_question *q)
{
	uint32_t index;
	const struct entry *e = table_find(&l->table, q->key, &index);

	q->row_code = e ? 0 : E_NOT_FOUND;
	if (e)
		q->row = e->inst;
}

static bool find_wish(const struct ledger *l, struct data_wish *w, struct source *ret)
{
	const struct ltask *t = ledger__task_of(l, w->task);

	w->code = E_NOT_FOUND;
	w->has_date = false;
	for (size_t k = w->n_spans; t && k-- > 0 && !w->has_date;)
		w->has_date = last_success(t, &w->spans[k], &w->run_date);
	struct inst_key key = { .task = w->task, .run_date = w->run_date };
	return !w->has_date || source_of(l, key, ret);
}

static int read_data(struct store *s, const struct source *from, enum inst_data kind, char **ret)
{
	uint64_t number = from->chain;
	uint32_t generation = from->generation;

	if (!number) {
		struct instance i;
		int r = store_find_done(s, from->key, &i, NULL);
		if (r < 0)
			return r;
		number = i.last_number;
		generation = i.generation;
	}
	return store_find_data(s, number, kind == ID_OWN ? 0 : generation, kind, ret, NULL);
}

static void data_work(struct job *job, struct store *s)
{
	struct reading *r = (struct reading *)job;
	struct data_question *q = r->q;

	for (size_t i = 0; i < q->n; i++)
		if (q->wishes[i].has_date)
			q->wishes[i].code = read_data(s, &r->wishes[i], ID_OUTPUTS,
			                              &q->wishes[i].body);
	if (q->wants_row && q->row_code < 0)
		q->row_code = store_find_done(s, q->key, &q->row, NULL);
	if (!q->wants_params)
		return;
	read_data(s, &r->own, ID_PARAMS, &q->params);
	read_data(s, &r->whole, ID_OWN, &q->own);
	if (!q->params && q->key.part > 0)
		read_data(s, &r->whole, ID_PARAMS, &q->params);
}

static void data_give(struct data_question *q)
{
	q->letter.deliver = q->answered;
	if (actor_post_credit(q->reply_to, &q->letter) < 0)
		q->letter.discard(&q->letter);
}

static void reading_free(struct reading *r)
{
	free(r->wishes);
	free(r);
}

static void data_done(struct ledger *l, struct job *job)
{
	struct reading *r = (struct reading *)job;

	CHECK(l->reading == job);
	l->reading = NULL;
	data_give(r->q);
	reading_free(r);
}

/* The first question, if all that it asks for is in the store. */
static struct reading *data_prepare(struct ledger *l)
{
	struct data_question *q = (struct data_question *)l->questions.head;
	struct reading *r = mem_new(sizeof *r);
	bool is_there = true;
	struct inst_key whole = q->key;

	whole.part = whole.part > 0 ? 0 : whole.part;
	r->q = q;
	r->wishes = mem_array(q->n + 1, sizeof *r->wishes);
	for (size_t i = 0; i < q->n; i++)
		is_there &= find_wish(l, &q->wishes[i], &r->wishes[i]);
	if (q->wants_row)
		row_of(l, q);
	if (q->wants_params)
		is_there &= source_of(l, q->key, &r->own) && source_of(l, whole, &r->whole);
	if (is_there)
		return r;
	reading_free(r);
	return NULL;
}

bool ledger__answer_questions(struct ledger *l)
{
	if (!l->questions.head || l->busy)
		return false;
	struct reading *r = data_prepare(l);
	if (!r)
		return false;
	CHECK(!l->reading);
	letters_pop(&l->questions);
	r->job.work = data_work;
	r->job.done = data_done;
	l->reading = &r->job;
	ledger__do(l, &r->job);
	return true;
}

void ledger__data_free(struct ledger *l)
{
	struct reading *r = (struct reading *)l->reading;

	if (!r)
		return;
	r->q->letter.discard(&r->q->letter);
	reading_free(r);
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

static void next_add(struct ledger *l, struct inst_key key, char *body)
{
	struct next_params *n = mem_new(sizeof *n);

	free(next_remove(l, key));
	n->key = key;
	n->body = body;
	n->next = l->next_params;
	l->next_params = n;
}

int ledger__next_restore(struct ledger *l, struct err *err)
{
	for (uint32_t k = 0; k < l->table.used; k++) {
		const struct instance *i = &table_at(&l->table, k)->inst;
		char *body = NULL;
		if (i->state == ST_NONE || !(i->flags & IF_NEXT))
			continue;
		int r = store_find_data(l->store, inst_chain(i), i->generation, ID_NEXT, &body,
		                        err);
		if (r < 0 && r != E_NOT_FOUND)
			return r;
		if (r == 0)
			next_add(l, i->key, body);
	}
	return 0;
}

/* The kill carries them to the store; here they wait for its end, perhaps in the same batch. */
void ledger__keep_next(struct ledger *l, struct instance *i, struct proposal *p)
{
	if (!p->data)
		return;
	next_add(l, i->key, mem_str(p->data));
	p->data_kind = ID_NEXT;
	i->flags |= IF_NEXT;
}

void ledger__take_next(struct ledger *l, const struct instance *i, struct proposal *p)
{
	if (!(i->flags & IF_NEXT))
		return;
	free(p->data);
	p->data_kind = ID_PARAMS;
	p->data = next_remove(l, i->key);
}

void ledger__next_done(struct ledger *l)
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

	q->code = l->down || l->dead ? E_BUSY : 0;
	if (q->code < 0)
		data_give(q);
	else
		letters_push(&l->questions, letter);
}

/* The store went away: they are asked again. */
void ledger__turn_down_questions(struct ledger *l)
{
	for (struct letter *at; (at = letters_pop(&l->questions));) {
		((struct data_question *)at)->code = E_BUSY;
		data_give((struct data_question *)at);
	}
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
