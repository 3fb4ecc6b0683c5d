/* Arguments of a command that are larger than a frame. They come in pieces, each acknowledged, so
 * that the sender keeps few under way; the command itself comes last and takes them. What is kept
 * is bounded by what the sender says it will be, before a byte of it is taken. Whoever ends in the
 * middle is forgotten with his pieces; who stops there, when somebody else wants the room. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/front.h"
#include "baseserver/net/worker_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum { PARCELS_MAX = 64 };
#define STILL_US (30 * US_PER_S) /* without a piece for so long it may be dropped */

/* The arguments of one command, as far as they came. */
struct parcel {
	struct parcel *next;
	uint64_t id;
	size_t total, got, cap;
	char *data;       /* cap bytes */
	int64_t heard_us; /* mono */
	bool refused;     /* that was answered; what is still under way is not looked at */
};

static struct parcel **piece_find(struct conn *c, uint64_t id)
{
	struct parcel **at = &c->parcels;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void empty(struct parcel *p)
{
	CHECK(p->got <= p->total);
	if (!p->refused)
		front_room_give(p->total);
	free(p->data);
	p->data = NULL;
	p->refused = true;
}

static void worker_piece_drop(struct parcel **at)
{
	struct parcel *p = *at;

	*at = p->next;
	empty(p);
	free(p);
}

void worker__pieces_free(struct conn *c)
{
	while (c->parcels)
		worker_piece_drop(&c->parcels);
}

static void piece_answer(struct conn *c, uint64_t id, int code, const char *text)
{
	Sirdar__Answer m = SIRDAR__ANSWER__INIT;

	log_info("pieces.refused", "peer=%s id=%llu code=%s text=\"%s\"", c->peer,
	         (unsigned long long)id, err_name(code), text);
	m.id = id;
	m.code = code;
	m.text = (char *)(uintptr_t)text;
	session_send(c->session, FR_ANSWER, &m, NULL);
}

/* Of this worker's sessions. */
static void drop_still(struct worker *w, int64_t now_us)
{
	for (struct conn *c = w->conns; c; c = c->next)
		for (struct parcel *p = c->parcels; p; p = p->next) {
			if (p->refused || now_us - p->heard_us < STILL_US || !c->session)
				continue;
			empty(p);
			piece_answer(
				c, p->id, E_TIMEOUT,
				"the command's pieces did not come on for 30 s, and others wanted "
				"their room: send it again");
		}
}

static size_t piece_held(const struct conn *c, size_t *ret_n)
{
	size_t bytes = 0;

	*ret_n = 0;
	for (const struct parcel *p = c->parcels; p; p = p->next, ++*ret_n)
		bytes += p->refused ? 0 : p->total;
	return bytes;
}

static int piece_begin(struct conn *c, const Sirdar__Piece *m, struct parcel **ret)
{
	int64_t now_us = actor_mono_us(c->w->me);
	size_t n, bytes = piece_held(c, &n);
	int code = 0;
	const char *text = "";

	if (m->offset != 0 || m->total == 0 || n >= PARCELS_MAX)
		return E_PROTOCOL;
	if (m->total > ARGS_BYTES_MAX) {
		code = E_TOO_BIG;
		text = "the arguments of a command are larger than 65 MiB: send fewer documents at "
		       "once";
	} else if (bytes + m->total > SESSION_ARGS_BYTES_MAX) {
		code = E_BUSY;
		text = "this session sends 130 MiB of arguments already: one after the other";
	} else if (!front_room_take(m->total)) {
		drop_still(c->w, now_us);
		if (!front_room_take(m->total)) {
			code = E_BUSY;
			text = "260 MiB of arguments of commands are being worked on already: come "
			       "again";
		}
	}
	struct parcel *p = mem_new(sizeof *p);
	*p = (struct parcel){ .next = c->parcels, .id = m->id, .refused = code < 0 };
	p->total = code < 0 ? 0 : m->total;
	p->heard_us = now_us;
	*ret = c->parcels = p;
	if (code < 0)
		piece_answer(c, m->id, code, text);
	return 0;
}

/* Not all of it at once: what is only said to come costs nothing. */
static void piece_add(struct parcel *p, const ProtobufCBinaryData *data)
{
	if (p->got + data->len + 1 > p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 4 * data->len;
		if (cap < p->got + data->len + 1)
			cap = p->got + data->len + 1;
		p->cap = cap > p->total + 1 ? p->total + 1 : cap;
		p->data = mem_grow(p->data, p->cap, 1);
	}
	CHECK(p->got + data->len < p->cap && p->cap <= p->total + 1); /* and its NUL */
	memcpy(p->data + p->got, data->data, data->len);
	p->got += data->len;
}

static int piece_wrong(struct conn *c, const Sirdar__Piece *m)
{
	log_warn("pieces.wrong", "peer=%s id=%llu total=%llu offset=%llu bytes=%zu", c->peer,
	         (unsigned long long)m->id, (unsigned long long)m->total,
	         (unsigned long long)m->offset, m->data.len);
	return E_PROTOCOL;
}

int worker__piece(struct conn *c, const Sirdar__Piece *m)
{
	Sirdar__PieceAck ack = SIRDAR__PIECE_ACK__INIT;
	struct parcel **at = piece_find(c, m->id), *p = *at;

	if (m->total == 0) { /* it is not wanted any more */
		if (p)
			worker_piece_drop(at);
		return m->data.len ? piece_wrong(c, m) : 0;
	}
	if (!p && piece_begin(c, m, &p) < 0)
		return piece_wrong(c, m);
	if (p->refused)
		return 0;
	if (m->total != p->total || m->offset != p->got || m->data.len == 0 ||
	    m->data.len > p->total - p->got)
		return piece_wrong(c, m);
	piece_add(p, &m->data);
	p->heard_us = actor_mono_us(c->w->me);
	ack.id = m->id;
	ack.taken = p->got;
	return session_send(c->session, FR_PIECE_ACK, &ack, NULL);
}

int worker__pieces_take(struct conn *c, const Sirdar__Command *m, struct client_request *r)
{
	struct parcel **at = piece_find(c, m->id), *p = *at;

	if (p && p->refused) {
		worker_piece_drop(at);
		return 1;
	}
	if (!p || p->got != p->total || m->args_bytes != p->total || m->args.len) {
		log_warn("pieces.wrong", "peer=%s id=%llu command=%.40s bytes=%llu", c->peer,
		         (unsigned long long)m->id, m->kind, (unsigned long long)m->args_bytes);
		return E_PROTOCOL;
	}
	CHECK(p->got < p->cap && !p->refused);
	p->data[p->got] = '\0';
	free(r->args);
	r->args = p->data;
	r->args_len = p->got;
	r->room = p->total;
	*at = p->next;
	free(p);
	return 0;
}
