/* What became of jobs, told to the server until it acknowledges.
 *
 * An end has a number and is told with the same words each time: at once, after each welcome, and
 * when it is overdue (broker rule 6). Jobs with something to tell are in a list, packed into
 * frames at the end of a round. A job leaves when its end is acknowledged and its log is shipped;
 * only then is the keeper told to forget it. Progress may be lost: at most one a second and job
 * goes out.
 */
#include <sirdar.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "broker/link/link.h"
#include "broker/loader/loader.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/failure.h"
#include "util/log.h"

#define REPORTS_PER_FRAME 4096
#define BYTES_PER_FRAME   (1u << 20)
#define REPORTS_PER_JOB   4
/* An end that the server has not acknowledged for so many beats is told again. */
#define REPEAT_BEATS 3

void loader_report(struct loader *l, struct job *j, unsigned due)
{
	CHECK(due && !(due & ~(DUE_STARTED | DUE_KILL_ACK | DUE_END | DUE_HANGED)));
	CHECK(j->phase != JOB_FREE && j->phase != JOB_ACKED);
	CHECK(!(due & DUE_END) || j->phase == JOB_ENDED);
	j->due |= (uint8_t)due;
	if (j->is_dirty)
		return;
	CHECK(!*l->dirty_tail);
	j->is_dirty = true;
	j->dirty_next = NULL;
	*l->dirty_tail = j;
	l->dirty_tail = &j->dirty_next;
}

void loader_report_unknown(struct loader *l, uint64_t token)
{
	Sirdar__Report report = SIRDAR__REPORT__INIT, *one = &report;
	Sirdar__Reports m = SIRDAR__REPORTS__INIT;

	report.token = token;
	report.seq = l->seq_base + 1;
	report.kind = REPORT_LOST;
	report.reason = REASON_LOST;
	report.text = (char *)"not held here";
	m.report = &one;
	m.n_report = 1;
	if (l->link)
		link_send(l->link, FR_REPORTS, &m, NULL);
}

/* One frame in the making. */
struct pack {
	Sirdar__Report *reports, **pointers;
	Sirdar__Failure *failures; /* one a report */
	Sirdar__Param *params, **param_pointers;
	size_t n, n_params, bytes;
};

static Sirdar__Report *reports_add(struct pack *p, struct job *j, uint32_t kind)
{
	CHECK(p->n < REPORTS_PER_FRAME);
	Sirdar__Report *r = &p->reports[p->n];

	sirdar__report__init(r);
	p->pointers[p->n++] = r;
	r->token = j->pub.token;
	r->kind = kind;
	r->seq = ++j->seq;
	p->bytes += 64;
	return r;
}

static void add_outputs(struct pack *p, struct job *j, Sirdar__Report *r)
{
	CHECK(p->n_params + j->n_outputs <= REPORTS_PER_FRAME);
	r->outputs = p->param_pointers + p->n_params;
	r->n_outputs = j->n_outputs;
	for (uint32_t i = 0; i < j->n_outputs; i++, p->n_params++) {
		Sirdar__Param *param = &p->params[p->n_params];

		sirdar__param__init(param);
		param->name = j->outputs[i].name;
		param->value = j->outputs[i].value;
		p->param_pointers[p->n_params] = param;
	}
	p->bytes += j->output_bytes + 16 * j->n_outputs;
}

static void add_failure(struct pack *p, struct failure *f, Sirdar__Report *r)
{
	Sirdar__Failure *m = &p->failures[p->n - 1];

	if (!f)
		return;
	sirdar__failure__init(m);
	m->failure_class = f->class;
	m->exit = f->exit;
	m->line = f->line;
	m->stream = f->stream;
	m->tail = f->tail;
	r->failure = m;
	p->bytes += sizeof *f;
}

