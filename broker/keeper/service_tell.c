/* What the keeper's peers are told. A peer hears of the jobs of the type it attached to, or of all.
 * Nobody waits for a peer: one that does not read is cut off, and learns all of it when it comes
 * back. */
#include "broker/keeper/service_impl.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"
#include "wire/session.h"

/* A peer that does not read its news is cut off: it learns all of it when it comes back. */
void service__send(struct conn *c, enum frame_kind kind, const void *message)
{
	struct err err = { 0 };

	if (session_send(c->session, kind, message, &err) < 0) {
		log_warn("peer.slow", "who=%s type=%s: %s", c->who, c->type, err.text);
		session_end(c->session, err.code, "it does not read");
	}
}

bool service__wants(const struct conn *c, const struct job *job)
{
	return c->is_attached && (!c->type[0] || strcmp(c->type, job->type) == 0);
}

void service__send_started(struct conn *c, const struct job *job)
{
	Sirdar__KeeperStarted m = SIRDAR__KEEPER_STARTED__INIT;

	CHECK(job->state != JOB_STARTING && job->state != JOB_NOT_STARTED);
	m.token = job->token;
	m.pid = (uint64_t)job->pid;
	m.started_us = job->started_us;
	service__send(c, FR_K_STARTED, &m);
}

void service__send_not_started(struct conn *c, uint64_t token, int code, const char *text)
{
	Sirdar__KeeperNotStarted m = SIRDAR__KEEPER_NOT_STARTED__INIT;

	m.token = token;
	m.code = code;
	m.text = (char *)text;
	service__send(c, FR_K_NOT_STARTED, &m);
}

void service__send_over(struct conn *c, const struct job *job)
{
	CHECK(job_is_over(job));
	if (job->state == JOB_NOT_STARTED)
		service__send_not_started(c, job->token, job->start_code, job->start_text);
	else
		service__send(c, FR_K_EXITED, &job->end);
}

void service_started(struct service *s, const struct job *job)
{
	CHECK(job->state == JOB_RUNNING && job->pid > 0);
	for (struct conn *c = s->conns; c; c = c->next)
		if (service__wants(c, job))
			service__send_started(c, job);
}

void service_over(struct service *s, const struct job *job)
{
	for (struct conn *c = s->conns; c; c = c->next)
		if (service__wants(c, job))
			service__send_over(c, job);
}

void service__send_kill_state(struct conn *c, uint64_t token, uint32_t state)
{
	Sirdar__KeeperKillState m = SIRDAR__KEEPER_KILL_STATE__INIT;

	CHECK(state >= 1 && state <= 3);
	m.token = token;
	m.state = state;
	service__send(c, FR_K_KILL_STATE, &m);
}

void service_kill_state(struct service *s, const struct job *job, uint32_t state)
{
	for (struct conn *c = s->conns; c; c = c->next)
		if (service__wants(c, job))
			service__send_kill_state(c, job->token, state);
}

int service_listen_fd(const struct service *s)
{
	return s->listener.fd;
}
