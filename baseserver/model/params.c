/* The params actor: what the parameters of a job are, at its grant or when it asks.
 *
 * It holds the definitions (folded from the inner stream), the parameters of projects and the
 * target servers. A question that needs outputs of parents or the parameters of a run goes to the
 * ledger first and comes back with them; any other is answered at once. A name is looked up in
 * this order: the run, the instance, server.*, inputs, the definition, the project, all. on_ask()
 * folds the stream before it looks, so its view is not older than the grant. Who may have a secret
 * is said in params_secret.c. */
#include "baseserver/model/params_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/pack.h"
#include "baseserver/model/job.h"
#include "baseserver/model/vault.h"
#include "rt/stream.h"
#include "sched/code.h"
#include "sched/label.h"
#include "sched/link.h"
#include "sched/macro.h"
#include "sched/task.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_read.h"
#include "util/log.h"

/* --- definitions ------------------------------------------------------------------------- */

static void put_def(struct params *p, const struct task *def)
{
	if (def->id >= p->cap) {
		size_t cap = (size_t)def->id * 2 + 64;
		p->defs = mem_grow(p->defs, cap, sizeof *p->defs);
		for (size_t i = p->cap; i < cap; i++)
			p->defs[i] = NULL;
		p->cap = cap;
	}
	CHECK(def->id < p->cap);
	task_ref(def);
	task_unref(p->defs[def->id]);
	p->defs[def->id] = def;
}

static const struct task *def_of(const struct params *p, uint32_t id)
{
	return id < p->cap ? p->defs[id] : NULL;
}

static void params_turn(void *self)
{
	struct params *p = self;

	for (const struct transition *tr; (tr = stream_peek(p->in)); stream_next(p->in)) {
		const struct task_pack *pack = tr->kind == TK_TASK ? tr->row : NULL;
		for (size_t i = 0; pack && i < pack->n; i++)
			put_def(p, pack->items[i].def);
	}
}

/* --- values ------------------------------------------------------------------------------ */

static const char *output_value(struct view *v, size_t i)
{
	const struct task_input *in = &v->def->inputs[i];
	const struct data_wish *w = v->q->data ? &v->q->data->wishes[i] : NULL;
	CHECK(in->link < v->def->n_links);
	const char *value = jv_text(v->outputs[i], in->key);
	const struct task *parent = def_of(v->p, v->def->links[in->link].parent);
	const char *name = parent ? parent->name : "its parent";
	char date[LABEL_TEXT];

	if (value)
		return value;
	if (w && w->has_date && parent) {
		label_of(parent->plan, w->run_date, date);
		snprintf(v->missing, sizeof v->missing,
		         "${%s}: the last success of %.120s, of %s, gave no output '%s'", in->name,
		         name, date, in->key);
	} else {
		snprintf(v->missing, sizeof v->missing,
		         "${%s}: %.120s has no success among the dates this task waits for",
		         in->name, name);
	}
	return NULL;
}

/* design: SEMANTICS section 6, highest first. The definition has a task's own parameters over its
 * workflow's; inputs by a name of the task's own were never made. */
static const char *params_lookup(void *ctx, const char *name)
{
	struct view *v = ctx;
	const char *value = view__over(v, name);

	if (value)
		return value;
	if (strncmp(name, "server.", 7) == 0)
		return target__lookup(v, name + 7);
	for (size_t i = 0; i < v->def->n_inputs; i++)
		if (strcmp(v->def->inputs[i].name, name) == 0)
			return output_value(v, i);
	for (size_t i = 0; i < v->def->n_params; i++)
		if (strcmp(v->def->params[i].name, name) == 0)
			return v->def->params[i].value;
	return scopes_value(&v->p->scopes, v->project, name);
}

