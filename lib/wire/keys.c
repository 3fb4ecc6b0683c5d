/* The file of keys: NAME:64 hex digits a line, and :KIND where one was assigned; names once. It is
 * read as a whole, and a file with one bad line is refused as a whole, so that the keys in force
 * stay. Reading anew and looking up may meet: a lock guards the rows. Every copy of a key is wiped.
 * Each key that was not there at the last reading, under its name, gets a serial of its own: by
 * that a session knows whether the key it was opened with is still in force. Adding one locks a
 * file beside it and replaces the file. */
#include "wire/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"

enum { FILE_BYTES_MAX = 4 * 1024 * 1024, KIND_BYTES = 24 };

struct row {
	char name[KEY_NAME_MAX + 1];
	uint8_t key[KEY_BYTES];
	enum peer_kind kind;
	uint32_t serial;
};

struct keys {
	char *path;
	pthread_mutex_t mu; /* guards the rows: sessions look up while a SIGHUP reads anew */
	struct row *rows;   /* sorted by name */
	size_t n_rows;
	uint32_t last_serial;
};

static void rows_wipe(struct row *rows, size_t n)
{
	if (rows)
		explicit_bzero(rows, n * sizeof *rows);
	free(rows);
}

static void text_wipe(struct buf *text)
{
	if (text->data)
		explicit_bzero(text->data, text->cap);
	buf_done(text);
}

