/* Sessions: begun, found by the secret of a cookie, ended. The secret itself is nowhere: its hash
 * finds the session, and its CSRF token is made from it each time.
 *
 * Of a person's the server says whether it lasts (people_session()); what is here besides is when
 * it was used at this face, which one has just begun, and which one was ended here while the server
 * could not be told. One of another face is taken up when it is first seen. admin's is here alone.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/who/auth_impl.h"
#include "cgi/who/browser.h"
#include "cgi/who/factor.h"
#include "cgi/who/people.h"
#include "cgi/who/signs.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_put.h"

#define OWN           "here_"         /* begins secrets of sessions that the server does not keep */
#define SERVERS_CHARS 43              /* of a secret of a session that it keeps */
#define FRESH_US      (60 * US_PER_S) /* until a session that has begun is among those read */
#define CHANGING_US   (60 * US_PER_S)

const char *session__cookie(const struct call *c)
{
	return c->https ? "__Host-sirdar" : "sirdar";
}

void session__csrf(const char *secret, char ret_csrf[AUTH_TEXT_MAX])
{
	unsigned char hash[HASH_BYTES];
	crypto_hash_sha256_state st;

	crypto_hash_sha256_init(&st);
	crypto_hash_sha256_update(&st, (const unsigned char *)"csrf:", 5);
	crypto_hash_sha256_update(&st, (const unsigned char *)secret, strlen(secret));
	crypto_hash_sha256_final(&st, hash);
	sodium_bin2hex(ret_csrf, AUTH_TEXT_MAX, hash, sizeof hash);
}

const char *session__via(const char *text)
{
	static const char *const ways[] = { "password", "ldap", "oidc" };

	for (size_t i = 0; text && i < sizeof ways / sizeof ways[0]; i++)
		if (strcmp(ways[i], text) == 0)
			return ways[i];
	return NULL;
}

bool session__over(const struct auth *a, const struct session *s, int64_t now_us)
{
	return now_us - s->used_us > param_now(a->cgi->param.session_idle_ms) * US_PER_MS ||
	       now_us - s->begun_us > param_now(a->cgi->param.session_life_ms) * US_PER_MS;
}

/* The server knows that it was ended, or has forgotten it. */
bool session__told(const struct auth *a, const struct session *s)
{
	struct kept_session kept;

	return s->is_ended && people_session(a->cgi->people, s->hash, &kept) == 0;
}

/* admin's factor may be another one just now: he is changing it. */
static bool is_held(const struct session *s)
{
	return clock_mono_us(&clock_machine) < s->changing_us;
}

/* Of somebody who has SESSIONS_EACH_MAX, the one that is unused for longest; else a free place,
 * else the one of all that is. */
static struct session *session_place(struct auth *a, const char *user)
{
	struct session *oldest = &a->sessions[0], *own = NULL, *empty = NULL;
	size_t n = 0;

	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = &a->sessions[i];

		if (s->user[0] == '\0' || session__told(a, s)) {
			empty = !empty ? s : empty;
			continue;
		}
		if (strcmp(s->user, user) == 0) {
			n++;
			own = !own || s->used_us < own->used_us ? s : own;
		}
		if (s->used_us < oldest->used_us)
			oldest = s;
	}
	if (n >= SESSIONS_EACH_MAX)
		return own;
	return empty ? empty : oldest;
}

/* One that the server keeps is remembered as ended until it knows. */
static void auth_session_drop(struct auth *a, struct call *c, struct session *s)
{
	CHECK(s->user[0] != '\0'); /* a free place is no session */
	if (s->of_server && c) {
		s->is_ended = true;
		buf_printf(&c->ended, "%s\"%s\"", c->ended.len > 0 ? "," : "", s->id);
	} else {
		*s = (struct session){ 0 };
	}
	a->sessions_changed = true;
}