static void view_init(struct view *v, const struct params *p, const struct param_question *q,
                      const struct task *def)
{
	const struct data_question *data = q->data;

	CHECK(!data || data->n == def->n_inputs); /* a wish for each input, in their order */
	*v = (struct view){ .p = p, .q = q, .def = def };
	snprintf(v->project, sizeof v->project, "%.*s", (int)strcspn(def->name, "/"), def->name);
	buf_init(&v->member);
	v->outputs = mem_array(def->n_inputs + 1, sizeof(const struct jval *));
	if (data && data->params)
		jv_parse(data->params, strlen(data->params), &v->over, NULL);
	if (data && data->own)
		jv_parse(data->own, strlen(data->own), &v->own, NULL);
	for (size_t i = 0; data && i < def->n_inputs; i++)
		if (data->wishes[i].body)
			jv_parse(data->wishes[i].body, strlen(data->wishes[i].body), &v->outputs[i],
			         NULL);
}

static void view_done(struct view *v)
{
	for (size_t i = 0; i < v->def->n_inputs; i++)
		jv_free(v->outputs[i]);
	free(v->outputs);
	for (size_t i = 0; i < v->n_bound; i++)
		free(v->bound[i].name);
	free(v->bound);
	secret__forget_wishes(v);
	buf_done(&v->member);
	jv_free(v->over);
	jv_free(v->own);
}

static const struct task_param *param_of_def(const struct task *def, const char *name)
{
	for (size_t i = 0; i < def->n_params; i++)
		if (strcmp(def->params[i].name, name) == 0)
			return &def->params[i];
	return NULL;
}

/* Of the definition, or one that values bound to code have for themselves: runners make variables
 * of names, in which what is no letter and no digit is `_`. */
static bool is_taken(const struct task *def, const char *name)
{
	static const char ours[] = CODE_VALUE;
	size_t n = 0;

	while (ours[n] && (name[n] == ours[n] ||
	                   (ours[n] == '_' && name[n] && !isalnum((unsigned char)name[n]))))
		n++;
	return !ours[n] || param_of_def(def, name);
}

/* code.h: a row of its own, once for all its places. */
static unsigned bind(void *ctx, const char *name, const char *value)
{
	struct view *v = ctx;
	struct param_question *q = (struct param_question *)(uintptr_t)v->q;
	char row[40];

	for (size_t i = 0; i < v->n_bound; i++)
		if (strcmp(v->bound[i].name, name) == 0 &&
		    strcmp(q->values[v->bound[i].at].value, value) == 0)
			return (unsigned)i + 1;
	v->bound = mem_grow(v->bound, v->n_bound + 1, sizeof *v->bound);
	v->bound[v->n_bound++] = (struct bound){ mem_str(name), q->n };
	snprintf(row, sizeof row, CODE_VALUE "%zu", v->n_bound);
	view__add(q, row, value);
	return (unsigned)v->n_bound;
}

static int expand(struct view *v, const char *name, const char *text,
                  const struct macro_scope *scope, struct buf *out, struct err *err)
{
	const struct task_param *p = param_of_def(v->def, name);
	enum code_kind code = p ? (enum code_kind)p->code : CODE_NONE;

	if (!p || !p->apart || !code_takes(text))
		return macro_expand(text, scope, out, err);
	if (!p->is_json && code == CODE_NONE)
		return code_expand_line(text, scope, out, err);
	if (!p->is_json)
		return code_expand(code, text, scope, &(struct code_binder){ bind, v }, out, err);
	if (code != CODE_NONE && text != p->value)
		return err_set(err, E_INVALID, "given for one run it takes no values");
	return code_expand_json(code, text, scope, &(struct code_binder){ bind, v }, out, err);
}

static int add_value(struct view *v, struct param_question *q, const char *name, const char *text)
{
	struct macro_scope scope = {
		.plan = v->def->plan, .run_date = q->key.run_date, .lookup = params_lookup, .ctx = v
	};
	struct err err = { 0 };
	struct buf out;

	buf_init(&out);
	int r = expand(v, name, text, &scope, &out, &err);
	if (r == 0) {
		view__add(q, name, buf_str(&out));
	} else {
		snprintf(q->text, sizeof q->text, "parameter %.60s: %.300s", name,
		         v->missing[0] ? v->missing : err.text);
	}
	buf_done(&out);
	return r;
}

