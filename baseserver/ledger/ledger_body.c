/* What an instance runs with: the definition it was granted with first, until a redo. Others than
 * the one in force are kept while instances of the task are unfinished, as a cache: what is not
 * there is compiled again from the stored document. Only what a job does comes from it (type,
 * parameters, retries, times); when it starts and where is the present definition's affair. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger_impl.h"
#include "baseserver/ledger/names.h"
#include "rt/actor.h"
#include "rt/manifests.h"
#include "rt/zones.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/diag.h"
#include "util/log.h"

enum { FORMER_MAX = 16 }; /* of one task; the oldest goes */

void ledger__keep_version(struct ltask *t, struct task *def)
{
	CHECK(t->row.id == def->id && t->n_former <= FORMER_MAX);
	for (size_t i = 0; i < t->n_former; i++)
		if (t->former[i]->version == def->version)
			return;
	if (t->n_former == FORMER_MAX) {
		task_unref(t->former[0]);
		memmove(t->former, t->former + 1, (FORMER_MAX - 1) * sizeof t->former[0]);
		t->n_former--;
	}
	t->former = mem_grow(t->former, t->n_former + 1, sizeof *t->former);
	t->former[t->n_former++] = task_ref(def);
}

void ledger__forget_versions(struct ltask *t)
{
	for (size_t i = 0; i < t->n_former; i++)
		task_unref(t->former[i]);
	free(t->former);
	t->former = NULL;
	t->n_former = 0;
}

/* --- compiled again ------------------------------------------------------------------------ */

struct again {
	struct ledger *l;
	struct names names;
	char *body;
	size_t len;
};

static int take_body(void *ctx, const struct store_doc *d)
{
	struct again *a = ctx;

	a->body = mem_strn(d->body, d->body_len);
	a->len = d->body_len;
	return 0;
}

static int body_zone(void *ctx, const char *name, const struct tz **ret_tz, struct err *err)
{
	(void)ctx;
	return zones_get(name, ret_tz, err);
}

static const struct task *task(void *ctx, const char *name)
{
	const struct again *a = ctx;
	const struct name *n = names_find(&a->names, name);
	const struct ltask *t = n ? ledger__task_of(a->l, n->id) : NULL;

	return t ? t->def : NULL;
}

static void body_known(void *ctx, const char *name, struct workflow_start *start)
{
	struct again *a = ctx;
	const struct name *n = names_find(&a->names, name);

	if (!n) { /* it is no more; it gets a number of nobody */
		start->id = UINT32_MAX - (uint32_t)a->names.n;
		return;
	}
	start->id = n->id;
	start->start = start->anchor = n->anchor;
}

/* It was judged when it was saved. */
static bool body_parameter(void *ctx, const char *project, const char *name)
{
	(void)ctx;
	(void)project;
	(void)name;
	return true;
}

static void put_names(struct again *a)
{
	for (size_t i = 0; i < a->l->tasks_cap; i++) {
		const struct ltask *t = a->l->tasks[i];
		if (t && t->def)
			names_put(&a->names, t->def->name, t->row.id)->anchor = t->row.anchor;
	}
}

static int compile(struct again *a, const struct ltask *t, uint32_t version)
{
	const char *types_dir = a->l->set.types_dir;
	struct manifests *types = manifests_new(types_dir ? types_dir : "");
	struct workflow_set *set = workflow_set_new();
	struct workflow_world w = { .ctx = a,
		                    .timezone = a->l->set.timezone,
		                    .zone = body_zone,
		                    .task = task,
		                    .known = body_known,
		                    .parameter = body_parameter,
		                    .types = manifests_types(types),
		                    .saved = true };
	struct task **tasks = NULL;
	struct diags d;
	size_t n = 0;

	diags_init(&d);
	put_names(a);
	int r = workflow_set_read(set, a->body, a->len, t->def->name, &d);
	if (r == 0)
		r = workflow_compile(set, &w, &d, &tasks, &n);
	if (r < 0)
		log_warn("version.bad", "task=%s version=%u text=\"%s\"", t->def->name, version,
		         d.n ? d.items[0].message : "");
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct ltask *of = ledger__task_of(a->l, tasks[i]->id);
		tasks[i]->version = version;
		if (of && of->def && of->def->version != version)
			ledger__keep_version(of, tasks[i]);
		task_unref(tasks[i]);
	}
	free(tasks);
	diags_done(&d);
	workflow_set_free(set);
	manifests_free(types);
	return r;
}

static const struct task *in_memory(const struct ltask *t, uint32_t version)
{
	if (t->def && t->def->version == version)
		return t->def;
	for (size_t i = 0; i < t->n_former; i++)
		if (t->former[i]->version == version)
			return t->former[i];
	return NULL;
}

