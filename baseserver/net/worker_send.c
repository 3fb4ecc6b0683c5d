/* What leaves: jobs, kills, acknowledgements. Only durable records are read here.
 *
 * A grant becomes a job when its record is on disk. If its session went away meanwhile, or the disk
 * took longer than the margin of the lease allows, the job does not leave: it never started, so the
 * grant is given back and burns no try. Values that name more than the definition has are asked of
 * the params actor first. The order of frames is a promise: the answer to a beat follows the
 * last grant before it, so the loader knows what the server knew. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/model/front.h"
#include "baseserver/model/job.h"
#include "baseserver/model/params.h"
#include "baseserver/net/worker_impl.h"
#include "baseserver/secret/secrets.h"
#include "baseserver/sort/sorter.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum { JOBS_PER_FRAME = 1024, SPEAK_AGAIN_MS = 5 };

static void job_put(struct conn *c, Sirdar__Job *job)
{
	CHECK(c->role == ROLE_LOADER && job->token);
	worker__give_proof(c, job);
	c->jobs = mem_room(c->jobs, &c->jobs_cap, c->n_jobs + 1, sizeof *c->jobs);
	c->jobs[c->n_jobs++] = job;
	tally(&c->w->f_jobs, 1);
	worker__touch(c);
}

/* The server counts T_lose from the grant, the holder T_fence from a proof no older than the
 * moment the job leaves: what leaves later than the margin between could outlive its lease. */
static bool too_late(const struct worker *w, int64_t granted_us)
{
	int64_t margin_ms = (int64_t)w->set.lose_ms - w->set.fence_ms - w->set.kill_ms;

	return actor_mono_us(w->me) - granted_us >= margin_ms * US_PER_MS;
}

/* It never left, so it never started: why not, and what follows from that. */
static struct proposal *give_back(struct worker *w, const struct instance *i)
{
	struct lease *l = worker__lease(w, i->token);
	struct proposal *p;

	CHECK(i->token);
	if (l)
		l->given_back = true;
	p = worker__propose(w, ASK_ENDED, i->key);
	p->token = i->token;
	p->session = l ? l->session : 0; /* who chose that seat counts on it */
	p->end = AE_BACK;
	p->reason = RE_UNSENT;
	return p;
}

static void credit_back(struct conn *c)
{
	c->unsent++;
	c->news = true;
	worker__touch(c);
}

/* Longer each time: whoever is asked has other things to do. */
static int64_t secret_wait_us(const struct param_question *q)
{
	int64_t wait_us = US_PER_S;

	for (unsigned i = 0; i < q->inst.infra && wait_us < SECRET_WAIT_MAX_US; i++)
		wait_us *= 2;
	wait_us = wait_us < SECRET_WAIT_MAX_US ? wait_us : SECRET_WAIT_MAX_US;
	return wait_us > q->wait_us ? wait_us : q->wait_us;
}

/* A job whose parameters could not be had must not run without them, nor be tried again as it
 * is: what its parents gave does not change by itself. */
static void fail_values(struct worker *w, const struct param_question *q)
{
	struct proposal *p = give_back(w, &q->inst);

	if (q->code == 0 || q->code == E_BUSY)
		return;
	if (q->code == E_NOT_FOUND) { /* may be so for good: it has a cap */
		p->end = AE_RETURN;
		p->reason = RE_NOSTART;
		p->session = 0; /* no machine's fault */
		return;
	}
	p->end = q->code == E_SECRET ? AE_WITHOUT : AE_FATAL;
	p->reason = RE_PARAMS;
	if (q->code == E_SECRET) {
		p->session = 0; /* no machine's fault */
		p->wait_us = secret_wait_us(q);
	}
	p->note = mem_str(q->text);
}

static void on_values(struct letter *letter, void *self)
{
	struct worker *w = self;
	struct param_question *q = (struct param_question *)letter;
	struct conn *c = worker__conn(w, q->session);
	struct lease *l = worker__lease(w, q->inst.token);
	bool is_wanted = l && !l->given_back;

	if (l)
		l->asks = false;
	if (is_wanted && c && q->code == 0 && !too_late(w, q->since_us)) {
		job_put(c, job_new(q->def, &q->inst, q->values, q->n));
	} else {
		if (c)
			credit_back(c); /* also of what ended meanwhile: it did not leave */
		if (is_wanted)
			fail_values(w, q);
	}
	param_question_free(q);
}