/* What a browser says of itself, as far as it is plain text. */
static void agent_take(struct call *c, char *ret, size_t size)
{
	const char *said = call_header(c, "User-Agent");
	size_t n = 0;

	for (; said && *said != '\0' && n + 1 < size; said++)
		ret[n++] = (char)(*said >= 0x20 && *said < 0x7f ? *said : '?');
	ret[n] = '\0';
}

static void id_new(char ret[SESSION_ID_MAX])
{
	unsigned char id[(SESSION_ID_MAX - 1) / 2];

	randombytes_buf(id, sizeof id);
	sodium_bin2hex(ret, SESSION_ID_MAX, id, sizeof id);
}

void auth_session_open(struct auth *a, struct call *c, const char *user, int64_t since,
                       const char *via, char ret_secret[AUTH_TEXT_MAX])
{
	int64_t now = clock_mono_us(&clock_machine);
	struct session fresh = {
		.begun_us = now, .used_us = now, .since = since, .factor = c->factor, .via = via
	};
	struct kept_session kept;

	fresh.of_server = c->credential[0] != '\0';
	if (fresh.of_server)
		snprintf(ret_secret, AUTH_TEXT_MAX, "%s", c->credential);
	else
		secret__new(OWN, ret_secret);
	secret__hash(ret_secret, fresh.hash);
	id_new(fresh.id);
	if (fresh.of_server && people_session(a->cgi->people, fresh.hash, &kept) == 1) {
		memcpy(fresh.id, kept.id, sizeof fresh.id);
		fresh.was_kept = true;
	}
	snprintf(fresh.user, sizeof fresh.user, "%s", user);
	snprintf(fresh.address, sizeof fresh.address, "%s", c->address);
	agent_take(c, fresh.agent, sizeof fresh.agent);
	pthread_mutex_lock(&a->mu);
	*session_place(a, user) = fresh;
	a->sessions_changed = true;
	pthread_mutex_unlock(&a->mu);
	signs_add(c, SIGN_IN, user);
}

void auth_session_begin(struct auth *a, struct call *c, int64_t since, const char *via,
                        char ret_csrf[AUTH_TEXT_MAX])
{
	char secret[AUTH_TEXT_MAX];

	auth_session_open(a, c, c->user, since, via, secret);
	session__csrf(secret, ret_csrf);
	snprintf(c->cookie, sizeof c->cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s",
	         session__cookie(c), secret, c->https ? "; Secure" : "");
	sodium_memzero(secret, sizeof secret);
}

static struct session *by_hash(struct auth *a, const unsigned char hash[HASH_BYTES])
{
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = &a->sessions[i];

		if (s->user[0] != '\0' && sodium_memcmp(s->hash, hash, HASH_BYTES) == 0)
			return s;
	}
	return NULL;
}

struct session *session__find(struct auth *a, const char *secret)
{
	int64_t now = clock_mono_us(&clock_machine);
	unsigned char hash[HASH_BYTES];
	struct session *s;

	if (!secret || strlen(secret) >= AUTH_TEXT_MAX)
		return NULL;
	secret__hash(secret, hash);
	s = by_hash(a, hash);
	if (!s || s->is_ended)
		return NULL;
	if (session__over(a, s, now)) {
		/* Unused for too long here: at another face, too, as far as it is asked of us. */
		if (s->of_server)
			s->is_ended = a->sessions_changed = true;
		else
			auth_session_drop(a, NULL, s);
		return NULL;
	}
	s->used_us = now;
	return s;
}

/* --- those that the server keeps ---------------------------------------------------------- */

/* One that began at another face, or was pushed out here. When it was last used nobody knows: when
 * it began it was. */
