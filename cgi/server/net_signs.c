/* Sign-ins, failed ones and denials go to the audit: what cgi/who/signs.c has joined leaves as one
 * command, at most once in sign_ins_ms. It is sent again, under the same request id, until the
 * server has answered: while none does, one command waits and what comes meanwhile is joined. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>

#include "cgi/http/cgi.h"
#include "cgi/server/net_impl.h"
#include "cgi/who/signs.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

static void batch_take(struct net_signs *b, struct signs *signs)
{
	uint64_t mark[2];

	if (!signs_take(signs, &b->args))
		return;
	randombytes_buf(mark, sizeof mark);
	snprintf(b->request, sizeof b->request, "signs-%016" PRIx64 "%016" PRIx64, mark[0],
	         mark[1]);
	b->waits = true;
}

static void batch_send(struct net *n)
{
	static char kind[] = "sign-ins", nobody[] = "";
	struct net_signs *b = &n->signs;
	Sirdar__Command m = SIRDAR__COMMAND__INIT;

	CHECK(b->waits && b->ask_id == 0);
	m.id = b->ask_id = ++n->last_id;
	m.request_id = b->request;
	m.actor = nobody; /* nobody asks for it: the face tells it under its own name */
	m.kind = kind;
	m.args.data = buf_room(&b->args, 1) - b->args.len;
	m.args.len = b->args.len;
	if (client_send(n->client, FR_COMMAND, &m, NULL) < 0)
		b->ask_id = 0;
}

void net__signs_look(struct net *n, int64_t now)
{
	struct net_signs *b = &n->signs;

	if (b->ask_id != 0 || now < b->next_us || !client_is_up(n->client))
		return;
	b->next_us = now + param_now(n->cgi->param.sign_ins_ms) * US_PER_MS;
	if (!b->waits)
		batch_take(b, n->cgi->signs);
	if (b->waits)
		batch_send(n);
}

bool net__signs_answered(struct net *n, const Sirdar__Answer *a)
{
	struct net_signs *b = &n->signs;
	bool again = a->code == E_AGAIN || a->code == E_BUSY || a->code == E_FULL ||
	             a->code == E_CLOSED;

	if (b->ask_id == 0 || a->id != b->ask_id)
		return false;
	b->ask_id = 0;
	if (again)
		return true;
	if (a->code < 0)
		log_warn("signs.refused", "code=%s text=\"%s\"", err_name(a->code), a->text);
	b->waits = false;
	buf_clear(&b->args);
	return true;
}

void net__signs_down(struct net *n)
{
	n->signs.ask_id = 0;
}
