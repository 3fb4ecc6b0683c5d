/* Starts and ends of jobs, in rounds: one turn of the loop, one sync of the journal.
 *
 * A request to start only writes the job's record; its process is born after the sync that makes
 * the record durable (broker/keeper rule 1), a few a round; projects take turns there, one start
 * each, so that nobody's start waits behind all of somebody else's. An end is decided here too: the
 * main process is gone and nothing is left of its tree. It is told after the sync that has its
 * record. While the journal cannot be written there are no starts, and ends are held back.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/keeper/keeper.h"
#include "broker/keeper/launch.h"
#include "broker/keeper/record.h"
#include "broker/keeper/service.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"

enum {
	STARTS_A_ROUND = 32, /* then ends and requests get their turn */
	STARTS_BESIDE = 8,   /* the same, while another project starts things, too */
	MIXED_US = 60 * 1000 * 1000,
	CHILDREN_BYTES = 1024 * 1024,
};

void keeper_wake(struct keeper *k)
{
	ev_idle_start(k->loop, &k->again);
}

/* --- starting --- */

/* Behind as many starts of each other project as it has of its own before it. */
static void queue_start(struct keeper *k, struct job *job, const char *project)
{
	struct keeper_queue *q = &k->starts;
	size_t at = q->n;

	job->owner = map_text(project);
	job->turn = k->starts_turn;
	for (size_t i = q->n; i-- > 0;) {
		const struct job *other = slab_at(&k->jobs, q->jobs[i]);
		if (other->owner != job->owner)
			continue;
		job->turn = other->turn + 1;
		break;
	}
	keeper_queue_add(q, job->at);
	for (; at > 0; at--) {
		const struct job *other = slab_at(&k->jobs, q->jobs[at - 1]);
		if (other->turn <= job->turn)
			break;
		q->jobs[at] = q->jobs[at - 1];
	}
	q->jobs[at] = job->at;
	if (k->starts_owner && k->starts_owner != job->owner)
		k->starts_mixed_us = clock_mono_us(&clock_machine) + MIXED_US;
	k->starts_owner = job->owner;
}

static int admit(struct keeper *k, const Sirdar__KeeperStart *m, struct err *err)
{
	if (m->token == 0)
		return err_set(err, E_INVALID, "no token");
	if (keeper_is_forgotten(k, m->token))
		return err_set(err, E_STALE, "this token was here and is forgotten");
	if (m->box && k->no_box.code)
		return err_set(err, k->no_box.code, "%s", k->no_box.text);
	if (m->landlock && k->no_landlock.code)
		return err_set(err, k->no_landlock.code, "%s", k->no_landlock.text);
	if (k->is_stopping)
		return err_set(err, E_CLOSED, "the keeper is stopping");
	if (k->running >= (size_t)k->settings.jobs_max)
		return err_set(err, E_BUSY, "jobs_max %" PRId64 " reached", k->settings.jobs_max);
	/* Whatever is started must be able to write its end. */
	return journal_room(&k->journal, (k->running + 2) * JOURNAL_RECORD_MAX, err);
}

int keeper_start(struct keeper *k, const Sirdar__KeeperStart *m, struct job **ret_job,
                 struct err *err)
{
	struct job *job = keeper_find(k, m->token);
	struct launch *launch = NULL;
	struct launcher_answer who;
	bool separates = k->settings.separates;
	int r = 0;

	if (!job)
		r = admit(k, m, err);
	if (!job && r == 0 && separates)
		r = launcher_who(&k->settings.launcher, m->project, m->run_as, &who, err);
	if (!job && r == 0)
		r = strlen(m->type) > 80 /* with its lane */
		            ? err_set(err, E_INVALID, "type")
		            : launch_new(m, k->settings.state_dir, k->files_dir,
		                         separates ? &who : NULL, &launch, err);
	if (r < 0)
		return r;
	if (job) {
		*ret_job = job;
		return 0;
	}
	job = keeper_add(k, m->token, m->type);
	job->launch = launch;
	job_move(job, JOB_STARTING);
	job->task_id = m->task_id;
	job->run_date = m->run_date;
	job->part = m->part;
	job->generation = m->generation;
	job->attempt = m->attempt;
	job->grace_us = m->grace_us;
	job->fence_kill_us = m->fence_kill_us ? m->fence_kill_us : 15 * US_PER_S;
	job->deadline_us = m->deadline_us;
	job->is_keep = m->server_lost_keep;
	job->has_no_files = m->n_file == 0;
	job->limits.memory_bytes = m->memory_max_bytes;
	job->limits.processes = m->processes_max;
	job->limits.cpu_percent = m->cpu_percent_max;
	keeper_hide(job, m->secret, m->n_secret);
	if (m->records)
		record_begin(job, m->begins);
	job->has_no_record = true;
	job->proof = lease_proof_of(m->lease_proof.data, m->lease_proof.len);
	k->running++;
	keeper_record_start(&k->journal, job);
	k->is_sync_due = true;
	queue_start(k, job, m->project);
	*ret_job = job;
	return 0;
}

