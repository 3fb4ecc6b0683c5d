/* What brokers and loaders send: heartbeats, reports, credit, load, questions for parameters.
 *
 * A worker believes a session about its own leases only: a token that is not its own renews and
 * ends nothing. A report becomes a proposal to the ledger and is acknowledged when the answer is
 * durable; until then the loader repeats it, so a report may come twice and is settled once. What
 * a machine says is bounded and cleaned again here, because a machine may lie: outputs that the
 * task does not declare are left out, times that are none count as unknown. A beat is answered
 * only while our own right to lead is proven, for the answer renews the sender's leases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander.h"
#include "baseserver/command/progress.h"
#include "baseserver/keep/maintainer.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/model/job.h"
#include "baseserver/model/params.h"
#include "baseserver/net/worker_impl.h"
#include "baseserver/sort/registrar.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/failure.h"
#include "util/json_put.h"
#include "wire/report.h"

/* What a loader lists a second time, and has not reported ended between, runs still: its greeting
 * and its first beat may come before what it has to report. */
static void tell_ledger(struct conn *c, struct lease *l)
{
	if (l->listed != c->number) {
		l->listed = c->number;
		return;
	}
	worker__propose(c->w, ASK_HELD, l->key)->token = l->token;
}

void worker__send_held(struct conn *c, const uint64_t *tokens, size_t n, bool hello)
{
	struct held_news *h = mem_new(sizeof *h + n * sizeof h->tokens[0]);
	struct lease *l;

	/* What is not its own renews nothing: the maintainer does not hear of it. */
	for (size_t i = 0; i < n; i++) {
		if (worker__claim(c, hello ? FR_HELLO : FR_BEAT, tokens[i], &l) < 0)
			continue;
		h->tokens[h->n++] = tokens[i];
		if (c->role != ROLE_LOADER)
			continue;
		l->session = c->number;
		if (l->is_former && !hello)
			tell_ledger(c, l);
	}
	h->worker = c->w->me;
	h->resend = worker__resend;
	h->session = c->number;
	h->broker = c->broker;
	h->lane = c->lane;
	h->others = c->others;
	h->loader = c->role == ROLE_LOADER;
	h->hello = hello;
	h->fresh = c->fresh;
	h->holder = c->holder;
	memcpy(h->type, c->type, sizeof h->type);
	if (maintainer_held(c->w->peers.maintainer, h) < 0)
		free(h);
}

/* What is not known is over: nobody asks for a proof of that. */
int worker__prove(struct conn *c, const Sirdar__Prove *m)
{
	if (m->proof.len != m->n_token * LEASE_PROOF)
		return E_PROTOCOL;
	for (size_t i = 0; i < m->n_token; i++) {
		struct lease *l = worker__lease_known(c->w, m->token[i]);
		struct lease_proof p = lease_proof_of(m->proof.data + i * LEASE_PROOF, LEASE_PROOF);
		if (l)
			worker__shown(c, FR_PROVE, l, &p);
	}
	if (!m->last || !c->owes_proof)
		return 0;
	c->owes_proof = false;
	worker__send_held(c, c->held, c->n_held, true);
	return 0;
}

/* It lives; and how many jobs a loader has, when that has changed since it was told. */
static void tell_alive(struct conn *c, size_t held)
{
	struct broker_news *n = mem_new(sizeof *n);

	n->session = c->number;
	n->broker = c->broker;
	n->count = c->role == ROLE_LOADER && c->told_held != held;
	n->held = (uint32_t)held;
	if (registrar_report(c->w->peers.registrar, n) < 0)
		free(n);
	else
		c->told_held = (uint32_t)held;
}

