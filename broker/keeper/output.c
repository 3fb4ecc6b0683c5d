/* What jobs print, from pipes to files: read in turns, capped, slowed.
 *
 * A job has a file for each of its streams, or one of records (record.c), which keeps the order in
 * which bytes came here, and the time; cap and rate are those of the file then.
 * One buffer serves all pipes. Secrets that the job was given are hidden first: they reach no disk.
 * A pipe gives a few chunks a round, then the others get their turn;
 * ends and requests go first. Over its cap, over its rate, or without space the bytes are read by
 * the clock, dropped and counted, and a mark says so in the file. The job's writes succeed all the
 * same.
 */
#include "broker/keeper/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/keeper/client.h"
#include "broker/keeper/record.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum {
	CHUNK_BYTES = 65536,
	CHUNKS_A_ROUND = 4,        /* then the others get their turn */
	SLOW_PIPE_BYTES = 1 << 20, /* what a job past its cap may write per tick */
	PATH_BYTES = 4200,
};
#define SLOW_TICK_S 0.005

struct outputs {
	bool is_shared; /* its reader is another user, of our directory's group */
	struct ev_loop *loop;
	char *dir;
	uint64_t bytes_max, rate_max;
	struct ev_timer tick;
	struct output *slow; /* through next_slow */
	struct buf masked;
	uint8_t chunk[CHUNK_BYTES];
};

static void slow_add(struct outputs *o, struct output *x)
{
	if (x->is_slow)
		return;
	CHECK(x->io.fd >= 0);
	ev_io_stop(o->loop, &x->io);
	(void)fcntl(x->io.fd, F_SETPIPE_SZ, SLOW_PIPE_BYTES); /* may be refused: slower then */
	x->is_slow = true;
	x->next_slow = o->slow;
	o->slow = x;
	if (!ev_is_active(&o->tick))
		ev_timer_again(o->loop, &o->tick);
}

static void slow_remove(struct outputs *o, struct output *x)
{
	for (struct output **p = &o->slow; x->is_slow; p = &(*p)->next_slow) {
		CHECK(*p);
		if (*p == x) {
			*p = x->next_slow;
			x->is_slow = false;
			break;
		}
	}
	if (!o->slow)
		ev_timer_stop(o->loop, &o->tick);
}

static struct output_limit *limit_of(struct output *x)
{
	return x->job->record ? &x->job->record->limit : &x->limit;
}

static int file_of(struct outputs *o, struct output *x)
{
	char path[PATH_BYTES];

	if (x->file < 0) {
		keeper_log_path(path, sizeof path, o->dir, x->job->token, x->number);
		x->has_no_file = false;
		x->file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | O_NOFOLLOW, 0600);
		if (o->is_shared && x->file >= 0)
			fchmod(x->file, 0640);
	}
	return x->file;
}

/* How many of n bytes are kept. */
static size_t output_write(struct outputs *o, struct output *x, const uint8_t *p, size_t n)
{
	size_t done = 0;

	if (x->job->record)
		return record_put(x->job, x->number, p, n);
	while (done < n) {
		ssize_t w = file_of(o, x) < 0 ? -1 : write(x->file, p + done, n - done);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			break;
		done += (size_t)w;
	}
	return done;
}

static void mark(struct outputs *o, struct output *x, const char *text)
{
	x->bytes += output_write(o, x, (const uint8_t *)text, strlen(text));
}

/* "\n[sirdar: in MS ms N bytes were dropped, WHY]\n"; it is stamped when that was over. */
static void mark_lost(struct outputs *o, struct output *x, int64_t from_ms, uint64_t n,
                      const char *why)
{
	char text[256], since[40] = "";
	int64_t ms = record_now_ms() - from_ms;

	if (from_ms && ms >= 0)
		snprintf(since, sizeof since, "in %" PRId64 " ms ", ms);
	snprintf(text, sizeof text, "\n[sirdar: %s%" PRIu64 " bytes were dropped, %s]\n", since, n,
	         why);
	mark(o, x, text);
}