/* One that the store's thread looks for. */
struct wanted {
	struct job job;
	uint32_t task, workflow, version;
	struct again a;
	int code;
};

static void body_look(struct job *job, struct store *s)
{
	struct wanted *w = (struct wanted *)job;

	w->code = store_find_workflow(s, w->workflow, w->version, take_body, &w->a, NULL);
}

static void looked(struct ledger *l, struct job *job)
{
	struct wanted *w = (struct wanted *)job;
	struct ltask *t = ledger__task_of(l, w->task);

	CHECK(l->version == job);
	if (w->code == E_AGAIN || w->code == E_BUSY || w->code == E_IO) {
		l->rows_after_us = actor_mono_us(l->me) + l->set.retry_us;
		actor_alarm(l->me, l->rows_after_us);
		return; /* asked again then */
	}
	names_init(&w->a.names);
	if (w->code < 0 || !t || !t->def || compile(&w->a, t, w->version) < 0 ||
	    !in_memory(t, w->version)) {
		l->gone_task = w->task;
		l->gone_version = w->version;
	}
	names_done(&w->a.names);
	ledger__version_free(l);
}

void ledger__version_free(struct ledger *l)
{
	struct wanted *w = (struct wanted *)l->version;

	if (w)
		free(w->a.body);
	free(w);
	l->version = NULL;
}

bool ledger__fetch_version(struct ledger *l)
{
	if (!l->version || l->busy || actor_mono_us(l->me) < l->rows_after_us)
		return false;
	ledger__do(l, l->version);
	return true;
}

static void body_want(struct ledger *l, const struct ltask *t, uint32_t version)
{
	if (l->version || (l->gone_task == t->row.id && l->gone_version == version))
		return;
	struct wanted *w = mem_new(sizeof *w);
	w->job.work = body_look;
	w->job.done = looked;
	w->task = t->row.id;
	w->workflow = t->row.workflow_id;
	w->version = version;
	w->a.l = l;
	l->version = &w->job;
}

bool ledger__version_ready(struct ledger *l, struct ltask *t, const struct instance *i)
{
	if (!l->set.waits || !t->def || i->version == t->def->version || in_memory(t, i->version))
		return true;
	body_want(l, t, i->version);
	return !l->version;
}

const struct task *ledger__version(struct ledger *l, struct ltask *t, uint32_t version)
{
	const struct task *d = in_memory(t, version);
	struct again a = { .l = l };

	if (d || !t->def)
		return d;
	if (l->set.waits && l->running) {
		body_want(l, t, version);
		return NULL;
	}
	names_init(&a.names);
	if (store_find_workflow(l->store, t->row.workflow_id, version, take_body, &a, NULL) == 0 &&
	    compile(&a, t, version) == 0)
		d = in_memory(t, version);
	names_done(&a.names);
	free(a.body);
	return d;
}

/* --- bound to it --------------------------------------------------------------------------- */

const struct task *ledger_body(struct ledger *l, const struct instance *i)
{
	struct ltask *t = ledger__task_of(l, i->key.task);
	const struct task *d = t && t->def ? ledger__version(l, t, i->version) : NULL;

	return d ? d : t ? t->def : NULL;
}

/* A draft is run as it was drawn, or not at all. */
static bool draft_gone(const struct instance *i, bool known, struct proposal *p)
{
	if (!version_is_draft(i->version))
		return false;
	if (!p->note)
		p->note = mem_fmt("what was drawn for this test run %s; test it again",
		                  known ? "is of another task type than what is saved since"
		                        : "is no longer kept");
	return true;
}

/* A loader of the present type gets it: a version of another type cannot run there. */
bool ledger__bind(struct ledger *l, struct ltask *t, struct instance *i, struct proposal *p)
{
	bool bound = i->flags & IF_OLD_BODY || i->attempt || i->infra ||
	             version_is_draft(i->version);
	const struct task *d;

	if (!bound || i->version == t->def->version) {
		i->version = t->def->version;
		return true;
	}
	d = ledger__version(l, t, i->version);
	if (d && strcmp(d->type, t->def->type) == 0) {
		p->body = d;
		return true;
	}
	if (draft_gone(i, d != NULL, p))
		return false;
	if (!p->note)
		p->note = mem_fmt("version %u of its definition %s: it runs with version %u",
		                  i->version, d ? "is of another task type" : "is gone",
		                  t->def->version);
	i->version = t->def->version;
	i->flags &= (uint16_t)~IF_OLD_BODY;
	return true;
}
