/* Arguments that are larger than a frame go to the server in pieces, a few under way at once: what
 * others ask for goes between them, and what waits to be written stays small. */
#include "cgi/http/call.h"
#include "cgi/server/net_impl.h"
#include "util/check.h"
#include "util/err.h"

enum { PIECES_FROM = 1 << 20, PIECE_BYTES = 256 * 1024, UNDER_WAY_MAX = 4 * PIECE_BYTES };

bool net__wants_pieces(const struct call *c)
{
	return c->ask_args.len > PIECES_FROM;
}

static int send_piece(struct net *n, struct call *c, struct err *err)
{
	Sirdar__Piece m = SIRDAR__PIECE__INIT;
	size_t rest = c->ask_args.len - c->sent;
	int r;

	CHECK(c->in_pieces && rest > 0 && rest <= c->ask_args.len);
	m.id = c->ask_id;
	m.total = c->ask_args.len;
	m.offset = c->sent;
	m.data.data = (uint8_t *)(uintptr_t)buf_at(&c->ask_args) + c->sent;
	m.data.len = rest < PIECE_BYTES ? rest : PIECE_BYTES;
	r = client_send(n->client, FR_PIECE, &m, err);
	if (r == 0)
		c->sent += m.data.len;
	return r;
}

void net__pieces_go_on(struct net *n, struct call *c, size_t taken)
{
	size_t all = c->ask_args.len;
	uint64_t id = c->ask_id;
	struct err err = { 0 };
	int r = taken <= c->sent ? 0 : E_PROTOCOL;

	CHECK(c->in_pieces && c->sent <= all);
	net__ask_extend(n, c);
	while (r == 0 && c->sent < all && c->sent - taken < UNDER_WAY_MAX)
		r = send_piece(n, c, &err);
	if (r == 0 && taken == all) {
		r = net__send_command(n, c, &err);
		c->in_pieces = r < 0;
	}
	/* A session that ended meanwhile has ended the call already. */
	if (r < 0 && net__ask_take(n, id) == c) {
		net__pieces_end(n, c);
		net__call_end(c, r, err.text);
	}
}

void net__pieces_end(struct net *n, const struct call *c)
{
	Sirdar__Piece m = SIRDAR__PIECE__INIT;

	if (!c->in_pieces)
		return;
	m.id = c->ask_id; /* a total of 0: it is not wanted any more */
	client_send(n->client, FR_PIECE, &m, NULL);
}
