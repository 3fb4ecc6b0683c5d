/* Tokens of this cgi alone, made on its machine (--make-token, --make-app) where an earlier release
 * left it an `admin` of its own: one small file each, so that making one never rewrites another.
 * All others are kept by the server (cgi/who/people.h). */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgi/http/cgi.h"
#include "cgi/who/auth.h"
#include "cgi/who/auth_impl.h"
#include "cgi/who/people.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"

#define TICK_US (50 * US_PER_MS) /* of the file system's clock, and to spare */

static int64_t wall_s(void)
{
	return clock_wall_us(&clock_machine) / US_PER_S;
}

void auth_token_new(bool is_app, char ret_token[AUTH_TEXT_MAX], char ret_hex[HASH_BYTES * 2 + 1])
{
	unsigned char hash[HASH_BYTES];

	secret__new(is_app ? "sirdar_app_" : "sirdar_", ret_token);
	secret__hash(ret_token, hash);
	sodium_bin2hex(ret_hex, HASH_BYTES * 2 + 1, hash, sizeof hash);
}

static int admin_found(void *ctx, const struct store_doc *d)
{
	bool *is = ctx;

	*is = !d->retired;
	return 0;
}

int auth_token_may(const struct cgi *cgi, struct err *err)
{
	static const char hint[] =
		"ask the server: baseserver -c FILE admin token NAME, where it runs";
	char *path = mem_fmt("%s/password", cgi->param.state_dir);
	bool has_own = access(path, F_OK) == 0, is_kept = false;
	struct reader *reader = NULL;
	struct err why = { 0 };

	free(path);
	if (!has_own)
		return err_set(err, E_CONFLICT, "this cgi has no administrator of its own: %s",
		               hint);
	int r = reader_open(cgi->param.store, &reader, &why);
	if (r == 0)
		r = read_doc(reader, &(struct read_which){ DOC_USER, "admin", 0, 0 }, admin_found,
		             &is_kept, &why);
	reader_close(reader);
	if (is_kept)
		return err_set(err, E_CONFLICT,
		               "the server keeps `admin`, and tokens of a cgi let nobody in "
		               "since: %s",
		               hint);
	if (r < 0 && r != E_NOT_FOUND)
		fprintf(stderr,
		        "sirdar-cgi: cannot see whether the server keeps `admin` (%s): if it does, "
		        "this token lets nobody in; %s\n",
		        why.text, hint);
	return 0;
}

int auth_token_make(const char *state_dir, const struct token_made *t,
                    char ret_token[AUTH_TEXT_MAX], struct err *err)
{
	static const char *const words[] = { "", " login", " app" };
	char token[AUTH_TEXT_MAX], hex[HASH_BYTES * 2 + 1], line[300];
	char *dir = mem_fmt("%s/tokens", state_dir), *path = mem_fmt("%s/%s", dir, t->name);
	int64_t now = wall_s();
	int r = 0;

	CHECK(t->kind <= TOKEN_APP && t->life_s >= 0);
	if (!fs_name_ok(t->name, 63))
		r = err_set(err, E_INVALID, "a token's name has 1 to 63 of A-Z a-z 0-9 . _ -");
	if (r == 0)
		r = fs_mkdirs(dir, 0700, err);
	if (r == 0 && access(path, F_OK) == 0)
		r = err_set(err, E_EXISTS, "there is a token '%s' already", t->name);
	if (r == 0) {
		auth_token_new(t->kind == TOKEN_APP, token, hex);
		snprintf(line, sizeof line, "%s %s %" PRId64 " %" PRId64 " -%s\n",
		         role_name(t->role), hex, now, t->life_s != 0 ? now + t->life_s : 0,
		         words[t->kind]);
		r = fs_write(path, line, strlen(line), 0600, err);
	}
	if (r == 0)
		memcpy(ret_token, token, sizeof token);
	free(path);
	free(dir);
	return r;
}