/* The marker is on disk, no process came of it: that is an end too. */
void keeper_not_started(struct keeper *k, struct job *job, const struct err *why)
{
	CHECK(k->running > 0 && !job->pid);
	keeper_files_remove(k, job->token);
	launch_free(job->launch);
	job->launch = NULL;
	output_drop(k->outputs, &job->out);
	output_drop(k->outputs, &job->err);
	record_free(job);
	job_move(job, JOB_NOT_STARTED);
	job->start_code = why->code;
	job->start_text = mem_str(why->text);
	k->running--;
	heap_remove(&k->due, &job->due);
	log_warn("job.not_started", "token=%016" PRIx64 " code=%s: %s", job->token,
	         err_name(why->code), why->text);
	keeper_record_end(&k->journal, job);
	k->is_sync_due = true;
	keeper_queue_add(&k->ends, job->at);
}

/* By the launcher where jobs of projects are separated, else as a child of our own. */
static int process_start(struct keeper *k, struct job *job, const struct launch_fds *fds,
                         struct err *err)
{
	struct launched at = { 0 };

	if (!k->settings.separates)
		return launch_run(job->launch, fds, &job->pid, &job->started_us, err);
	int r = launcher_start(&k->settings.launcher, job->launch, fds, job->token, &at, err);
	if (r == 0) {
		job->pid = at.pid;
		job->started_us = at.started_us;
	}
	return r;
}

