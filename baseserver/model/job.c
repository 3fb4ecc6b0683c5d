/* The message that hands a job to a loader.
 *
 * It borrows most texts from the task's definition, which it keeps alive until job_free(); names
 * and values of parameters are its own. Parameters come resolved from the params actor; a caller
 * without them gets the definition's own, expanded as far as their macros can be. What a job may
 * not have, a password, is never put in here: it asks for it (params_target.c). */
#include "baseserver/model/job.h"

#include <stdlib.h>
#include <string.h>

#include "sched/instance.h"
#include "sched/macro.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/lease_proof.h"
#include "util/map.h"

/* The message borrows its texts from the definition, which it keeps alive. */
struct job {
	Sirdar__Job message; /* first: job_free() finds the rest by it */
	const struct task *def;
	Sirdar__Param *params;
	struct lease_proof proof;
};

static const char *job_lookup(void *ctx, const char *name)
{
	const struct task *def = ctx;

	for (size_t i = 0; i < def->n_params; i++)
		if (strcmp(def->params[i].name, name) == 0)
			return def->params[i].value;
	return NULL;
}

/* One value with its macros replaced, appended to out. errors  E_INVALID, E_LIMIT */
static int job_expand(const struct task *def, int64_t run_date, const char *value, struct buf *out,
                      struct err *err)
{
	struct macro_scope scope = {
		.plan = def->plan, .run_date = run_date, .lookup = job_lookup, .ctx = (void *)def
	};

	return macro_expand(value, &scope, out, err);
}

static char *job_expanded(const struct task *def, int64_t run_date, const char *value)
{
	struct buf out;
	char *text;

	if (!macro_has(value))
		return mem_str(value);
	buf_init(&out);
	if (job_expand(def, run_date, value, &out, NULL) < 0)
		text = mem_str(value);
	else
		text = mem_strn(buf_str(&out), out.len);
	buf_done(&out);
	return text;
}

static void add_params(struct job *j, const struct task *def, int64_t run_date,
                       const struct param_value *values, size_t n)
{
	if (!values)
		n = def->n_params;
	if (!n)
		return;
	j->params = mem_array(n, sizeof *j->params);
	j->message.params = mem_array(n, sizeof *j->message.params);
	for (size_t i = 0; i < n; i++) {
		const char *name = values ? values[i].name : def->params[i].name;
		sirdar__param__init(&j->params[i]);
		j->params[i].name = mem_str(name);
		j->params[i].value = values ? mem_str(values[i].value)
		                            : job_expanded(def, run_date, def->params[i].value);
		j->message.params[j->message.n_params++] = &j->params[i];
	}
}

Sirdar__Job *job_new(const struct task *def, const struct instance *i,
                     const struct param_value *values, size_t n)
{
	struct job *j = mem_new(sizeof *j);
	Sirdar__Job *m = &j->message;

	CHECK(i->key.task == def->id);
	sirdar__job__init(m);
	j->def = task_ref(def);
	m->token = i->token;
	m->task_id = i->key.task;
	m->run_date = i->key.run_date;
	m->part = i->key.part;
	m->generation = i->generation;
	m->attempt = i->attempt;
	m->task_name = (char *)def->name;
	m->run_as = (char *)def->run_as;
	m->project = mem_strn(def->name, strcspn(def->name, "/"));
	m->alive_wait_us = (uint64_t)def->alive_wait_us;
	m->grace_us = (uint64_t)def->grace_us;
	m->server_lost_keep = def->on_server_lost_keep;
	m->due_us = i->due * 1000000;
	m->created_us = i->created_us;
	m->is_again = i->generation > 1 || i->attempt > 1 || i->infra > 0;
	m->timezone = (char *)tz_name(plan_tz(def->plan));
	add_params(j, def, i->key.run_date, values, n);
	return m;
}

void job_set_proof(Sirdar__Job *m, const struct lease_proof *p)
{
	struct job *j = (struct job *)m;

	j->proof = *p;
	m->lease_proof = LEASE_PROOF_PUT(&j->proof);
}

void job_free(Sirdar__Job *m)
{
	struct job *j = (struct job *)m;

	if (!j)
		return;
	for (size_t i = 0; i < m->n_params; i++) {
		free(j->params[i].name);
		free(j->params[i].value);
	}
	free(m->params);
	free(m->project);
	free(j->params);
	task_unref(j->def);
	free(j);
}

/* --- turns ---------------------------------------------------------------------------------- */

struct job_turn {
	uint32_t turn, at;
	Sirdar__Job *job;
};

static size_t project_len(const Sirdar__Job *j)
{
	return strcspn(j->task_name, "/");
}

static int by_turn(const void *a, const void *b)
{
	const struct job_turn *x = a, *y = b;

	return x->turn != y->turn ? (x->turn > y->turn) - (x->turn < y->turn)
	                          : (x->at > y->at) - (x->at < y->at);
}

static bool are_of_one_project(Sirdar__Job **jobs, size_t n)
{
	size_t len = n ? project_len(jobs[0]) : 0;

	for (size_t i = 1; i < n; i++)
		if (project_len(jobs[i]) != len ||
		    memcmp(jobs[i]->task_name, jobs[0]->task_name, len) != 0)
			return false;
	return true;
}

void jobs_take_turns(Sirdar__Job **jobs, size_t n)
{
	struct map of; /* by project; two names of one hash share their turns */

	if (are_of_one_project(jobs, n))
		return;
	struct job_turn *turns = mem_array(n, sizeof *turns);
	map_init(&of);
	for (size_t i = 0; i < n; i++) {
		char *name = mem_strn(jobs[i]->task_name, project_len(jobs[i]));
		uint64_t owner = map_text(name);
		uint32_t turn = map_get(&of, owner);

		free(name);
		if (turn != MAP_NONE)
			map_remove(&of, owner, turn);
		turn = turn == MAP_NONE ? 0 : turn + 1;
		map_add(&of, owner, turn);
		turns[i] = (struct job_turn){ turn, (uint32_t)i, jobs[i] };
	}
	qsort(turns, n, sizeof *turns, by_turn);
	for (size_t i = 0; i < n; i++)
		jobs[i] = turns[i].job;
	map_done(&of);
	free(turns);
}