static int token_read(const char *dir, const char *name, struct local_token *ret, struct err *err)
{
	char *path = mem_fmt("%s/%s", dir, name), role[32], hex[HASH_BYTES * 2 + 1], kind[8] = "";
	char owner[64] = "-"; /* files of older versions name none */
	struct buf text;
	size_t n = 0;
	int r;

	buf_init(&text);
	r = fs_read_secret(path, 300, &text, err);
	if (r == 0 &&
	    /* NOLINTNEXTLINE(cert-err34-c): our own file; a number too large is a time too late */
	    (sscanf(buf_str(&text), "%31s %64s %" SCNd64 " %" SCNd64 " %63s %7s", role, hex,
	            &ret->created_s, &ret->expires_s, owner, kind) < 4 ||
	     !role_from_name(role, &ret->role) ||
	     sodium_hex2bin(ret->hash, HASH_BYTES, hex, strlen(hex), NULL, &n, NULL) != 0 ||
	     n != HASH_BYTES))
		r = err_set(err, E_CORRUPT, "%s is not a token's file", path);
	ret->is_app = strcmp(kind, "app") == 0;
	ret->by_login = strcmp(kind, "login") == 0;
	if (r == 0 && strcmp(owner, "-") != 0)
		r = err_set(
			err, E_UNSUPPORTED,
			"%s is a token of %s from an older version: tokens of people are kept by "
			"the server now; remove the file and make it anew (sirdar login)",
			path, owner);
	snprintf(ret->name, sizeof ret->name, "%.63s", name);
	buf_done(&text);
	free(path);
	return r;
}

int auth_tokens_load(struct auth *a, struct err *err)
{
	char *dir = mem_fmt("%s/tokens", a->cgi->param.state_dir);
	struct local_token *tokens = mem_array(TOKENS_MAX, sizeof *tokens);
	struct stat st = { 0 };
	int64_t now = clock_wall_us(&clock_machine);
	size_t n = 0;
	DIR *d = opendir(dir);
	int r = d ? 0 : err_sys(err, E_IO, errno, "cannot read %s", dir);

	if (d)
		fstat(dirfd(d), &st);
	for (struct dirent *e; d && n < TOKENS_MAX && (e = readdir(d));) {
		struct err why = { 0 };

		if (!fs_name_ok(e->d_name, 63))
			continue;
		if (token_read(dir, e->d_name, &tokens[n], &why) == 0)
			n++;
		else
			log_warn("token.ignored", "name=%s why=\"%s\"", e->d_name, why.text);
	}
	if (d)
		closedir(d);
	tokens = mem_grow(tokens, n > 0 ? n : 1, sizeof *tokens);
	pthread_mutex_lock(&a->mu);
	free(a->tokens);
	a->tokens = tokens;
	a->tokens_n = n;
	a->tokens_seen_us = now;
	a->tokens_mtime_us = st.st_mtim.tv_sec * US_PER_S + st.st_mtim.tv_nsec / 1000;
	pthread_mutex_unlock(&a->mu);
	free(dir);
	return r;
}

bool auth_token_is_local(struct auth *a, const char *name, bool is_app)
{
	bool is = false;

	pthread_mutex_lock(&a->mu);
	for (size_t i = 0; i < a->tokens_n && !is; i++)
		is = a->tokens[i].is_app == is_app && strcmp(a->tokens[i].name, name) == 0;
	pthread_mutex_unlock(&a->mu);
	return is;
}

int auth_token_delete(struct auth *a, const char *name, struct err *err)
{
	char *path = mem_fmt("%s/tokens/%s", a->cgi->param.state_dir, name);
	int r = 0;

	if (!fs_name_ok(name, 63) || access(path, F_OK) != 0)
		r = err_set(err, E_NOT_FOUND, "there is no token of this name");
	else if (unlink(path) < 0)
		r = err_sys(err, E_IO, errno, "cannot remove the token");
	free(path);
	return r == 0 ? auth_tokens_load(a, err) : r;
}