/* Parameters that name more than the definition has: the params actor knows. */
static void ask_values(struct worker *w, struct conn *c, struct lease *l, const struct instance *i,
                       int64_t granted_us)
{
	struct param_question *q = mem_new(sizeof *q);

	CHECK(l->def->id == i->key.task && !l->asks);
	q->reply_to = w->me;
	q->answered = on_values;
	q->session = c->number;
	q->key = i->key;
	q->wants_params = i->flags & IF_PARAMS;
	q->def = task_ref(l->def);
	q->inst = *i;
	q->since_us = granted_us;
	l->asks = params_ask(w->peers.params, q) == 0;
	if (l->asks)
		return;
	credit_back(c);
	give_back(w, i);
	param_question_free(q);
}

void worker_figures(const struct worker *w, struct worker_figures *ret)
{
	*ret = (struct worker_figures){ w->f_jobs, w->f_reports, w->f_log_refused, w->f_unproven,
		                        &w->hand_over };
}

static void job_add(struct worker *w, struct conn *c, const struct instance *i, int64_t granted_us)
{
	struct lease *l = worker__lease(w, i->token);
	const struct task *def = l ? l->def : NULL;

	if (!def)
		return; /* its lease runs out */
	if (def->asks || i->flags & IF_PARAMS)
		ask_values(w, c, l, i, granted_us);
	else
		job_put(c, job_new(def, i, NULL, 0));
}

static void kill_add(struct worker *w, struct conn *c, const struct instance *i)
{
	const struct lease *l = worker__lease(w, i->token);
	const struct task *def = l ? l->def : NULL;
	Sirdar__Kill *k = mem_new(sizeof *k);

	sirdar__kill__init(k);
	k->token = i->token;
	k->grace_us = i->grace_ms ? (uint64_t)i->grace_ms * US_PER_MS
	              : def       ? (uint64_t)def->grace_us
	                          : 0;
	k->intent = i->intent;
	c->kills = mem_room(c->kills, &c->kills_cap, c->n_kills + 1, sizeof *c->kills);
	c->kills[c->n_kills++] = k;
	worker__touch(c);
}

static void send_effects(struct worker *w, const struct transition *tr)
{
	if (tr->event == EV_GRANT && tr->session >> 24 == w->set.index) {
		struct conn *c = worker__conn(w, tr->session);
		if (c && !c->closed && !too_late(w, tr->mono_us)) {
			job_add(w, c, &tr->inst, tr->mono_us);
			timing_add(&w->hand_over, actor_mono_us(w->me) - tr->mono_us);
			return;
		}
		/* The session went before the grant was durable, or the store took too long. */
		if (c)
			credit_back(c);
		give_back(w, &tr->inst);
	} else if (tr->inst.state == ST_WAITKILL && tr->from != ST_WAITKILL) {
		const struct lease *l = worker__lease(w, tr->inst.token);
		struct conn *c = l ? worker__conn(w, l->session) : NULL;
		if (c)
			kill_add(w, c, &tr->inst);
	}
}

void worker__fold(struct worker *w)
{
	const struct transition *tr = stream_peek(w->in);

	if (!tr)
		return;
	if (!ledger_may_speak(w->peers.ledger, actor_mono_us(w->me))) {
		actor_alarm(w->me, actor_mono_us(w->me) + SPEAK_AGAIN_MS * US_PER_MS);
		return;
	}
	for (; tr; stream_next(w->in), tr = stream_peek(w->in)) {
		worker__note(w, tr);
		if (tr->kind == TK_INSTANCE)
			send_effects(w, tr);
		worker__client_event(w, tr);
	}
}

void worker__resend(struct letter *letter, void *self)
{
	struct worker *w = self;
	struct resend *r = (struct resend *)letter;
	struct conn *c = worker__conn(w, r->session);

	for (size_t i = 0; c && i < r->n; i++) {
		const struct lease *l = worker__lease(w, r->inst[i].token);
		if (!l || l->given_back || l->asks)
			continue; /* over, or as good as; or it leaves with its values */
		if (r->inst[i].state == ST_RUNNING && too_late(w, r->made_us))
			continue; /* the next list asks again */
		if (r->inst[i].state == ST_RUNNING) {
			c->resent++;
			c->news = true;
			job_add(w, c, &r->inst[i], r->made_us);
		} else {
			kill_add(w, c, &r->inst[i]);
		}
	}
	free(r);
}

