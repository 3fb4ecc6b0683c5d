/* What a server has whether it leads or waits: its state directory, its name, keys, its part in
 * etcd.
 *
 * The directory is locked as long as the process lives, so a lease with our name is of a process
 * that is gone. The name is HOST/ID; the id is drawn once and kept in the directory. site_close()
 * takes a site of which site_open() failed half-way. The store, the warm picture and the epoch are
 * put in by who takes the lease (standby.c). */
#include "baseserver/lead/site.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "baseserver/lead/cluster.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/own.h"
#include "util/param.h"
#include "wire/keys.h"

enum { ID_BYTES = 17 };

/* Kept for as long as this process lives. So a lease with our name is of a process that is gone,
 * and need not be waited for. */
static int lock_directory(struct site *s, struct err *err)
{
	char *path = mem_fmt("%s/server.lock", s->p->state_dir);
	long owner = 0;
	int r = fs_lock(path, &s->lock_fd, &owner, err);

	free(path);
	return r == E_BUSY ? err_set(err, r,
	                             "state_dir %s is in use by process %ld: a second server needs "
	                             "its own",
	                             s->p->state_dir, owner)
	                   : r;
}

static int read_id(const struct site *s, char ret[ID_BYTES], struct err *err)
{
	char *path = mem_fmt("%s/server.id", s->p->state_dir);
	struct buf text;
	uint64_t drawn = 0;

	buf_init(&text);
	int r = fs_read(path, 64, &text, err);
	if (r == 0) {
		snprintf(ret, ID_BYTES, "%.*s", (int)strspn(buf_str(&text), "0123456789abcdef"),
		         buf_str(&text));
		if (strlen(ret) != ID_BYTES - 1)
			r = err_set(err, E_CORRUPT, "%s: want 16 hex digits", path);
	} else if (r == E_NOT_FOUND) {
		if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
			r = err_sys(err, E_IO, errno, "getrandom");
		else
			r = 0;
		snprintf(ret, ID_BYTES, "%016" PRIx64, drawn);
		if (r == 0)
			r = fs_write(path, ret, ID_BYTES - 1, 0600, err);
	}
	buf_done(&text);
	free(path);
	return r;
}

static int name_it(struct site *s, struct err *err)
{
	char id[ID_BYTES] = "", host[61] = "";
	CHECK(s->lock_fd >= 0); /* the directory, and so the id, is ours */
	int r = read_id(s, id, err);
	CHECK(r < 0 || strlen(id) == ID_BYTES - 1);

	if (s->p->name[0])
		snprintf(host, sizeof host, "%s", s->p->name);
	else if (gethostname(host, sizeof host - 1) < 0)
		snprintf(host, sizeof host, "server");
	snprintf(s->who, sizeof s->who, "%s/%s", host, id);
	snprintf(s->address, sizeof s->address, "%.150s",
	         s->p->address[0] ? s->p->address : s->p->listen.items[0]);
	return r;
}

/* Drawn once, as the id: peers know this server by it. */
int site_pair(const struct param_baseserver *p, struct pair *ret, struct err *err)
{
	char *path = mem_fmt("%s/server.key", p->state_dir), digits[PAIR_TEXT] = "";
	uint8_t secret[PAIR_BYTES] = { 0 };
	struct buf text;

	buf_init(&text);
	buf_room(&text, 2 * PAIR_TEXT);
	int r = fs_read_secret(path, PAIR_TEXT, &text, err);
	if (r == 0) {
		snprintf(digits, sizeof digits, "%.*s", PAIR_TEXT - 1, buf_str(&text));
		if (pair_parse(digits, secret))
			r = pair_of(secret, ret, err);
		else
			r = err_set(err, E_INVALID, "%s: not %d hexadecimal digits", path,
			            PAIR_TEXT - 1);
	} else if (r == E_NOT_FOUND) {
		r = pair_draw(ret, err);
		if (r == 0) {
			pair_text(ret->secret, digits);
			buf_printf(&text, "%s\n", digits);
			r = fs_write(path, buf_at(&text), text.len, 0600, err);
		}
	}
	explicit_bzero(secret, sizeof secret);
	explicit_bzero(digits, sizeof digits);
	explicit_bzero(text.data, text.cap);
	buf_done(&text);
	free(path);
	return r;
}

int site_open(struct site *s, const struct param_baseserver *p, struct err *err)
{
	*s = (struct site){ .p = p, .lock_fd = -1 };
	if (strcmp(p->store, "sqlite:") == 0)
		snprintf(s->store_url, sizeof s->store_url, "sqlite:%s", p->state_dir);
	else
		snprintf(s->store_url, sizeof s->store_url, "%s", p->store);
	int r = own_dir(p->state_dir, true, err);
	if (r == 0)
		r = lock_directory(s, err);
	if (r == 0)
		r = name_it(s, err);
	if (r == 0)
		r = keys_open(p->keys_file, &s->keys, err);
	if (r == 0)
		r = site_pair(p, &s->own, err);
	if (r == 0)
		r = cluster_open(s, &s->cluster, err);
	return r;
}

int site_check(const struct param_baseserver *p, struct err *err)
{
	struct keys *keys = NULL;
	int r = store_check(p->store, err);

	if (r == 0)
		r = keys_open(p->keys_file, &keys, err);
	if (r == 0)
		keys_close(keys);
	return r;
}

void site_close(struct site *s)
{
	cluster_close(s->cluster);
	keys_close(s->keys);
	pair_wipe(&s->own);
	if (s->p && s->lock_fd >= 0)
		close(s->lock_fd);
}
