/* link.h — a broker's or loader's standing connection to the BaseServer that leads.
 *
 * Tries the servers in turn with growing, jittered pauses; greets; shows a sign of life
 * every beat_ms with the tokens held; knows until when the last acknowledged beat keeps
 * the leases; refuses orders of an epoch lower than the highest it has obeyed.
 */
#ifndef BROKER_LINK_H
#define BROKER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/pair_text.h"
#include "wire/frame.h"

struct delegate;
struct err;
struct ev_loop;
struct link;
struct param_taskbroker;
struct session;

typedef struct Sirdar__Welcome Sirdar__Welcome;

enum link_role { LINK_BROKER = 1, LINK_LOADER = 2 };

/* Borrowed for the link's life. */
struct link_self {
	enum link_role role;
	const struct param_taskbroker *settings; /* server, name, key_file, groups, pauses */
	const char *type;                        /* loader: its task type, else "" */
	const char *runner_version;              /* loader, else "" */
	uint32_t slots;
	uint32_t lane;          /* loader: lane.h */
	bool probes;            /* loader: its runner can try to connect */
	const char *epoch_file; /* where the highest epoch obeyed is kept */
	/* loader: by what it greets (delegate.h). NULL: it reads key_file itself, as one that no
	 * taskbroker of this release has started. */
	struct delegate *delegate;
};

struct link_ops {
	/* Tokens held, for HELLO and BEAT; borrowed until the next call. */
	const uint64_t *(*held)(void *ctx, size_t *ret_n);
	/* Loader: may other lanes of its type hold jobs? Asked at each HELLO. May be NULL. */
	bool (*others)(void *ctx);
	/* Is what it is granted proven by whoever comes after it? Asked at each HELLO. May be
	 * NULL: no. */
	bool (*keeps_proofs)(void *ctx);
	/* A server has welcomed us. Where that asks for proofs they leave here, before any beat. */
	void (*on_up)(void *ctx, const Sirdar__Welcome *welcome);
	/* A frame that is not the link's own business. Negative ends the session. */
	int (*on_frame)(void *ctx, enum frame_kind kind, const void *message);
	/* Beat `seq` (0: HELLO) was acknowledged: every token it listed is leased until
	 * `deadline_us` (of CLOCK_BOOTTIME); those in `unknown` are not. */
	void (*on_lease)(void *ctx, uint32_t seq, int64_t deadline_us, const uint64_t *unknown,
	                 size_t n);
	/* A beat is about to be sent. May be NULL. */
	void (*on_beat)(void *ctx);
	/* The session is over; the link tries again by itself. May be NULL. */
	void (*on_down)(void *ctx, const char *why);
};

/* Start trying. errors  E_INVALID, E_IO, E_FORBIDDEN of the key or the name. */
int link_open(struct ev_loop *loop, const struct link_self *self, const struct link_ops *ops,
              void *ctx, struct link **ret_link, struct err *err);
void link_close(struct link *l); /* NULL is fine; no callback after it */

bool link_is_up(const struct link *l); /* welcomed */
/* E_CLOSED when it is not up; else as session_send(). */
int link_send(struct link *l, enum frame_kind kind, const void *message, struct err *err);
void link_beat(struct link *l); /* beat now, not only when it is time */

/* What the server said at the last welcome; defaults before the first. */
uint32_t link_protocol(const struct link *l); /* agreed on with the last server that welcomed us */
uint32_t link_beat_ms(const struct link *l);
uint32_t link_fence_ms(const struct link *l);
uint32_t link_kill_ms(const struct link *l);
uint32_t link_lose_ms(const struct link *l);  /* T_lose: who names no token for so long, lost it */
uint32_t link_beat_seq(const struct link *l); /* the last beat sent in this session; 0: HELLO */
/* Until when jobs granted in this session are leased, without a beat of their own. */
int64_t link_lease_us(const struct link *l);

/* Do the two say something else about whom to greet, or as whom? */
bool link_differs(const struct param_taskbroker *a, const struct param_taskbroker *b);
/* Is there another key in key_file now? NULL is fine: no. */
bool link_rekeyed(struct link *l);
/* A loader's delegate has changed: shown to the server that it talks to, or greeted by. NULL is
 * fine. */
void link_delegated(struct link *l);
/* What lets a loader in for a while. */
struct link_lent {
	const char *type; /* of the loader, in this lane of it */
	uint32_t lane;
	const uint8_t *key; /* PAIR_BYTES: the loader's public key */
	int64_t ms;         /* for how long */
};

/* A taskbroker's: what lets a loader's key in, sent to that loader. Where the machine's key is one
 * that the server has too, it is told so.
 *
 *   errors  E_AGAIN no server was met yet: later; else as session_send() */
int link_delegate(const struct link *l, const struct link_lent *lent, struct session *to,
                  struct err *err);
/* Greet anew, with the settings as they are now. NULL is fine. */
void link_again(struct link *l);

/* The broker's name: the setting, or the host's. */
void link_name_read(const struct param_taskbroker *settings, char *ret_name, size_t cap);

#endif
