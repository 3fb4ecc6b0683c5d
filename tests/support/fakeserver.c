/* A server that only answers: it greets, grants what the test says, acknowledges (or does not,
 * as the test wants) and keeps what it was told. It has no state machine and no store, for what
 * it stands in for is the protocol's edges. It runs on the test's own loop, in fake_until(),
 * which returns as soon as the condition holds. */
#include "tests/support/fakeserver.h"

#include <ev.h>
#include <sirdar.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "wire/listen.h"
#include "wire/session.h"

static const char *param_value;

static int find_key(void *ctx, const char *identity, uint8_t ret_key[32])
{
	(void)ctx;
	(void)identity;
	memset(ret_key, 0, 32);
	return 0;
}

static void on_open(void *ctx, struct session *s, const char *identity)
{
	(void)ctx;
	(void)s;
	(void)identity;
}

static void take_held(struct fake *f, const uint64_t *held, size_t n)
{
	f->n_held = n < 64 ? n : 64;
	if (n)
		memcpy(f->held, held, f->n_held * sizeof *held);
}

static void take_hello(struct fake *f, struct session *s, const Sirdar__Hello *h)
{
	Sirdar__Welcome w = SIRDAR__WELCOME__INIT;

	if (h->role == 1) {
		f->broker = s;
		f->broker_hellos++;
	} else {
		f->session = s;
		f->hellos++;
		f->credit = f->granted = 0;
		f->n_hello_held = h->n_held;
		take_held(f, h->held, h->n_held);
	}
	f->hello_role = h->role;
	snprintf(f->hello_name, sizeof f->hello_name, "%s", h->name);
	snprintf(f->hello_type, sizeof f->hello_type, "%s", h->type);
	w.protocol = 1;
	w.epoch = f->welcome.epoch;
	w.beat_ms = f->welcome.beat_ms;
	w.fence_ms = f->welcome.fence_ms;
	w.kill_ms = f->welcome.kill_ms;
	session_greeted(s);
	session_send(s, FR_WELCOME, &w, NULL);
}

static void take_beat(struct fake *f, struct session *s, const Sirdar__Beat *b)
{
	Sirdar__BeatAck ack = SIRDAR__BEAT_ACK__INIT;

	f->beats++;
	if (s == f->session)
		take_held(f, b->held, b->n_held);
	if (f->mute_beats)
		return;
	ack.seq = b->seq;
	ack.epoch = f->welcome.epoch;
	if (f->unknown) {
		ack.unknown = &f->unknown;
		ack.n_unknown = 1;
	}
	session_send(s, FR_BEAT_ACK, &ack, NULL);
}

static void keep_report(struct fake *f, const Sirdar__Report *r)
{
	struct fake_report *k;

	f->reports = mem_room(f->reports, &f->cap_reports, f->n_reports + 1, sizeof *f->reports);
	k = &f->reports[f->n_reports++];
	memset(k, 0, sizeof *k);
	k->token = r->token;
	k->seq = r->seq;
	k->kind = r->kind;
	k->verdict = r->verdict;
	k->reason = r->reason;
	k->exit_code = r->exit_code;
	k->progress = r->progress_permille;
	snprintf(k->text, sizeof k->text, "%s", r->text);
	for (size_t i = 0, at = 0; i < r->n_outputs && at < sizeof k->output; i++)
		at += (size_t)snprintf(k->output + at, sizeof k->output - at, "%s%s=%s",
		                       i ? " " : "", r->outputs[i]->name, r->outputs[i]->value);
}

