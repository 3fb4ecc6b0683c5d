/* fakeserver.h — a BaseServer of the smallest kind, for tests of what talks to one: it
 * greets, acknowledges what it is told to, and remembers all it heard. Edge cases of the
 * protocol only; everything else is tested with the real one.
 */
#ifndef SUPPORT_FAKESERVER_H
#define SUPPORT_FAKESERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "wire/frame.h"

struct ev_loop;
struct fake;
struct session;

struct fake_report {
	uint64_t token;
	uint32_t seq, kind, verdict, reason;
	int32_t exit_code;
	uint32_t progress;
	char text[240];
	char output[256]; /* "name=value name=value" */
};

struct fake_welcome {
	uint32_t epoch, beat_ms, fence_ms, kill_ms;
};

struct fake {
	struct ev_loop *loop;
	struct listener *listener;
	uint16_t port;
	struct session *session; /* of the loader that came last */
	struct session *broker;  /* of the broker */
	struct fake_welcome welcome;
	bool mute_acks, mute_beats, quiet; /* quiet: keep no reports */
	int32_t ack_code;
	uint64_t unknown; /* told in the next BEAT_ACKs; 0: none */

	uint32_t hellos, broker_hellos, beats, ended;
	uint64_t credit, granted;
	char hello_name[65], hello_type[65];
	uint32_t hello_role;
	uint64_t held[64];
	size_t n_held; /* of the loader's last HELLO or BEAT */
	size_t n_hello_held;
	struct fake_report *reports;
	size_t n_reports, cap_reports;
	struct buf log[3]; /* by stream, of all tokens */
	uint32_t log_ends;
	size_t chunk_most;    /* bytes of the largest piece of a log */
	char state_text[256]; /* of the last RUNNER_STATE */
	uint32_t state;
	uint32_t loads;
	/* Called after each frame, when set. */
	void (*on_frame)(struct fake *f, enum frame_kind kind);
	void *ctx;
};

void fake_open(struct fake *f, struct ev_loop *loop);
void fake_close(struct fake *f);
void fake_hang_up(struct fake *f); /* drop the session; it may come back */
/* Grant one job; params: name, value, ..., NULL. */
void fake_grant(struct fake *f, uint64_t token, const char *const *params);
void fake_grant_many(struct fake *f, uint64_t first, size_t n);
void fake_kill(struct fake *f, uint64_t token, uint64_t grace_us);
void fake_order(struct fake *f, const char *kind, const char *type); /* to the broker */
void fake_param(struct fake *f, const char *value); /* answers to PARAM_ASK from now on */
/* Run the loop until done(f) or ms have passed. True: it is done. */
bool fake_until(struct fake *f, bool (*done)(struct fake *f), uint32_t ms);
/* The last report of a token of that kind (0: any), or NULL. */
const struct fake_report *fake_report(const struct fake *f, uint64_t token, uint32_t kind);

#endif