static bool take_up(struct auth *a, const struct kept_session *kept)
{
	int64_t now = clock_mono_us(&clock_machine), wall = clock_wall_us(&clock_machine);
	struct session s = { .of_server = true,
		             .was_kept = true,
		             .since = kept->since,
		             .factor = kept->factor,
		             .via = session__via(kept->via),
		             .begun_us = now - (wall - kept->begun_s * US_PER_S) };

	s.used_us = s.begun_us;
	if (!s.via || session__over(a, &s, now))
		return false;
	memcpy(s.hash, kept->hash, sizeof s.hash);
	memcpy(s.id, kept->id, sizeof s.id);
	memcpy(s.user, kept->user, sizeof s.user);
	memcpy(s.address, kept->address, sizeof s.address);
	memcpy(s.agent, kept->agent, sizeof s.agent);
	*session_place(a, s.user) = s;
	a->sessions_changed = true;
	return true;
}

/* What the server's sessions say of it: 1, or 0 when it is over. */
static int look_kept(struct auth *a, const char *secret, struct session *s,
                     const struct kept_session *kept, struct session_found *ret)
{
	if (kept && !s && (!take_up(a, kept) || !(s = session__find(a, secret))))
		return 0;
	if (kept) {
		memcpy(s->id, kept->id, sizeof s->id);
		s->since = kept->since;
		s->factor = kept->factor;
		s->was_kept = true;
		ret->since = -1;
	} else if (s->was_kept || clock_mono_us(&clock_machine) - s->begun_us > FRESH_US) {
		auth_session_drop(a, NULL, s);
		*s = (struct session){ 0 };
		return 0;
	} else {
		ret->since = s->since;
	}
	memcpy(ret->user, s->user, sizeof ret->user);
	ret->via = s->via;
	ret->factor = s->factor;
	ret->of_server = true;
	return 1;
}

int session__look(struct auth *a, const char *secret, struct session_found *ret)
{
	unsigned char hash[HASH_BYTES];
	struct kept_session kept;
	struct session *s;
	int r = 0;

	*ret = (struct session_found){ 0 };
	if (strlen(secret) >= AUTH_TEXT_MAX)
		return 0;
	secret__hash(secret, hash);
	pthread_mutex_lock(&a->mu);
	bool is_known = by_hash(a, hash) || strlen(secret) != SERVERS_CHARS;
	s = session__find(a, secret);
	if (s && !s->of_server) {
		memcpy(ret->user, s->user, sizeof ret->user);
		ret->via = s->via;
		ret->since = is_held(s) ? -1 : 0;
		ret->factor = s->factor;
		r = 1;
	} else if (s || !is_known) {
		r = people_session(a->cgi->people, hash, &kept);
		if (r != E_AGAIN && (s || r == 1))
			r = look_kept(a, secret, s, r == 1 ? &kept : NULL, ret);
	}
	pthread_mutex_unlock(&a->mu);
	return r;
}

/* --- of a call ---------------------------------------------------------------------------- */

static const char *secret_of(struct call *c)
{
	return MHD_lookup_connection_value(c->conn, MHD_COOKIE_KIND, session__cookie(c));
}

bool auth_session_close(struct auth *a, struct call *c, const char *secret, char ret_user[64])
{
	struct session *s;

	pthread_mutex_lock(&a->mu);
	s = session__find(a, secret);
	if (s) {
		snprintf(ret_user, sizeof s->user, "%s", s->user);
		if (s->of_server) /* by it the server is told */
			snprintf(c->credential, sizeof c->credential, "%s", secret);
		auth_session_drop(a, c, s);
	}
	pthread_mutex_unlock(&a->mu);
	return s != NULL;
}

void auth_session_csrf(struct auth *a, struct call *c, char ret_csrf[AUTH_TEXT_MAX])
{
	const char *secret = c->by_cookie ? secret_of(c) : NULL;

	ret_csrf[0] = '\0';
	pthread_mutex_lock(&a->mu);
	if (secret && session__find(a, secret))
		session__csrf(secret, ret_csrf);
	pthread_mutex_unlock(&a->mu);
}

