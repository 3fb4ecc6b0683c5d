/* What this machine's settings allow a job's process: its user, its limits, its mask.
 *
 * A policy is a copy, taken under the loader's lock, because a reload may change the settings
 * while a job thread asks. As whom a job runs is looked up outside the lock (whose.c): files and
 * the directory of users may be slow. The jobkeeper looks once more at the user's number
 * (keeper/launch_new.c).
 */
#include "broker/loader/policy.h"

#include <keeper.pb-c.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "broker/loader/loader.h"
#include "broker/loader/whose.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/param.h"

enum { LIMITS_MAX = 3 };

struct policy {
	char *user; /* "": the keeper's own */
	char *places, *project;
	bool own_user, as_root;
	uint32_t umask;
	bool no_new_privs, is_boxed, is_landlocked;
	uint64_t memory_bytes;
	uint32_t processes, cpu_percent;
	Sirdar__KeeperLimit limits[LIMITS_MAX], *list[LIMITS_MAX];
	size_t n_limits;
};

static void limit_add(struct policy *p, int resource, int64_t most)
{
	CHECK(p->n_limits < LIMITS_MAX);
	Sirdar__KeeperLimit *to = &p->limits[p->n_limits];

	sirdar__keeper_limit__init(to);
	to->resource = (uint32_t)resource;
	to->soft = to->hard = (uint64_t)most;
	p->list[p->n_limits++] = to;
}

static void policy_fill(struct policy *p, const struct param_taskbroker *s)
{
	p->places = mem_str(p->user[0] && !s->keeper_dir[0] ? s->work_dir : "");
	p->as_root = s->jobs_as_root && !p->user[0];
	p->is_boxed = strcmp(s->isolation, "box") == 0;
	p->is_landlocked = strcmp(s->isolation, "landlock") == 0;
	p->umask = (uint32_t)strtoul(s->job_umask, NULL, 8);
	p->no_new_privs = !s->new_privileges || p->user[0] || s->keeper_dir[0];
	p->memory_bytes = (uint64_t)s->job_memory_max_bytes;
	p->processes = (uint32_t)s->job_processes_max;
	p->cpu_percent = (uint32_t)s->job_cpu_percent_max;
	limit_add(p, RLIMIT_CORE, s->job_core_max_bytes);
	if (s->job_files_max)
		limit_add(p, RLIMIT_NOFILE, s->job_files_max);
	if (s->job_file_max_bytes)
		limit_add(p, RLIMIT_FSIZE, s->job_file_max_bytes);
}

int policy_take(struct loader *l, const char *project, const char *wish, struct policy **ret_policy,
                struct err *err)
{
	struct policy *p = mem_new(sizeof *p);
	struct whose w;
	int r;

	pthread_mutex_lock(&l->mu);
	whose_copy(&w, l->settings, wish);
	pthread_mutex_unlock(&l->mu);
	r = whose_find(&w, project, wish, &p->user, &p->own_user, err);
	whose_done(&w);
	p->project = mem_str(project ? project : "");
	if (r < 0) {
		policy_free(p);
		return r;
	}
	pthread_mutex_lock(&l->mu);
	policy_fill(p, l->settings);
	pthread_mutex_unlock(&l->mu);
	*ret_policy = p;
	return 0;
}

void policy_put(const struct policy *p, Sirdar__KeeperStart *m)
{
	CHECK(p->n_limits > 0 && p->n_limits <= LIMITS_MAX);
	m->run_as = p->user;
	m->project = p->project;
	m->own_user = p->own_user;
	m->as_root = p->as_root;
	m->places = p->places;
	/* 0 in the message is the keeper's default, which is another one. */
	m->umask = p->umask ? p->umask : 01000;
	m->no_new_privs = p->no_new_privs;
	m->box = p->is_boxed;
	m->landlock = p->is_landlocked;
	m->memory_max_bytes = p->memory_bytes;
	m->processes_max = p->processes;
	m->cpu_percent_max = p->cpu_percent;
	m->limit = (Sirdar__KeeperLimit **)p->list;
	m->n_limit = p->n_limits;
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	free(p->user);
	free(p->places);
	free(p->project);
	free(p);
}