/* The ack renews the sender's leases: it leaves only while our own right to lead is proven. */
int worker__beat(struct conn *c, const Sirdar__Beat *b)
{
	struct worker *w = c->w;
	Sirdar__BeatAck ack = SIRDAR__BEAT_ACK__INIT;

	uint32_t unproven = 0;

	if (c->owes_proof)
		return E_PROTOCOL;
	if (!ledger_may_speak(w->peers.ledger, actor_mono_us(w->me)))
		return 0;
	worker__send_held(c, b->held, b->n_held, false);
	tell_alive(c, b->n_held);
	/* What it sent back may have been a former session's: once a beat it is tried again. */
	if (c->refuses && !c->is_ending && !c->closed) {
		c->refuses = false;
		c->news = true;
		worker__touch(c);
	}
	struct ledger_told told = ledger_tell(w->peers.ledger);
	ack.seq = b->seq;
	ack.epoch = ledger_epoch(w->peers.ledger);
	ack.number = told.number;
	ack.proof = told.proof;
	ack.unknown = mem_array(b->n_held + 1, sizeof *ack.unknown);
	for (size_t i = 0; i < b->n_held; i++) {
		const struct lease *l = worker__own(c, FR_BEAT, b->held[i]);
		if (!l)
			ack.unknown[ack.n_unknown++] = b->held[i];
		else
			unproven += !worker__has_shown(c, l);
	}
	worker__count_unproven(c, unproven);
	int r = session_send(c->session, FR_BEAT_ACK, &ack, NULL);
	free(ack.unknown);
	return r == E_BUSY ? 0 : r;
}

static void report_ack(struct conn *c, uint64_t token, uint32_t seq, int code)
{
	Sirdar__ReportAck *a = mem_new(sizeof *a);

	sirdar__report_ack__init(a);
	a->token = token;
	a->seq = seq;
	a->code = code;
	c->acks = mem_room(c->acks, &c->acks_cap, c->n_acks + 1, sizeof *c->acks);
	c->acks[c->n_acks++] = a;
	worker__touch(c);
}

static const struct {
	uint8_t ask, end, reason;
} report_kinds[REPORT_COUNT] = {
#define REPORT(name, num, ask, end, reason) [REPORT_##name] = { ask, end, RE_##reason },
#include "tbl/report.def"
#undef REPORT
};

#define LOOK_WAIT_MAX_US (366 * 24 * 3600 * (uint64_t)US_PER_S) /* until a sensor looks again */

static uint8_t end_of(const Sirdar__Report *r)
{
	static const uint8_t by_verdict[] = { AE_FAILED, AE_FAILED, AE_FATAL, AE_INFRA };

	if (r->kind == REPORT_REJECTED && (r->reason == RE_STOPPING || r->reason == RE_FULL))
		return AE_BACK;
	if (r->kind == REPORT_NOT_STARTED && r->reason == RE_NO_USER)
		return AE_BACK; /* its map may be mended: the job waits for that */
	if (r->kind != REPORT_ENDED)
		return report_kinds[r->kind].end;
	if (r->exit_code == 0 && r->verdict == 0)
		return AE_OK;
	return r->verdict < 4 ? by_verdict[r->verdict] : AE_FAILED;
}

/* Names the children that go on; no task has to declare it. */
#define OUTPUT_BRANCH "branch"

static bool is_declared(const struct task *def, const char *name)
{
	for (size_t i = 0; i < def->n_outputs; i++)
		if (strcmp(def->outputs[i], name) == 0)
			return true;
	return false;
}

/* The outputs that the task declares, as a JSON object; NULL when there are none. What it does
 * not declare is left out, and what is too large refused as a whole: said in *ret_note. */
static char *outputs_of(const struct task *def, const Sirdar__Report *r, char **ret_note)
{
	struct buf out;
	const char *extra = NULL;
	size_t n = 0;

	buf_init(&out);
	buf_putc(&out, '{');
	for (size_t i = 0; i < r->n_outputs; i++) {
		const Sirdar__Param *o = r->outputs[i];
		if (!is_declared(def, o->name)) {
			extra = strcmp(o->name, OUTPUT_BRANCH) == 0 ? extra : o->name;
			continue;
		}
		n++;
		put_text(&out, o->name, o->value);
	}
	buf_putc(&out, '}');
	char *text = n && out.len <= WORKFLOW_OUTPUTS_BYTES_MAX ? mem_str(buf_str(&out)) : NULL;
	if (out.len > WORKFLOW_OUTPUTS_BYTES_MAX)
		*ret_note = mem_fmt("outputs not kept: %zu bytes, at most %d", out.len,
		                    WORKFLOW_OUTPUTS_BYTES_MAX);
	else if (extra)
		*ret_note = mem_fmt("output '%.80s' not kept: the task declares none of that name",
		                    extra);
	buf_done(&out);
	return text;
}