static void take_reports(struct fake *f, struct session *s, const Sirdar__Reports *m)
{
	Sirdar__ReportAcks acks = SIRDAR__REPORT_ACKS__INIT;
	Sirdar__ReportAck *list = mem_array(m->n_report + 1, sizeof *list);
	Sirdar__ReportAck **pointers = mem_array(m->n_report + 1, sizeof *pointers);

	for (size_t i = 0; i < m->n_report; i++) {
		const Sirdar__Report *r = m->report[i];

		if (!f->quiet)
			keep_report(f, r);
		if (r->kind != 1 && r->kind != 2 && r->kind != 6)
			f->ended++;
		sirdar__report_ack__init(&list[i]);
		list[i].token = r->token;
		list[i].seq = r->seq;
		list[i].code = f->ack_code;
		pointers[i] = &list[i];
	}
	acks.ack = pointers;
	acks.n_ack = m->n_report;
	if (!f->mute_acks)
		session_send(s, FR_REPORT_ACKS, &acks, NULL);
	free(list);
	free(pointers);
}

static void take_log(struct fake *f, struct session *s, const Sirdar__LogChunk *m)
{
	Sirdar__LogAck ack = SIRDAR__LOG_ACK__INIT;

	CHECK(m->stream == 1 || m->stream == 2);
	if (m->offset <= f->log[m->stream].len) { /* what is had already is not taken again */
		size_t skip = f->log[m->stream].len - m->offset;

		if (skip < m->data.len)
			buf_put(&f->log[m->stream], m->data.data + skip, m->data.len - skip);
	}
	f->log_ends += m->end;
	f->chunk_most = m->data.len > f->chunk_most ? m->data.len : f->chunk_most;
	ack.token = m->token;
	ack.stream = m->stream;
	ack.offset = f->log[m->stream].len;
	session_send(s, FR_LOG_ACK, &ack, NULL);
}

static void take_ask(struct session *s, const Sirdar__ParamAsk *m)
{
	Sirdar__ParamGive give = SIRDAR__PARAM_GIVE__INIT;
	Sirdar__Param param = SIRDAR__PARAM__INIT, *one = &param;

	give.id = m->id;
	if (param_value) {
		param.name = m->names[0];
		param.value = (char *)param_value;
		give.params = &one;
		give.n_params = 1;
	} else {
		give.code = -4; /* NOT_FOUND */
	}
	session_send(s, FR_PARAM_GIVE, &give, NULL);
}

static void take_state(struct fake *f, const Sirdar__RunnerState *m)
{
	f->state = m->state;
	snprintf(f->state_text, sizeof f->state_text, "%s", m->text);
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *m)
{
	struct fake *f = ctx;

	if (kind == FR_HELLO)
		take_hello(f, s, m);
	else if (kind == FR_BEAT)
		take_beat(f, s, m);
	else if (kind == FR_CREDIT)
		f->credit = ((const Sirdar__Credit *)m)->limit;
	else if (kind == FR_REPORTS)
		take_reports(f, s, m);
	else if (kind == FR_LOG_CHUNK)
		take_log(f, s, m);
	else if (kind == FR_PARAM_ASK)
		take_ask(s, m);
	else if (kind == FR_RUNNER_STATE)
		take_state(f, m);
	else if (kind == FR_LOAD)
		f->loads++;
	if (f->on_frame)
		f->on_frame(f, kind);
	return 0;
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct fake *f = ctx;

	(void)err;
	if (f->session == s)
		f->session = NULL;
	if (f->broker == s)
		f->broker = NULL;
}

static const struct session_ops ops = {
	.on_open = on_open,
	.on_frame = on_frame,
	.on_end = on_end,
};

static void came(void *ctx, int fd, uint64_t origin, const char *peer)
{
	struct fake *f = ctx;
	static const struct session_limits limits = { .handshake_ms = 5000,
		                                      .queue_bytes = 16u << 20 };
	static const struct session_door door = { .key = find_key };
	struct session *s;

	(void)peer;
	listener_release(f->listener, origin);
	session_accept(&(struct session_owner){ f->loop, &ops, f, &limits }, fd, &door, f, &s,
	               NULL);
}

void fake_open(struct fake *f, struct ev_loop *loop)
{
	static const struct listener_limits limits = { 0, 0 };

	f->loop = loop;
	param_value = NULL;
	if (!f->welcome.epoch)
		f->welcome = (struct fake_welcome){ 1, 100, 5000, 500 };
	for (int i = 0; i < 3; i++)
		buf_init(&f->log[i]);
	CHECK(listener_tcp(&(struct listener_owner){ loop, &limits, came, f }, "127.0.0.1", 0,
	                   &f->listener, NULL) == 0);
	f->port = listener_port(f->listener);
}

