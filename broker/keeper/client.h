/* client.h — how a loader or the broker talks to the jobkeeper of its machine.
 *
 * Lives on one loop. Connects by itself, and again whenever the connection ends; each
 * time it greets, attaches, and on_up() follows. Then on_held() for what the keeper
 * holds, on_exited() and on_not_started() for what ended and is not forgotten: a client
 * that remembers nothing still learns everything. Ends may be told more than once.
 *
 * Messages are those of schema/proto/keeper.proto; borrowed until the call returns.
 * Compile broker/keeper/client.c into your program; it needs libwire, librt, libutil.
 */
#ifndef BROKER_KEEPER_CLIENT_H
#define BROKER_KEEPER_CLIENT_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "keeper.pb-c.h"

struct err;
struct ev_loop;
struct keeper_client;

/* Any may be NULL. */
struct keeper_client_ops {
	void (*on_up)(void *ctx, const Sirdar__KeeperWelcome *w);
	/* Calls fail with E_CLOSED until the next on_up(). Starts that got no answer may or may
	 * not have happened: send them again when up (a token is never started twice). */
	void (*on_down)(void *ctx, const struct err *why);
	/* Of the attach (h->id 0) or of keeper_client_list(). Several until h->last. */
	void (*on_held)(void *ctx, const Sirdar__KeeperHeld *h);
	void (*on_started)(void *ctx, const Sirdar__KeeperStarted *m);
	void (*on_not_started)(void *ctx, const Sirdar__KeeperNotStarted *m);
	void (*on_exited)(void *ctx, const Sirdar__KeeperExited *m);
	void (*on_kill_state)(void *ctx, const Sirdar__KeeperKillState *m);
};

/* Borrowed for keeper_client_open(), but for ops and ctx. */
struct keeper_client_settings {
	const char *path;      /* <state>/keeper.sock */
	const char *isolation; /* the setting: who has it not is not talked to */
	bool must_separate;    /* one without a launcher is not talked to */
	const char *who;       /* "broker" or "loader" */
	const char *type;      /* the task type whose jobs this client gets news of; "": of all */
	int64_t silent_ms;     /* a keeper that says nothing for so long, though asked, is away */
	const struct keeper_client_ops *ops;
	void *ctx;
};

/* Start connecting.
 *
 *   owns    *ret_client is the caller's
 *   errors  E_INVALID path too long for a socket; never that nobody listens yet
 *   thread  the loop's, as all below
 */
int keeper_client_open(struct ev_loop *loop, const struct keeper_client_settings *set,
                       struct keeper_client **ret_client, struct err *err);
void keeper_client_close(struct keeper_client *k); /* no call back any more; NULL is fine */
bool keeper_client_is_up(const struct keeper_client *k);
int keeper_client_away(const struct keeper_client *k); /* an errno: nobody was found there */
/* Who listens, as a pidfd that the caller closes; -1: none was connected to, or it is gone. */
int keeper_client_peer(const struct keeper_client *k);
/* Another silent_ms, from the next connection on. */
void keeper_client_limit(struct keeper_client *k, int64_t silent_ms);
/* A keeper that holds its socket and has been silent for after_ms longer than silent_ms is ended by
 * force: it cannot fence its processes, which end with it. True: one was. */
bool keeper_client_end_frozen(struct keeper_client *k, int64_t after_ms);

/* Requests. errors  E_CLOSED not up, E_BUSY too much waits to be written, E_TOO_BIG,
 * E_INVALID a string is not UTF-8. */

/* Answered by on_started or on_not_started, also when the token is held already. */
int keeper_client_start(struct keeper_client *k, const Sirdar__KeeperStart *m, struct err *err);
/* Answered by on_kill_state, later on_exited. Repeating it may shorten the grace. */
int keeper_client_kill(struct keeper_client *k, uint64_t token, uint64_t grace_us, uint32_t intent,
                       struct err *err);
/* The end was taken over durably elsewhere: the keeper may forget it and its output. */
int keeper_client_forget(struct keeper_client *k, const uint64_t *tokens, size_t n,
                         struct err *err);
/* Leases now end at deadline_us (CLOCK_BOOTTIME). tokens NULL: all of this client's type. */
int keeper_client_renew(struct keeper_client *k, const uint64_t *tokens, size_t n,
                        uint64_t deadline_us, struct err *err);
int keeper_client_list(struct keeper_client *k, uint64_t id, struct err *err);
/* Have the keeper exec `path` ("" the one it runs), keeping its jobs; on_down, on_up follow. */
int keeper_client_upgrade(struct keeper_client *k, const char *path, struct err *err);

/* The broker's: what changes in the keeper without an upgrade. No answer. */
int keeper_client_settings(struct keeper_client *k, const Sirdar__KeeperSettings *m,
                           struct err *err);

/* A job's output file as the keeper writes it; no file: no byte yet.
 *   stream  1 stdout, 2 stderr, 3 records of both */
static inline void keeper_log_path(char *ret_path, size_t size, const char *logs_dir,
                                   uint64_t token, int stream)
{
	static const char *const names[] = { "", "out", "err", "log" };

	snprintf(ret_path, size, "%s/%016" PRIx64 ".%s", logs_dir, token, names[stream & 3]);
}

#endif