static void take_outputs(const struct lease *l, const Sirdar__Report *r, struct proposal *p)
{
	const struct task *def = l->def;
	char *note = NULL;

	if (!def || !r->n_outputs || p->end != AE_OK)
		return;
	for (size_t i = 0; i < r->n_outputs && !p->branch; i++)
		if (strcmp(r->outputs[i]->name, OUTPUT_BRANCH) == 0)
			p->branch = mem_str(r->outputs[i]->value);
	p->data = outputs_of(def, r, &note);
	p->data_kind = p->data ? ID_OUTPUTS : ID_NONE;
	if (!note)
		return;
	char *both = p->note ? mem_fmt("%s; %s", p->note, note) : mem_str(note);
	free(note);
	free(p->note);
	p->note = both;
}

static void take_line(char *to, size_t bytes, const char *text)
{
	failure_set_line(to, bytes, text, strlen(text));
}

/* What a broker says of a failure, bounded and cleaned once more: it may lie. */
static void take_failure(const Sirdar__Report *r, struct proposal *p)
{
	bool is_bad = p->end == AE_FAILED || p->end == AE_FATAL || p->end == AE_INFRA;
	const Sirdar__Failure *m = r->failure;
	struct failure f = { .cpu_us = r->cpu_us & INT64_MAX,
		             .memory_bytes = r->rss_max_bytes & INT64_MAX };
	struct buf out;

	if (!m || !is_bad || r->kind != REPORT_ENDED)
		return;
	CHECK(!p->data);
	f.class = (uint8_t)(m->failure_class < FC_COUNT ? m->failure_class : FC_USER);
	f.stream = (uint8_t)(m->stream <= 2 ? m->stream : 0);
	take_line(f.exit, sizeof f.exit, m->exit);
	take_line(f.line, sizeof f.line, m->line);
	failure_set_tail(f.tail, m->tail, strlen(m->tail));
	buf_init(&out);
	failure_put(&out, NULL, &f, p->token);
	p->data = mem_str(buf_str(&out));
	p->data_kind = ID_FAILURE;
	buf_done(&out);
}

/* A machine may say any number, and what is stored is read again: a time that is none is unknown,
 * and none is later than when it was heard. */
static int64_t told_us(const struct conn *c, int64_t us)
{
	int64_t now = actor_wall_us(c->w->me);

	return us < 0 ? 0 : us < now ? us : now;
}

static void report_propose(struct conn *c, struct lease *l, const Sirdar__Report *r)
{
	CHECK(r->kind > 0 && r->kind < REPORT_COUNT && l->token == r->token);
	struct proposal *p = worker__propose(c->w, (enum ask)report_kinds[r->kind].ask, l->key);

	p->token = r->token;
	p->cookie = (uint64_t)c->number << 32 | r->seq;
	p->session = c->number;
	p->broker = c->broker;
	p->exit_code = r->exit_code;
	p->end = end_of(r);
	l->told_end |= report_kinds[r->kind].ask == ASK_ENDED;
	p->reason = r->reason && r->reason < RE_COUNT             ? (uint8_t)r->reason
	            : r->exit_code < 0 && r->kind == REPORT_ENDED ? (uint8_t)RE_SIGNAL
	                                                          : report_kinds[r->kind].reason;
	p->at_us = told_us(c, r->kind == REPORT_STARTED ? r->started_us : r->ended_us);
	p->begun_us = p->end == AE_RETURN || p->end == AE_BACK ? 0 : told_us(c, r->started_us);
	p->wait_us = (int64_t)(r->retry_after_us < LOOK_WAIT_MAX_US ? r->retry_after_us
	                                                            : LOOK_WAIT_MAX_US);
	if (p->end == AE_INFRA && r->kind == REPORT_ENDED && l->lacks_us) {
		/* As if the server had known what it would ask for. */
		p->end = AE_WITHOUT;
		p->reason = RE_PARAMS;
		p->wait_us = l->lacks_us;
	}
	if (r->text[0])
		p->note = mem_strn(r->text, strnlen(r->text, 500));
	take_outputs(l, r, p);
	take_failure(r, p);
}

/* What is sent back is granted again at once: not there, or it would go to and fro until its
 * failures of machines are used up. The sorter hears of it before the job is back. */
