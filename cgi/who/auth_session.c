/* Sessions: begun, found by the secret of a cookie, listed, ended. The secret itself is nowhere:
 * its hash finds the session, and its CSRF token is made from it each time. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/who/auth_impl.h"
#include "cgi/who/browser.h"
#include "cgi/who/people.h"
#include "cgi/who/signs.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_put.h"

#include "cgi/who/factor.h"

#define CHANGING_US (60 * US_PER_S)

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

bool session__over(const struct auth *a, const struct session *s, int64_t now_us)
{
	return now_us - s->used_us > param_now(a->cgi->param.session_idle_ms) * US_PER_MS ||
	       now_us - s->begun_us > param_now(a->cgi->param.session_life_ms) * US_PER_MS;
}

int64_t session__since(const struct session *s)
{
	return clock_mono_us(&clock_machine) < s->changing_us ? -1 : s->since;
}

bool session__proven(const struct auth *a, const struct session *s, const struct person *p)
{
	return session__since(s) < 0 || factor_is_shown(a->cgi, s->user, p, s->factor);
}

/* Of somebody who has SESSIONS_EACH_MAX, the one that is unused for longest; else a free place,
 * else the one of all that is. */
static struct session *session_place(struct auth *a, const char *user)
{
	struct session *oldest = &a->sessions[0], *own = NULL, *empty = NULL;
	size_t n = 0;

	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = &a->sessions[i];

		if (s->user[0] == '\0') {
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

static void auth_session_drop(struct auth *a, struct session *s)
{
	CHECK(s->user[0] != '\0'); /* a free place is no session */
	*s = (struct session){ 0 };
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

void auth_session_open(struct auth *a, struct call *c, const char *user, int64_t since,
                       const char *via, char ret_secret[AUTH_TEXT_MAX])
{
	int64_t now = clock_mono_us(&clock_machine);
	struct session fresh = {
		.begun_us = now, .used_us = now, .since = since, .factor = c->factor, .via = via
	};
	unsigned char id[(SESSION_ID_MAX - 1) / 2];

	secret__new("", ret_secret);
	secret__hash(ret_secret, fresh.hash);
	randombytes_buf(id, sizeof id);
	sodium_bin2hex(fresh.id, sizeof fresh.id, id, sizeof id);
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

struct session *session__find(struct auth *a, const char *secret)
{
	int64_t now = clock_mono_us(&clock_machine);
	unsigned char hash[HASH_BYTES];

	if (!secret || strlen(secret) >= AUTH_TEXT_MAX)
		return NULL;
	secret__hash(secret, hash);
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = &a->sessions[i];

		if (s->user[0] == '\0' || sodium_memcmp(s->hash, hash, sizeof hash) != 0)
			continue;
		if (session__over(a, s, now)) {
			auth_session_drop(a, s);
			return NULL;
		}
		s->used_us = now;
		return s;
	}
	return NULL;
}

static const char *secret_of(struct call *c)
{
	return MHD_lookup_connection_value(c->conn, MHD_COOKIE_KIND, session__cookie(c));
}

static struct session *by_id(struct auth *a, const char *id)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (a->sessions[i].user[0] != '\0' && strcmp(a->sessions[i].id, id) == 0)
			return &a->sessions[i];
	return NULL;
}

bool auth_session_close(struct auth *a, const char *secret, char ret_user[64])
{
	struct session *s;

	pthread_mutex_lock(&a->mu);
	s = session__find(a, secret);
	if (s) {
		snprintf(ret_user, sizeof s->user, "%s", s->user);
		auth_session_drop(a, s);
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

bool auth_session_end(struct auth *a, struct call *c)
{
	char user[64];
	bool was = auth_session_close(a, secret_of(c), user);

	snprintf(c->cookie, sizeof c->cookie, "%s=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0%s",
	         session__cookie(c), c->https ? "; Secure" : "");
	return was;
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

void auth_session_renew(struct auth *a, const char *id, int64_t since)
{
	struct session *s;

	pthread_mutex_lock(&a->mu);
	s = by_id(a, id);
	if (s) {
		s->since = since;
		s->changing_us = 0;
		a->sessions_changed = true;
	}
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

int auth_sessions_end(struct auth *a, const char *user, const char *id, const char *keep,
                      char ret_user[64])
{
	int n = 0;

	pthread_mutex_lock(&a->mu);
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		struct session *s = &a->sessions[i];

		if (s->user[0] == '\0' || (user && strcmp(s->user, user) != 0) ||
		    (id && strcmp(s->id, id) != 0) || (keep && strcmp(s->id, keep) == 0))
			continue;
		memcpy(ret_user, s->user, sizeof s->user);
		auth_session_drop(a, s);
		n++;
	}
	pthread_mutex_unlock(&a->mu);
	return n;
}

/* --- shown --- */

/* Not that of somebody whose password, role or self has changed since: it lets nobody in. */
static bool is_of_now(struct auth *a, const struct session *s)
{
	const struct person *p = NULL;
	int64_t since = session__since(s);
	bool is;

	if (strcmp(s->user, "admin") == 0)
		return session__proven(a, s, NULL);
	(void)people_find(a->cgi->people, s->user, &p);
	is = p && !p->disabled && (since < 0 || p->since == since) && session__proven(a, s, p);
	person_unref(p);
	return is;
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

void auth_sessions_put(struct auth *a, const char *user, const char *own, struct buf *out)
{
	int64_t now = clock_mono_us(&clock_machine), wall = clock_wall_us(&clock_machine);
	struct session *all = mem_array(SESSIONS_MAX, sizeof *all);

	pthread_mutex_lock(&a->mu);
	memcpy(all, a->sessions, sizeof a->sessions);
	pthread_mutex_unlock(&a->mu);
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (all[i].user[0] != '\0' && (!user || strcmp(all[i].user, user) == 0) &&
		    !session__over(a, &all[i], now) && is_of_now(a, &all[i]))
			one_put(&all[i], own, now, wall, out);
	free(all);
}
