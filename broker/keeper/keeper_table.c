/* The jobs that the keeper holds: found, added, forgotten; their records in the journal.
 *
 * A token is in the table from its start until a peer says FORGET, and then among the last
 * FORGOTTEN_MAX that are remembered: neither is ever started again. A keeper that begins reads the
 * records of the former one: what had not ended is lost, and is told so when its processes are
 * gone. A journal that is a copy belongs to another machine, and nothing of it is told.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/keeper/keeper.h"
#include "broker/keeper/launch.h"
#include "broker/keeper/record.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum { BOOT = 1, START, PID, END, NOT_STARTED, FORGET };

void keeper_queue_add(struct keeper_queue *q, uint32_t at)
{
	q->jobs = mem_room(q->jobs, &q->cap, q->n + 1, sizeof *q->jobs);
	q->jobs[q->n++] = at;
}

bool keeper_queue_remove(struct keeper_queue *q, uint32_t at)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->jobs[i] == at) {
			memmove(&q->jobs[i], &q->jobs[i + 1], (--q->n - i) * sizeof *q->jobs);
			return true;
		}
	return false;
}

/* Which states may follow each: the drawing in job.h. */
static const unsigned states[] = {
	[0] = 1u << JOB_STARTING,
	[JOB_STARTING] = 1u << JOB_RUNNING | 1u << JOB_NOT_STARTED,
	[JOB_RUNNING] = 1u << JOB_KILLING | 1u << JOB_ENDED | 1u << JOB_LOST,
	[JOB_KILLING] = 1u << JOB_KILLING | 1u << JOB_HANGED | 1u << JOB_ENDED | 1u << JOB_LOST,
	[JOB_HANGED] = 1u << JOB_ENDED | 1u << JOB_LOST,
	[JOB_ENDED] = 0,
	[JOB_NOT_STARTED] = 0,
	[JOB_LOST] = 0,
};

void job_move(struct job *job, enum job_state to)
{
	CHECK(job->keeper && (unsigned)job->state <= JOB_HANGED);
	CHECK(states[job->state] & 1u << to);
	job->state = to;
}

struct tree_of job_tree(const struct job *job)
{
	return (struct tree_of){
		.token = job->token,
		.group = job->group,
		.pid = job->is_main_done && !job->is_foreign ? 0 : job->pid,
		.session = job->pid,
		.is_foreign = job->is_foreign,
	};
}

void job_message(const struct job *job, Sirdar__KeeperJob *to)
{
	sirdar__keeper_job__init(to);
	to->token = job->token;
	to->type = job->type;
	to->state = job->state;
	to->task_id = job->task_id;
	to->run_date = job->run_date;
	to->part = job->part;
	to->generation = job->generation;
	to->attempt = job->attempt;
	to->lease_proof = LEASE_PROOF_PUT(&job->proof);
	to->pid = (uint64_t)job->pid;
	to->started_us = job->started_us;
	to->deadline_us = job->deadline_us;
	to->out_bytes = job->out.bytes;
	to->err_bytes = job->err.bytes;
	to->records = job->is_recorded;
}

void job_from_message(struct job *job, const Sirdar__KeeperJob *m)
{
	job->state = (enum job_state)m->state;
	job->task_id = m->task_id;
	job->run_date = m->run_date;
	job->part = m->part;
	job->generation = m->generation;
	job->attempt = m->attempt;
	job->proof = lease_proof_of(m->lease_proof.data, m->lease_proof.len);
	job->started_us = m->started_us;
	job->is_recorded = m->records;
}

struct job *keeper_find(struct keeper *k, uint64_t token)
{
	uint32_t at = map_get(&k->tokens, token);

	if (at == MAP_NONE)
		return NULL;
	struct job *job = slab_at(&k->jobs, at);

	CHECK(job->keeper == k && job->token == token);
	return job;
}

struct job *keeper_add(struct keeper *k, uint64_t token, const char *type)
{
	uint32_t at = slab_take(&k->jobs);
	struct job *job = slab_at(&k->jobs, at);

	CHECK(!job->keeper);
	job->keeper = k;
	job->token = token;
	job->type = mem_str(type);
	job->at = at;
	heap_node_init(&job->due);
	output_init(&job->out, job, 1);
	output_init(&job->err, job, 2);
	sirdar__keeper_exited__init(&job->end);
	job->end.token = token;
	job->end.type = job->type;
	map_add(&k->tokens, token, at);
	return job;
}

