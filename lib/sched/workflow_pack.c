/* A task and all it points to in one block of memory: the same walk measures, then fills. */
#include "sched/expr.h"
#include "sched/type.h"
#include "sched/workflow_impl.h"

#include "util/alloc.h"
#include "util/check.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTEMPTS_DEFAULT = 1, PRIORITY_DEFAULT = 5 };
#define DELAY_DEFAULT_US INT64_C(60000000)
#define GRACE_DEFAULT_US INT64_C(10000000)

struct packer {
	char *base; /* NULL while measuring */
	size_t used;
};

static void *pack(struct packer *p, size_t bytes)
{
	size_t at = p->used;

	p->used += (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
	return p->base ? p->base + at : NULL;
}

static const char *pack_text(struct packer *p, const char *text)
{
	size_t n = strlen(text ? text : "") + 1;
	char *to = p->base ? p->base + p->used : NULL;

	p->used += n;
	if (to)
		memcpy(to, text ? text : "", n);
	return to;
}

static void *pack_array(struct packer *p, size_t n, size_t bytes)
{
	p->used = (p->used + alignof(max_align_t) - 1) / alignof(max_align_t) *
	          alignof(max_align_t);
	return n ? pack(p, n * bytes) : NULL;
}

/* The step's own words as the parameters its runner reads; over what `params` says. */
static struct wf_pairs step_params(const struct wf_task *t, struct wf_pair room[2],
                                   struct buf *lines)
{
	struct wf_pairs all = { .items = room };

	if (t->directory.node)
		room[all.n++] = (struct wf_pair){ .name = "directory", .value = t->directory.text };
	for (size_t i = 0; i < t->environment.n; i++)
		buf_printf(lines, "%s%s=%s", i ? "\n" : "", t->environment.items[i].name,
		           t->environment.items[i].value);
	if (t->environment.n)
		room[all.n++] = (struct wf_pair){ .name = "environment", .value = buf_str(lines) };
	return all;
}

static bool is_server(const struct wf_made *m, const char *name)
{
	const struct type_param *p = m->type ? type_param_find(m->type, name) : NULL;

	return p && p->kind == TYPE_SERVER;
}

static bool is_secret(const struct wf_made *m, const char *name)
{
	const struct type_param *p = m->type ? type_param_find(m->type, name) : NULL;

	return p && p->secret;
}

/* What is no text as people write it: values in it get the escapes of JSON. */
static bool is_json(const struct wf_pair *p)
{
	return p->node && p->node->kind != YAML_SCALAR && strcmp(p->name, "environment") != 0;
}

static bool is_apart(const struct wf_made *m, const struct wf_pair *p)
{
	return m->binds &&
	       (is_json(p) || wf__is_line(p->name) || wf__code_of(m, p->name) != CODE_NONE);
}

static void put_params(struct packer *p, struct task *t, const struct wf_made *m,
                       const struct wf_pairs *from, const struct wf_pairs *over1,
                       const struct wf_pairs *over2)
{
	for (size_t i = 0; i < from->n; i++) {
		if ((over1 && wf__has_pair(over1, from->items[i].name)) ||
		    (over2 && wf__has_pair(over2, from->items[i].name)))
			continue;
		const char *name = pack_text(p, from->items[i].name);
		const char *value = pack_text(p, from->items[i].value);
		if (p->base)
			t->params[t->n_params] = (struct task_param){
				.name = name,
				.value = value,
				.server = is_server(m, name),
				.secret = is_secret(m, name),
				.apart = is_apart(m, &from->items[i]),
				.is_json = is_json(&from->items[i]),
				.code = (uint8_t)wf__code_of(m, name)
			};
		t->n_params++;
	}
}

static void put_all_params(struct packer *p, struct task *t, const struct wf_made *m)
{
	const struct wf_pairs *shared = &m->wf->base.parameters, *own = &m->t->params;
	struct wf_pair room[2];
	struct buf lines;

	buf_init(&lines);
	struct wf_pairs step = step_params(m->t, room, &lines);
	t->params = pack_array(p, shared->n + own->n + step.n, sizeof *t->params);
	t->n_params = 0;
	put_params(p, t, m, shared, own, &step);
	put_params(p, t, m, own, &step, NULL);
	put_params(p, t, m, &step, NULL, NULL);
	CHECK(t->n_params <= shared->n + own->n + step.n);
	buf_done(&lines);
}

static void put_outputs(struct packer *p, struct task *t, const struct wf_made *m)
{
	const struct wf_texts *outputs = &m->t->outputs;
	const char **names = pack_array(p, outputs->n, sizeof *names);

	for (size_t i = 0; i < outputs->n; i++) {
		const char *name = pack_text(p, outputs->items[i].text);
		if (p->base)
			names[i] = name;
	}
	t->outputs = names;
	t->n_outputs = outputs->n;
	t->inputs = pack_array(p, m->n_inputs, sizeof *t->inputs);
	t->n_inputs = m->n_inputs;
	for (size_t i = 0; i < m->n_inputs; i++) {
		const char *name = pack_text(p, m->inputs[i].name);
		const char *key = pack_text(p, m->inputs[i].key);
		if (p->base)
			t->inputs[i] = (struct task_input){ name, key, m->inputs[i].link };
	}
	t->asks = m->asks;
}

/* Do the first n of them name that server? */
static bool names_server(const struct wf_made *m, const struct wf_pairs *of, size_t n,
                         const char *server)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(of->items[i].value, server) == 0 && is_server(m, of->items[i].name))
			return true;
	return false;
}