static void add_end(struct pack *p, struct job *j)
{
	CHECK(j->phase == JOB_ENDED && j->report_kind && j->report_kind < REPORT_COUNT);
	Sirdar__Report *r = reports_add(p, j, j->report_kind);

	if (j->end_seq) { /* told before: the same words again */
		r->seq = j->end_seq;
		j->seq--;
	}
	j->end_seq = r->seq;
	j->report_us = clock_mono_us(&clock_machine);
	r->exit_code = j->result.exit_code;
	r->verdict = j->result.verdict == RUNNER_NOT_YET ? RUNNER_BY_CODE : j->result.verdict;
	r->reason = j->reason;
	r->text = j->result.text;
	r->started_us = j->started_us;
	r->ended_us = j->ended_us;
	r->cpu_us = j->cpu_us;
	r->rss_max_bytes = j->rss_max_bytes;
	r->pid = j->pid;
	r->retry_after_us = j->result.retry_after_ms < UINT64_MAX / US_PER_MS
	                            ? j->result.retry_after_ms * US_PER_MS
	                            : UINT64_MAX;
	add_failure(p, j->failure, r);
	p->bytes += strlen(j->result.text);
	if (j->n_outputs)
		add_outputs(p, j, r);
}

static void add_job(struct pack *p, struct job *j)
{
	if (j->due & DUE_KILL_ACK)
		reports_add(p, j, REPORT_KILL_ACK);
	if (j->due & DUE_STARTED && !(j->due & DUE_END)) {
		Sirdar__Report *r = reports_add(p, j, REPORT_STARTED);

		r->started_us = j->started_us;
		r->pid = j->pid;
	}
	if (j->due & DUE_HANGED && !(j->due & DUE_END)) {
		Sirdar__Report *r = reports_add(p, j, REPORT_HANGED);

		r->reason = REASON_UNKILLABLE;
	}
	if (j->due & DUE_END)
		add_end(p, j);
}

/* Pack jobs from the list until the frame is full. Returns the first that was left. */
static struct job *reports_fill(struct pack *p, struct job *j)
{
	p->n = p->n_params = p->bytes = 0;
	while (j && p->n + REPORTS_PER_JOB <= REPORTS_PER_FRAME && p->bytes < BYTES_PER_FRAME &&
	       p->n_params + JOB_OUTPUTS_MAX <= REPORTS_PER_FRAME) {
		add_job(p, j);
		j = j->dirty_next;
	}
	return j;
}

static void take_off(struct loader *l, struct job *upto)
{
	while (l->dirty != upto) {
		struct job *j = l->dirty;

		l->dirty = j->dirty_next;
		j->is_dirty = false;
		j->due = 0;
	}
	if (!l->dirty)
		l->dirty_tail = &l->dirty;
}

static struct pack *pack_of(struct loader *l)
{
	if (!l->pack) {
		l->pack = mem_new(sizeof *l->pack);
		l->pack->reports = mem_array(REPORTS_PER_FRAME, sizeof(Sirdar__Report));
		l->pack->failures = mem_array(REPORTS_PER_FRAME, sizeof(Sirdar__Failure));
		l->pack->pointers = mem_array(REPORTS_PER_FRAME, sizeof(Sirdar__Report *));
		l->pack->params = mem_array(REPORTS_PER_FRAME, sizeof(Sirdar__Param));
		l->pack->param_pointers = mem_array(REPORTS_PER_FRAME, sizeof(Sirdar__Param *));
	}
	return l->pack;
}

void loader_reports_done(struct loader *l)
{
	if (!l->pack)
		return;
	free(l->pack->reports);
	free(l->pack->failures);
	free(l->pack->pointers);
	free(l->pack->params);
	free(l->pack->param_pointers);
	free(l->pack);
}

static int send_pack(struct loader *l, const struct pack *p)
{
	Sirdar__Reports m = SIRDAR__REPORTS__INIT;
	struct err err;

	if (p->n == 0)
		return 0;
	m.report = p->pointers;
	m.n_report = p->n;
	int r = link_send(l->link, FR_REPORTS, &m, &err);

	if (r < 0 && r != E_BUSY && r != E_CLOSED)
		log_error("loader.report", "why=\"%s\"", err.text);
	return r;
}