static int row_compare(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool row_parse(const char *line, size_t bytes, struct row *ret)
{
	const char *colon = memchr(line, ':', bytes);
	size_t name_bytes = colon ? (size_t)(colon - line) : 0;
	size_t more = bytes - name_bytes;

	if (!colon || name_bytes > KEY_NAME_MAX || more < 1 + 2 * KEY_BYTES)
		return false;
	*ret = (struct row){ 0 };
	more -= 1 + 2 * KEY_BYTES;
	if (more) {
		const char *kind = line + bytes - more;
		ret->kind = peer_kind_parse(kind + 1, more - 1);
		if (*kind != ':' || ret->kind == PEER_NONE)
			return false;
	}
	memcpy(ret->name, line, name_bytes);
	if (!fs_name_ok(ret->name, KEY_NAME_MAX) || strlen(ret->name) != name_bytes)
		return false;
	for (size_t i = 0; i < KEY_BYTES; i++) {
		int high = hex_digit(colon[1 + 2 * i]), low = hex_digit(colon[2 + 2 * i]);
		if (high < 0 || low < 0)
			return false;
		ret->key[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static size_t line_count(const char *text, size_t bytes)
{
	size_t n = 1;

	for (size_t i = 0; i < bytes; i++)
		n += text[i] == '\n';
	return n;
}

/* On success *ret_rows is to be given to rows_wipe(). */
static int rows_parse(const char *path, const char *text, size_t bytes, struct row **ret_rows,
                      size_t *ret_n, struct err *err)
{
	size_t lines = line_count(text, bytes), n = 0, nth = 0;
	struct row *rows = mem_array(lines, sizeof *rows);
	const char *end = text + bytes;
	int r = 0;

	for (const char *line = text, *next; line < end && r == 0; line = next + 1) {
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next : end;
		nth++;
		if (line == next || *line == '#')
			continue;
		if (!row_parse(line, (size_t)(next - line), &rows[n++]))
			r = err_set(err, E_INVALID,
			            "%.200s:%zu: not `name:%d hex digits`, nor that with `:kind`",
			            path, nth, 2 * KEY_BYTES);
	}
	CHECK(n <= lines);
	qsort(rows, n, sizeof *rows, row_compare);
	for (size_t i = 1; r == 0 && i < n; i++)
		if (row_compare(&rows[i - 1], &rows[i]) == 0)
			r = err_set(err, E_INVALID, "%.200s: two keys of %s", path, rows[i].name);
	if (r < 0) {
		rows_wipe(rows, lines);
		return r;
	}
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}

static const struct row *row_find(const struct row *rows, size_t n, const char *name)
{
	struct row want = { 0 };

	if (n == 0 || strlen(name) > KEY_NAME_MAX)
		return NULL;
	memcpy(want.name, name, strlen(name) + 1);
	return bsearch(&want, rows, n, sizeof *rows, row_compare);
}

static void number_rows(struct keys *k, struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *old = row_find(k->rows, k->n_rows, rows[i].name);
		bool same = old && memcmp(old->key, rows[i].key, KEY_BYTES) == 0;
		rows[i].serial = same ? old->serial : ++k->last_serial;
	}
}

int keys_reload(struct keys *k, struct err *err)
{
	struct buf text;
	struct row *rows = NULL;
	size_t n = 0;

	if (!k->path[0])
		return 0;
	buf_init(&text);
	int r = fs_read_secret(k->path, FILE_BYTES_MAX, &text, err);
	if (r == 0)
		r = rows_parse(k->path, (const char *)buf_at(&text), text.len, &rows, &n, err);
	text_wipe(&text);
	if (r < 0)
		return r;
	pthread_mutex_lock(&k->mu);
	number_rows(k, rows, n);
	struct row *old = k->rows;
	size_t n_old = k->n_rows;
	k->rows = rows;
	k->n_rows = n;
	pthread_mutex_unlock(&k->mu);
	rows_wipe(old, n_old);
	return 0;
}

int keys_open(const char *path, struct keys **ret_keys, struct err *err)
{
	struct keys *k = mem_new(sizeof *k);

	k->path = mem_str(path);
	pthread_mutex_init(&k->mu, NULL);
	int r = keys_reload(k, err);
	if (r < 0)
		keys_close(k);
	else
		*ret_keys = k;
	return r;
}

void keys_close(struct keys *k)
{
	if (!k)
		return;
	rows_wipe(k->rows, k->n_rows);
	pthread_mutex_destroy(&k->mu);
	free(k->path);
	free(k);
}

size_t keys_count(const struct keys *k)
{
	return k->n_rows;
}

int keys_find(void *keys, const char *name, uint8_t ret_key[KEY_BYTES])
{
	struct keys *k = keys;

	pthread_mutex_lock(&k->mu);
	const struct row *r = row_find(k->rows, k->n_rows, name);
	if (r)
		memcpy(ret_key, r->key, KEY_BYTES);
	pthread_mutex_unlock(&k->mu);
	return r ? 0 : E_NOT_FOUND;
}

int keys_about(struct keys *k, const char *name, struct key_about *ret)
{
	pthread_mutex_lock(&k->mu);
	const struct row *r = row_find(k->rows, k->n_rows, name);
	if (r)
		*ret = (struct key_about){ r->kind, r->serial };
	pthread_mutex_unlock(&k->mu);
	return r ? 0 : E_NOT_FOUND;
}

void keys_each(struct keys *k, void (*each)(void *ctx, const char *name, enum peer_kind kind),
               void *ctx)
{
	pthread_mutex_lock(&k->mu);
	for (size_t i = 0; i < k->n_rows; i++)
		each(ctx, k->rows[i].name, k->rows[i].kind);
	pthread_mutex_unlock(&k->mu);
}

/* --- changing the file ----------------------------------------------------------------------- */

/* The lock is a file of its own: the one with the keys is replaced as a whole. */
static int lock_take(const char *path, int *ret_fd, struct err *err)
{
	char *lock = mem_fmt("%s.lock", path);
	int r = 0, fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 && errno == EACCES) {
		r = err_set(
			err, E_FORBIDDEN,
			"user %u may not write beside %.200s: run it as root, the file keeps its "
			"owner",
			geteuid(), path);
	} else if (fd < 0 || flock(fd, LOCK_EX) < 0) {
		r = err_sys(err, E_IO, errno, "lock %.200s", lock);
		if (fd >= 0)
			close(fd);
	} else {
		*ret_fd = fd;
	}
	free(lock);
	return r;
}

static int key_draw(uint8_t ret_key[KEY_BYTES], struct err *err)
{
	if (getrandom(ret_key, KEY_BYTES, 0) != KEY_BYTES)
		return err_sys(err, E_IO, errno, "random bytes for a key");
	return 0;
}

static void line_put(struct buf *text, const char *name, enum peer_kind kind,
                     const uint8_t key[KEY_BYTES])
{
	/* Room for all of it first: growing would leave a copy behind. */
	buf_room(text, KEY_NAME_MAX + 2 * KEY_BYTES + KIND_BYTES);
	if (text->len > 0 && buf_at(text)[text->len - 1] != '\n')
		buf_putc(text, '\n');
	buf_printf(text, "%s:", name);
	for (size_t i = 0; i < KEY_BYTES; i++)
		buf_printf(text, "%02x", key[i]);
	buf_printf(text, "%s%s\n", kind ? ":" : "", peer_kind_name(kind));
}

static int name_free(const char *path, const struct buf *text, const char *name, struct err *err)
{
	struct row *rows = NULL;
	size_t n = 0;
	int r = rows_parse(path, (const char *)buf_at(text), text->len, &rows, &n, err);

	if (r < 0)
		return r;
	if (row_find(rows, n, name))
		r = err_set(err, E_EXISTS, "%s has a key already in %.200s", name, path);
	rows_wipe(rows, n);
	return r;
}

int keys_add(const char *path, const char *name, enum peer_kind kind, uint8_t ret_key[KEY_BYTES],
             struct err *err)
{
	uint8_t key[KEY_BYTES] = { 0 };
	struct buf text;
	int lock = -1;

	/* One less than a line may have: a greeting holds no more. */
	if (!fs_name_ok(name, KEY_NAME_MAX - 1))
		return err_set(err, E_INVALID, "a key's name is 1 to %d of A-Z a-z 0-9 . _ -",
		               KEY_NAME_MAX - 1);
	int r = lock_take(path, &lock, err);
	if (r < 0)
		return r;
	buf_init(&text);
	r = fs_read_secret(path, FILE_BYTES_MAX, &text, err);
	if (r == E_NOT_FOUND)
		r = 0;
	if (r == 0)
		r = name_free(path, &text, name, err);
	if (r == 0)
		r = key_draw(key, err);
	if (r < 0)
		goto out;
	line_put(&text, name, kind, key);
	r = fs_write(path, buf_at(&text), text.len, 0600, err);
	if (r == 0)
		memcpy(ret_key, key, KEY_BYTES);
	explicit_bzero(key, sizeof key);
out:
	text_wipe(&text);
	close(lock);
	return r;
}

/* The same lines, that of `name` with the kind behind it. */
static int text_assign(const char *path, const struct buf *text, const char *name,
                       enum peer_kind kind, struct buf *out, struct err *err)
{
	const char *at = (const char *)buf_at(text), *end = at + text->len;
	bool found = false;

	/* Enough for line_put() to grow nothing. */
	buf_room(out, text->len + KEY_NAME_MAX + 2 * KEY_BYTES + 2 * KIND_BYTES);
	for (const char *next; at < end; at = next) {
		struct row row = { 0 };
		next = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((next ? next : end) - at);
		next = next ? next + 1 : end;
		bool is_it = *at != '#' && row_parse(at, n, &row) && strcmp(row.name, name) == 0;
		if (is_it)
			line_put(out, name, kind, row.key);
		else
			buf_put(out, at, (size_t)(next - at));
		found = found || is_it;
		explicit_bzero(&row, sizeof row);
	}
	return found ? 0 : err_set(err, E_NOT_FOUND, "%.200s has no key for '%.64s'", path, name);
}

int keys_assign(const char *path, const char *name, enum peer_kind kind, struct err *err)
{
	struct buf text, out;
	struct row *rows = NULL;
	size_t n = 0;
	int lock = -1, r = lock_take(path, &lock, err);

	if (r < 0)
		return r;
	buf_init(&text);
	buf_init(&out);
	r = fs_read_secret(path, FILE_BYTES_MAX, &text, err);
	if (r == 0) /* as a whole: what the server would not take is not written anew */
		r = rows_parse(path, (const char *)buf_at(&text), text.len, &rows, &n, err);
	rows_wipe(rows, n);
	if (r == 0)
		r = text_assign(path, &text, name, kind, &out, err);
	if (r == 0)
		r = fs_write(path, buf_at(&out), out.len, 0600, err);
	text_wipe(&text);
	text_wipe(&out);
	close(lock);
	return r;
}

int keys_own(const char *path, const char *name, uint8_t ret_key[KEY_BYTES], struct err *err)
{
	struct keys *keys = NULL;
	int r = keys_open(path, &keys, err);

	if (r == 0 && keys_find(keys, name, ret_key) < 0)
		r = err_set(err, E_NOT_FOUND, "%s has no key for '%s'", path, name);
	keys_close(keys);
	return r;
}
