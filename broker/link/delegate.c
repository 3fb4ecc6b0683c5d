/* The private half is drawn here and leaves this process never; what the taskbroker signs is no
 * secret. A machine whose key the server has, too (keys_file), signs nothing: its loaders read it
 * themselves, as long as there are such keys. */
#include "broker/link/delegate.h"

#include <errno.h>
#include <ev.h>
#include <sirdar.pb-c.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "wire/identity.h"

enum { HANDSHAKE_MS = 5000, QUEUE_BYTES = 65536 };
#define RETRY_S 0.5

struct delegate {
	struct ev_loop *loop;
	struct sockaddr_un at;
	struct session *session;
	ev_timer retry, renew;
	bool is_told_away; /* nobody listens: said once */
	void (*changed)(void *ctx);
	void *ctx;
	struct pair pair;
	bool is_answered;
	Sirdar__Delegation *by; /* NULL with is_answered: the machine's key is to be read */
	struct pins servers;
};

char *delegate_socket(const char *state_dir)
{
	return mem_fmt("%s/loader.sock", state_dir);
}

static void retry_set(struct delegate *d)
{
	ev_timer_stop(d->loop, &d->retry);
	ev_timer_set(&d->retry, RETRY_S, 0.);
	ev_timer_start(d->loop, &d->retry);
}

void delegate_ask(struct delegate *d)
{
	Sirdar__LoaderKey m = SIRDAR__LOADER_KEY__INIT;

	m.key = (ProtobufCBinaryData){ PAIR_BYTES, d->pair.key };
	if (d->session)
		session_send(d->session, FR_LOADER_KEY, &m, NULL);
}

static void on_renew(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop;
	(void)events;
	delegate_ask(w->data);
}

/* Half of the time from now on, by this machine's clock: the other half is for a taskbroker that
 * is away. */
static void renew_set(struct delegate *d)
{
	int64_t us = d->by->until_us - d->by->from_us;

	ev_timer_stop(d->loop, &d->renew);
	ev_timer_set(&d->renew, us > 0 ? (double)us / US_PER_S / 2. : 0., 0.);
	ev_timer_start(d->loop, &d->renew);
}

static Sirdar__Delegation *copy_of(const Sirdar__Delegation *m)
{
	uint8_t *packed = mem_array(sirdar__delegation__get_packed_size(m) + 1, 1);
	size_t n = sirdar__delegation__pack(m, packed);
	Sirdar__Delegation *copy = sirdar__delegation__unpack(NULL, n, packed);

	CHECK(copy); /* what was packed unpacks; memory is there or the process is not */
	free(packed);
	return copy;
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	const Sirdar__LoaderMay *m = message;
	struct delegate *d = ctx;
	struct pins servers;

	(void)s;
	if (kind != FR_LOADER_MAY)
		return E_PROTOCOL;
	if (m->by && !pins_parse(m->server_keys, m->n_server_keys, &servers))
		return E_PROTOCOL;
	if (d->by)
		sirdar__delegation__free_unpacked(d->by, NULL);
	d->by = NULL;
	d->is_answered = true;
	if (m->by) {
		d->servers = servers;
		d->by = copy_of(m->by);
		renew_set(d);
	}
	d->changed(d->ctx);
	return 0;
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct delegate *d = ctx;

	(void)s;
	log_info("delegate.away", "why=\"%s\"", err->text);
	d->session = NULL;
	retry_set(d);
}

static void on_open(void *ctx, struct session *s, const char *identity)
{
	(void)ctx;
	(void)s;
	(void)identity;
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int events)
{
	static const struct session_ops ops = { .on_open = on_open,
		                                .on_frame = on_frame,
		                                .on_end = on_end };
	static const struct session_limits limits = { HANDSHAKE_MS, 0, QUEUE_BYTES };
	struct delegate *d = w->data;
	struct err err = { 0 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)events;
	CHECK(!d->session);
	if (fd < 0 || connect(fd, (struct sockaddr *)&d->at, sizeof d->at) < 0) {
		err_sys(&err, E_IO, errno, "no taskbroker at %s", d->at.sun_path);
		if (!d->is_told_away)
			log_info("delegate.away", "why=\"%s\"", err.text);
		d->is_told_away = true;
		if (fd >= 0)
			close(fd);
		retry_set(d);
		return;
	}
	d->is_told_away = false;
	if (session_local(&(struct session_owner){ loop, &ops, d, &limits }, fd, false, &d->session,
	                  NULL) < 0) {
		d->session = NULL;
		retry_set(d);
		return;
	}
	session_greeted(d->session); /* this socket has frames of its own */
	delegate_ask(d);
}

int delegate_open(struct ev_loop *loop, const char *path, void (*changed)(void *ctx), void *ctx,
                  struct delegate **ret, struct err *err)
{
	struct delegate *d = mem_new(sizeof *d);

	d->loop = loop;
	d->changed = changed;
	d->ctx = ctx;
	d->at.sun_family = AF_UNIX;
	ev_timer_init(&d->retry, on_retry, 0., 0.);
	ev_timer_init(&d->renew, on_renew, 0., 0.);
	d->retry.data = d->renew.data = d;
	int r = strlen(path) < sizeof d->at.sun_path
	                ? pair_draw(&d->pair, err)
	                : err_set(err, E_INVALID, "path too long for a socket: %.200s", path);
	if (r < 0) {
		free(d);
		return r;
	}
	memcpy(d->at.sun_path, path, strlen(path) + 1);
	ev_timer_start(loop, &d->retry);
	*ret = d;
	return 0;
}

void delegate_close(struct delegate *d)
{
	if (!d)
		return;
	ev_timer_stop(d->loop, &d->retry);
	ev_timer_stop(d->loop, &d->renew);
	session_drop(d->session);
	if (d->by)
		sirdar__delegation__free_unpacked(d->by, NULL);
	pair_wipe(&d->pair);
	free(d);
}

bool delegate_has_pair(const struct delegate *d)
{
	return d->by != NULL;
}

/* The machine's own key is not for us, though it may be in the file already. */
static int read_shared(const char *key_file, struct identity *self, struct err *err)
{
	struct identity read;
	int r = identity_read(key_file, self->name, &read, err);

	if (r == 0 && read.is_pair)
		r = err_set(err, E_AGAIN,
		            "the machine has a key of its own now: its taskbroker has not "
		            "let this loader in by it yet");
	if (r == 0)
		*self = read;
	identity_wipe(&read);
	return r;
}

int delegate_identity(const struct delegate *d, const char *key_file, struct identity *self,
                      struct err *err)
{
	if (!d->is_answered)
		return err_set(err, E_AGAIN, "its taskbroker has not let this loader in yet");
	if (!d->by)
		return read_shared(key_file, self, err);
	self->is_pair = true;
	self->pair = d->pair;
	self->servers = d->servers;
	return 0;
}

int delegate_show(const struct delegate *d, struct session *s, struct err *err)
{
	return d->by ? session_send(s, FR_DELEGATION, d->by, err) : 0;
}
