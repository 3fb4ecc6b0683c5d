/* A queue of bytes between one writer and one connection. The lock guards the queue; the
 * connection is suspended while the queue is empty and resumed by what is put in, both under
 * the lock, so that no wake-up is lost. A queue that is full refuses all of what is put: the
 * writer then tells the client of a gap or ends the feed. The feed lives until both holders
 * have let go. */
#include "cgi/http/feed.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"

#define BLOCK_BYTES  16384
#define BUFFER_BYTES 1024 /* the library's, for clients without chunks */

struct feed {
	pthread_mutex_t mu; /* guards the fields below; taken before libmicrohttpd's own */
	struct MHD_Connection *conn;
	struct buf queue;
	size_t max;
	int64_t put_us;
	int refs;
	bool suspended, ended, gone;
};

struct feed *feed_new(struct MHD_Connection *conn, size_t bytes_max)
{
	struct feed *f = mem_new(sizeof *f);

	pthread_mutex_init(&f->mu, NULL);
	f->conn = conn;
	f->max = bytes_max;
	f->refs = 2;
	f->put_us = clock_mono_us(&clock_machine);
	buf_init(&f->queue);
	return f;
}

/* Locked on entry, unlocked on return. */
static void let_go(struct feed *f)
{
	CHECK(f->refs > 0);
	bool last = --f->refs == 0;

	pthread_mutex_unlock(&f->mu);
	if (!last)
		return;
	pthread_mutex_destroy(&f->mu);
	buf_done(&f->queue);
	free(f);
}

/* HTTP thread: give what there is, or have the connection wait. */
static ssize_t feed_take(void *ctx, uint64_t pos, char *to, size_t max)
{
	struct feed *f = ctx;
	ssize_t n;

	(void)pos;
	pthread_mutex_lock(&f->mu);
	if (f->queue.len > 0) {
		n = (ssize_t)(f->queue.len < max ? f->queue.len : max);
		memcpy(to, buf_at(&f->queue), (size_t)n);
		buf_drop(&f->queue, (size_t)n);
		if (f->queue.len == 0 && f->queue.cap > BLOCK_BYTES) {
			buf_done(&f->queue);
			buf_init(&f->queue);
		}
	} else if (f->ended) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else {
		f->suspended = true;
		MHD_suspend_connection(f->conn);
		n = 0;
	}
	pthread_mutex_unlock(&f->mu);
	return n;
}

static void response_gone(void *ctx)
{
	struct feed *f = ctx;

	pthread_mutex_lock(&f->mu);
	CHECK(!f->gone);
	f->gone = true;
	f->suspended = false;
	let_go(f);
}

struct MHD_Response *feed_response(struct feed *f)
{
	struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BUFFER_BYTES,
	                                                           feed_take, f, response_gone);

	CHECK(r);
	return r;
}

/* Locked. */
static void feed_wake(struct feed *f)
{
	if (!f->suspended)
		return;
	f->suspended = false;
	MHD_resume_connection(f->conn);
}

bool feed_put(struct feed *f, const void *data, size_t n)
{
	bool room;

	pthread_mutex_lock(&f->mu);
	room = !f->gone && !f->ended && f->queue.len + n <= f->max;
	if (room) {
		buf_put(&f->queue, data, n);
		CHECK(f->queue.len <= f->max);
		f->put_us = clock_mono_us(&clock_machine);
		feed_wake(f);
	}
	pthread_mutex_unlock(&f->mu);
	return room;
}

bool feed_idle(struct feed *f, int64_t now_us, int64_t idle_us)
{
	bool idle;

	pthread_mutex_lock(&f->mu);
	idle = now_us - f->put_us >= idle_us;
	pthread_mutex_unlock(&f->mu);
	return idle;
}

bool feed_gone(struct feed *f)
{
	bool gone;

	pthread_mutex_lock(&f->mu);
	gone = f->gone;
	pthread_mutex_unlock(&f->mu);
	return gone;
}

void feed_end(struct feed *f)
{
	pthread_mutex_lock(&f->mu);
	CHECK(!f->ended); /* its one writer lets go once */
	f->ended = true;
	feed_wake(f);
	let_go(f);
}
