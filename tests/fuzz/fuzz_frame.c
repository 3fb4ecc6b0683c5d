/* F1, F2: a stream of frames, split wherever the input says, and each message unpacked.
 *
 * Byte 0: who listens, whether it has greeted, and how many bytes come at once. The rest is
 * what the other side sends. A session may end, never fall; and a body that unpacks packs
 * again to something that unpacks. */
#include <ev.h>
#include <protobuf-c/protobuf-c.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "wire/arena.h"
#include "wire/frame.h"
#include "wire/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { HAS_GREETED = 1, IS_SERVER = 2 };

struct seen {
	uint8_t flags;
	bool is_over;
};

static void on_open(void *ctx, struct session *s, const char *identity)
{
	const struct seen *seen = ctx;

	(void)identity;
	if (seen->flags & HAS_GREETED)
		session_greeted(s);
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	struct arena *a = arena_new(1 << 26);
	struct buf again;
	void *m;

	(void)ctx;
	(void)s;
	buf_init(&again);
	int rc = frame_pack(&again, kind, message, NULL);
	if (rc == 0) /* unpacked strings are texts: packing can only find it too long */
		CHECK(frame_unpack(kind, buf_at(&again) + FRAME_HEAD_BYTES,
		                   again.len - FRAME_HEAD_BYTES, a, &m, NULL) == 0);
	else
		CHECK(rc == E_TOO_BIG);
	buf_done(&again);
	arena_free(a);
	return 0;
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct seen *seen = ctx;

	(void)s;
	CHECK(err->code == 0 || err->text[0]);
	seen->is_over = true;
}

static void bodies_unpack(const uint8_t *data, size_t bytes)
{
	static const unsigned kinds[] = {
#define FRAME(name, num, msg, who, max) num,
#include "tbl/frame.def"
#undef FRAME
	};
	unsigned kind = kinds[data[0] % (sizeof kinds / sizeof *kinds)];
	struct arena *a = arena_new(1 << 26);
	void *m;

	frame_unpack(kind, data + 1, bytes - 1, a, &m, NULL);
	arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const struct session_ops ops = { on_open, on_frame, NULL, on_end };
	static const struct session_limits limits = { 0, 0, 65536 };
	static struct ev_loop *loop;
	struct session *s = NULL;
	int fds[2];

	if (bytes < 2 || bytes > 65536)
		return 0;
	bodies_unpack(data, bytes);
	if (!loop)
		loop = ev_loop_new(EVFLAG_AUTO);
	struct seen seen = { .flags = data[0] & 3 };
	size_t step = data[0] >> 2 ? data[0] >> 2 : bytes;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
	CHECK(session_local(&(struct session_owner){ loop, &ops, &seen, &limits }, fds[0],
	                    seen.flags & IS_SERVER, &s, NULL) == 0);
	ev_invoke_pending(loop);
	for (size_t at = 1; at < bytes && !seen.is_over; at += step) {
		size_t n = bytes - at < step ? bytes - at : step;
		if (write(fds[1], data + at, n) < 0)
			break;
		ev_run(loop, EVRUN_NOWAIT);
	}
	close(fds[1]);
	for (int i = 0; i < 3 && !seen.is_over; i++)
		ev_run(loop, EVRUN_NOWAIT);
	if (!seen.is_over)
		session_drop(s);
	return 0;
}