void fake_hang_up(struct fake *f)
{
	session_drop(f->session);
	f->session = NULL;
}

void fake_close(struct fake *f)
{
	fake_hang_up(f);
	session_drop(f->broker);
	listener_close(f->listener);
	for (int i = 0; i < 3; i++)
		buf_done(&f->log[i]);
	free(f->reports);
}

static void send_jobs(struct fake *f, Sirdar__Job **jobs, size_t n)
{
	Sirdar__Jobs m = SIRDAR__JOBS__INIT;

	m.job = jobs;
	m.n_job = n;
	m.epoch = f->welcome.epoch;
	f->granted += n;
	session_send(f->session, FR_JOBS, &m, NULL);
}

static void fill_job(Sirdar__Job *job, uint64_t token)
{
	sirdar__job__init(job);
	job->token = token;
	job->task_id = 7;
	job->run_date = 1772323200;
	job->attempt = 1;
	job->generation = 1;
	job->task_name = (char *)"p/w/t";
	job->timezone = (char *)"UTC";
	job->grace_us = 200000;
}

void fake_grant(struct fake *f, uint64_t token, const char *const *params)
{
	Sirdar__Param list[16], *pointers[16];
	Sirdar__Job job, *one = &job;
	size_t n = 0;

	for (; params && params[2 * n]; n++) {
		sirdar__param__init(&list[n]);
		list[n].name = (char *)params[2 * n];
		list[n].value = (char *)params[2 * n + 1];
		pointers[n] = &list[n];
	}
	fill_job(&job, token);
	job.params = pointers;
	job.n_params = n;
	send_jobs(f, &one, 1);
}

void fake_grant_many(struct fake *f, uint64_t first, size_t n)
{
	Sirdar__Job *jobs = mem_array(n, sizeof *jobs);
	Sirdar__Job **pointers = mem_array(n, sizeof *pointers);

	for (size_t i = 0; i < n; i++) {
		fill_job(&jobs[i], first + i);
		pointers[i] = &jobs[i];
	}
	send_jobs(f, pointers, n);
	free(jobs);
	free(pointers);
}

void fake_kill(struct fake *f, uint64_t token, uint64_t grace_us)
{
	Sirdar__Kill kill = SIRDAR__KILL__INIT, *one = &kill;
	Sirdar__Kills m = SIRDAR__KILLS__INIT;

	kill.token = token;
	kill.grace_us = grace_us;
	m.kill = &one;
	m.n_kill = 1;
	m.epoch = f->welcome.epoch;
	session_send(f->session, FR_KILLS, &m, NULL);
}

void fake_order(struct fake *f, const char *kind, const char *type)
{
	Sirdar__Orders m = SIRDAR__ORDERS__INIT;

	m.kind = (char *)kind;
	m.type = (char *)type;
	session_send(f->broker, FR_ORDERS, &m, NULL);
}

void fake_param(struct fake *f, const char *value)
{
	(void)f;
	param_value = value;
}

static void on_late(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop;
	(void)events;
	*(bool *)w->data = true;
}

bool fake_until(struct fake *f, bool (*done)(struct fake *f), uint32_t ms)
{
	bool late = false;
	ev_timer timer;

	ev_timer_init(&timer, on_late, ms / 1000.0, 0.);
	timer.data = &late;
	ev_timer_start(f->loop, &timer);
	while (!late && !done(f))
		ev_run(f->loop, EVRUN_ONCE);
	ev_timer_stop(f->loop, &timer);
	return done(f);
}

const struct fake_report *fake_report(const struct fake *f, uint64_t token, uint32_t kind)
{
	for (size_t i = f->n_reports; i-- > 0;) {
		if (f->reports[i].token == token && (!kind || f->reports[i].kind == kind))
			return &f->reports[i];
	}
	return NULL;
}