void auth_session_own(struct auth *a, struct call *c, char ret_id[SESSION_ID_MAX])
{
	struct session *s;

	pthread_mutex_lock(&a->mu);
	s = c->by_cookie ? session__find(a, secret_of(c)) : NULL;
	snprintf(ret_id, SESSION_ID_MAX, "%s", s ? s->id : "");
	pthread_mutex_unlock(&a->mu);
}

void auth_session_refer(struct auth *a, struct call *c, struct session_ref *ret)
{
	const struct session *s;

	_Static_assert(sizeof ret->hash == sizeof s->hash, "one hash");
	*ret = (struct session_ref){ .is_any = false };
	pthread_mutex_lock(&a->mu);
	s = c->by_cookie ? session__find(a, secret_of(c)) : NULL;
	if (s) {
		ret->is_any = true;
		memcpy(ret->hash, s->hash, sizeof ret->hash);
	}
	pthread_mutex_unlock(&a->mu);
}

/* One that others pushed out of its place here goes on at the server. */
bool auth_session_ended(struct auth *a, const struct session_ref *ref)
{
	struct kept_session kept;
	bool is_young = false, is_ended = false;

	if (!ref->is_any)
		return false;
	pthread_mutex_lock(&a->mu);
	const struct session *s = by_hash(a, ref->hash);
	if (s) {
		is_ended = s->is_ended;
		is_young = !s->of_server ||
		           (!s->was_kept &&
		            clock_mono_us(&clock_machine) - s->begun_us <= FRESH_US);
	}
	if (!is_ended && !is_young) /* the server has it, or it is over */
		is_ended = people_session(a->cgi->people, ref->hash, &kept) == 0;
	pthread_mutex_unlock(&a->mu);
	return is_ended;
}

bool auth_session_end(struct auth *a, struct call *c)
{
	char user[64];
	bool was = auth_session_close(a, c, secret_of(c), user);

	snprintf(c->cookie, sizeof c->cookie, "%s=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0%s",
	         session__cookie(c), c->https ? "; Secure" : "");
	return was;
}

/* Of those that the server keeps, the ones that are not here yet. */
struct taking {
	struct auth *a;
	const char *id;
};

static void take_one(void *ctx, const struct kept_session *kept)
{
	const struct taking *t = ctx;

	if ((!t->id || strcmp(kept->id, t->id) == 0) && !by_hash(t->a, kept->hash))
		(void)take_up(t->a, kept);
}

static struct session *by_id(struct auth *a, const char *id)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (a->sessions[i].user[0] != '\0' && strcmp(a->sessions[i].id, id) == 0)
			return &a->sessions[i];
	return NULL;
}

void auth_session_hold(struct auth *a, const char *id, bool on)
{
	struct session *s;

	pthread_mutex_lock(&a->mu);
	s = by_id(a, id);
	if (s)
		s->changing_us = on ? clock_mono_us(&clock_machine) + CHANGING_US : 0;
	pthread_mutex_unlock(&a->mu);
}

void auth_session_prove(struct auth *a, const char *id, int64_t factor)
{
	struct session *s;

	pthread_mutex_lock(&a->mu);
	s = by_id(a, id);
	if (s) {
		s->factor = factor;
		s->changing_us = 0;
		a->sessions_changed = true;
	}
	pthread_mutex_unlock(&a->mu);
}

int auth_sessions_end(struct auth *a, struct call *c, const char *user, const char *id,
                      const char *keep, char ret_user[64])
{
	struct taking t = { a, id };
	int n = 0;

	pthread_mutex_lock(&a->mu);
	if (user || id)
		people_sessions_each(a->cgi->people, user, take_one, &t);
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = &a->sessions[i];

		if (s->user[0] == '\0' || s->is_ended || (user && strcmp(s->user, user) != 0) ||
		    (id && strcmp(s->id, id) != 0) || (keep && strcmp(s->id, keep) == 0))
			continue;
		memcpy(ret_user, s->user, sizeof s->user);
		auth_session_drop(a, c, s);
		n++;
	}
	pthread_mutex_unlock(&a->mu);
	return n;
}