int auth_tokens_end_logins(struct auth *a, struct err *err)
{
	char name[64];
	bool found;
	int r = 0;

	do {
		found = false;
		pthread_mutex_lock(&a->mu);
		for (size_t i = 0; i < a->tokens_n && !found; i++) {
			found = a->tokens[i].by_login;
			memcpy(name, a->tokens[i].name, sizeof name);
		}
		pthread_mutex_unlock(&a->mu);
		if (found)
			r = auth_token_delete(a, name, err);
	} while (found && r == 0);
	return r;
}

void auth_tokens_put(struct auth *a, bool apps, struct buf *out)
{
	pthread_mutex_lock(&a->mu);
	for (size_t i = 0; i < a->tokens_n; i++) {
		const struct local_token *t = &a->tokens[i];

		if (apps != t->is_app)
			continue;
		token_row_put(
			&(struct token_row){ .name = t->name,
		                             .role = t->role,
		                             .rights = t->role >= ROLE_OPERATOR ? RIGHTS_ALL : 0,
		                             .is_app = t->is_app,
		                             .here_only = true,
		                             .created_s = t->created_s,
		                             .expires_s = t->expires_s },
			out);
	}
	pthread_mutex_unlock(&a->mu);
}

static bool token_match(struct auth *a, const unsigned char hash[HASH_BYTES], bool is_app,
                        struct local_token *ret)
{
	bool found = false;
	int64_t now = wall_s();

	pthread_mutex_lock(&a->mu);
	for (size_t i = 0; i < a->tokens_n && !found; i++) {
		const struct local_token *t = &a->tokens[i];

		if (t->is_app != is_app || sodium_memcmp(t->hash, hash, HASH_BYTES) != 0 ||
		    (t->expires_s != 0 && t->expires_s <= now))
			continue;
		*ret = *t;
		found = true;
	}
	pthread_mutex_unlock(&a->mu);
	return found;
}

/* New files are noticed by the directory's time. One that came in the same tick as the last
 * reading does not change it: so what was read that early is read again. */
static bool tokens_changed(struct auth *a)
{
	char *dir = mem_fmt("%s/tokens", a->cgi->param.state_dir);
	struct stat st;
	bool changed = false;

	pthread_mutex_lock(&a->mu);
	if (stat(dir, &st) == 0) {
		int64_t mtime = st.st_mtim.tv_sec * US_PER_S + st.st_mtim.tv_nsec / 1000;

		changed = mtime != a->tokens_mtime_us || a->tokens_seen_us - mtime < TICK_US;
	}
	pthread_mutex_unlock(&a->mu);
	free(dir);
	return changed;
}

bool token__find(struct auth *a, const char *text, bool is_app, struct local_token *ret)
{
	unsigned char hash[HASH_BYTES];

	if (strlen(text) >= AUTH_TEXT_MAX)
		return false;
	secret__hash(text, hash);
	if (token_match(a, hash, is_app, ret))
		return true;
	return tokens_changed(a) && auth_tokens_load(a, NULL) == 0 &&
	       token_match(a, hash, is_app, ret);
}

int token__kept(struct auth *a, const char *text, bool is_app, const struct token **ret)
{
	unsigned char hash[HASH_BYTES];
	int r;

	*ret = NULL;
	if (strncmp(text, is_app ? "sirdar_app_" : "sirdar_", is_app ? 11 : 7) != 0 ||
	    strlen(text) >= AUTH_TEXT_MAX)
		return 0;
	secret__hash(text, hash);
	r = people_token(a->cgi->people, hash, ret);
	if (r == 1 && ((*ret)->is_app != is_app ||
	               ((*ret)->expires_s != 0 && (*ret)->expires_s <= wall_s()))) {
		token_unref(*ret);
		*ret = NULL;
		r = 0;
	}
	return r;
}