static void close_seat(struct conn *c, struct lease *l, bool is_ending)
{
	CHECK(c->role == ROLE_LOADER);
	l->given_back = true;
	c->is_ending |= is_ending;
	c->refuses = c->news = true;
	worker__touch(c);
}

/* All sessions of a broker are this worker's: its loaders follow its load. */
static void follow_load(struct conn *c)
{
	CHECK(c->broker); /* else it would be all that have not greeted */
	for (struct conn *o = c->w->conns; o; o = o->next) {
		if (o->broker != c->broker || o->role != ROLE_LOADER)
			continue;
		o->accepts = c->accepts;
		o->load = c->load;
		o->jobs_max = c->jobs_max;
		o->news = true;
		worker__touch(o);
	}
}

/* It holds more than the server knows of, so its credit says nothing: its next word of its load,
 * at the latest after report_ms, opens it again. */
static void close_broker(struct conn *c)
{
	c->accepts = false;
	follow_load(c);
}

/* One letter for all of a message; where there is no front (tests), nobody is told. */
static void tell_progress(struct conn *c, const Sirdar__Reports *m, size_t n)
{
	const struct front *f = c->w->peers.front;
	struct progress_news *news;

	if (!n || !f || !f->commander)
		return;
	news = mem_new(sizeof *news + n * sizeof news->items[0]);
	for (size_t i = 0; i < m->n_report; i++) {
		const Sirdar__Report *r = m->report[i];
		const struct lease *l = worker__own(c, FR_REPORTS, r->token);
		if (r->kind != REPORT_PROGRESS || !l)
			continue;
		CHECK(news->n < n); /* counted with the same eyes */
		news->items[news->n++] = (struct progress_item){ l->key, r->progress_permille };
	}
	commander_progress(f->commander, news);
}

int worker__reports(struct conn *c, const Sirdar__Reports *m)
{
	size_t progress = 0;

	for (size_t i = 0; i < m->n_report; i++) {
		const Sirdar__Report *r = m->report[i];
		struct lease *l;
		int code = worker__claim(c, FR_REPORTS, r->token, &l);
		tally(&c->w->f_reports, 1);
		if (r->kind == REPORT_REJECTED && l &&
		    !l->given_back) /* told again: not closed again */
			close_seat(c, l, r->reason == RE_STOPPING);
		if (r->kind == REPORT_REJECTED && l && r->reason == RE_FULL)
			close_broker(c);
		if (r->kind == 0 || r->kind >= REPORT_COUNT)
			report_ack(c, r->token, r->seq, E_INVALID);
		else if (!l)
			report_ack(c, r->token, r->seq, code);
		else if (r->kind == REPORT_PROGRESS)
			progress++, report_ack(c, r->token, r->seq, 0);
		else
			report_propose(c, l, r);
	}
	tell_progress(c, m, progress);
	return 0;
}

void worker__answered(struct letter *letter, void *self)
{
	struct worker *w = self;
	struct answers *as = (struct answers *)letter;

	for (size_t i = 0; i < as->n; i++) {
		const struct answer *a = &as->a[i];
		struct conn *c = worker__conn(w, (uint32_t)(a->cookie >> 32));
		struct lease *l = a->ask == ASK_HELD ? worker__lease(w, a->token) : NULL;
		if (l)
			l->is_former = false;
		/* A late word about a state that has moved on is settled, not repeated. */
		if (c && (uint32_t)a->cookie)
			report_ack(c, a->token, (uint32_t)a->cookie,
			           a->code == E_CONFLICT ? E_STALE : a->code);
	}
	free(as);
}

int worker__credit(struct conn *c, const Sirdar__Credit *m)
{
	if (m->closed) {
		worker__close_seat(c);
		return 0;
	}
	if (m->limit < c->limit || c->closed)
		return E_PROTOCOL; /* it only grows */
	c->limit = m->limit;
	c->refuses = c->is_ending = false;
	c->news = true;
	worker__touch(c);
	return 0;
}

