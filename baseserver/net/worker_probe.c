/* Tests of target servers: a loader whose runner can dial tries to connect as a job would.
 *
 * A probe (model/probe.h) goes from worker to worker until one has a loader of the type that may
 * have the project's jobs; each other one leaves why it may not. Its parameters and the password
 * are asked of params, as those of jobs are, and that the machine is given the password is noted
 * before it leaves. One probe at a time a loader: it ends with the loader's answer, or with its
 * session; the commander does not wait longer than PROBE_GRACE_MS. */
#include <stdio.h>
#include <string.h>

#include "baseserver/model/front.h"
#include "baseserver/model/params.h"
#include "baseserver/model/probe.h"
#include "baseserver/net/worker_client.h"
#include "baseserver/net/worker_impl.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/failure.h"
#include "util/json_read.h"
#include "util/log.h"

static void probe_discard(struct letter *l)
{
	probe_free((struct probe *)l);
}

static void probe_end(struct probe *p, enum probe_outcome outcome, const char *text)
{
	p->outcome = outcome;
	if (text)
		snprintf(p->text, sizeof p->text, "%s", text);
	p->letter.deliver = p->answered;
	if (actor_post_credit(p->reply_to, &p->letter) < 0)
		probe_free(p);
}

/* The one of that loader, taken off the list; NULL: it has none. */
static struct probe *probe_take(struct worker *w, uint32_t session)
{
	for (struct probe **at = &w->probes, *p; (p = *at); at = &p->next)
		if (p->session == session) {
			*at = p->next;
			return p;
		}
	return NULL;
}

static bool is_trying(const struct worker *w, uint32_t session)
{
	for (const struct probe *p = w->probes; p; p = p->next)
		if (p->session == session)
			return true;
	return false;
}

static bool is_in(const struct conn *c, const char *group)
{
	for (char **g = c->groups; g && *g; g++)
		if (strcmp(*g, group) == 0)
			return true;
	return false;
}

/* The same as of jobs (baseserver/sort/sorter_bound.c). NULL: it may. */
static const char *may_not_try(const struct conn *c, const struct probe *p)
{
	const struct peer *peer = peers_find(&c->w->who, c->identity);

	if (p->group && !is_in(c, p->group))
		return "is not in that group";
	if (peer && peer->projects && !jv_has(peer->projects, p->project))
		return p->project[0] ? "has no jobs of this project"
		                     : "has jobs of some projects only: name one of them";
	if (!p->is_trusted && !c->separates)
		return "gives projects no users of their own, and this project is not trusted";
	if (c->drained || !c->accepts || c->closed)
		return "takes no work now";
	if (!c->probes)
		return "its runner cannot test: it is of an earlier release";
	return is_trying(c->w, c->number) ? "tries another target server now" : NULL;
}

static struct conn *find_loader(struct worker *w, struct probe *p)
{
	for (struct conn *c = w->conns; c; c = c->next) {
		const char *why;

		if (!c->greeted || !c->session || c->role != ROLE_LOADER ||
		    strcmp(c->type, p->type) != 0 || (p->broker && strcmp(c->name, p->broker) != 0))
			continue;
		why = may_not_try(c, p);
		if (!why)
			return c;
		probe_note(p, c->name, why);
	}
	return NULL;
}

/* --- its parameters ------------------------------------------------------------------------ */

static void send_probe(struct conn *c, struct probe *p, const struct param_question *q)
{
	Sirdar__Probe m = SIRDAR__PROBE__INIT;
	struct err err = { 0 };

	m.id = p->id;
	m.within_ms = PROBE_MS;
	m.params = worker__params(q);
	m.n_params = q->n;
	if (session_send(c->session, FR_PROBE, &m, &err) < 0)
		probe_end(probe_take(c->w, c->number), PROBE_OTHER, err.text);
	worker__params_free(m.params);
}

static void give_probe(struct worker *w, struct param_question *q)
{
	struct conn *c = worker__conn(w, q->session);
	struct probe *p = w->probes;

	while (p && (p->session != q->session || p->id != q->id))
		p = p->next;
	if (p && q->code == 0 && c && c->session)
		send_probe(c, p, q);
	else if (p)
		probe_end(probe_take(w, q->session),
		          q->code == E_SECRET ? PROBE_SECRET : PROBE_OTHER,
		          q->text[0] ? q->text : err_text(q->code));
	param_question_free(q);
}

static void probe_answered(struct letter *l, void *self)
{
	worker__exposed(self, (struct param_question *)l, give_probe);
}

static void on_probe(struct letter *l, void *self)
{
	struct worker *w = self;
	struct probe *p = (struct probe *)l;
	struct conn *c = find_loader(w, p);

	if (!c && ++p->at < p->n_workers) {
		worker_probe(p->workers[p->at], p);
		return;
	}
	if (!c) {
		if (!p->text[0])
			snprintf(p->text, sizeof p->text, "no broker%s%s%s%s has the task type %s",
			         p->broker ? " " : "", p->broker ? p->broker : "",
			         p->group ? " of group " : "", p->group ? p->group : "", p->type);
		probe_end(p, PROBE_NOBODY, NULL);
		return;
	}
	p->session = c->number;
	p->text[0] = 0;
	snprintf(p->by, sizeof p->by, "%s", c->name);
	p->next = w->probes;
	w->probes = p;
	struct param_question *q = mem_new(sizeof *q);
	q->reply_to = w->me;
	q->answered = probe_answered;
	q->session = c->number;
	q->id = p->id;
	q->target = mem_str(p->target);
	q->project = mem_str(p->project);
	int r = params_ask(w->peers.params, q);
	if (r < 0) {
		param_question_free(q);
		probe_end(probe_take(w, c->number), PROBE_OTHER, err_text(r));
	}
}

void worker_probe(struct worker *w, struct probe *p)
{
	p->letter = (struct letter){ .deliver = on_probe, .discard = probe_discard };
	if (actor_post_credit(w->me, &p->letter) < 0)
		probe_free(p);
}

/* --- the answer ------------------------------------------------------------------------------ */

/* The words are a target's, or a broker's that lies: one line, fit to be shown. */
int worker__probed(struct conn *c, const Sirdar__Probed *m)
{
	struct probe *p = probe_take(c->w, c->number);
	char line[sizeof p->text];

	if (!p)
		return 0;     /* nobody waits for it any more */
	if (p->id != m->id) { /* of a former one */
		p->next = c->w->probes;
		c->w->probes = p;
		return 0;
	}
	p->took_us = (int64_t)m->took_us;
	log_debug("probe.answered", "target=%s broker=%s outcome=%s", p->target, p->by,
	          probe_outcome_name(m->outcome));
	failure_set_line(line, sizeof line, m->text, strlen(m->text));
	probe_end(p, (enum probe_outcome)m->outcome, line);
	return 0;
}

void worker__probe_gone(struct conn *c)
{
	struct probe *p = c->number ? probe_take(c->w, c->number) : NULL;

	if (p)
		probe_end(p, PROBE_GONE, "the broker went before it answered");
}

void worker__probes_free(struct worker *w)
{
	while (w->probes) {
		struct probe *p = w->probes;
		w->probes = p->next;
		probe_free(p);
	}
}
