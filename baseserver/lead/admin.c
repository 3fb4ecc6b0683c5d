/* The server's own socket, its end in the server.
 *
 * The directory is the server's alone and locked, so a socket that lies there is ours or of a
 * process that is gone. It is reached through a descriptor of the directory, for a path of a socket
 * ends at 107 bytes. Who comes is root or the server's user, else he is sent away before a byte of
 * his is read; each has one request and a minute for all of it, and there are so many at once. An
 * answer leaves when what it says is durable and this server still leads.
 *
 * A new installation gets its administrator here too: the command goes to the commander before any
 * thread runs, so that it is carried out before what any peer asks for.
 *
 * Jobs of a machine where server and broker are one user may connect, too: they could write the
 * store itself (SECURITY.md). */
#include "baseserver/lead/admin.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sirdar.pb-c.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "baseserver/command/commander.h"
#include "baseserver/lead/first.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/model/command.h"
#include "rt/actor.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/log.h"
#include "wire/listen.h"
#include "wire/session.h"

enum { VISITORS_MAX = 16, ARGS_MAX = 65536, QUEUE_BYTES = 65536, LETTERS_MAX = 64 };
enum { IDLE_MS = 5000, WHO_BYTES = 80 };

struct visitor {
	struct admin *a;
	struct visitor *next, **at;
	struct session *session;
	uint64_t origin;
	uint32_t number;
	int64_t until_us; /* mono */
	bool has_asked;
	char who[WHO_BYTES]; /* the actor of what it asks for */
};

struct admin {
	struct actor *me;
	struct admin_settings set;
	struct listener *listener;
	int dir_fd;
	uint32_t last_number;
	struct visitor *visitors;
	char own[WHO_BYTES];        /* the name of the server's user */
	_Atomic bool first_is_over; /* the first password is no longer in force */
};

int admin_path(const char *state_dir, char ret[ADMIN_PATH_BYTES], int *ret_fd, struct err *err)
{
	int fd = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, err_of_errno(errno), errno, "%.200s", state_dir);
	snprintf(ret, ADMIN_PATH_BYTES, "/proc/self/fd/%d/" ADMIN_SOCKET, fd);
	*ret_fd = fd;
	return 0;
}

/* --- answers ------------------------------------------------------------------------------ */

static void answer_send(struct visitor *v, int code, const char *text, const void *body, size_t n)
{
	Sirdar__Answer m = SIRDAR__ANSWER__INIT;

	m.code = code;
	m.text = (char *)(uintptr_t)text;
	m.body = (ProtobufCBinaryData){ n, (uint8_t *)(uintptr_t)body };
	session_send(v->session, FR_ANSWER, &m, NULL);
	session_end(v->session, 0, NULL);
}

static void admin_answered(struct letter *l, void *self)
{
	struct admin *a = self;
	struct client_request *r = (struct client_request *)l;
	struct visitor *v = a->visitors;

	while (v && v->number != r->session)
		v = v->next;
	bool speaks = ledger_may_speak(a->set.ledger, actor_mono_us(a->me));
	if (v)
		log_info("admin.done", "actor=\"%s\" kind=%s code=%s text=\"%s\"", v->who, r->kind,
		         r->code < 0 ? err_name(r->code) : "ok", r->text);
	if (v && speaks)
		answer_send(v, r->code, r->text, r->body, r->body_len);
	else if (v)
		answer_send(v, E_AGAIN, err_text(E_AGAIN), NULL, 0);
	client_request_free(r);
}

/* --- requests ----------------------------------------------------------------------------- */

/* What the first hour and a recovery need, and no more: all else has a face. */
static bool is_for_socket(bool is_query, const char *kind)
{
	enum command_kind k;
	enum query_kind q;

	if (is_query)
		return query_kind_parse(kind, &q) && q == QK_PEERS;
	return command_kind_parse(kind, &k) &&
	       (k == CK_PEER_SET || k == CK_PEER_INVITE || k == CK_PEER_APPROVE ||
	        k == CK_PEER_REVOKE || k == CK_USER_SET || k == CK_TOKEN_SET ||
	        k == CK_TOKEN_REMOVE);
}

static void stands_by(struct visitor *v)
{
	const char *leader = v->a->set.leader;
	char text[400];

	if (leader[0])
		snprintf(text, sizeof text,
		         "this server stands by, active is %.160s: ask on its machine", leader);
	else
		snprintf(text, sizeof text,
		         "this server stands by, and nobody leads yet: ask again in a moment");
	answer_send(v, E_STANDBY, text, NULL, 0);
}

