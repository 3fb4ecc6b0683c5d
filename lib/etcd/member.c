/* This node's entry in etcd's registry: a key under PREFIX/nodes with the id of the state
 * directory, written with a lease, so that it vanishes when nobody keeps it. An actor on its own
 * thread keeps the lease, and writes the entry anew when the status changed or the lease was lost.
 * Other threads only set the status. A change in how etcd answers is told once, not each time. */
#include "etcd/member.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "rt/actor.h"
#include "rt/thread.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_put.h"
#include "util/log.h"

enum { ID_LETTERS = 36, KEEPS = 3, RETRY_MS = 1000 };

struct member {
	struct thread *thread;
	struct actor *me;
	struct etcd *etcd;
	char *key, *name, *host, *mode, *description;
	char id[ID_LETTERS + 1];
	int64_t port, ttl_ms, lease;
	const char *_Atomic status;
	const char *put; /* the status that stands there; NULL: not there */
	int told_code;   /* 1: nothing told yet */
	void (*told)(void *ctx, const struct err *err);
	void *ctx;
};

/* ---- who we are --------------------------------------------------------------------- */

static int id_draw(char ret[ID_LETTERS + 1], struct err *err)
{
	uint8_t b[16];
	size_t at = 0;

	if (getrandom(b, sizeof b, 0) != sizeof b)
		return err_sys(err, E_IO, errno, "getrandom");
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40); /* RFC 9562, version 4 */
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof b; i++)
		at += (size_t)snprintf(ret + at, ID_LETTERS + 1 - at, "%s%02x",
		                       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
	CHECK(at == ID_LETTERS);
	return 0;
}

static int id_read(const char *dir, char ret[ID_LETTERS + 1], struct err *err)
{
	char *path = mem_fmt("%s/node.id", dir);
	struct buf text;

	buf_init(&text);
	int r = fs_read(path, 64, &text, err);
	if (r == 0) {
		const char *s = buf_str(&text);
		snprintf(ret, ID_LETTERS + 1, "%.*s", (int)strspn(s, "0123456789abcdef-"), s);
		if (strlen(ret) != ID_LETTERS)
			r = err_set(err, E_CORRUPT, "%s: want a UUID", path);
	} else if (r == E_NOT_FOUND) {
		r = id_draw(ret, err);
		if (r == 0)
			r = fs_write(path, ret, ID_LETTERS, 0600, err);
	}
	buf_done(&text);
	free(path);
	return r;
}

/* HOST:PORT, [HOST]:PORT, HOST. */
static void address_take(struct member *m, const char *address)
{
	const char *colon = strrchr(address, ':'), *bracket = strrchr(address, ']');
	bool has_port = colon && (!bracket || bracket < colon);
	size_t n = has_port ? (size_t)(colon - address) : strlen(address);

	if (n >= 2 && address[0] == '[' && address[n - 1] == ']')
		m->host = mem_strn(address + 1, n - 2);
	else
		m->host = mem_strn(address, n);
	m->port = has_port ? strtol(colon + 1, NULL, 10) : 0;
}

static void member_print(const struct member *m, const char *status, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "id", m->id);
	put_text(out, "name", m->name);
	put_text(out, "host", m->host);
	put_int(out, "port", m->port);
	put_text(out, "mode", m->mode);
	put_text(out, "status", status);
	put_text(out, "version", SIRDAR_VERSION);
	put_text(out, "description", m->description);
	put_close(out, '}');
}

/* ---- being there -------------------------------------------------------------------- */

static int lease_hold(struct member *m, struct err *err)
{
	int64_t ttl_s = 0;
	int r = E_STALE;

	if (m->lease)
		r = etcd_lease_keep(m->etcd, m->lease, &ttl_s, err);
	if (r != E_STALE)
		return r;
	m->lease = 0;
	m->put = NULL;
	return etcd_lease_grant(m->etcd, (m->ttl_ms + 999) / 1000, &m->lease, &ttl_s, err);
}

static int member_step(struct member *m, struct err *err)
{
	const char *status = atomic_load(&m->status);
	struct buf body;
	int r = lease_hold(m, err);

	CHECK(m->lease != 0 || r < 0);
	if (r < 0 || m->put == status)
		return r;
	buf_init(&body);
	member_print(m, status, &body);
	r = etcd_put(m->etcd, m->key, buf_str(&body), m->lease, err);
	buf_done(&body);
	if (r == 0)
		m->put = status;
	else if (r == E_NOT_FOUND)
		m->lease = 0; /* it ran out just now */
	return r;
}

static void on_alarm(void *self)
{
	CHECK(actor_here(((struct member *)self)->me));
	struct member *m = self;
	struct err err = { 0 };
	int r = member_step(m, &err);
	int64_t ms = r == 0 || m->ttl_ms / KEEPS < RETRY_MS ? m->ttl_ms / KEEPS : RETRY_MS;

	if (r != m->told_code && r != E_CLOSED)
		m->told(m->ctx, r < 0 ? &err : NULL);
	m->told_code = r;
	actor_alarm(m->me, actor_mono_us(m->me) + ms * US_PER_MS);
}

static int member_init(void *self, struct actor *me, struct err *err)
{
	struct member *m = self;

	(void)err;
	m->me = me;
	actor_alarm(me, actor_mono_us(me));
	return 0;
}

/* Who does not answer is not waited for once more: the lease runs out. */
static void member_fini(void *self)
{
	struct member *m = self;

	if (m->lease && m->told_code == 0)
		etcd_lease_revoke(m->etcd, m->lease, NULL);
	m->lease = 0;
}

static const struct actor_ops ops = { .name = "member",
	                              .letters_max = 4,
	                              .init = member_init,
	                              .turn = on_alarm,
	                              .alarm = on_alarm,
	                              .fini = member_fini };

int member_open(const struct member_settings *set, struct member **ret, struct err *err)
{
	struct member *m = mem_new(sizeof *m);
	int r = id_read(set->state_dir, m->id, err);

	m->told_code = 1;
	m->told = set->told;
	m->ctx = set->ctx;
	m->ttl_ms = set->ttl_ms;
	m->name = mem_str(set->name);
	m->mode = mem_str(set->mode);
	m->description = mem_str(set->description);
	m->key = mem_fmt("%s/nodes/%s", set->prefix, m->id);
	address_take(m, set->address);
	atomic_store(&m->status, set->status);
	if (r == 0)
		r = etcd_open(&set->etcd, &m->etcd, err);
	if (r == 0) {
		m->thread = thread_new("etcd", &clock_machine);
		m->me = actor_new(m->thread, &ops, m);
		r = thread_start(m->thread, err);
	}
	if (r < 0) {
		member_close(m);
		return r;
	}
	*ret = m;
	return 0;
}

void member_close(struct member *m)
{
	if (!m)
		return;
	thread_stop(m->thread);
	thread_free(m->thread);
	etcd_close(m->etcd);
	free(m->key);
	free(m->name);
	free(m->host);
	free(m->mode);
	free(m->description);
	free(m);
}

void member_set_status(struct member *m, const char *status)
{
	if (atomic_exchange(&m->status, status) != status)
		actor_wake(m->me);
}

void member_log(void *ctx, const struct err *err)
{
	(void)ctx;
	if (err)
		log_warn("etcd.unregistered", "code=%s text=\"%s\"", err_name(err->code),
		         err->text);
	else
		log_info("etcd.registered", "text=\"this node is in the registry\"");
}