void loader_flush_reports(struct loader *l)
{
	if (!l->dirty || !l->link || !link_is_up(l->link))
		return;
	while (l->dirty) {
		struct job *rest = reports_fill(pack_of(l), l->dirty);

		if (send_pack(l, l->pack) < 0)
			return; /* the next round, or the next welcome, brings us back */
		take_off(l, rest);
	}
}

static unsigned present_state(const struct job *j)
{
	unsigned due = 0;

	if (j->phase == JOB_ENDED)
		return DUE_END;
	if (j->has_started)
		due |= DUE_STARTED;
	if (j->kill_seen)
		due |= DUE_KILL_ACK;
	if (j->is_hanged)
		due |= DUE_HANGED;
	return due;
}

void loader_report_all(struct loader *l)
{
	for (uint32_t i = 0; i < l->n_jobs; i++) {
		struct job *j = l->jobs[i];
		unsigned due = j->phase == JOB_FREE || j->phase == JOB_ACKED ? 0 : present_state(j);

		if (due)
			loader_report(l, j, due);
	}
}

void loader_report_overdue(struct loader *l)
{
	int64_t before_us = clock_mono_us(&clock_machine) -
	                    (int64_t)REPEAT_BEATS * link_beat_ms(l->link) * US_PER_MS;

	for (uint32_t i = 0; l->unacked && i < l->n_jobs; i++) {
		struct job *j = l->jobs[i];

		if (j->phase == JOB_ENDED && j->report_us < before_us)
			loader_report(l, j, DUE_END);
	}
}

/* --- progress: at most one a second and job --------------------------------------- */

static bool has_news(const struct job *j)
{
	return (j->phase == JOB_QUEUED || j->phase == JOB_PROCESS) &&
	       atomic_load(&j->progress) != j->progress_sent;
}

/* The texts are borrowed from job threads: the lock is held until they are in the frame. */
void loader_send_progress(struct loader *l)
{
	struct pack *p = NULL;

	if (!l->link || !link_is_up(l->link) || !l->active)
		return;
	pthread_mutex_lock(&l->mu);
	for (uint32_t i = 0; i < l->n_jobs; i++) {
		struct job *j = l->jobs[i];

		if (!has_news(j))
			continue;
		if (!p) {
			p = pack_of(l);
			p->n = p->n_params = p->bytes = 0;
		}
		if (p->n == REPORTS_PER_FRAME)
			break;
		Sirdar__Report *r = reports_add(p, j, REPORT_PROGRESS);

		j->progress_sent = atomic_load(&j->progress);
		r->progress_permille = j->progress_sent - 1;
		if (j->progress_text)
			r->text = j->progress_text;
	}
	CHECK(!p || p->n <= REPORTS_PER_FRAME);
	if (p)
		send_pack(l, p);
	pthread_mutex_unlock(&l->mu);
}

/* --- acknowledgements ------------------------------------------------------------- */

static void end_acked(struct loader *l, struct job *j)
{
	CHECK(l->unacked > 0);
	l->unacked--;
	job_move(j, JOB_ACKED);
	loader_report_forget(l, j);
	loader_job_settled(l, j);
}

void loader_drop_end(struct loader *l, struct job *j)
{
	CHECK(j->phase == JOB_ENDED);
	end_acked(l, j);
}

int loader_take_acks(struct loader *l, const Sirdar__ReportAcks *m)
{
	for (size_t i = 0; i < m->n_ack; i++) {
		const Sirdar__ReportAck *ack = m->ack[i];
		struct job *j = loader_job_find(l, ack->token);

		if (!j || j->phase != JOB_ENDED || ack->seq != j->end_seq)
			continue;
		if (ack->code < 0 && err_retryable(ack->code))
			continue; /* told again when it is overdue */
		if (ack->code < 0)
			log_warn("loader.report_refused", "token=%llx code=%s",
			         (unsigned long long)ack->token, err_name(ack->code));
		end_acked(l, j);
	}
	return 0;
}
