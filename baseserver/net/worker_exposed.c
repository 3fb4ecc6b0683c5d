/* Which passwords a peer is given: noted before they leave, so that people know what to change
 * after a break-in (`sirdar peer exposed`).
 *
 * A row for each peer and target server, in a command of the server's own
 * (baseserver/command/commander_exposed.c): the first time, and once in a day after that. What was
 * noted in this one is known here, so jobs pay for it once a day. A question waits for the row;
 * where that cannot be written its values do not leave, and the loader asks again. What could not
 * be had is given to nobody, and not noted. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/model/params.h"
#include "baseserver/net/worker_client.h"
#include "baseserver/net/worker_impl.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/log.h"

#define DAY_US (24 * 3600 * US_PER_S)

struct exposed {
	struct map by_name; /* map_text() of it -> which */
	struct noted {
		char *name; /* PEER/SERVER */
		int64_t day;
	} * items;
	size_t n, cap;
};

void worker__exposed_free(struct worker *w)
{
	struct exposed *e = w->exposed;

	for (size_t i = 0; e && i < e->n; i++)
		free(e->items[i].name);
	if (e) {
		free(e->items);
		map_done(&e->by_name);
	}
	free(e);
}

static struct noted *noted_of(struct worker *w, const char *name)
{
	struct exposed *e = w->exposed;
	size_t at = 0;

	if (!e) {
		e = w->exposed = mem_new(sizeof *e);
		map_init(&e->by_name);
	}
	for (uint32_t i = map_first(&e->by_name, map_text(name), &at); i != MAP_NONE;
	     i = map_next(&e->by_name, map_text(name), &at))
		if (strcmp(e->items[i].name, name) == 0)
			return &e->items[i];
	e->items = mem_room(e->items, &e->cap, e->n + 1, sizeof *e->items);
	map_add(&e->by_name, map_text(name), (uint32_t)e->n);
	e->items[e->n] = (struct noted){ .name = mem_str(name), .day = -1 };
	return &e->items[e->n++];
}

struct noting {
	struct param_question *q;
	void (*give)(struct worker *w, struct param_question *q);
	char *name;
	int64_t day;
};

static void noting_free(struct noting *n)
{
	free(n->name);
	free(n);
}

/* Its values stay here. */
static void refuse_values(struct param_question *q)
{
	param_question_clear(q);
	q->code = E_BUSY;
}

static void exposed_noted(struct letter *l, void *self)
{
	struct client_request *r = (struct client_request *)l;
	struct noting *n = r->ctx;
	struct param_question *q = n->q;
	void (*give)(struct worker * w, struct param_question * q) = n->give;
	struct worker *w = self;
	bool speaks = ledger_may_speak(w->peers.ledger, actor_mono_us(w->me));
	int code = speaks ? r->code : E_AGAIN;

	if (code == 0) {
		noted_of(w, n->name)->day = n->day;
	} else {
		log_warn("peer.exposed", "name=%s code=%s text=\"%s\"", n->name, err_name(code),
		         r->text);
		refuse_values(q);
	}
	noting_free(n);
	client_request_free(r);
	worker__exposed(w, q, give);
}

static int note_given(struct worker *w, const char *peer, const char *server, struct noting *n)
{
	struct client_request *r;
	struct buf args;

	buf_init(&args);
	put_open(&args, NULL, '{');
	put_text(&args, "peer", peer);
	put_text(&args, "server", server);
	put_close(&args, '}');
	r = client_request_new(command_kind_name(CK_PEER_EXPOSED), buf_str(&args), args.len);
	buf_done(&args);
	r->actor = mem_fmt("peer:%s", peer);
	/* Others who give the same today ask for the same. */
	r->request_id = mem_fmt("exposed:%" PRId64 ":%s", n->day, n->name);
	r->reply_to = w->me;
	r->answered = exposed_noted;
	r->ctx = n;
	int code = commander_command(w->peers.front->commander, r);
	if (code < 0)
		client_request_free(r);
	return code;
}

void worker__exposed(struct worker *w, struct param_question *q,
                     void (*give)(struct worker *w, struct param_question *q))
{
	const struct conn *c = worker__conn(w, q->session);
	int64_t day = actor_wall_us(w->me) / DAY_US;

	for (size_t i = 0; c && q->code == 0 && i < q->n_given; i++) {
		char *name = mem_fmt("%s/%s", c->identity, q->given[i]);
		if (noted_of(w, name)->day == day) {
			free(name);
			continue;
		}
		struct noting *n = mem_new(sizeof *n);
		*n = (struct noting){ q, give, name, day };
		if (note_given(w, c->identity, q->given[i], n) == 0)
			return; /* and on with the next one */
		noting_free(n);
		refuse_values(q);
	}
	give(w, q);
}