void keeper_hide(struct job *job, const ProtobufCBinaryData *secrets, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		job->mask = job->mask ? job->mask : mask_new();
		mask_add(job->mask, (const char *)secrets[i].data, secrets[i].len);
	}
}

static void text_set(struct job *job, const char *text)
{
	if (job->end.text != protobuf_c_empty_string)
		free(job->end.text);
	job->end.text = mem_str(text);
}

void keeper_remove(struct keeper *k, struct job *job)
{
	CHECK(job->keeper == k && job == slab_at(&k->jobs, job->at));
	output_drop(k->outputs, &job->out);
	output_drop(k->outputs, &job->err);
	record_free(job);
	heap_remove(&k->due, &job->due);
	map_remove(&k->tokens, job->token, job->at);
	if (job->pid)
		map_remove(&k->pids, (uint64_t)job->pid, job->at);
	launch_free(job->launch);
	if (job->end.text != protobuf_c_empty_string)
		free(job->end.text);
	free(job->start_text);
	free(job->type);
	mask_free(job->mask);
	uint32_t at = job->at;
	memset(job, 0, sizeof *job);
	slab_give(&k->jobs, at);
}

void keeper_remember_forgotten(struct keeper *k, uint64_t token)
{
	k->forgotten[k->forgotten_n++ % FORGOTTEN_MAX] = token;
}

bool keeper_is_forgotten(const struct keeper *k, uint64_t token)
{
	size_t n = k->forgotten_n < FORGOTTEN_MAX ? k->forgotten_n : FORGOTTEN_MAX;

	for (size_t i = 0; i < n; i++)
		if (k->forgotten[i] == token)
			return true;
	return false;
}

void keeper_forget(struct keeper *k, uint64_t token)
{
	struct job *job = keeper_find(k, token);

	if (!job || !job_is_over(job))
		return;
	keeper_queue_remove(&k->ends, job->at);
	output_remove(k->outputs, job);
	keeper_remove(k, job);
	keeper_remember_forgotten(k, token);
	/* Goes to disk with the next sync: a forgotten end that comes back is only told again. */
	keeper_record_forget(&k->journal, token);
}

/* --- records --- */

void keeper_record_start(struct journal *j, const struct job *job)
{
	Sirdar__KeeperRecord r = SIRDAR__KEEPER_RECORD__INIT;
	Sirdar__KeeperJob message;

	job_message(job, &message);
	r.kind = START;
	r.job = &message;
	journal_put(j, &r);
}

void keeper_record_pid(struct journal *j, const struct job *job)
{
	Sirdar__KeeperRecord r = SIRDAR__KEEPER_RECORD__INIT;

	r.kind = PID;
	r.token = job->token;
	r.pid = (uint64_t)job->pid;
	r.pid_ticks = job->pid_ticks;
	journal_put(j, &r);
}

void keeper_record_end(struct journal *j, const struct job *job)
{
	Sirdar__KeeperRecord r = SIRDAR__KEEPER_RECORD__INIT;
	Sirdar__KeeperExited end = job->end;
	Sirdar__KeeperNotStarted not_started = SIRDAR__KEEPER_NOT_STARTED__INIT;

	CHECK(job_is_over(job));
	r.kind = job->state == JOB_NOT_STARTED ? NOT_STARTED : END;
	r.token = job->token;
	not_started.token = job->token;
	not_started.code = job->start_code;
	not_started.text = job->start_text ? job->start_text : (char *)"";
	if (r.kind == END)
		r.end = &end;
	else
		r.not_started = &not_started;
	journal_put(j, &r);
}

void keeper_record_forget(struct journal *j, uint64_t token)
{
	Sirdar__KeeperRecord r = SIRDAR__KEEPER_RECORD__INIT;

	r.kind = FORGET;
	r.token = token;
	journal_put(j, &r);
}

void keeper_record_boot(const struct keeper *k, struct journal *j)
{
	Sirdar__KeeperRecord r = SIRDAR__KEEPER_RECORD__INIT;

	r.kind = BOOT;
	r.boot_id = (char *)k->boot_id;
	r.incarnation = k->incarnation;
	r.place = j->place;
	journal_put(j, &r);
}

