/* Sessions over a restart: a file of the state directory, whole each time. It holds hashes of
 * secrets of 256 random bits, so whoever reads it cannot sign in with it; the clock is the
 * wall's, as the machine may have started again meanwhile. */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/cgi.h"
#include "cgi/who/auth_impl.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/log.h"

#define FILE_MAX ((size_t)SESSIONS_MAX * 2048)
#define EVERY_US (60 * US_PER_S) /* when only "last seen" has changed */
#define SLACK_US (60 * US_PER_S) /* of a clock that was set */

static char *path_of(const struct auth *a)
{
	return mem_fmt("%s/sessions", a->cgi->param.state_dir);
}

/* Whose sessions they are when admin's password was reset by hand: not his any more. */
static int64_t admin_mark(const struct auth *a)
{
	unsigned char hash[HASH_BYTES];
	uint64_t mark = 0;

	secret__hash(a->password, hash);
	for (size_t i = 0; i < 6; i++)
		mark = mark << 8 | hash[i];
	return (int64_t)mark;
}

/* --- written --- */

static void session_put(const struct session *s, int64_t ago_us, struct buf *out)
{
	char hex[AUTH_HEX_MAX];

	put_open(out, NULL, '{');
	put_text(out, "user", s->user);
	put_text(out, "id", s->id);
	put_text(out, "hash", sodium_bin2hex(hex, sizeof hex, s->hash, sizeof s->hash));
	put_text(out, "address", s->address);
	put_text(out, "agent", s->agent);
	put_text(out, "via", s->via);
	put_int(out, "since", s->since);
	put_int(out, "factor", s->factor);
	put_bool(out, "server", s->of_server);
	put_bool(out, "kept", s->was_kept);
	put_bool(out, "ended", s->is_ended);
	put_int(out, "begun", s->begun_us + ago_us);
	put_int(out, "used", s->used_us + ago_us);
	put_close(out, '}');
}

static void sessions_print(struct auth *a, struct buf *out)
{
	int64_t now = clock_mono_us(&clock_machine);
	int64_t wall = clock_wall_us(&clock_machine) - now; /* of the monotonic clock's zero */

	pthread_mutex_lock(&a->mu);
	put_open(out, NULL, '{');
	put_int(out, "admin", admin_mark(a));
	put_open(out, "sessions", '[');
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (a->sessions[i].user[0] != '\0' && !session__over(a, &a->sessions[i], now) &&
		    !session__told(a, &a->sessions[i]))
			session_put(&a->sessions[i], wall, out);
	put_close(out, ']');
	put_close(out, '}');
	a->sessions_changed = false;
	a->sessions_kept_us = now;
	pthread_mutex_unlock(&a->mu);
}

int auth_sessions_save(struct auth *a, struct err *err)
{
	char *path = path_of(a);
	struct buf out;
	int r;

	buf_init(&out);
	pthread_mutex_lock(&a->save_mu);
	sessions_print(a, &out);
	r = fs_write(path, buf_str(&out), out.len, 0600, err);
	pthread_mutex_unlock(&a->save_mu);
	if (r < 0) {
		pthread_mutex_lock(&a->mu);
		a->sessions_changed = true;
		pthread_mutex_unlock(&a->mu);
	}
	buf_done(&out);
	free(path);
	return r;
}

/* Has anybody done anything since? */
static bool seen_since(const struct auth *a, int64_t us)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (a->sessions[i].used_us > us)
			return true;
	return false;
}

void auth_sessions_keep(struct auth *a, bool now)
{
	struct err err = { 0 };
	bool due;

	pthread_mutex_lock(&a->mu);
	due = a->sessions_loaded &&
	      (a->sessions_changed ||
	       ((now || clock_mono_us(&clock_machine) - a->sessions_kept_us > EVERY_US) &&
	        seen_since(a, a->sessions_kept_us)));
	pthread_mutex_unlock(&a->mu);
	if (due && auth_sessions_save(a, &err) < 0)
		log_warn("sessions.unsaved", "why=\"%s\"", err.text);
}

/* --- read --- */

static bool text_take(const cJSON *o, const char *key, char *ret, size_t size)
{
	const char *text = json_text(o, key);

	if (!text || strlen(text) >= size)
		return false;
	memcpy(ret, text, strlen(text) + 1);
	return true;
}

static bool session_read(const cJSON *o, int64_t wall, int64_t now, struct session *ret)
{
	const char *hex = json_text(o, "hash");
	int64_t begun = json_int(o, "begun", 0), used = json_int(o, "used", 0);
	size_t n = 0;

	*ret = (struct session){ .via = session__via(json_text(o, "via")),
		                 .since = json_int(o, "since", 0),
		                 .factor = json_int(o, "factor", 0),
		                 .of_server = json_true(o, "server"),
		                 .was_kept = json_true(o, "kept"),
		                 .is_ended = json_true(o, "ended"),
		                 .begun_us = now - (wall - begun),
		                 .used_us = now - (wall - used) };
	return text_take(o, "user", ret->user, sizeof ret->user) && ret->user[0] != '\0' &&
	       text_take(o, "id", ret->id, sizeof ret->id) &&
	       text_take(o, "address", ret->address, sizeof ret->address) &&
	       text_take(o, "agent", ret->agent, sizeof ret->agent) && ret->via && hex &&
	       sodium_hex2bin(ret->hash, HASH_BYTES, hex, strlen(hex), NULL, &n, NULL) == 0 &&
	       n == HASH_BYTES && begun <= wall + SLACK_US && used <= wall + SLACK_US;
}

static void sessions_take(struct auth *a, const cJSON *root)
{
	int64_t now = clock_mono_us(&clock_machine), wall = clock_wall_us(&clock_machine);
	bool admins = json_int(root, "admin", 0) == admin_mark(a);
	const cJSON *o;
	size_t n = 0, former = 0;

	cJSON_ArrayForEach(o, json_get(root, "sessions")) {
		struct session s;

		if (n == SESSIONS_MAX || !session_read(o, wall, now, &s) ||
		    session__over(a, &s, now) ||
		    (!admins && !s.of_server && strcmp(s.user, "admin") == 0))
			continue;
		if (!s.of_server && strcmp(s.user, "admin") != 0) {
			former++; /* of a release in which the server knew no sessions */
			continue;
		}
		a->sessions[n++] = s;
	}
	if (former > 0)
		log_info("sessions.former",
		         "sessions=%zu text=\"the server keeps the sessions of people now: they "
		         "sign in once more\"",
		         former);
	log_info("sessions.read", "sessions=%zu", n);
}

void sessions__load(struct auth *a)
{
	char *path = path_of(a);
	struct err err = { 0 };
	cJSON *root = NULL;
	struct buf text;
	int r;

	buf_init(&text);
	r = fs_read_secret(path, FILE_MAX, &text, &err);
	if (r == 0)
		r = json_parse(buf_str(&text), text.len, &root, &err);
	if (r == 0)
		sessions_take(a, root);
	else if (r != E_NOT_FOUND)
		log_warn("sessions.ignored", "everybody signs in again: %s: %s", path, err.text);
	a->sessions_loaded = true;
	json_free(root);
	buf_done(&text);
	free(path);
}