/* The value of a parameter of the kind `server`, the task's own over its workflow's; NULL when
 * that is all. The same server twice counts once. */
static const char *nth_server(const struct wf_made *m, size_t n)
{
	const struct wf_pairs *of[] = { &m->t->params, &m->wf->base.parameters };

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < of[k]->n; i++) {
			const struct wf_pair *p = &of[k]->items[i];
			bool counts = is_server(m, p->name) &&
			              !(k && wf__has_pair(of[0], p->name)) &&
			              !names_server(m, of[k], i, p->value) &&
			              !(k && names_server(m, of[0], of[0]->n, p->value));
			if (counts && n-- == 0)
				return p->value;
		}
	return NULL;
}

static size_t count_servers(const struct wf_made *m)
{
	size_t n = 0;

	while (nth_server(m, n))
		n++;
	return n;
}

static void put_pool(const struct packer *p, struct task *t, const char *name, int32_t slots)
{
	if (p->base)
		t->pools[t->n_pools++] = (struct task_pool){ name, slots };
}

/* One slot of each target server: a pool of that name (baseserver/ledger/pools.h). */
static void put_server(struct packer *p, struct task *t, const char *server)
{
	char name[WORKFLOW_NAME_MAX + sizeof TASK_SERVER_POOL];

	snprintf(name, sizeof name, TASK_SERVER_POOL "%s", server);
	put_pool(p, t, pack_text(p, name), 1);
}

static void put_lists(struct packer *p, struct task *t, const struct wf_made *m)
{
	const struct wf_texts *machines = &m->t->machines;
	const struct wf_pairs *pools = &m->t->pools;
	const char **names = pack_array(p, machines->n, sizeof *names);

	for (size_t i = 0; i < machines->n; i++) {
		const char *name = pack_text(p, machines->items[i].text);
		if (p->base)
			names[i] = name;
	}
	t->machines = names;
	t->n_machines = machines->n;
	size_t n_servers = count_servers(m);
	t->pools = pack_array(p, pools->n + n_servers, sizeof *t->pools);
	t->n_pools = 0;
	for (size_t i = 0; i < pools->n; i++)
		put_pool(p, t, pack_text(p, pools->items[i].name),
		         (int32_t)strtol(pools->items[i].value, NULL, 10));
	for (size_t i = 0; i < n_servers; i++)
		put_server(p, t, nth_server(m, i));
	CHECK(!p->base || t->n_pools == pools->n + n_servers);
	put_outputs(p, t, m);
	t->links = pack_array(p, m->n_links, sizeof *t->links);
	t->n_links = m->n_links;
	if (p->base && m->n_links)
		memcpy(t->links, m->links, m->n_links * sizeof *t->links);
}

static void put_texts(struct packer *p, struct task *t, const struct wf_made *m)
{
	t->name = pack_text(p, m->t->full);
	t->title = pack_text(p, m->t->title.text);
	t->workflow_title = pack_text(p, m->wf->title.text);
	t->type = pack_text(p, m->t->type.text);
	t->group = pack_text(p, m->t->group.text);
	t->owner = pack_text(p, m->t->owner.text);
	t->run_as = pack_text(p, m->t->run_as.text);
	t->calendar_name = pack_text(p, m->t->calendar.text);
}

static void put_least(struct packer *p, struct task *t, const struct wf_made *m)
{
	const struct expr *e = m->t->least.expr;
	void *own = e ? pack_array(p, 1, expr_bytes(e)) : NULL;

	if (own)
		memcpy(own, e, expr_bytes(e));
	t->least = own;
}

static void set_state(struct task *t, const struct wf_task *from)
{
	static const enum task_state states[] = { TS_ONLINE, TS_DRAFT, TS_OFFLINE, TS_ONLINE };

	CHECK((size_t)from->state.value < sizeof states / sizeof states[0]);
	t->state = states[from->state.value];
	t->frozen = from->state.value == 3;
}

