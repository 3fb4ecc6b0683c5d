/* Loaders come here with public keys of their own, and go with what lets these in at the server
 * (broker/link/delegate.h): for the type and lane that the process was started for.
 *
 * The kernel says which process it is that connects; one that is no loader of ours is sent away. So
 * nothing of a loader's is believed but its key, and a loader of an earlier taskbroker, that this
 * one met by its lock, is served as one of its own. Signed is by the clock of the server, whatever
 * ours says, so not before a server was met. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sirdar.pb-c.h>

#include "broker/link/delegate.h"
#include "broker/taskbroker/broker.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"
#include "wire/listen.h"
#include "wire/session.h"

enum { HANDSHAKE_MS = 5000, QUEUE_BYTES = 65536, LOADERS_MAX = 1024 };

struct delegates {
	struct broker *broker;
	struct listener *door;
	struct asker {
		struct asker *next;
		struct delegates *of;
		struct session *session;
		uint64_t origin;
		pid_t pid;
		bool has_asked;
		uint8_t key[PAIR_BYTES];
	} * askers;
};

static struct type *type_of(const struct broker *b, pid_t pid)
{
	struct type *t = b->types;

	while (t && (!t->pid || t->pid != pid))
		t = t->next;
	return t;
}

static void sign_for(const struct asker *a)
{
	const struct broker *b = a->of->broker;
	const struct type *t = type_of(b, a->pid);
	struct err err;

	if (!a->has_asked || !b->link)
		return; /* delegates_tell() */
	if (!t) {
		session_end(a->session, E_FORBIDDEN, "no loader of this broker");
		return;
	}
	int r = link_delegate(
		b->link,
		&(struct link_lent){ t->name, t->lane, a->key, b->settings->delegation_ms },
		a->session, &err);
	if (r < 0 && r != E_AGAIN)
		log_warn("broker.delegation", "type=%s lane=%u why=\"%s\"", t->name, t->lane,
		         err.text);
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	const Sirdar__LoaderKey *m = message;
	struct asker *a = ctx;

	(void)s;
	if (kind != FR_LOADER_KEY || m->key.len != PAIR_BYTES)
		return E_PROTOCOL;
	memcpy(a->key, m->key.data, PAIR_BYTES);
	a->has_asked = true;
	sign_for(a);
	return 0;
}

static void asker_free(struct asker *a)
{
	struct asker **at = &a->of->askers;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	listener_release(a->of->door, a->origin);
	free(a);
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	(void)s;
	(void)err;
	asker_free(ctx);
}

static void on_open(void *ctx, struct session *s, const char *identity)
{
	(void)ctx;
	(void)s;
	(void)identity;
}

static void on_came(void *ctx, int fd, uint64_t origin, const char *peer)
{
	static const struct session_ops ops = { .on_open = on_open,
		                                .on_frame = on_frame,
		                                .on_end = on_end };
	static const struct session_limits limits = { HANDSHAKE_MS, 0, QUEUE_BYTES };
	struct delegates *d = ctx;
	struct ucred who = { 0 };
	socklen_t len = sizeof who;
	struct asker *a = mem_new(sizeof *a);

	(void)peer;
	*a = (struct asker){ .next = d->askers, .of = d, .origin = origin };
	d->askers = a;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0 ||
	    !type_of(d->broker, who.pid)) {
		log_warn("broker.delegation",
		         "pid=%d text=\"no loader of this broker asks for what "
		         "lets its key in: it is sent away\"",
		         who.pid);
		close(fd);
		asker_free(a);
		return;
	}
	a->pid = who.pid;
	if (session_local(&(struct session_owner){ d->broker->loop, &ops, a, &limits }, fd, true,
	                  &a->session, NULL) < 0) {
		asker_free(a);
		return;
	}
	session_greeted(a->session); /* this socket has frames of its own */
}

void delegates_tell(struct broker *b)
{
	for (struct asker *a = b->delegates->askers; a; a = a->next)
		sign_for(a);
}

int delegates_open(struct broker *b, struct err *err)
{
	static const struct listener_limits limits = { LOADERS_MAX, 0 };
	char *path = delegate_socket(b->state_dir);

	CHECK(!b->delegates);
	b->delegates = mem_new(sizeof *b->delegates);
	b->delegates->broker = b;
	int r = listener_local(&(struct listener_owner){ b->loop, &limits, on_came, b->delegates },
	                       path, &b->delegates->door, err);
	free(path);
	return r;
}

void delegates_close(struct broker *b)
{
	struct delegates *d = b->delegates;

	if (!d)
		return;
	for (struct asker *a = d->askers, *next; a; a = next) {
		next = a->next;
		session_drop(a->session);
		asker_free(a);
	}
	listener_close(d->door);
	free(d);
	b->delegates = NULL;
}