/* Everything the job has; then what it was started with beside that. */
static int fill_all(struct view *v, struct param_question *q)
{
	int r = 0;

	for (size_t i = 0; i < v->def->n_params && r == 0; i++) {
		const struct task_param *own = &v->def->params[i];
		const char *over = view__over(v, own->name);
		r = add_value(v, q, own->name, over ? over : own->value);
	}
	for (const struct jval *c = jv_first(v->over); c && r == 0; c = c->next)
		if (jv_is(c, JV_TEXT) && !is_taken(v->def, c->key))
			r = add_value(v, q, c->key, c->text);
	for (const struct jval *c = jv_first(v->own); c && r == 0; c = c->next)
		if (jv_is(c, JV_TEXT) && !is_taken(v->def, c->key) && !jv_text(v->over, c->key))
			r = add_value(v, q, c->key, c->text);
	if (r == 0)
		r = target__fill(v, q);
	return r == 0 ? secret__ahead(v, q) : r;
}

/* Names without a value are left out: the runner sees which it got. */
static int fill_named(struct view *v, struct param_question *q)
{
	int r = 0;

	for (char **n = q->names; *n && r == 0; n++) {
		bool secret = strncmp(*n, "secret.", 7) == 0;
		const char *value = secret ? NULL : params_lookup(v, *n);
		if (secret)
			r = secret__named(v, q, *n);
		else if (value)
			r = add_value(v, q, *n, value);
	}
	return r;
}

/* Answered at once, or when its secrets from outside are there. `data`: of the ledger, or NULL. */
static void params_fill(struct params *p, struct param_question *q, const struct task *def,
                        struct data_question *data)
{
	struct view v;

	q->data = data;
	view_init(&v, p, q, def);
	if (q->project)
		snprintf(v.project, sizeof v.project, "%s", q->project);
	q->code = q->channel                ? channel__fill(&v, q)
	          : q->target               ? target__probe(&v, q)
	          : q->names && q->names[0] ? fill_named(&v, q)
	                                    : fill_all(&v, q);
	q->data = NULL;
	log_debug("params.fill", "instance=%u.%lld code=%d", q->key.task,
	          (long long)q->key.run_date, q->code);
	struct wanted *w = q->code == 0 && v.n_wishes ? secret__take(&v, q) : NULL;
	view_done(&v); /* who is answered may let go of the definition */
	if (w)
		secret__ask(p, w);
	else
		params__answer(q);
}

/* --- questions --------------------------------------------------------------------------- */

/* The ledger's answer finds its way back by this. */
struct asked {
	struct data_question data;
	struct param_question *q;
	const struct task *def; /* counted: inputs and wishes are in the same order */
};

static void asked_free(struct asked *a)
{
	data_question_done(&a->data);
	task_unref(a->def);
	free(a);
}

static void asked_discard(struct letter *l)
{
	struct asked *a = (struct asked *)l;

	param_question_free(a->q);
	asked_free(a);
}

static void on_data(struct letter *l, void *self)
{
	struct asked *a = (struct asked *)l;
	struct param_question *q = a->q;

	q->code = a->data.code;
	if (q->code == 0)
		params_fill(self, q, a->def, &a->data);
	else
		params__answer(q);
	asked_free(a);
}

static void ask_ledger(struct params *p, struct param_question *q, const struct task *def)
{
	struct asked *a = mem_new(sizeof *a);
	struct data_question *d = &a->data;

	CHECK(!q->data && q->n == 0); /* asked once */
	a->q = q;
	a->def = task_ref(def);
	d->letter.discard = asked_discard;
	d->reply_to = p->me;
	d->answered = on_data;
	d->key = q->key;
	d->wants_params = q->wants_params;
	d->n = def->n_inputs;
	d->wishes = mem_array(d->n + 1, sizeof *d->wishes);
	for (size_t i = 0; i < d->n; i++) {
		const struct task_link *l = &def->links[def->inputs[i].link];
		const struct task *parent = def_of(p, l->parent);
		struct data_wish *w = &d->wishes[i];
		w->task = l->parent;
		w->spans = mem_array(LINK_SPANS_MAX, sizeof *w->spans);
		/* What a backfill ran before the begin has outputs as well. */
		int n = parent ? link_spans_ever(l, parent->plan, def->plan, q->key.run_date,
		                                 w->spans)
		               : 0;
		CHECK(n <= LINK_SPANS_MAX);
		w->n_spans = n > 0 ? (size_t)n : 0;
	}
	if (ledger_ask_data(p->ledger, d) < 0)
		asked_discard(&d->letter);
}

