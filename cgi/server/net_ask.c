/* One call that waits for the BaseServer: found, sent as a command, given more time, given back. */
#include <stdlib.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/net_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "wire/protocol.h"

/* Of arguments in pieces, at least: so much longer is their answer waited for. */
#define BYTES_A_SECOND (256 * 1024)

void net__call_end(struct call *c, int code, const char *text)
{
	CHECK(c->suspended);
	if (code < 0)
		err_set(&c->err, code, "%s", text && text[0] != '\0' ? text : err_text(code));
	call_resume(c);
}

/* Take the call with this id out of the list. */
struct call *net__ask_take(struct net *n, uint64_t id)
{
	for (struct call **p = &n->asks; *p; p = &(*p)->next) {
		struct call *c = *p;

		if (c->ask_id != id)
			continue;
		*p = c->next;
		return c;
	}
	return NULL;
}

void net__ask_extend(struct net *n, struct call *c)
{
	int64_t more_us = (int64_t)(c->ask_args.len / BYTES_A_SECOND) * US_PER_S;

	c->deadline_us = actor_mono_us(n->me) + param_now(n->cgi->param.request_ms) * US_PER_MS +
	                 more_us;
}

int net__send_command(struct net *n, struct call *c, struct err *err)
{
	char *kind = mem_str(c->ask_kind), *actor = mem_str(c->actor);
	Sirdar__Command m = SIRDAR__COMMAND__INIT;
	int r;

	m.id = c->ask_id;
	m.request_id = c->ask_request;
	m.actor = actor;
	m.credential = c->credential;
	m.kind = kind;
	m.dry_run = c->ask_dry;
	if (c->in_pieces) {
		m.args_bytes = c->ask_args.len;
	} else {
		m.args.data = buf_room(&c->ask_args, 1) - c->ask_args.len;
		m.args.len = c->ask_args.len;
	}
	r = client_send(n->client, FR_COMMAND, &m, err);
	free(actor);
	free(kind);
	return r;
}

bool net__has_records(const struct net *n)
{
	return client_protocol(n->client) >= PROTOCOL_RECORDS;
}
