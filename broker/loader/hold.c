/* Starts and ends the processes of guests, with what the jobkeeper has for jobs (launch, tree),
 * where one serves all projects; where projects are separated, lent.c does.
 *
 * A process runs as this program's user, or as the one of this machine's users that the manifest
 * names, with the machine's limits and a group of its own. This process is the subreaper of what
 * its guests leave behind: an orphan is reaped here, a guest's first process only by the runner
 * that asked for it. What a former loader of this type left in its groups is killed when this one
 * opens. Only the runner's one thread calls, once open; the keeper has no part in it.
 */
#include "broker/loader/hold.h"

#include <errno.h>
#include <keeper.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/keeper/launch.h"
#include "broker/keeper/tree.h"
#include "broker/loader/apart.h"
#include "broker/loader/guest.h"
#include "broker/loader/lent.h"
#include "broker/loader/loader.h"
#include "broker/loader/policy.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

enum { FDS_MIN = 3, FDS_MAX = 5, GUESTS_MAX = 4096 };

/* Used by the runner's one thread alone, once open. */
struct hold {
	struct loader *loader;
	struct tree *tree;
	char *dir; /* tells this lane's processes from those of others */
	uint64_t last;
	pid_t pids[GUESTS_MAX]; /* those that are the runner's to reap */
	size_t n_pids;
};

/* --- orphans: this process is their subreaper --------------------------------------------- */

static bool is_guest(const struct hold *h, pid_t pid)
{
	for (size_t i = 0; i < h->n_pids; i++)
		if (h->pids[i] == pid)
			return true;
	return false;
}

static void guest_gone(struct hold *h, pid_t pid)
{
	for (size_t i = 0; i < h->n_pids; i++)
		if (h->pids[i] == pid)
			h->pids[i--] = h->pids[--h->n_pids];
}

/* A guest that has ended is the runner's, and what came after it waits until that was taken. */
static void reap_orphans(const struct hold *h)
{
	siginfo_t info = { 0 };

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid &&
	       !is_guest(h, info.si_pid)) {
		waitpid(info.si_pid, NULL, WNOHANG);
		info.si_pid = 0;
	}
}

/* --- what the runner calls ------------------------------------------------------------------ */

static int hold_run(struct hold *h, const Sirdar__KeeperStart *m,
                    const struct runner_guest_start *s, struct runner_guest_process *ret,
                    struct err *err)
{
	const struct group_limits limits = { m->memory_max_bytes, m->processes_max,
		                             m->cpu_percent_max };
	struct launch_fds fds = { .null = s->fds[0],
		                  .out = s->fds[1],
		                  .err = s->fds[2],
		                  .join = { [LIMITER_JOINS] = -1 } };
	struct launch *launch = NULL;
	int64_t started_us;
	pid_t pid = 0;
	int r = launch_new(m, h->dir, h->dir, NULL, &launch, err);

	if (r == 0)
		r = tree_make(h->tree, &limits, &ret->group, &fds.cgroup, fds.join, err);
	if (r < 0)
		goto out;
	CHECK(s->n_fds <= FDS_MIN + LAUNCH_MORE && h->n_pids < GUESTS_MAX);
	for (uint32_t i = FDS_MIN; i < s->n_fds; i++)
		fds.more[fds.n_more++] = s->fds[i];
	r = launch_run(launch, &fds, &pid, &started_us, err);
	tree_made(h->tree, fds.cgroup);
	for (int i = 0; i < LIMITER_JOINS; i++)
		if (fds.join[i] >= 0)
			close(fds.join[i]);
	ret->pid = ret->session = pid;
	if (r == 0)
		h->pids[h->n_pids++] = pid;
	else
		tree_is_gone(h->tree, &(struct tree_of){ .group = ret->group });
out:
	launch_free(launch);
	return r;
}

static int hold_start(void *ctx, const struct runner_guest_start *s,
                      struct runner_guest_process *ret, char *ret_why, uint64_t cap)
{
	struct guest_type *t = ctx;
	struct hold *h = t->hold;
	Sirdar__KeeperStart m = SIRDAR__KEEPER_START__INIT;
	struct policy *policy;
	struct err err = { 0 };
	int r = 0;

