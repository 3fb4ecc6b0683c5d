#include "baseserver/params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/job.h"
#include "baseserver/ledger.h"
#include "rt/stream.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"

struct params {
	struct actor *me;
	struct stream_reader *in;
	const struct task **defs; /* by id, counted */
	size_t cap;
};

static void put_def(struct params *p, const struct task *def)
{
	if (def->id >= p->cap) {
		size_t cap = (size_t)def->id * 2 + 64;
		p->defs = mem_grow(p->defs, cap, sizeof *p->defs);
		for (size_t i = p->cap; i < cap; i++)
			p->defs[i] = NULL;
		p->cap = cap;
	}
	task_ref(def);
	task_unref(p->defs[def->id]);
	p->defs[def->id] = def;
}

static void turn(void *self)
{
	struct params *p = self;

	for (const struct transition *tr; (tr = stream_peek(p->in)); stream_next(p->in))
		if (tr->kind == TK_TASK)
			put_def(p, tr->ref);
}

static bool wanted(const struct param_question *q, const char *name)
{
	if (!q->names || !q->names[0])
		return true;
	for (char **n = q->names; *n; n++)
		if (strcmp(*n, name) == 0)
			return true;
	return false;
}

static int fill(struct param_question *q, const struct task *def)
{
	struct err err = { 0 };
	struct buf out;
	int r = 0;

	buf_init(&out);
	q->values = mem_array(def->n_params + 1, sizeof *q->values);
	for (size_t i = 0; i < def->n_params && r == 0; i++) {
		if (!wanted(q, def->params[i].name))
			continue;
		buf_clear(&out);
		r = job_expand(def, q->key.run_date, def->params[i].value, &out, &err);
		q->values[q->n].name = mem_str(def->params[i].name);
		q->values[q->n++].value = mem_strn(buf_str(&out), out.len);
	}
	buf_done(&out);
	snprintf(q->text, sizeof q->text, "%.190s", err.text);
	return r;
}

static void on_ask(struct letter *l, void *self)
{
	struct params *p = self;
	struct param_question *q = (struct param_question *)l;
	const struct task *def;

	turn(p);
	def = q->key.task < p->cap ? p->defs[q->key.task] : NULL;
	q->code = def ? fill(q, def) : E_NOT_FOUND;
	q->letter.deliver = q->answered;
	if (actor_post_credit(q->reply_to, &q->letter) < 0)
		param_question_free(q);
}

void param_question_free(struct param_question *q)
{
	for (char **n = q->names; n && *n; n++)
		free(*n);
	free(q->names);
	for (size_t i = 0; i < q->n; i++) {
		free(q->values[i].name);
		free(q->values[i].value);
	}
	free(q->values);
	free(q);
}

static void discard(struct letter *l)
{
	param_question_free((struct param_question *)l);
}

int params_ask(struct params *p, struct param_question *q)
{
	q->letter.deliver = on_ask;
	q->letter.discard = discard;
	return actor_post(p->me, &q->letter);
}

static int init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static const struct actor_ops ops = {
	.name = "params", .letters_max = 4096, .init = init, .turn = turn
};

static void load_task(void *ctx, const struct ledger_task *t)
{
	put_def(ctx, t->def);
}

struct params *params_new(struct thread *th, struct ledger *ledger)
{
	struct params *p = mem_new(sizeof *p);

	p->me = actor_new(th, &ops, p);
	p->in = stream_reader_new(ledger_stream(ledger), STREAM_INNER, p->me);
	ledger_each_task(ledger, load_task, p);
	return p;
}

void params_free(struct params *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->cap; i++)
		task_unref(p->defs[i]);
	free(p->defs);
	free(p);
}

struct actor *params_actor(struct params *p)
{
	return p->me;
}