static void keeper_output_drop(struct outputs *o, struct output *x, uint64_t n, bool no_space)
{
	char text[160];

	if (!no_space && !limit_of(x)->is_capped) {
		limit_of(x)->is_capped = true;
		snprintf(text, sizeof text,
		         "\n[sirdar: output past %" PRIu64 " bytes is dropped]\n", o->bytes_max);
		mark(o, x, text);
		log_warn("output.capped", "token=%016" PRIx64 " stream=%d bytes=%" PRIu64,
		         x->job->token, x->number, x->bytes);
	}
	if (no_space && !x->gap)
		log_warn("output.full", "token=%016" PRIx64 " stream=%d bytes=%" PRIu64,
		         x->job->token, x->number, x->bytes);
	if (no_space && !x->gap)
		x->gap_ms = record_now_ms();
	x->gap += no_space ? n : 0;
	x->dropped += n;
	slow_add(o, x);
}

static uint64_t kept_of(const struct output *x)
{
	return x->job->record ? x->job->out.bytes + x->job->err.bytes : x->bytes;
}

static void output_keep(struct outputs *o, struct output *x, const uint8_t *p, size_t n)
{
	uint64_t kept = kept_of(x);
	size_t fits = kept >= o->bytes_max || limit_of(x)->is_capped ? 0 : o->bytes_max - kept;

	fits = fits < n ? fits : n;
	if (fits && x->gap) {
		uint64_t before = x->bytes;
		mark_lost(o, x, x->gap_ms, x->gap, "no space");
		if (x->bytes == before) {
			keeper_output_drop(o, x, n, true);
			return;
		}
		x->gap = 0;
		if (x->is_slow) {
			slow_remove(o, x);
			ev_io_start(o->loop, &x->io);
		}
	}
	size_t done = fits ? output_write(o, x, p, fits) : 0;
	CHECK(done <= fits && fits <= n);
	x->bytes += done;
	if (done < n)
		keeper_output_drop(o, x, n - done, done < fits);
}

/* --- too fast --- */

/* How many of n bytes the rate lets through. Once over it, nothing until half a second's worth
 * has gathered: one mark then, not one for each piece. */
static size_t rate_allows(const struct outputs *o, struct output *x, size_t n)
{
	struct output_limit *l = limit_of(x);
	int64_t now = clock_mono_us(&clock_machine), since = now - l->credit_us;

	if (since >= US_PER_S || !l->credit_us) {
		l->credit = o->rate_max;
		l->credit_us = now;
	}
	uint64_t more = (uint64_t)since * o->rate_max / US_PER_S;
	if (l->credit_us != now && more) {
		l->credit = l->credit + more < o->rate_max ? l->credit + more : o->rate_max;
		l->credit_us = now;
	}
	if (x->hurry && l->credit < o->rate_max / 2)
		return 0;
	n = n < l->credit ? n : (size_t)l->credit;
	l->credit -= n;
	return n;
}

static void hurry_mark(struct outputs *o, struct output *x)
{
	char why[80];

	if (!x->hurry)
		return;
	snprintf(why, sizeof why, "more than %" PRIu64 " bytes a second", o->rate_max);
	mark_lost(o, x, x->hurry_ms, x->hurry, why);
	x->hurry = 0;
}

static void keep_slowly(struct outputs *o, struct output *x, const uint8_t *p, size_t n)
{
	size_t fits = o->rate_max && !limit_of(x)->is_capped ? rate_allows(o, x, n) : n;

	if (fits && x->hurry) {
		hurry_mark(o, x);
		if (x->is_slow && !x->gap) {
			slow_remove(o, x);
			ev_io_start(o->loop, &x->io);
		}
	}
	if (fits)
		output_keep(o, x, p, fits);
	if (fits == n)
		return;
	x->hurry_ms = x->hurry ? x->hurry_ms : record_now_ms();
	if (!x->hurry)
		log_warn("output.fast", "token=%016" PRIx64 " stream=%d bytes=%" PRIu64,
		         x->job->token, x->number, x->bytes);
	x->hurry += n - fits;
	x->dropped += n - fits;
	slow_add(o, x);
}

/* Before anything reaches the disk. */
static void keep_masked(struct outputs *o, struct output *x, const uint8_t *p, size_t n)
{
	buf_clear(&o->masked);
	mask_take(x->job->mask, &x->mask, p, n, &o->masked);
	if (o->masked.len)
		keep_slowly(o, x, buf_at(&o->masked), o->masked.len);
}

static void keep_held(struct outputs *o, struct output *x)
{
	buf_clear(&o->masked);
	mask_end(x->job->mask, &x->mask, &o->masked);
	if (o->masked.len)
		keep_slowly(o, x, buf_at(&o->masked), o->masked.len);
	mask_stream_done(&x->mask);
}