	if (s->n_fds < FDS_MIN || s->n_fds > FDS_MAX || h->n_pids == GUESTS_MAX)
		r = err_set(&err, E_LIMIT, "descriptors, or processes");
	else
		r = policy_take(h->loader, NULL, t->about.user, &policy, &err);
	if (r == 0) {
		ret->token = ++h->last;
		lent_fill(t, s->argv, s->env, ret->token, policy, &m);
		r = hold_run(h, &m, s, ret, &err);
		policy_free(policy);
	}
	if (r < 0)
		snprintf(ret_why, cap, "%s", err.text);
	return r < 0 ? -1 : 0;
}

static struct tree_of tree_of_process(const struct runner_guest_process *p)
{
	return (struct tree_of){
		.token = p->token, .group = p->group, .pid = p->pid, .session = p->session
	};
}

static void force(void *ctx, const struct runner_guest_process *p)
{
	const struct guest_type *t = ctx;
	const struct tree_of of = tree_of_process(p);

	tree_signal(t->hold->tree, &of, SIGKILL);
}

static int was_over_memory(void *ctx, const struct runner_guest_process *p)
{
	const struct guest_type *t = ctx;

	return tree_was_oom(t->hold->tree, p->group);
}

static int is_gone(void *ctx, const struct runner_guest_process *p)
{
	const struct guest_type *t = ctx;
	struct hold *h = t->hold;
	const struct tree_of of = tree_of_process(p);

	if (p->pid == 0)
		guest_gone(h, p->session);
	reap_orphans(h);
	tree_forget_scan(h->tree);
	return p->pid == 0 && tree_is_gone(h->tree, &of);
}

/* --- life ------------------------------------------------------------------------------------ */

/* Below the keeper's own directory of groups when that was given: it knows its own by their
 * names. */
static int open_tree(struct hold *h, const char *mode, struct err *err)
{
	char *below = mode[0] == '/' ? mem_fmt("%s/guests-%s", mode, h->loader->lane) : NULL;
	int r = tree_open(below ? below : mode, h->dir, &h->tree, err);

	free(below);
	return r;
}

static int check_user(const struct hold *h, const char *user, struct err *err)
{
	struct policy *policy;

	int r = policy_take(h->loader, NULL, user, &policy, err);

	if (r == 0)
		policy_free(policy);
	return r;
}

static void hold_close(struct guest_type *t)
{
	struct hold *h = t->hold;

	if (t->lent)
		lent_close(t->lent);
	if (h->tree)
		tree_close(h->tree);
	free(h->dir);
	free(h);
}

int hold_open(struct loader *l, struct guest_type *t, struct err *err)
{
	struct hold *h = mem_new(sizeof *h);
	uint64_t incarnation = (uint64_t)clock_wall_us(&clock_machine) / US_PER_S;

	CHECK(!t->hold && !t->release);
	t->hold = h;
	t->release = hold_close;
	h->loader = l;
	t->about.idle_ms = (uint32_t)l->settings->guest_idle_ms;
	/* Whom a line of a project, or the jobkeeper's own map, names is seen at each start. */
	bool is_lent = apart_is(l->settings);
	bool may_be_lined = is_lent && (!t->about.user[0] || l->settings->keeper_dir[0] ||
	                                l->settings->job_users_file[0]);
	int r = may_be_lined ? 0 : check_user(h, t->about.user, err);

	if (r == 0 && is_lent) {
		t->about.processes_max = (uint32_t)l->settings->guests_max;
		return lent_open(l, t, err);
	}
	h->dir = mem_fmt("%s/guests.%s", l->settings->state_dir, l->lane);
	if (r == 0 && mkdir(h->dir, 0700) < 0 && errno != EEXIST)
		r = err_sys(err, E_IO, errno, "%s", h->dir);
	if (r == 0)
		r = open_tree(h, l->settings->cgroup, err);
	if (r < 0)
		return r;
	tree_begin(h->tree, incarnation);
	h->last = incarnation << 32;
	tree_sweep(h->tree);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return err_sys(err, E_IO, errno, "subreaper");
	clearenv();
	t->about.start = hold_start;
	t->about.force = force;
	t->about.was_over_memory = was_over_memory;
	t->about.is_gone = is_gone;
	return 0;
}