void worker__tell_sorter(struct conn *c, bool gone)
{
	struct session_news *n = mem_new(sizeof *n);
	size_t groups = 0;

	CHECK(c->role == ROLE_LOADER); /* only these take jobs */

	while (c->groups && c->groups[groups])
		groups++;
	n->session = c->number;
	n->broker = c->broker;
	n->machine = c->holder.machine;
	n->keeps_proofs = c->keeps_proofs;
	n->lane = c->lane;
	n->slots = c->slots;
	n->gone = gone;
	n->accepts = c->accepts && !c->drained && !c->refuses;
	n->separates = c->separates;
	n->type = mem_str(c->type);
	n->broker_name = mem_str(c->name);
	n->groups = mem_array(groups + 1, sizeof *n->groups);
	for (size_t i = 0; i < groups; i++)
		n->groups[i] = mem_str(c->groups[i]);
	/* What is sent again counts at the loader, not at the sorter. */
	n->limit = c->limit + c->unsent > c->resent ? c->limit + c->unsent - c->resent : 0;
	n->load = c->load;
	n->jobs_max = c->jobs_max;
	n->held = (uint32_t)c->n_held;
	if (sorter_session(c->w->peers.sorter, n) < 0)
		session_news_free(n);
}

static void send_jobs(struct conn *c)
{
	struct ledger_told told = ledger_tell(c->w->peers.ledger);

	jobs_take_turns(c->jobs, c->n_jobs);
	for (size_t at = 0; at < c->n_jobs; at += JOBS_PER_FRAME) {
		Sirdar__Jobs m = SIRDAR__JOBS__INIT;
		m.n_job = c->n_jobs - at < JOBS_PER_FRAME ? c->n_jobs - at : JOBS_PER_FRAME;
		m.job = c->jobs + at;
		m.epoch = ledger_epoch(c->w->peers.ledger);
		m.number = told.number;
		m.proof = told.proof;
		struct err err = { 0 };
		if (session_send(c->session, FR_JOBS, &m, &err) < 0)
			log_warn("jobs.unsent", "session=%u jobs=%zu text=\"%s\"", c->number,
			         m.n_job, err.text); /* absent from two beats: sent again */
	}
}

/* The order of frames is the promise: the answer to its next beat follows the last grant. (What is
 * sent again follows it at times: the loader may have it already, so it must not be given back.) */
void worker__close_seat(struct conn *c)
{
	CHECK(c->role == ROLE_LOADER); /* brokers and clients have no seats */
	send_jobs(c);
	for (size_t i = 0; i < c->n_jobs; i++)
		job_free(c->jobs[i]);
	c->n_jobs = 0;
	c->closed = c->refuses = c->is_ending = c->news = true;
	worker__touch(c);
}

static void send_kills(struct conn *c)
{
	Sirdar__Kills m = SIRDAR__KILLS__INIT;

	if (!c->n_kills)
		return;
	m.n_kill = c->n_kills;
	m.kill = c->kills;
	m.epoch = ledger_epoch(c->w->peers.ledger);
	session_send(c->session, FR_KILLS, &m, NULL);
}

static void send_acks(struct conn *c)
{
	Sirdar__ReportAcks m = SIRDAR__REPORT_ACKS__INIT;

	if (!c->n_acks)
		return;
	m.n_ack = c->n_acks;
	m.ack = c->acks;
	session_send(c->session, FR_REPORT_ACKS, &m, NULL);
}

void worker__conn_clear(struct conn *c)
{
	for (size_t i = 0; i < c->n_jobs; i++)
		job_free(c->jobs[i]);
	for (size_t i = 0; i < c->n_kills; i++)
		free(c->kills[i]);
	for (size_t i = 0; i < c->n_acks; i++)
		free(c->acks[i]);
	c->n_jobs = c->n_kills = c->n_acks = 0;
	free(c->jobs);
	free(c->kills);
	free(c->acks);
	c->jobs = NULL;
	c->kills = NULL;
	c->acks = NULL;
	c->jobs_cap = c->kills_cap = c->acks_cap = 0;
}

void worker__flush(struct worker *w)
{
	struct conn *next;

	for (struct conn *c = w->touched; c; c = next) {
		next = c->next_touched;
		CHECK(c->touched && c->w == w);
		c->touched = false;
		if (c->news && c->greeted && c->role == ROLE_LOADER)
			worker__tell_sorter(c, false);
		c->news = false;
		send_acks(c);
		send_kills(c);
		send_jobs(c);
		worker__conn_clear(c);
	}
	w->touched = NULL;
}
