/* Jobs whose work is a process in the jobkeeper: started, adopted, killed, ended.
 *
 * What the keeper holds is the truth. Its first list, and each after a reconnect, is compared with
 * the jobs here: one that it holds and we do not is adopted, one that it does not hold was never
 * started and is sent again, or is lost. A token is never started twice: the keeper refuses it.
 * Once the keeper has been away for fence_ms, our beats do not name its jobs until it is back.
 * finish() of the plugin has the last word about an end, except for adopted jobs, of which this
 * plugin has no state.
 */
#include <keeper.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/keeper/client.h"
#include "broker/keeper/remains.h"
#include "broker/link/link.h"
#include "broker/loader/loader.h"
#include "broker/loader/pool.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum { HELD_NOT_STARTED = 5, HELD_HANGED = 7 }; /* KeeperJob.state */
enum { KILL_STATE_HANGED = 2, KILL_STATE_NONE = 3 };
enum { KILLED_BY_US = 1, KILLED_BY_FENCE = 2, KILLED_BY_STOP = 3 }; /* KeeperExited.killed_why */

#define LOOKS   5   /* in fence_ms, for a keeper that is away */
#define LOOK_S  0.1 /* after that, until nothing is left of what it ran */
#define LIST_ID 1   /* of the list asked for when a kill found nothing */

/* --- ends ------------------------------------------------------------------------- */

/* A runner whose process it was: what it said counts, however long its process took to end. */
static void runner_said(const struct loader *l, struct job *j)
{
	if (j->report_kind != REPORT_ENDED)
		return;
	if (j->has_said) {
		j->result = j->process_result;
		loader_run_settle(j);
	} else if (l->is_apart && j->reason == REASON_EXIT) {
		/* A success that lacks its outputs is none. */
		j->result.verdict = RUNNER_INFRA;
		result_set_text(&j->result, "how its runner ended is not kept: see "
		                            "output_bytes_max, output_rate_max_bytes");
	}
}

/* The process is over; the runner's finish() has the last word, on a thread unless it says that
 * it never blocks. */
static void process_over(struct loader *l, struct job *j)
{
	if (j->phase == JOB_ENDED || j->phase == JOB_ACKED)
		return;
	loader_read_outputs(l, j);
	runner_said(l, j);
	if (j->is_waited) {
		pthread_mutex_lock(&l->mu);
		j->process_result = j->result;
		j->process_over = true;
		pthread_cond_broadcast(&j->cv);
		pthread_mutex_unlock(&l->mu);
		return;
	}
	if (j->stage == STAGE_FINISH)
		return; /* on its way already */
	if (!j->is_adopted && RUNNER_HAS(l->plugin, struct runner_plugin, finish)) {
		j->stage = STAGE_FINISH;
		if (!(l->plugin->flags & RUNNER_INLINE_OK)) {
			pool_push(l->pool, j, j, 1);
			return;
		}
		loader_call_begin(l, "inline finish()");
		loader_run_job(j);
		loader_call_end(l);
	}
	loader_job_ended(l, j);
}

static void process_lost(struct loader *l, struct job *j, const char *why)
{
	j->report_kind = REPORT_LOST;
	j->reason = REASON_LOST;
	result_set_text(&j->result, why);
	process_over(l, j);
}

static void not_begun(struct loader *l, struct job *j, uint8_t kind, const char *why)
{
	CHECK(kind == REPORT_NOT_STARTED || kind == REPORT_ENDED);
	CHECK(j->start && !j->start->is_sent);
	j->report_kind = kind;
	j->reason = kind == REPORT_NOT_STARTED ? REASON_NOSTART : REASON_SIGNAL;
	j->result.exit_code = kind == REPORT_NOT_STARTED ? 0 : -15;
	result_set_text(&j->result, why);
	process_over(l, j);
}

static struct job *adopt(struct loader *l, uint64_t token)
{
	struct job *j = loader_job_new(l);

	j->store = j->store ? j->store : mem_new(1);
	j->store[0] = 0;
	j->pub = (struct runner_job){
		.size = sizeof j->pub,
		.token = token,
		.task_name = j->store,
		.timezone = j->store,
		.run_as = j->store,
	};
	j->project = j->store;
	j->result.size = sizeof j->result;
	job_move(j, JOB_PROCESS);
	j->is_process = j->is_adopted = j->has_started = j->in_keeper = true;
	j->seq = l->seq_base;
	loader_job_enter(l, j);
	return j;
}