static int spawn(struct keeper *k, struct job *job, struct err *err)
{
	struct launch_fds fds = { k->null_fd, -1, -1, -1, { -1, -1, -1, -1 } };
	bool separates = k->settings.separates;
	int r = output_open(k->outputs, &job->out, &fds.out, err);

	if (r == 0)
		r = output_open(k->outputs, &job->err, &fds.err, err);
	if (r == 0)
		r = tree_make(k->tree, &job->limits, &job->group, &fds.cgroup, fds.join, err);
	/* The group is ours, so that we open the door of it for a job that is not. */
	if (separates && fds.cgroup >= 0)
		fds.join[LIMITER_JOINS] = openat(fds.cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (r == 0)
		r = process_start(k, job, &fds, err);
	int own[] = { fds.out, fds.err, fds.join[0], fds.join[1], fds.join[2], fds.join[3] };
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
		if (own[i] >= 0)
			close(own[i]);
	tree_made(k->tree, fds.cgroup);
	struct tree_of of = job_tree(job);
	if (r < 0 && job->group)
		tree_is_gone(k->tree, &of);
	return r;
}

static void start_one(struct keeper *k, struct job *job)
{
	struct err err = { 0 };

	if (job->deadline_us && !job->is_keep &&
	    clock_mono_us(&clock_machine) >= (int64_t)job->deadline_us) {
		err_set(&err, E_TIMEOUT, "its lease ran out before it started");
		keeper_not_started(k, job, &err);
		return;
	}
	if (spawn(k, job, &err) < 0) {
		job->pid = 0;
		keeper_not_started(k, job, &err);
		return;
	}
	launch_free(job->launch);
	job->launch = NULL;
	job_move(job, JOB_RUNNING);
	job->end.started_us = job->started_us;
	/* A group finds its processes itself; without, a next keeper must know whose pid it is. */
	job->pid_ticks = tree_has_groups(k->tree) ? 0 : tree_pid_ticks(job->pid);
	map_add(&k->pids, (uint64_t)job->pid, job->at);
	keeper_record_pid(&k->journal, job);
	keeper_due_set(k, job);
	log_debug("job.started", "token=%016" PRIx64 " pid=%d type=%s", job->token, (int)job->pid,
	          job->type);
	service_started(k->service, job);
}

static void starts_refuse(struct keeper *k, const struct err *why)
{
	for (size_t i = 0; i < k->starts.n; i++)
		keeper_not_started(k, slab_at(&k->jobs, k->starts.jobs[i]), why);
	k->starts.n = 0;
}

/* --- ending --- */

static size_t strangers_count(struct keeper *k)
{
	char path[64];
	struct buf text;
	size_t n = 0;

	buf_init(&text);
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	if (fs_read(path, CHILDREN_BYTES, &text, NULL) < 0)
		n = 1; /* cannot say: look closer */
	else
		for (char *p = (char *)buf_str(&text); *p; p += *p == ' ') {
			uint64_t pid = strtoull(p, &p, 10);

			n += map_get(&k->pids, pid) == MAP_NONE &&
			     pid != (uint64_t)k->settings.launcher.pid;
		}
	buf_done(&text);
	return n;
}

/* Without groups: whoever outlives its parents becomes our child, so that as long as all
 * our children are first processes of jobs, no ended job has left anything. */
static bool is_tree_gone(struct keeper *k, struct job *job)
{
	struct tree_of of = job_tree(job);

	if (tree_has_groups(k->tree) || job->is_foreign)
		return tree_is_gone(k->tree, &of);
	if (!k->is_strangers_known)
		k->strangers = strangers_count(k);
	k->is_strangers_known = true;
	return k->strangers == 0 || tree_is_gone(k->tree, &of);
}

static void round_finish(struct keeper *k, struct job *job)
{
	Sirdar__KeeperExited *end = &job->end;

	CHECK(job->is_main_done && k->running > 0);
	output_finish(k->outputs, &job->out);
	output_finish(k->outputs, &job->err);
	mask_free(job->mask);
	job->mask = NULL;
	record_say_end(job);
	end->records = job->is_recorded;
	end->log_bytes = record_end(job);
	end->out_bytes = job->out.bytes;
	end->err_bytes = job->err.bytes;
	end->out_dropped = job->out.dropped;
	end->err_dropped = job->err.dropped;
	if (!end->ended_us)
		end->ended_us = clock_wall_us(&clock_machine);
	heap_remove(&k->due, &job->due);
	if (job->is_settling)
		CHECK(keeper_queue_remove(&k->settling, job->at));
	job->is_settling = false;
	if (job->pid)
		map_remove(&k->pids, (uint64_t)job->pid, job->at);
	job_move(job, end->lost ? JOB_LOST : JOB_ENDED);
	if (!job->has_no_files || k->settings.separates)
		keeper_files_remove(k, job->token);
	k->running--;
	log_debug("job.ended", "token=%016" PRIx64 " exit=%d lost=%d", job->token, end->exit_code,
	          end->lost);
	keeper_record_end(&k->journal, job);
	k->is_sync_due = true;
	keeper_queue_add(&k->ends, job->at);
}

void keeper_settle(struct keeper *k, struct job *job)
{
	struct tree_of of = job_tree(job);

	if (!job->is_main_done)
		return;
	if (is_tree_gone(k, job)) {
		round_finish(k, job);
		return;
	}
	if (job->is_settling)
		return;
	job->is_settling = true;
	keeper_queue_add(&k->settling, job->at);
	if (!ev_is_active(&k->poll))
		ev_timer_again(k->loop, &k->poll);
	if (job->phase != PHASE_NONE)
		return;
	log_warn("job.strays", "token=%016" PRIx64 ": it left processes behind, ending them",
	         job->token);
	record_say(job, "it left processes behind, which are told to stop");
	job->end.strays = 1;
	job_move(job, JOB_KILLING);
	job->phase = PHASE_TERM;
	job->phase_us = clock_mono_us(&clock_machine) + (int64_t)job->grace_us;
	job->hang_us = job->phase_us + k->settings.hang_ms * US_PER_MS;
	tree_signal(k->tree, &of, SIGTERM);
	keeper_due_set(k, job);
}

static void main_ended(struct keeper *k, struct job *job, int status, const struct rusage *used)
{
	Sirdar__KeeperExited *end = &job->end;
	const struct timeval *u = &used->ru_utime, *s = &used->ru_stime;

	CHECK(job->pid > 0 && !job->is_main_done && !job_is_over(job));
	job->is_main_done = true;
	map_remove(&k->pids, (uint64_t)job->pid, job->at);
	end->exit_code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
	end->ended_us = clock_wall_us(&clock_machine);
	end->cpu_us = (uint64_t)((u->tv_sec + s->tv_sec) * US_PER_S + u->tv_usec + s->tv_usec);
	end->rss_max_bytes = (uint64_t)used->ru_maxrss * 1024;
	/* Any of its processes: a shell says 137 of its child, others what they like. */
	bool was_oom = tree_was_oom(k->tree, job->group);
	end->oom = was_oom && end->exit_code != 0 && job->phase == PHASE_NONE;
}

/* wait4() names the number and frees it in one step: no pid in `pids` can be another's. */
void keeper_reap(struct keeper *k)
{
	struct rusage used;
	struct keeper_queue done = { 0 };
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
		uint32_t at = map_get(&k->pids, (uint64_t)pid);
		k->is_strangers_known = false;
		tree_forget_scan(k->tree);
		if (at == MAP_NONE)
			continue;
		main_ended(k, slab_at(&k->jobs, at), status, &used);
		keeper_queue_add(&done, at);
	}
	for (size_t i = 0; i < done.n; i++)
		keeper_settle(k, slab_at(&k->jobs, done.jobs[i]));
	free(done.jobs);
	for (size_t i = k->settling.n; i-- > 0;)
		keeper_settle(k, slab_at(&k->jobs, k->settling.jobs[i]));
}

