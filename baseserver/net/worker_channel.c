/* Secrets of channels, to the notifier: asked for by name, and noted as given before they leave
 * (worker_exposed.c). The frame is the notifier's alone (worker.c), and its peer's projects bind
 * what it is given. */
#include <stdio.h>

#include "baseserver/model/params.h"
#include "baseserver/net/worker_client.h"
#include "baseserver/net/worker_impl.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"

static void give_channel(struct worker *w, struct param_question *q)
{
	struct conn *c = worker__conn(w, q->session);
	Sirdar__ChannelGive m = SIRDAR__CHANNEL_GIVE__INIT;
	char text[sizeof q->text];

	m.id = q->id;
	m.channel = q->channel;
	m.version = q->version;
	m.code = q->code;
	snprintf(text, sizeof text, "%s", q->text[0] ? q->text : err_text(q->code));
	m.text = q->code < 0 ? text : m.text;
	m.n_params = q->code < 0 ? 0 : q->n;
	m.params = worker__params(q);
	if (c && c->session)
		session_send(c->session, FR_CHANNEL_GIVE, &m, NULL);
	worker__params_free(m.params);
	param_question_free(q);
}

static void channel_answered(struct letter *l, void *self)
{
	worker__exposed(self, (struct param_question *)l, give_channel);
}

static char **names_of(const struct jval *list)
{
	char **names = mem_array(list->len + 1, sizeof *names);
	size_t n = 0;

	JV_EACH(v, list)
		names[n++] = mem_str(v->text);
	return names;
}

int worker__channel_ask(struct conn *c, const Sirdar__ChannelAsk *m)
{
	const struct peer *peer = peers_find(&c->w->who, c->identity);
	struct param_question *q = mem_new(sizeof *q);

	q->reply_to = c->w->me;
	q->answered = channel_answered;
	q->session = c->number;
	q->id = m->id;
	q->channel = mem_str(m->channel);
	if (peer && peer->projects)
		q->may = names_of(peer->projects);
	int r = params_ask(c->w->peers.params, q);
	if (r < 0)
		param_question_free(q);
	return r == E_BUSY ? 0 : r;
}