static int request_take(struct visitor *v, bool is_query, const char *kind, const char *request_id,
                        const ProtobufCBinaryData *args)
{
	struct admin *a = v->a;

	if (v->has_asked || strlen(request_id) > 100 || args->len > ARGS_MAX)
		return E_PROTOCOL;
	v->has_asked = true;
	if (!a->set.commander)
		return stands_by(v), 0;
	if (!is_for_socket(is_query, kind))
		return answer_send(v, E_FORBIDDEN,
		                   "that is asked for through a face: sirdar --help", NULL, 0),
		       0;
	struct client_request *r = client_request_new(kind, (const char *)args->data, args->len);
	r->reply_to = a->me;
	r->answered = admin_answered;
	r->session = v->number;
	if (!is_query) {
		r->actor = mem_str(v->who);
		r->request_id = mem_fmt("admin:%s", request_id);
		r->by_socket = true;
	}
	int code = is_query ? commander_query(a->set.commander, r)
	                    : commander_command(a->set.commander, r);
	if (code < 0) {
		client_request_free(r);
		answer_send(v, code, err_text(code), NULL, 0);
	}
	return 0;
}

static void on_open(void *ctx, struct session *s, const char *identity)
{
	(void)ctx, (void)s, (void)identity;
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	static const ProtobufCBinaryData none;
	const Sirdar__Command *command = message;
	const Sirdar__Query *query = message;

	(void)s;
	if (kind == FR_COMMAND && !command->args_bytes && command->request_id[0])
		return request_take(ctx, false, command->kind, command->request_id,
		                    command->args.len ? &command->args : &none);
	if (kind == FR_QUERY)
		return request_take(ctx, true, query->kind, "", &query->args);
	return E_PROTOCOL;
}

/* --- who comes, and goes --------------------------------------------------------------------- */

static void visitor_free(struct visitor *v)
{
	CHECK(*v->at == v);
	*v->at = v->next;
	if (v->next)
		v->next->at = v->at;
	listener_release(v->a->listener, v->origin);
	free(v);
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct visitor *v = ctx;

	(void)s;
	if (err->code < 0)
		log_warn("admin.broken", "actor=\"%s\" code=%s text=\"%s\"", v->who,
		         err_name(err->code), err->text);
	visitor_free(v);
}

static const struct session_ops session_calls = { .on_open = on_open,
	                                          .on_frame = on_frame,
	                                          .on_end = on_end };

static bool may_come(const struct admin *a, int fd, char ret_who[WHO_BYTES])
{
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t size = sizeof who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		return false;
	snprintf(ret_who, WHO_BYTES, "%.60s (socket)", who.uid == 0 ? "root" : a->own);
	if (who.uid == 0 || who.uid == geteuid())
		return true;
	log_warn("admin.refused",
	         "uid=%u pid=%d text=\"only root and the server's own user may use this socket\"",
	         who.uid, who.pid);
	return false;
}

static void look_later(struct admin *a)
{
	int64_t at = ALARM_OFF;

	for (const struct visitor *v = a->visitors; v; v = v->next)
		at = v->until_us < at ? v->until_us : at;
	actor_alarm(a->me, at);
}

static void admin_came(void *ctx, int fd, uint64_t origin, const char *peer)
{
	static const struct session_limits limits = { IDLE_MS, IDLE_MS, QUEUE_BYTES };
	struct admin *a = ctx;
	struct visitor *v = mem_new(sizeof *v);
	struct err err = { 0 };

	(void)peer;
	v->a = a;
	v->origin = origin;
	v->number = ++a->last_number;
	v->until_us = actor_mono_us(a->me) + ADMIN_ANSWER_MS * US_PER_MS;
	if (!may_come(a, fd, v->who)) {
		close(fd);
	} else if (session_local(
			   &(struct session_owner){ actor_loop(a->me), &session_calls, v, &limits },
			   fd, true, &v->session, &err) < 0) {
		log_warn("admin.broken", "actor=\"%s\" text=\"%s\"", v->who, err.text);
	} else {
		session_greeted(v->session); /* who it is the kernel has said */
		v->at = &a->visitors;
		v->next = a->visitors;
		if (v->next)
			v->next->at = &v->next;
		a->visitors = v;
		look_later(a);
		return;
	}
	listener_release(a->listener, origin);
	free(v);
}

/* Pings would keep one that never asks, and a store that does not answer one that did. */
static void admin_alarm(void *self)
{
	struct admin *a = self;
	int64_t now = actor_mono_us(a->me);

	for (struct visitor *v = a->visitors; v; v = v->next)
		if (v->until_us <= now) {
			v->until_us = ALARM_OFF;
			session_end(v->session, E_TIMEOUT, NULL);
		}
	look_later(a);
}

/* --- the first administrator ------------------------------------------------------------------ */