void keeper_journal_fill(void *ctx, struct journal *j)
{
	struct keeper *k = ctx;
	size_t from = k->forgotten_n > FORGOTTEN_MAX ? k->forgotten_n - FORGOTTEN_MAX : 0;

	keeper_record_boot(k, j);
	for (size_t i = from; i < k->forgotten_n; i++)
		keeper_record_forget(j, k->forgotten[i % FORGOTTEN_MAX]);
	for (uint32_t i = 0; i < k->jobs.used; i++) {
		const struct job *job = slab_at(&k->jobs, i);
		if (!job->keeper)
			continue;
		keeper_record_start(j, job);
		if (job->pid)
			keeper_record_pid(j, job);
		if (job_is_over(job))
			keeper_record_end(j, job);
	}
}

/* --- what a former keeper left --- */

struct loading {
	struct keeper *k;
	char boot_id[40], place[JOURNAL_PLACE]; /* place "": of a release that kept none */
};

static struct job *table_known(struct keeper *k, uint64_t token, const char *type)
{
	struct job *job = keeper_find(k, token);

	return job ? job : keeper_add(k, token, type);
}

static void load_start(struct keeper *k, const Sirdar__KeeperJob *m)
{
	struct job *job = table_known(k, m->token, m->type);

	job_from_message(job, m);
	job->state = JOB_STARTING; /* until its end is read */
}

static void load_end(struct job *job, const Sirdar__KeeperExited *end)
{
	bool is_marked = job->state != 0;

	job->end = *end;
	job->end.base.n_unknown_fields = 0;
	job->end.base.unknown_fields = NULL;
	job->end.type = job->type;
	job->end.text = mem_str(end->text);
	job->started_us = end->started_us;
	job->out.bytes = end->out_bytes;
	job->err.bytes = end->err_bytes;
	job->state = end->lost ? JOB_LOST : JOB_ENDED;
	if (!is_marked) { /* its start was in the damaged part: not to be trusted */
		job->state = JOB_LOST;
		job->end.lost = true;
		job->end.exit_code = 0;
		text_set(job, "lost: its start is in a damaged part of the journal");
	}
}

static void table_load(void *ctx, const Sirdar__KeeperRecord *r)
{
	struct loading *l = ctx;
	struct keeper *k = l->k;
	struct job *job;

	switch (r->kind) {
	case BOOT:
		snprintf(l->boot_id, sizeof l->boot_id, "%s", r->boot_id);
		snprintf(l->place, sizeof l->place, "%s", r->place);
		break;
	case START:
		if (r->job)
			load_start(k, r->job);
		break;
	case PID:
		job = table_known(k, r->token, "");
		job->pid = (pid_t)r->pid;
		job->pid_ticks = r->pid_ticks;
		break;
	case END:
		if (r->end)
			load_end(table_known(k, r->token, r->end->type), r->end);
		break;
	case NOT_STARTED:
		job = table_known(k, r->token, "");
		job->state = JOB_NOT_STARTED;
		job->start_code = r->not_started ? r->not_started->code : E_IO;
		job->start_text = mem_str(r->not_started ? r->not_started->text : "");
		break;
	case FORGET:
		job = keeper_find(k, r->token);
		if (job)
			keeper_remove(k, job);
		keeper_remember_forgotten(k, r->token);
		break;
	default:
		break; /* of a later version */
	}
}

/* Nobody saw how it ended. On the same boot its processes may still be there: it is told as
 * lost when they are gone; after a reboot they are gone, and their numbers are others'. */
static void table_lose(struct keeper *k, struct job *job, bool is_same_boot)
{
	CHECK(!job_is_over(job));
	job->end.lost = true;
	job->end.started_us = job->started_us;
	job->is_main_done = true;
	text_set(job, is_same_boot ? "lost: the keeper died" : "lost: the machine was restarted");
	log_warn("job.lost", "token=%016" PRIx64 " pid=%d boot=%s", job->token, (int)job->pid,
	         is_same_boot ? "same" : "another");
	if (!is_same_boot) {
		job->pid = 0;
		job->end.ended_us = clock_wall_us(&clock_machine);
		job->state = JOB_LOST;
		return;
	}
	if (job->pid && (!job->pid_ticks || tree_pid_ticks(job->pid) != job->pid_ticks))
		job->pid = 0;
	job->is_foreign = true;
	job->state = JOB_KILLING;
	job->phase = PHASE_KILL;
	job->phase_us = clock_mono_us(&clock_machine);
	job->hang_us = job->phase_us + k->settings.hang_ms * US_PER_MS;
	k->running++;
	keeper_due_set(k, job);
}