static void close_all(struct outputs *o, struct output *x)
{
	if (x->io.fd >= 0) {
		if (x->job->mask)
			keep_held(o, x);
		hurry_mark(o, x);
		slow_remove(o, x);
		ev_io_stop(o->loop, &x->io);
		close(x->io.fd);
		x->io.fd = -1;
	}
	if (x->file >= 0)
		close(x->file);
	x->file = -1;
}

/* Read at most `chunks`; false when there was less. */
static bool output_take(struct outputs *o, struct output *x, int chunks)
{
	for (int i = 0; i < chunks; i++) {
		CHECK(x->io.fd >= 0);
		ssize_t n = read(x->io.fd, o->chunk, sizeof o->chunk);
		if (n > 0 && x->job->mask)
			keep_masked(o, x, o->chunk, (size_t)n);
		else if (n > 0)
			keep_slowly(o, x, o->chunk, (size_t)n);
		if (n == 0)
			close_all(o, x);
		if (n < (ssize_t)sizeof o->chunk)
			return false;
	}
	return true;
}

static void output_ready(struct ev_loop *loop, struct ev_io *w, int events)
{
	struct outputs *o = w->data;

	(void)loop;
	(void)events;
	output_take(o, (struct output *)w, CHUNKS_A_ROUND);
}

static void ticked(struct ev_loop *loop, struct ev_timer *w, int events)
{
	struct outputs *o = w->data;

	(void)loop;
	(void)events;
	for (struct output *x = o->slow, *next; x; x = next) {
		next = x->next_slow;
		output_take(o, x, SLOW_PIPE_BYTES / CHUNK_BYTES);
	}
}

struct outputs *outputs_new(struct ev_loop *loop, const char *logs_dir, bool is_shared)
{
	struct outputs *o = mem_new(sizeof *o);

	o->loop = loop;
	o->dir = mem_str(logs_dir);
	o->is_shared = is_shared;
	ev_init(&o->tick, ticked);
	o->tick.repeat = SLOW_TICK_S;
	o->tick.data = o;
	return o;
}

void outputs_free(struct outputs *o)
{
	if (!o)
		return;
	ev_timer_stop(o->loop, &o->tick);
	buf_done(&o->masked);
	free(o->dir);
	free(o);
}

void outputs_set_limits(struct outputs *o, uint64_t bytes_max, uint64_t bytes_a_second)
{
	o->bytes_max = bytes_max;
	o->rate_max = bytes_a_second;
}

uint64_t outputs_bytes_max(const struct outputs *o)
{
	return o->bytes_max;
}

void output_init(struct output *x, struct job *job, int number)
{
	CHECK(number == 1 || number == 2);
	x->job = job;
	x->number = number;
	x->file = -1;
	ev_io_init(&x->io, output_ready, -1, EV_READ);
}

void output_resume(struct outputs *o, struct output *x, int fd)
{
	CHECK(fd >= 0 && x->io.fd < 0 && !x->is_slow);
	ev_io_set(&x->io, fd, EV_READ);
	ev_set_priority(&x->io, -1); /* ends and requests go first */
	x->io.data = o;
	ev_io_start(o->loop, &x->io);
	if (limit_of(x)->is_capped || x->gap || x->hurry)
		slow_add(o, x);
}

int output_open(struct outputs *o, struct output *x, int *ret_write, struct err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, E_LIMIT, errno, "pipe of the output");
	/* Only our end: what the job inherits is its own open file. */
	if (fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0) {
		close(fds[0]);
		close(fds[1]);
		return err_sys(err, E_IO, errno, "pipe of the output");
	}
	output_resume(o, x, fds[0]);
	x->has_no_file = true;
	*ret_write = fds[1];
	return 0;
}

void output_finish(struct outputs *o, struct output *x)
{
	if (x->io.fd >= 0)
		output_take(o, x, SLOW_PIPE_BYTES / CHUNK_BYTES + 1);
	output_drop(o, x);
}

void output_drop(struct outputs *o, struct output *x)
{
	close_all(o, x);
}

void output_remove(struct outputs *o, const struct job *job)
{
	char path[PATH_BYTES];
	const bool has_none[] = { false, job->is_recorded || job->out.has_no_file,
		                  job->is_recorded || job->err.has_no_file,
		                  !job->is_recorded || job->has_no_record };

	for (int number = 1; number <= 3; number++) {
		if (has_none[number])
			continue;
		keeper_log_path(path, sizeof path, o->dir, job->token, number);
		unlink(path);
	}
}