static struct job *find_or_adopt(struct loader *l, uint64_t token)
{
	struct job *j = loader_job_find(l, token);

	return j ? j : adopt(l, token);
}

/* Over here already, or never given to the keeper: what it tells of such a token is not news. */
static bool is_not_its(const struct job *j)
{
	return j->phase == JOB_ENDED || j->phase == JOB_ACKED || !j->is_process;
}

static void on_exited(void *ctx, const Sirdar__KeeperExited *m)
{
	struct loader *l = ctx;
	struct job *j = find_or_adopt(l, m->token);

	if (is_not_its(j))
		return;
	j->started_us = m->started_us ? m->started_us : j->started_us;
	j->ended_us = m->ended_us;
	j->cpu_us = m->cpu_us;
	j->rss_max_bytes = m->rss_max_bytes;
	j->is_recorded = m->records;
	j->logs[LOG_OUT].size = m->out_bytes;
	j->logs[LOG_ERR].size = m->err_bytes;
	j->logs[LOG_RECORDS].size = m->log_bytes;
	result_set_text(&j->result, m->text);
	if (m->lost) {
		process_lost(l, j, m->text[0] ? m->text : "nobody saw its end");
		return;
	}
	j->result.exit_code = m->exit_code;
	j->report_kind = REPORT_ENDED;
	j->reason = m->oom ? REASON_OOM : m->exit_code < 0 ? REASON_SIGNAL : REASON_EXIT;
	if (m->killed_why == KILLED_BY_US) /* also when a former loader asked for it */
		j->kill_intent = m->intent;
	else
		j->kill_intent = 0;
	if (m->killed_why == KILLED_BY_FENCE)
		j->cut_short = REASON_FENCED;
	else if (m->killed_why == KILLED_BY_STOP)
		j->cut_short = REASON_HALTED;
	process_over(l, j);
}

static void on_not_started(void *ctx, const Sirdar__KeeperNotStarted *m)
{
	struct loader *l = ctx;
	struct job *j = find_or_adopt(l, m->token);

	if (is_not_its(j))
		return;
	if (m->code == E_STALE) {
		process_lost(l, j, "this attempt was held here before");
		return;
	}
	j->reason = m->code == E_NO_USER ? REASON_NO_USER : REASON_NOSTART;
	result_set_text(&j->result, m->text);
	if (m->code == E_BUSY) { /* full, not sick: nothing was tried */
		j->reason = REASON_FULL;
		j->report_kind = REPORT_REJECTED;
		j->result.verdict = RUNNER_INFRA;
	} else if (err_retryable(m->code) || (l->is_apart && m->code == E_NOT_FOUND)) {
		/* The program that this machine lacks is ours. */
		j->report_kind = REPORT_NOT_STARTED;
		j->result.verdict = RUNNER_INFRA;
	} else { /* as a shell would say it */
		j->report_kind = REPORT_ENDED;
		j->result.verdict = RUNNER_FATAL;
		j->result.exit_code = m->code == E_NOT_FOUND ? 127 : 126;
	}
	process_over(l, j);
}

static void on_started(void *ctx, const Sirdar__KeeperStarted *m)
{
	struct loader *l = ctx;
	struct job *j = loader_job_find(l, m->token);

	if (!j || is_not_its(j))
		return;
	if (j->start)
		j->start->is_answered = true;
	j->pid = m->pid;
	j->started_us = m->started_us;
	j->has_started = true;
	loader_report(l, j, DUE_STARTED);
}

static void on_kill_state(void *ctx, const Sirdar__KeeperKillState *m)
{
	struct loader *l = ctx;
	struct job *j = loader_job_find(l, m->token);

	if (!j || is_not_its(j))
		return;
	if (m->state == KILL_STATE_HANGED) {
		j->is_hanged = true;
		loader_report(l, j, DUE_HANGED);
	} else if (m->state == KILL_STATE_NONE) {
		keeper_client_list(l->keeper, LIST_ID, NULL);
	}
}

/* --- what the keeper holds -------------------------------------------------------- */

