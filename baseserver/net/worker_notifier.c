/* The notifier's session: what it says of alerts goes to the commander, what clients ask to it.
 * Nothing waits for it: who asks is told when it is not there, or goes. */
#include <stdio.h>

#include "baseserver/command/commander.h"
#include "baseserver/model/front.h"
#include "baseserver/net/worker_client.h"
#include "baseserver/net/worker_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"

enum { ASKED_MAX = 100 };

int worker__alerts(struct conn *c, const Sirdar__Query *m)
{
	const struct front *front = c->w->peers.front;
	struct client_request *r = client_request_new(m->kind, (const char *)m->args.data,
	                                              m->args.len);

	worker__address(r, c, m->id);
	if (!c->is_notifier) {
		c->is_notifier = true;
		log_info("notifier.here", "name=%s session=%u", c->name, c->number);
		commander_notifier(front->commander, c->w, c->number);
	}
	return worker__posted(c, r, commander_alerts(front->commander, r));
}

/* --- what it is asked ------------------------------------------------------------------ */

static void notifier_back(struct client_request *r)
{
	r->letter.deliver = r->answered;
	if (actor_post_credit(r->reply_to, &r->letter) < 0)
		r->letter.discard(&r->letter);
}

static void refuse_ask(struct client_request *r, int code, const char *text)
{
	r->code = code;
	snprintf(r->text, sizeof r->text, "%s", text);
	notifier_back(r);
}

static size_t asked_count(const struct conn *c)
{
	size_t n = 0;

	for (const struct letter *l = (const struct letter *)c->asked; l; l = l->next)
		n++;
	return n;
}

static void on_ask(struct letter *l, void *self)
{
	struct client_request *r = (struct client_request *)l;
	struct conn *c = worker__conn(self, r->session);
	Sirdar__Query m = SIRDAR__QUERY__INIT;
	struct err err = { 0 };

	if (!c || !c->session || !c->is_notifier) {
		refuse_ask(r, E_AGAIN, "the notifier has just gone");
		return;
	}
	if (asked_count(c) >= ASKED_MAX) {
		refuse_ask(r, E_BUSY, "the notifier has not answered what it was asked before");
		return;
	}
	m.id = r->id;
	m.kind = r->kind;
	m.args.data = (uint8_t *)r->args;
	m.args.len = r->args_len;
	int code = session_send(c->session, FR_ASK, &m, &err);
	if (code < 0) {
		refuse_ask(r, code, err.text);
		return;
	}
	r->letter.next = (struct letter *)c->asked;
	c->asked = r;
}

void worker_ask(struct worker *w, struct client_request *r)
{
	r->letter.deliver = on_ask;
	if (actor_post_credit(w->me, &r->letter) < 0)
		r->letter.discard(&r->letter);
}

int worker__reply(struct conn *c, const Sirdar__Answer *m)
{
	struct client_request *before = NULL, *r = c->asked;

	for (; r && r->id != m->id; r = (struct client_request *)r->letter.next)
		before = r;
	if (!r)
		return 0;
	if (before)
		before->letter.next = r->letter.next;
	else
		c->asked = (struct client_request *)r->letter.next;
	r->code = m->code;
	snprintf(r->text, sizeof r->text, "%s", m->text);
	r->body = m->body.len ? mem_strn((const char *)m->body.data, m->body.len) : NULL;
	r->body_len = m->body.len;
	notifier_back(r);
	return 0;
}

void worker__notifier_gone(struct conn *c)
{
	if (!c->is_notifier)
		return;
	CHECK(!c->session); /* nobody asks it any more */
	c->is_notifier = false;
	while (c->asked) {
		struct client_request *r = c->asked;
		c->asked = (struct client_request *)r->letter.next;
		refuse_ask(r, E_AGAIN, "the notifier went before it answered");
	}
	commander_notifier(c->w->peers.front->commander, NULL, c->number);
}

void worker__notifier_clear(struct conn *c)
{
	while (c->asked) {
		struct letter *l = &c->asked->letter;
		c->asked = (struct client_request *)l->next;
		l->discard(l);
	}
}