int worker__load(struct conn *c, const Sirdar__Load *m)
{
	struct broker_news *n = mem_new(sizeof *n);
	/* A release ago cpu_permille was the load average. */
	struct rank_load load = { .is_told = true,
		                  .cpu_permille = m->cpu_permille,
		                  .load_permille = m->load_permille ? m->load_permille
		                                                    : m->cpu_permille,
		                  .memory_permille = m->memory_permille,
		                  .slots = m->slots,
		                  .disk_free_bytes = m->disk_free_bytes };

	c->load = load;
	c->accepts = m->accepts;
	c->jobs_max = m->jobs_max;
	n->session = c->number;
	n->broker = c->broker;
	n->load = true;
	n->accepts = m->accepts;
	snprintf(n->why_not, sizeof n->why_not, "%s", m->why_not);
	n->cpu_permille = m->cpu_permille;
	n->load_permille = m->load_permille;
	n->slots = m->slots;
	n->memory_permille = m->memory_permille;
	n->running = m->running;
	n->disk_free_bytes = m->disk_free_bytes;
	follow_load(c);
	if (registrar_report(c->w->peers.registrar, n) < 0)
		free(n);
	return 0;
}

int worker__runner(struct conn *c, const Sirdar__RunnerState *m)
{
	if (c->by.is_there && (strcmp(m->type, c->type) != 0 || m->lane != c->lane))
		return E_PROTOCOL; /* of others its taskbroker tells */
	struct broker_news *n = mem_new(sizeof *n);

	n->session = c->number;
	n->broker = c->broker;
	n->runner = true;
	snprintf(n->type, sizeof n->type, "%s", m->type);
	snprintf(n->version, sizeof n->version, "%s", m->version);
	snprintf(n->text, sizeof n->text, "%s", m->text);
	n->runner_state = m->state;
	n->lane = m->lane;
	if (registrar_report(c->w->peers.registrar, n) < 0)
		free(n);
	return 0;
}

Sirdar__Param **worker__params(const struct param_question *q)
{
	Sirdar__Param *params = mem_array(q->n + 1, sizeof *params);
	Sirdar__Param **list = mem_array(q->n + 1, sizeof *list);

	list[0] = params;
	for (size_t i = 0; i < q->n; i++) {
		sirdar__param__init(&params[i]);
		params[i].name = q->values[i].name;
		params[i].value = q->values[i].value;
		list[i] = &params[i];
	}
	return list;
}

void worker__params_free(Sirdar__Param **list)
{
	free(list[0]);
	free(list);
}

static void give_params(struct worker *w, struct param_question *q)
{
	struct conn *c = worker__conn(w, q->session);
	Sirdar__ParamGive m = SIRDAR__PARAM_GIVE__INIT;

	m.id = q->id;
	m.code = q->code;
	m.text = q->text;
	m.params = worker__params(q);
	m.n_params = q->n;
	if (c)
		session_send(c->session, FR_PARAM_GIVE, &m, NULL);
	worker__params_free(m.params);
	param_question_free(q);
}

static void params_answered(struct letter *letter, void *self)
{
	struct param_question *q = (struct param_question *)letter;
	struct lease *l = worker__lease(self, q->inst.token);

	if (l)
		l->lacks_us = q->code == E_SECRET ? q->wait_us : 0;
	worker__exposed(self, q, give_params);
}

/* Only the holder of a lease is told: the token names the instance, and must be its own. */
int worker__param_ask(struct conn *c, const Sirdar__ParamAsk *m)
{
	Sirdar__ParamGive no = SIRDAR__PARAM_GIVE__INIT;
	struct lease *l;
	int code = worker__claim(c, FR_PARAM_ASK, m->token, &l);

	if (code < 0) {
		no.id = m->id;
		no.code = code;
		no.text = (char *)err_text(code);
		return session_send(c->session, FR_PARAM_GIVE, &no, NULL);
	}
	struct param_question *q = mem_new(sizeof *q);
	q->reply_to = c->w->me;
	q->answered = params_answered;
	q->session = c->number;
	q->id = m->id;
	q->key = l->key;
	q->inst.token = m->token;
	q->def = l->def ? task_ref(l->def) : NULL;
	q->wants_params = true; /* perhaps: the image is not here */
	q->names = mem_array(m->n_names + 1, sizeof *q->names);
	for (size_t i = 0; i < m->n_names; i++)
		q->names[i] = mem_str(m->names[i]);
	int r = params_ask(c->w->peers.params, q);
	if (r < 0)
		param_question_free(q);
	return r == E_BUSY ? 0 : r;
}