static void take_held(struct loader *l, const Sirdar__KeeperJob *k)
{
	struct job *j = loader_job_find(l, k->token);

	if (!j) {
		j = adopt(l, k->token);
		j->pub.task_id = k->task_id;
		j->pub.run_date = k->run_date;
		j->pub.part = k->part;
		j->pub.generation = k->generation;
		j->pub.attempt = k->attempt;
		j->proof = lease_proof_of(k->lease_proof.data, k->lease_proof.len);
		j->pid = k->pid;
		j->started_us = k->started_us;
		j->is_recorded = k->records;
		log_info("loader.adopted", "token=%llx state=%u", (unsigned long long)k->token,
		         k->state);
		loader_ship(l, j);
	}
	j->is_listed = true;
	if (j->start)
		j->start->is_answered = true;
	if (k->state == HELD_HANGED && !j->is_hanged && !is_not_its(j)) {
		j->is_hanged = true;
		loader_report(l, j, DUE_HANGED);
	}
}

/* After the whole list: what is not on it is gone, or was never started. */
static void compare_held(struct loader *l)
{
	for (uint32_t i = 0; i < l->n_jobs; i++) {
		struct job *j = l->jobs[i];

		if (!job_is_running_process(j))
			continue;
		if (j->is_listed) {
			if (j->kill_seen)
				loader_kill_process(l, j, j->kill_grace_us, j->kill_intent);
			continue;
		}
		if (j->start && !j->start->is_answered) {
			j->start->is_sent = false;
			loader_start_process(l, j);
		} else {
			process_lost(l, j, "the jobkeeper holds it no more");
		}
	}
}

/* Away for fence_ms, and what it ran is ended: nobody else can report that. The beats name it no
 * more, so the server loses it and has it run again. */
static void keeper_is_gone(struct loader *l)
{
	CHECK(l->link && !l->is_keeper_gone);
	log_error("loader.keeper_gone", "active=%u: what it ran is named no more", l->active);
	for (uint32_t i = 0; i < l->n_jobs; i++) {
		struct job *j = l->jobs[i];

		if (!job_is_running_process(j) || !j->start)
			continue;
		if (j->start->is_sent)
			j->start->is_answered = true; /* never asked for again */
		else
			not_begun(l, j, REPORT_NOT_STARTED, "there is no jobkeeper");
	}
	l->is_keeper_gone = true;
}

/* What the server is told must have happened: its jobs are named until none of them runs. Where
 * that cannot be had, no longer than lose_ms, as if nobody named them. */
static bool is_over(struct loader *l)
{
	const struct param_taskbroker *p = l->settings;
	double more_s = ((double)link_lose_ms(l->link) - link_fence_ms(l->link)) / 1000.0;
	size_t n = 0;
	const uint64_t *tokens = loader_held(l, &n);

	/* Another user's: who begins its service anew ends them. */
	if (!p->keeper_dir[0] && remains_end(p->state_dir, p->cgroup, tokens, n))
		return true;
	if ((l->keeper_looks - LOOKS) * LOOK_S < more_s)
		return false;
	log_error("loader.keeper_remains", "what the jobkeeper ran cannot be ended");
	return true;
}

/* Counted in looks: where this process stood still itself, it has looked once. One that is frozen
 * is ended by whoever looks first: there may be no taskbroker. */
static void on_keeper_look(struct ev_loop *loop, ev_timer *w, int events)
{
	struct loader *l = w->data;
	bool is_fenced = ++l->keeper_looks > LOOKS;

	(void)events;
	if (keeper_client_end_frozen(l->keeper, is_fenced ? 0 : link_fence_ms(l->link)))
		log_error("loader.keeper_silent", "it is ended by force, and its jobs with it");
	if (!is_fenced || l->is_keeper_gone)
		return;
	w->repeat = LOOK_S;
	if (is_over(l)) {
		keeper_is_gone(l);
		w->repeat = link_fence_ms(l->link) / 1000.0 / LOOKS;
	}
	ev_timer_again(loop, w);
}

/* It has told what it holds. Beats that are not acknowledged yet did not name that. */
static void keeper_is_back(struct loader *l)
{
	ev_timer_stop(l->loop, &l->keeper_timer);
	if (!l->is_keeper_gone)
		return;
	for (uint32_t i = 0; i < l->n_jobs; i++) {
		if (job_is_running_process(l->jobs[i]))
			l->jobs[i]->entered_seq = link_beat_seq(l->link);
	}
	l->is_keeper_gone = false;
}

static void on_held(void *ctx, const Sirdar__KeeperHeld *h)
{
	struct loader *l = ctx;

	for (size_t i = 0; i < h->n_job; i++)
		take_held(l, h->job[i]);
	if (!h->last)
		return;
	keeper_is_back(l);
	compare_held(l);
	for (uint32_t i = 0; i < l->n_jobs; i++)
		l->jobs[i]->is_listed = false;
	l->is_held_known = true;
}

