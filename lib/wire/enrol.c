/* A session of one frame. The new private half is on disk before the server hears of the public
 * one: a code is spent for nothing that cannot be kept, and a change of keys that was cut short is
 * asked for once more with the same key. */
#include "wire/enrol.h"

#include <ev.h>
#include <sirdar.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "wire/identity.h"
#include "wire/net.h"

enum { ENROL_SILENCE_MS = 20000, ENROL_QUEUE_BYTES = 65536 };

struct enrolling {
	struct ev_loop *loop;
	const struct identity *as; /* what the session is opened as */
	const char *name;
	const struct pair *key;    /* to be kept */
	const struct pair *former; /* NULL: there was none */
	enum peer_kind kind;
	struct pins servers; /* as the server told */
	bool is_answered;
	int code;
	struct err *err;
};

static int enrol_send(struct enrolling *e, struct session *s)
{
	uint8_t proof[SESSION_PROOF_BYTES], sign[PAIR_SIGN_BYTES], former[PAIR_SIGN_BYTES];
	Sirdar__Enrol m = SIRDAR__ENROL__INIT;
	struct buf text;
	int r = session_proof(s, proof, e->err);

	if (r < 0)
		return r;
	buf_init(&text);
	enrol_text(proof, e->name, e->key->key, &text);
	r = pair_sign(e->key, buf_at(&text), text.len, sign, e->err);
	if (r == 0 && e->former)
		r = pair_sign(e->former, buf_at(&text), text.len, former, e->err);
	buf_done(&text);
	m.name = (char *)(uintptr_t)e->name;
	m.key = (ProtobufCBinaryData){ PAIR_BYTES, (uint8_t *)e->key->key };
	m.sign = (ProtobufCBinaryData){ sizeof sign, sign };
	m.kind = (char *)(uintptr_t)peer_kind_name(e->kind);
	if (e->former)
		m.former_sign = (ProtobufCBinaryData){ sizeof former, former };
	return r < 0 ? r : session_send(s, FR_ENROL, &m, e->err);
}

static void on_open(void *ctx, struct session *s, const char *identity)
{
	struct enrolling *e = ctx;

	(void)identity;
	e->code = enrol_send(e, s);
	if (e->code < 0)
		session_end(s, e->code, NULL);
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	struct enrolling *e = ctx;
	const Sirdar__Enrolled *m = message;

	if (kind != FR_ENROLLED)
		return E_PROTOCOL;
	e->is_answered = true;
	e->code = m->code;
	if (m->code < 0)
		err_set(e->err, m->code, "%s", m->text);
	else if (!pins_parse(m->server_keys, m->n_server_keys, &e->servers) || !e->servers.n)
		e->code = err_set(e->err, E_PROTOCOL, "the server told no key of its own");
	session_end(s, 0, NULL);
	return 0;
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct enrolling *e = ctx;

	(void)s;
	if (!e->is_answered && e->code == 0) {
		e->code = err->code < 0 ? err->code : E_CLOSED;
		err_set(e->err, e->code, "%s", err->text);
	}
	ev_break(e->loop, EVBREAK_ALL);
}

static int ask_server(struct enrolling *e, const char *server)
{
	static const struct session_ops ops = { .on_open = on_open,
		                                .on_frame = on_frame,
		                                .on_end = on_end };
	static const struct session_limits limits = { ENROL_SILENCE_MS, ENROL_SILENCE_MS,
		                                      ENROL_QUEUE_BYTES };
	char host[NET_TEXT_BYTES];
	struct session *s;
	uint16_t port;

	e->is_answered = false;
	e->code = net_server(server, host, &port, e->err);
	if (e->code == 0)
		e->code = session_connect(&(struct session_owner){ e->loop, &ops, e, &limits },
		                          host, port, e->as, &s, e->err);
	if (e->code == 0)
		ev_run(e->loop, 0);
	if (e->code < 0 && !e->is_answered && e->code != E_AUTH) { /* which of them it was */
		struct err why = *e->err;
		err_set(e->err, e->code, "%.200s: %s", server, why.text);
	}
	return e->code;
}

/* Of the servers one leads; what it says counts. */
static int ask_servers(struct enrolling *e, const struct enrol_settings *set)
{
	int r = err_set(e->err, E_INVALID, "no server is set");

	e->loop = ev_loop_new(EVFLAG_AUTO);
	if (!e->loop)
		return err_set(e->err, E_NOMEM, "no event loop");
	for (size_t i = 0; i < set->n_servers; i++) {
		r = ask_server(e, set->servers[i]);
		if (e->is_answered)
			break;
	}
	ev_loop_destroy(e->loop);
	return r;
}