static int32_t or_else(struct wf_number n, int32_t otherwise)
{
	return n.node ? n.value : otherwise;
}

static void set_numbers(struct task *t, const struct wf_made *m)
{
	const struct wf_task *from = m->t;

	t->priority = or_else(from->priority, PRIORITY_DEFAULT);
	t->concurrency = from->concurrency.value;
	t->workflow_cap = m->wf->base.quota_running.value;
	t->max_attempts = from->is_step ? from->retries.value + 1
	                                : or_else(from->max_attempts, ATTEMPTS_DEFAULT);
	t->retry_delay_us = from->retry_delay_us.node ? from->retry_delay_us.us : DELAY_DEFAULT_US;
	t->retry_cap_us = from->retry_cap_us.us;
	t->retry_exponential = from->backoff.value;
	t->infra_max = m->infra_max;
	t->alive_wait_us = from->alive_wait_us.us;
	t->grace_us = from->kill_grace_us.node ? from->kill_grace_us.us : GRACE_DEFAULT_US;
	t->expire_after_us = from->expire_after_us.us;
	t->late_after_us = from->late_after_us.us;
	t->catchup_max = from->catchup_max.value;
}

static void set_choices(struct task *t, const struct wf_made *m)
{
	const struct wf_task *from = m->t;

	set_state(t, from);
	t->join = m->join;
	t->serial = (enum task_serial)from->serial.value;
	t->dispatch = (enum task_dispatch)from->dispatch.value;
	if (from->is_step && from->machines.n)
		t->dispatch = DISPATCH_BROADCAST; /* a pipeline runs on each of its nodes */
	t->catchup = from->catchup_mode.node ? (enum catchup_mode)from->catchup_mode.value
	             : m->cron               ? CATCHUP_LATEST
	                                     : CATCHUP_ALL;
	t->on_lost_hold = from->on_lost.value;
	t->dry_run = from->dry_run.value;
	t->on_server_lost_keep = from->on_server_lost.value;
	t->pipeline = from->is_step;
	t->fails_only = from->is_step && m->n_links > 0 && m->links[0].on == ON_FAILURE;
}

/* Of a workflow that says it, the run as a whole is judged: by the cycle its tasks have unless they
 * say otherwise. Steps of a pipeline have one plan. */
static void set_overlap(struct task *t, const struct wf_made *m)
{
	const struct workflow *wf = m->wf;
	const struct wf_cycle *cycle = &wf->shared_cycle;
	bool has_cycle = cycle->node && cycle->unit <= CU_YEAR && !wf->is_pipeline;

	t->overlap = (enum task_overlap)(wf->overlap.node ? wf->overlap.value
	                                                  : m->t->overlap.value);
	t->overlap_run = wf->overlap.node && t->overlap != OVERLAP_ALLOW;
	t->run_tz = m->run_tz;
	t->run_unit = has_cycle ? cycle->unit : CU_NONE;
	t->run_step = has_cycle ? cycle->step : 1;
}

static void set_promise(struct task *t, const struct wf_made *m)
{
	for (size_t k = 0; k < m->wf->n_baselines; k++) {
		const struct wf_baseline *b = &m->wf->baseline_items[k];
		const char *name = b->task.text;
		size_t n = strlen(name), full = strlen(m->t->full);
		if (n > full || strcmp(m->t->full + full - n, name) != 0 ||
		    (n < full && m->t->full[full - n - 1] != '/'))
			continue;
		t->has_promise = true;
		t->promised_s = b->committed.value;
		t->margin_us = b->margin_us.node ? b->margin_us.us : 0;
	}
}

static void put_task(struct packer *p, struct task *t, const struct wf_made *m)
{
	pack(p, sizeof *t);
	put_lists(p, t, m);
	put_all_params(p, t, m);
	put_texts(p, t, m);
	put_least(p, t, m);
}

struct task *wf__pack(const struct wf_made *m)
{
	struct packer measure = { 0 }, fill = { 0 };
	struct task scratch = { 0 };

	put_task(&measure, &scratch, m);
	CHECK(measure.used >= sizeof(struct task));
	fill.base = mem_new(measure.used);
	struct task *t = (struct task *)(void *)fill.base;
	put_task(&fill, t, m);
	CHECK(fill.used == measure.used);
	atomic_init(&t->refs, 1);
	t->id = m->known.id;
	t->version = m->version;
	t->workflow_id = m->workflow_id;
	t->plan = m->plan;
	t->cron = m->cron;
	t->calendar = m->calendar;
	t->memory = fill.base;
	set_numbers(t, m);
	set_choices(t, m);
	set_overlap(t, m);
	set_promise(t, m);
	return t;
}