/* --- the round --- */

static void journal_failed(struct keeper *k, const struct err *why)
{
	if (!ev_is_active(&k->mend)) {
		log_error("journal.failed", "%s: no starts, ends are held back", why->text);
		ev_timer_again(k->loop, &k->mend);
	}
	starts_refuse(k, why);
	ev_idle_stop(k->loop, &k->again);
	keeper_timer_set(k);
}

static void ends_tell(struct keeper *k)
{
	for (size_t i = 0; i < k->ends.n; i++)
		service_over(k->service, slab_at(&k->jobs, k->ends.jobs[i]));
	k->ends.n = 0;
}

static void compact(struct keeper *k)
{
	struct err err = { 0 };
	size_t limit = (size_t)k->settings.journal_bytes / 4 * 3;

	if (k->journal.end < limit || k->journal.end < k->journal.live_end * 4)
		return;
	if (journal_rewrite(&k->journal, (size_t)k->settings.journal_bytes, keeper_journal_fill, k,
	                    &err) < 0) {
		log_warn("journal.not_compacted", "%s: the old one goes on", err.text);
		k->journal.live_end = k->journal.end; /* not again every round */
	}
}

static void starts_run(struct keeper *k)
{
	uint32_t batch[STARTS_A_ROUND];

	if (k->starts.n == 0)
		return;
	bool is_mixed = clock_mono_us(&clock_machine) < k->starts_mixed_us;
	size_t most = is_mixed ? STARTS_BESIDE : STARTS_A_ROUND;
	size_t n = k->starts.n < most ? k->starts.n : most;
	CHECK(k->starts.n <= k->starts.cap && k->starts.n <= k->running);
	memcpy(batch, k->starts.jobs, n * sizeof *batch);
	k->starts.n -= n;
	memmove(k->starts.jobs, k->starts.jobs + n, k->starts.n * sizeof *batch);
	k->starts_turn = ((const struct job *)slab_at(&k->jobs, batch[n - 1]))->turn;
	for (size_t i = 0; i < n; i++)
		start_one(k, slab_at(&k->jobs, batch[i]));
}

bool keeper_round(struct keeper *k)
{
	struct err err = { 0 };
	bool more;

	if (k->is_sync_due) {
		k->is_sync_due = false;
		if (journal_flush(&k->journal, true, &err) < 0) {
			journal_failed(k, &err);
			return false;
		}
	}
	if (k->journal.is_broken) {
		err_set(&err, E_IO, "the journal cannot be written");
		journal_failed(k, &err);
		return false;
	}
	ends_tell(k);
	starts_run(k);
	if (k->journal.pending.len && !k->is_sync_due &&
	    journal_flush(&k->journal, false, &err) < 0)
		journal_failed(k, &err);
	compact(k);
	more = k->starts.n || k->ends.n || k->is_sync_due;
	if (!more && (k->is_stopping || !keeper_has_launcher(k)) && k->running == 0)
		ev_break(k->loop, EVBREAK_ALL);
	if (more)
		keeper_wake(k);
	else
		ev_idle_stop(k->loop, &k->again);
	keeper_timer_set(k);
	return !more;
}