static void on_ask(struct letter *l, void *self)
{
	struct params *p = self;
	struct param_question *q = (struct param_question *)l;

	static const struct task nobodys = { .name = "" };

	params_turn(p);
	if (q->target || q->channel) {
		params_fill(p, q, &nobodys, NULL);
		return;
	}
	const struct task *def = q->def ? q->def : def_of(p, q->key.task);
	if (def && (def->n_inputs || q->wants_params)) {
		ask_ledger(p, q, def);
		return;
	}
	if (def) {
		params_fill(p, q, def, NULL);
		return;
	}
	q->code = E_NOT_FOUND;
	params__answer(q);
}

static void params_discard(struct letter *l)
{
	param_question_free((struct param_question *)l);
}

int params_ask(struct params *p, struct param_question *q)
{
	q->letter = (struct letter){ .deliver = on_ask, .discard = params_discard };
	return actor_post(p->me, &q->letter);
}

/* --- parameters of projects and of all --------------------------------------------------- */

struct told {
	struct letter letter;
	struct store_doc doc; /* owns its texts */
};

static void told_discard(struct letter *l)
{
	struct told *t = (struct told *)l;

	free((char *)t->doc.name);
	free((char *)t->doc.body);
	free(t);
}

static struct docs *kept_of(struct params *p, enum store_doc_kind kind)
{
	return kind == DOC_SERVER ? &p->targets : kind == DOC_CHANNEL ? &p->channels : &p->scopes;
}

static void on_told(struct letter *l, void *self)
{
	struct params *p = self;
	struct told *t = (struct told *)l;

	/* The commander has read it already. */
	CHECK(docs_learn(kept_of(p, t->doc.kind), &t->doc, NULL) == 0);
	told_discard(l);
}

int params_tell(struct params *p, const struct store_doc *d)
{
	struct told *t = mem_new(sizeof *t);

	CHECK(d->kind == DOC_SERVER || d->kind == DOC_SETTING || d->kind == DOC_CHANNEL);
	t->letter = (struct letter){ .deliver = on_told, .discard = told_discard };
	t->doc = (struct store_doc){ .kind = d->kind,
		                     .id = d->id,
		                     .version = d->version,
		                     .retired = d->retired,
		                     .name = mem_str(d->name),
		                     .body = mem_strn(d->body, d->body_len),
		                     .body_len = d->body_len };
	int r = actor_post_credit(p->me, &t->letter);
	if (r < 0)
		told_discard(&t->letter);
	return r;
}

/* --- life -------------------------------------------------------------------------------- */

static const struct actor_ops ops = { .name = "params", .letters_max = 4096, .turn = params_turn };

static void load_task(void *ctx, const struct ledger_task *t)
{
	put_def(ctx, t->def);
}

int params_new(struct thread *th, struct ledger *ledger, struct store *store,
               const struct params_secrets *of, struct params **ret_params, struct err *err)
{
	struct params *p = mem_new(sizeof *p);

	docs_init(&p->scopes, &doc_kinds[DOC_SETTING]);
	docs_init(&p->targets, &doc_kinds[DOC_SERVER]);
	docs_init(&p->channels, &doc_kinds[DOC_CHANNEL]);
	int r = docs_load(&p->scopes, store, err);
	if (r == 0)
		r = docs_load(&p->targets, store, err);
	if (r == 0)
		r = docs_load(&p->channels, store, err);
	if (r < 0) {
		params_free(p);
		return r;
	}
	p->vault = vault_new(of->key_file);
	p->secrets = of->outside;
	p->ledger = ledger;
	p->me = actor_new(th, &ops, p);
	p->in = stream_reader_new(ledger_stream(ledger), STREAM_INNER, p->me);
	ledger_each_task(ledger, load_task, p);
	*ret_params = p;
	return 0;
}

void params_free(struct params *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->cap; i++)
		task_unref(p->defs[i]);
	free(p->defs);
	docs_done(&p->scopes);
	docs_done(&p->targets);
	docs_done(&p->channels);
	vault_free(p->vault);
	free(p);
}