static void quarantine(struct keeper *k, const struct journal_health *h)
{
	char *aside;

	if (h->torn_bytes)
		log_warn("journal.torn", "bytes=%zu records=%zu: a last write was cut, ignored",
		         h->torn_bytes, h->records);
	if (!h->corrupt_bytes)
		return;
	aside = mem_fmt("%s.corrupt-%" PRId64, k->journal.path, clock_wall_us(&clock_machine));
	int r = link(k->journal.path, aside);
	log_error("journal.corrupt", "bytes=%zu records=%zu kept=%s: jobs in it are lost",
	          h->corrupt_bytes, h->records, r == 0 ? aside : "no");
	free(aside);
}

void keeper_files_remove(struct keeper *k, uint64_t token)
{
	if (k->settings.separates)
		launcher_clean(&k->settings.launcher, token);
	else
		launch_files_remove(k->files_dir, token);
}

bool keeper_has_launcher(struct keeper *k)
{
	return !k->settings.separates || k->settings.launcher.fd >= 0;
}

/* A copy says what another machine's keeper holds, or held when it was copied: whose processes
 * these are may run them still, so that nothing of it is told here, above all no end. */
static int disown(struct keeper *k, struct err *err)
{
	char *aside = mem_fmt("%s.copy-%" PRId64, k->journal.path, clock_wall_us(&clock_machine));
	size_t jobs = k->jobs.len;
	int r = 0;

	if (rename(k->journal.path, aside) < 0)
		r = err_sys(err, E_IO, errno, "%s", k->journal.path);
	for (uint32_t i = 0; r == 0 && i < k->jobs.used; i++) {
		struct job *job = slab_at(&k->jobs, i);
		if (!job->keeper)
			continue;
		keeper_files_remove(k, job->token);
		output_remove(k->outputs, job);
		keeper_remove(k, job);
	}
	k->forgotten_n = 0;
	if (r == 0)
		log_error("journal.copied",
		          "jobs=%zu kept=%s: this file is a copy, of another machine's or made by "
		          "hand; its jobs are not held here and nothing is reported of them",
		          jobs, aside);
	free(aside);
	return r;
}

/* No space for a new file: the old one has room for every end. */
static int journal_go_on(struct keeper *k, struct err *err)
{
	int r = journal_resume(&k->journal, err);

	if (r < 0)
		return r == E_NOT_FOUND ? err_set(err, E_FULL, "no space for the journal") : r;
	log_warn("journal.not_compacted", "no space: the old one goes on");
	keeper_record_boot(k, &k->journal);
	for (uint32_t i = 0; i < k->jobs.used; i++) {
		const struct job *job = slab_at(&k->jobs, i);
		if (job->keeper && job->state == JOB_LOST)
			keeper_record_end(&k->journal, job);
	}
	return journal_flush(&k->journal, true, err);
}

void keeper_load(struct keeper *k, int *ret_rc, struct err *err)
{
	struct loading l = { .k = k };
	struct journal_health health;
	int r = journal_read(&k->journal, table_load, &l, &health, err);

	if (r == 0 && l.place[0] && strcmp(l.place, health.place) != 0)
		r = disown(k, err);
	else if (r == 0)
		quarantine(k, &health);
	if (r < 0) {
		*ret_rc = r;
		return;
	}
	tree_begin(k->tree, k->incarnation);
	tree_sweep(k->tree);
	for (uint32_t i = 0; i < k->jobs.used; i++) {
		struct job *job = slab_at(&k->jobs, i);
		if (!job->keeper)
			continue;
		keeper_files_remove(k, job->token);
		if (!job_is_over(job))
			table_lose(k, job, strcmp(l.boot_id, k->boot_id) == 0);
	}
	r = journal_rewrite(&k->journal, (size_t)k->settings.journal_bytes, keeper_journal_fill, k,
	                    err);
	*ret_rc = r == E_FULL ? journal_go_on(k, err) : r;
}