static void on_up(void *ctx, const Sirdar__KeeperWelcome *w)
{
	struct loader *l = ctx;

	free(l->logs_dir);
	l->logs_dir = mem_str(w->logs_dir);
	l->keeper_keeps_proofs = w->keeps_proofs;
	l->keeper_records = w->records;
}

static void on_down(void *ctx, const struct err *why)
{
	struct loader *l = ctx;

	l->is_held_known = false;
	log_warn("loader.keeper_down", "why=\"%s\"", why->text);
	if (!l->link || l->is_keeper_gone || ev_is_active(&l->keeper_timer))
		return;
	l->keeper_looks = 0;
	l->keeper_timer.repeat = link_fence_ms(l->link) / 1000.0 / LOOKS;
	ev_timer_again(l->loop, &l->keeper_timer);
}

static const struct keeper_client_ops ops = {
	.on_up = on_up,
	.on_down = on_down,
	.on_held = on_held,
	.on_started = on_started,
	.on_not_started = on_not_started,
	.on_exited = on_exited,
	.on_kill_state = on_kill_state,
};

void loader_keeper_init(struct loader *l)
{
	ev_init(&l->keeper_timer, on_keeper_look);
	l->keeper_timer.data = l;
}

int loader_open_keeper(struct loader *l, struct err *err)
{
	char path[4096];
	const struct param_taskbroker *p = l->settings;
	bool is_others = p->keeper_dir[0];
	const struct keeper_client_settings set = {
		path, p->isolation, is_others, "loader", l->lane, p->loader_silent_ms, &ops, l,
	};

	CHECK(!l->keeper);
	snprintf(path, sizeof path, "%s/keeper.sock", is_others ? p->keeper_dir : p->state_dir);
	return keeper_client_open(l->loop, &set, &l->keeper, err);
}

/* --- requests --------------------------------------------------------------------- */

void loader_start_process(struct loader *l, struct job *j)
{
	int64_t lease_us = j->lease_us;
	struct err err;
	int r;

	CHECK(j->start && (j->phase == JOB_QUEUED || j->phase == JOB_PROCESS));
	if (j->phase == JOB_QUEUED && !j->is_waited)
		job_move(j, JOB_PROCESS);
	if (!j->is_process) {
		CHECK(l->in_process > 0);
		j->is_process = true;
		l->in_process--;
	}
	if (j->start->is_sent)
		return;
	if (atomic_load(&j->is_cancelled)) {
		not_begun(l, j, REPORT_ENDED, "killed before it began");
		return;
	}
	if (lease_us <= clock_mono_us(&clock_machine) && !j->keep_on_server_lost) {
		not_begun(l, j, REPORT_NOT_STARTED, "its lease ran out before it began");
		return;
	}
	j->start->message->deadline_us = (uint64_t)lease_us;
	j->start->message->records = j->is_recorded = l->keeper_records;
	j->start->message->fence_kill_us = link_kill_ms(l->link) * (uint64_t)US_PER_MS;
	r = keeper_client_start(l->keeper, j->start->message, &err);
	if (r == 0)
		j->start->is_sent = j->in_keeper = true;
	else if (l->is_keeper_gone)
		not_begun(l, j, REPORT_NOT_STARTED, "there is no jobkeeper");
	else if (r != E_CLOSED) /* closed: sent when the keeper has told what it holds */
		not_begun(l, j, REPORT_NOT_STARTED, err.text);
	loader_ship(l, j);
}

void loader_kill_process(struct loader *l, struct job *j, uint64_t grace_us, uint32_t intent)
{
	CHECK(j->is_process && j->has_slot);
	if (j->start && !j->start->is_sent) {
		not_begun(l, j, REPORT_ENDED, "killed before it began");
		return;
	}
	j->kill_grace_us = grace_us; /* not up: compare_held() asks again */
	j->kill_intent = intent;
	keeper_client_kill(l->keeper, j->pub.token, grace_us, intent, NULL);
}

void loader_renew_processes(struct loader *l, const uint64_t *tokens, size_t n, int64_t deadline_us)
{
	if (n && l->keeper && keeper_client_is_up(l->keeper))
		keeper_client_renew(l->keeper, tokens, n, (uint64_t)deadline_us, NULL);
}