static void first_answered(struct letter *l, void *self)
{
	struct client_request *r = (struct client_request *)l;
	const struct admin *a = self;

	if (r->code < 0)
		log_error("admin.first_failed",
		          "code=%s text=\"%s\" hint=\"baseserver -c FILE admin password admin\"",
		          err_name(r->code), r->text);
	else
		log_info("admin.first",
		         "user=admin file=%s/" FIRST_FILE
		         " text=\"the first password of admin stands in this file alone: sign in, "
		         "change it, and the file is removed\"",
		         a->set.state_dir);
	client_request_free(r);
}

static void first_make(struct admin *a)
{
	char hash[FIRST_HASH];
	struct err err = { 0 };
	struct buf args;

	if (first_draw(a->set.state_dir, hash, &err) < 0) {
		log_error("admin.first_failed",
		          "text=\"%s\" hint=\"baseserver -c FILE admin password admin\"", err.text);
		return;
	}
	buf_init(&args);
	put_open(&args, NULL, '{');
	put_text(&args, "user", "admin");
	put_text(&args, "role", "admin");
	put_text(&args, "secret", hash);
	put_close(&args, '}');
	struct client_request *r = client_request_new("user-set", buf_str(&args), args.len);
	r->reply_to = a->me;
	r->answered = first_answered;
	r->actor = mem_fmt("%s (first start)", a->own);
	/* Another one at each start: a former one may have been for a store that was put back. */
	r->request_id = mem_fmt("admin:first-%lld", (long long)clock_wall_us(&clock_machine));
	r->by_socket = true;
	buf_done(&args);
	CHECK(commander_command(a->set.commander, r) == 0); /* its mailbox is empty */
}

void admin_first(struct admin *a, bool is_new)
{
	const char *dir = a->set.state_dir;
	bool is_first;

	if (!commander_admin(a->set.commander, &is_first)) {
		if (is_new || first_is_kept(dir))
			first_make(a);
		else
			log_warn("admin.of_faces",
			         "text=\"the server has no `admin`: it believes what faces say of "
			         "theirs, in this release\" hint=\"baseserver -c FILE admin "
			         "password "
			         "admin [--from STATE_DIR_OF_THE_CGI/password]\"");
	} else if (!is_first) {
		first_forget(dir);
	} else if (first_is_kept(dir)) {
		log_warn("admin.first",
		         "user=admin file=%s/" FIRST_FILE
		         " text=\"admin has the first password yet, which stands in this file\" "
		         "hint=\"sirdar passwd\"",
		         dir);
	}
}

void admin_first_over(struct admin *a)
{
	atomic_store(&a->first_is_over, true);
	actor_wake(a->me);
}

static void admin_turn(void *self)
{
	struct admin *a = self;

	if (atomic_exchange(&a->first_is_over, false))
		first_forget(a->set.state_dir);
}

/* --- its life --------------------------------------------------------------------------------- */

static void name_own(char ret[WHO_BYTES])
{
	struct passwd user, *found = NULL;
	char text[1024];

	if (getpwuid_r(geteuid(), &user, text, sizeof text, &found) == 0 && found)
		snprintf(ret, WHO_BYTES, "%.60s", found->pw_name);
	else
		snprintf(ret, WHO_BYTES, "uid %u", geteuid());
}

static int admin_init(void *self, struct actor *me, struct err *err)
{
	static const struct listener_limits limits = { VISITORS_MAX, 0 };
	struct admin *a = self;
	char path[ADMIN_PATH_BYTES];
	struct err why = { 0 };

	(void)err;
	a->me = me;
	int r = admin_path(a->set.state_dir, path, &a->dir_fd, &why);
	if (r == 0)
		r = listener_local(
			&(struct listener_owner){ actor_loop(me), &limits, admin_came, a }, path,
			&a->listener, &why);
	if (r < 0)
		log_error("admin.closed",
		          "file=%s/" ADMIN_SOCKET " text=\"%s\" hint=\"the server works without "
		          "it; mend that and start it again\"",
		          a->set.state_dir, why.text);
	return 0;
}

static void admin_fini(void *self)
{
	struct admin *a = self;

	for (struct visitor *v = a->visitors, *next; v; v = next) {
		next = v->next;
		session_drop(v->session);
		free(v);
	}
	a->visitors = NULL;
	listener_close(a->listener);
	a->listener = NULL;
	if (a->dir_fd >= 0)
		close(a->dir_fd);
	a->dir_fd = -1;
}

static const struct actor_ops ops = { .name = "admin",
	                              .letters_max = LETTERS_MAX,
	                              .init = admin_init,
	                              .turn = admin_turn,
	                              .alarm = admin_alarm,
	                              .fini = admin_fini };

struct admin *admin_new(struct thread *th, const struct admin_settings *set)
{
	struct admin *a = mem_new(sizeof *a);

	a->set = *set;
	a->dir_fd = -1;
	name_own(a->own);
	a->me = actor_new(th, &ops, a);
	return a;
}

void admin_free(struct admin *a)
{
	free(a);
}