static int no_pair_yet(const struct enrol_settings *set, struct err *err)
{
	struct identity was;

	if (!set->key_file[0])
		return err_set(err, E_INVALID,
		               "key_file is not set: say where this program's key is to be kept");
	int r = identity_read(set->key_file, set->name, &was, err);
	bool has = r == 0 && was.is_pair;
	identity_wipe(&was);
	/* What does not read as a pair is none: there is nothing to lose. */
	if (!has)
		return r == E_FORBIDDEN || r == E_IO ? r : 0;
	return err_set(err, E_EXISTS,
	               "%.200s has a key of its own already: `rotate-key` changes it; to enrol "
	               "anew, take the file away",
	               set->key_file);
}

int enrol_first(const struct enrol_settings *set, const char *code, uint8_t ret_key[PAIR_BYTES],
                struct err *err)
{
	struct identity as = { 0 }, self = { .is_pair = true };
	char id[INVITE_ID_TEXT];

	if (!enrol_code_parse(code, id, as.key))
		return err_set(
			err, E_INVALID,
			"not a code as `sirdar peer invite` prints it: 12 digits of 0-9 a-f, "
			"'-', and 32 more");
	snprintf(as.name, sizeof as.name, INVITE_PREFIX "%s", id);
	snprintf(self.name, sizeof self.name, "%s", set->name);
	char *beside = mem_fmt("%s.new", set->key_file);
	int r = no_pair_yet(set, err);
	if (r == 0)
		r = pair_draw(&self.pair, err);
	if (r == 0)
		r = identity_write(beside, &self, err);
	if (r == 0) {
		struct enrolling e = { .as = &as,
			               .name = self.name,
			               .key = &self.pair,
			               .kind = set->kind,
			               .err = err };
		r = ask_servers(&e, set);
		self.servers = e.servers;
		if (r == E_AUTH && !e.is_answered)
			err_set(err, r,
			        "no server knows that code: it was used, it is older than an hour, "
			        "the server was started anew since, or it is not the whole code; "
			        "and "
			        "after 20 wrong ones none from this address is looked at for a "
			        "minute");
		if (r == 0)
			r = identity_write(set->key_file, &self, err);
		if (r == 0 || !e.is_answered || e.code < 0)
			unlink(beside);
	}
	memcpy(ret_key, self.pair.key, PAIR_BYTES);
	identity_wipe(&self);
	identity_wipe(&as);
	free(beside);
	return r;
}

/* A change that was cut short after the server had taken the next key, a day ago or more: it knows
 * the former one no longer. Told of the next one by itself it says so, and changes nothing. */
static int ask_by_next(struct enrolling *e, const struct enrol_settings *set,
                       const struct identity *self)
{
	struct identity next = *self;

	next.pair = self->next;
	e->as = &next;
	e->former = &self->next;
	int r = ask_servers(e, set);
	e->as = self;
	identity_wipe(&next);
	return r;
}

int enrol_next(const struct enrol_settings *set, uint8_t ret_key[PAIR_BYTES], struct err *err)
{
	struct identity self = { 0 };
	int r = identity_read(set->key_file, set->name, &self, err);

	if (r == 0 && !self.is_pair)
		r = err_set(err, E_NOT_FOUND, "%.200s: no key of its own is kept here: enrol first",
		            set->key_file);
	bool was_cut = r == 0 && self.has_next;
	if (r == 0 && !was_cut) {
		self.has_next = true;
		r = pair_draw(&self.next, err);
		if (r == 0)
			r = identity_write(set->key_file, &self, err);
	}
	if (r == 0) {
		struct enrolling e = { .as = &self,
			               .name = self.name,
			               .key = &self.next,
			               .former = &self.pair,
			               .err = err };
		r = ask_servers(&e, set);
		if (r == E_AUTH && was_cut && !e.is_answered)
			r = ask_by_next(&e, set, &self);
		if (r == 0) {
			self.pair = self.next;
			self.servers = e.servers;
			self.has_next = false;
			r = identity_write(set->key_file, &self, err);
		}
	}
	memcpy(ret_key, self.pair.key, PAIR_BYTES);
	identity_wipe(&self);
	return r;
}