void sessions__drop_own(struct auth *a)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (a->sessions[i].user[0] != '\0' && !a->sessions[i].of_server)
			auth_session_drop(a, NULL, &a->sessions[i]);
}

/* --- shown -------------------------------------------------------------------------------- */

/* Those of the server that are not here are shown as they began. */
struct showing {
	struct auth *a;
	struct session *list;
	size_t n;
};

static void show_one(void *ctx, const struct kept_session *kept)
{
	int64_t now = clock_mono_us(&clock_machine), wall = clock_wall_us(&clock_machine);
	struct showing *w = ctx;
	struct session s = { .begun_us = now - (wall - kept->begun_s * US_PER_S),
		             .via = session__via(kept->via) };
	const struct session *own;

	s.used_us = s.begun_us;
	memcpy(s.user, kept->user, sizeof s.user);
	memcpy(s.id, kept->id, sizeof s.id);
	memcpy(s.address, kept->address, sizeof s.address);
	memcpy(s.agent, kept->agent, sizeof s.agent);
	pthread_mutex_lock(&w->a->mu);
	own = by_hash(w->a, kept->hash);
	bool over = own ? own->is_ended || session__over(w->a, own, now)
	                : !s.via || session__over(w->a, &s, now);
	s = own ? *own : s;
	pthread_mutex_unlock(&w->a->mu);
	if (over)
		return;
	memcpy(s.id, kept->id, sizeof s.id);
	w->list = mem_grow(w->list, w->n + 1, sizeof *w->list);
	w->list[w->n++] = s;
}

/* Those that the server does not have, or has had for less than a second. */
static void show_own(struct showing *w, const char *user)
{
	int64_t now = clock_mono_us(&clock_machine);

	pthread_mutex_lock(&w->a->mu);
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		const struct session *s = &w->a->sessions[i];

		if (s->user[0] == '\0' || s->is_ended || s->was_kept ||
		    (user && strcmp(s->user, user) != 0) || session__over(w->a, s, now) ||
		    !(is_held(s) || factor_is_shown(w->a->cgi, s->user, NULL, s->factor)))
			continue;
		w->list = mem_grow(w->list, w->n + 1, sizeof *w->list);
		w->list[w->n++] = *s;
	}
	pthread_mutex_unlock(&w->a->mu);
}

static void one_put(const struct session *s, const char *own, int64_t now, int64_t wall,
                    struct buf *out)
{
	struct browser b = browser_of(s->agent);

	put_open(out, NULL, '{');
	put_text(out, "id", s->id);
	put_text(out, "user", s->user);
	put_text(out, "via", s->via);
	put_time(out, "since", (wall - (now - s->begun_us)) / US_PER_S);
	put_time(out, "seen", (wall - (now - s->used_us)) / US_PER_S);
	put_text(out, "address", s->address);
	put_text(out, "browser", b.name);
	put_text(out, "system", b.system);
	put_bool(out, "own", strcmp(s->id, own) == 0);
	put_close(out, '}');
}

static int begun_order(const void *x, const void *y)
{
	const struct session *a = x, *b = y;

	return (a->begun_us > b->begun_us) - (a->begun_us < b->begun_us);
}

void auth_sessions_put(struct auth *a, const char *user, const char *own, struct buf *out)
{
	int64_t now = clock_mono_us(&clock_machine), wall = clock_wall_us(&clock_machine);
	struct showing w = { .a = a };

	show_own(&w, user);
	people_sessions_each(a->cgi->people, user, show_one, &w);
	if (w.n > 0)
		qsort(w.list, w.n, sizeof *w.list, begun_order);
	for (size_t i = 0; i < w.n; i++)
		one_put(&w.list[i], own, now, wall, out);
	free(w.list);
}
