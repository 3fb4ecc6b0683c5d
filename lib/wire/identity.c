/* The file is read as a whole: a line that is none of ours refuses it, with its number and never
 * with what stands in it. Copies are wiped. */
#include "wire/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"

enum { IDENTITY_FILE_BYTES = 4096 };

bool pins_have(const struct pins *p, const uint8_t key[PAIR_BYTES])
{
	for (size_t i = 0; i < p->n; i++)
		if (memcmp(p->key[i], key, PAIR_BYTES) == 0)
			return true;
	return false;
}

bool pins_parse(char *const *texts, size_t n, struct pins *ret)
{
	*ret = (struct pins){ 0 };
	for (size_t i = 0; i < n; i++)
		if (ret->n == PINS_MAX || !pair_parse(texts[i], ret->key[ret->n++]))
			return false;
	return true;
}

bool pins_same(const struct pins *a, const struct pins *b)
{
	for (size_t i = 0; i < a->n; i++)
		if (!pins_have(b, a->key[i]))
			return false;
	return a->n == b->n;
}

void identity_wipe(struct identity *self)
{
	explicit_bzero(self, sizeof *self);
}

static bool line_take(struct identity *self, char *line)
{
	char *space = strchr(line, ' ');
	uint8_t key[PAIR_BYTES];

	if (line[0] == '#' || !line[0])
		return true;
	if (!space)
		return false;
	*space = 0;
	const char *value = space + 1;
	if (strcmp(line, "peer") == 0 && fs_name_ok(value, KEY_NAME_MAX - 1)) {
		snprintf(self->name, sizeof self->name, "%s", value);
		return true;
	}
	if (!pair_parse(value, key))
		return false;
	if (strcmp(line, "server") == 0 && self->servers.n < PINS_MAX) {
		memcpy(self->servers.key[self->servers.n++], key, sizeof key);
		return true;
	}
	self->has_next = self->has_next || strcmp(line, "next") == 0;
	bool ok = strcmp(line, "key") == 0    ? pair_of(key, &self->pair, NULL) == 0
	          : strcmp(line, "next") == 0 ? pair_of(key, &self->next, NULL) == 0
	                                      : false;
	explicit_bzero(key, sizeof key);
	return ok;
}

static int pair_read(const char *path, char *text, struct identity *ret, struct err *err)
{
	static const struct pair none;
	size_t nth = 0;

	ret->is_pair = true;
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		nth++;
		if (!line_take(ret, line))
			return err_set(err, E_INVALID,
			               "%.200s:%zu: not `peer NAME`, nor `key`, `next` or `server` "
			               "and %d digits of a-f 0-9",
			               path, nth, PAIR_TEXT - 1);
	}
	if (!ret->name[0] || memcmp(&ret->pair, &none, sizeof none) == 0 || ret->servers.n == 0)
		return err_set(err, E_INVALID,
		               "%.200s: `peer`, `key` and `server` are all needed: enrol anew",
		               path);
	return 0;
}

int identity_read(const char *path, const char *name, struct identity *ret, struct err *err)
{
	struct buf text;

	*ret = (struct identity){ 0 };
	snprintf(ret->name, sizeof ret->name, "%s", name);
	if (!path || !path[0])
		return 0;
	buf_init(&text);
	int r = fs_read_secret(path, IDENTITY_FILE_BYTES, &text, err);
	if (r == E_TOO_BIG || (r == 0 && strncmp(buf_str(&text), "peer ", 5) != 0))
		r = keys_own(path, name, ret->key, err);
	else if (r == 0)
		r = pair_read(path, (char *)(uintptr_t)buf_str(&text), ret, err);
	if (text.data)
		explicit_bzero(text.data, text.cap);
	buf_done(&text);
	if (r < 0)
		identity_wipe(ret);
	return r;
}

static void key_put(struct buf *text, const char *word, const uint8_t key[PAIR_BYTES])
{
	char digits[PAIR_TEXT];

	pair_text(key, digits);
	buf_printf(text, "%s %s\n", word, digits);
	explicit_bzero(digits, sizeof digits);
}

int identity_write(const char *path, const struct identity *self, struct err *err)
{
	struct buf text;

	buf_init(&text);
	buf_room(&text, IDENTITY_FILE_BYTES); /* growing would leave a copy behind */
	buf_printf(&text, "peer %s\n", self->name);
	key_put(&text, "key", self->pair.secret);
	if (self->has_next)
		key_put(&text, "next", self->next.secret);
	for (size_t i = 0; i < self->servers.n; i++)
		key_put(&text, "server", self->servers.key[i]);
	fs_tidy(path); /* a key that nobody knows of would lie there for ever */
	int r = fs_write(path, buf_at(&text), text.len, 0600, err);
	explicit_bzero(text.data, text.cap);
	buf_done(&text);
	return r;
}

bool identity_again(const char *path, struct identity *self)
{
	struct identity now;
	struct err err;
	bool differs = false;

	if (identity_read(path, self->name, &now, &err) < 0) {
		log_warn("identity.again", "text=\"going on with the key as it was: %s\"",
		         err.text);
	} else {
		differs = now.is_pair != self->is_pair ||
		          memcmp(now.key, self->key, sizeof now.key) != 0 ||
		          memcmp(&now.pair, &self->pair, sizeof now.pair) != 0;
		*self = now;
	}
	identity_wipe(&now);
	return differs;
}

void identity_learn(const char *path, struct identity *self, char *const *texts, size_t n)
{
	struct pins told;
	struct err err;

	if (!self->is_pair || !pins_parse(texts, n, &told) || !told.n ||
	    pins_same(&told, &self->servers))
		return;
	identity_again(path, self); /* who changes its key has written there, maybe */
	self->servers = told;
	if (identity_write(path, self, &err) < 0)
		log_warn("identity.kept", "file=%s why=\"%s\"", path, err.text);
	else
		log_info("identity.servers", "file=%s keys=%zu", path, told.n);
}
