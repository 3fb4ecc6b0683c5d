/* The records of a job, written as its bytes come; times are this machine's, UTC.
 *
 * The place in the file is this program's memory. After an upgrade, and for a job that a keeper
 * left which is gone, it is found again by reading the last block; a record that is not whole is
 * cut off then. A write that does not fit is undone: the place is put back, the file cut.
 */
#include "broker/keeper/record.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "broker/keeper/client.h"
#include "broker/keeper/keeper.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/log.h"

enum { SAID_BYTES = 300, PATH_BYTES = 4200 };

int64_t record_now_ms(void)
{
	return clock_wall_us(&clock_machine) / US_PER_MS;
}

void record_begin(struct job *job, const char *begins)
{
	CHECK(!job->record);
	job->record = mem_new(sizeof *job->record);
	job->record->file = -1;
	job->record->begins = begins && begins[0] ? mem_str(begins) : NULL;
	job->is_recorded = true;
}

void record_free(struct job *job)
{
	if (!job->record)
		return;
	if (job->record->file >= 0)
		close(job->record->file);
	free(job->record->begins);
	free(job->record);
	job->record = NULL;
}

/* --- where to go on ----------------------------------------------------------------------- */

/* The end of what is whole, by the last block that has a header. */
static void place_find(int fd, uint64_t size, struct logrec_place *ret)
{
	struct logrec_reader r = { .place.at = (size - 1) / LOGREC_BLOCK * LOGREC_BLOCK };
	uint8_t *p = mem_new(LOGREC_BLOCK);
	ssize_t n = pread(fd, p, LOGREC_BLOCK, (off_t)r.place.at);
	struct logrec rec;
	size_t used = 0, k;

	while (n > 0 && (k = logrec_next(&r, p + used, (size_t)n - used, &rec)) > 0)
		used += k;
	free(p);
	*ret = r.place;
}

static int file_make(const struct job *job)
{
	const struct keeper *k = job->keeper;
	char path[PATH_BYTES];

	keeper_log_path(path, sizeof path, k->logs_dir, job->token, LOGREC_OURS);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (k->settings.separates && fd >= 0)
		fchmod(fd, 0640); /* its reader is another user, of our directory's group */
	return fd;
}

static bool record_open(struct job *job)
{
	struct record *r = job->record;
	struct stat st;

	if (r->file >= 0)
		return true;
	job->has_no_record = false;
	r->file = file_make(job);
	if (r->file < 0 || r->w.at || fstat(r->file, &st) < 0 || st.st_size == 0)
		return r->file >= 0;
	place_find(r->file, (uint64_t)st.st_size, &r->w);
	if (ftruncate(r->file, (off_t)r->w.at) < 0)
		log_warn("record.cut", "token=%016" PRIx64 " at=%" PRIu64, job->token, r->w.at);
	return true;
}

/* --- writing ------------------------------------------------------------------------------ */

/* One record; 0: there is no space. */
static size_t write_one(struct record *r, int stream, int64_t ms, const uint8_t *p, size_t n)
{
	struct logrec_place was = r->w;
	struct logrec_head h;
	size_t k = logrec_head(&r->w, (enum logrec_stream)stream, ms, p, n, &h);
	struct iovec parts[] = { { h.bytes, h.n }, { (void *)(uintptr_t)p, k } };

	if (pwritev(r->file, parts, 2, (off_t)was.at) == (ssize_t)(h.n + k))
		return k;
	r->w = was;
	if (ftruncate(r->file, (off_t)was.at) < 0)
		log_warn("record.cut", "at=%" PRIu64, was.at);
	return 0;
}

static size_t write_all(struct record *r, int stream, int64_t ms, const uint8_t *p, size_t n)
{
	size_t done = 0, k = 1;

	while (done < n && k > 0) {
		k = write_one(r, stream, ms, p + done, n - done);
		done += k;
	}
	return done;
}

static void begin_say(struct job *job)
{
	struct record *r = job->record;
	char text[SAID_BYTES];
	int64_t ms = job->started_us ? job->started_us / US_PER_MS : record_now_ms();
	int n = snprintf(text, sizeof text, "%.200s, process %d\n", r->begins, (int)job->pid);

	CHECK(n > 0 && n < (int)sizeof text);
	if (write_all(r, LOGREC_OURS, ms, (const uint8_t *)text, (size_t)n) == 0)
		return;
	free(r->begins);
	r->begins = NULL;
}

size_t record_put(struct job *job, int stream, const uint8_t *p, size_t n)
{
	struct record *r = job->record;

	CHECK(r && stream > LOGREC_NONE && stream < LOGREC_STREAMS);
	if (!record_open(job))
		return 0;
	if (r->begins)
		begin_say(job);
	return write_all(r, stream, record_now_ms(), p, n);
}

void record_say(struct job *job, const char *fmt, ...)
{
	char text[SAID_BYTES];
	va_list args;

	if (!job->record)
		return;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof text - 1, fmt, args);
	va_end(args);
	CHECK(n > 0);
	n = n < (int)sizeof text - 1 ? n : (int)sizeof text - 2;
	text[n++] = '\n';
	record_put(job, LOGREC_OURS, (const uint8_t *)text, (size_t)n);
}

/* --- what is said of its end -------------------------------------------------------------- */

/* Of enum kill_intent (lib/sched), which the keeper only passes on. */
static const char *asked_text(uint32_t intent)
{
	static const char *const texts[] = {
		"it is told to stop",
		"it ran longer than it may, and is told to stop",
		"it is to run anew, and is told to stop",
		"somebody had it killed, it is told to stop",
		"a newer run takes its place, it is told to stop",
	};

	return texts[intent < sizeof texts / sizeof texts[0] ? intent : 0];
}

void record_say_kill(struct job *job, enum job_why why, uint64_t grace_us)
{
	const char *text =
		why == WHY_LEASE
			? "the server was silent until its lease ran out, it is told to stop"
		: why == WHY_STOP ? "the jobkeeper is stopped, it is told to stop"
				  : asked_text(job->end.intent);

	record_say(job, "%s (TERM; KILL after %" PRIu64 " ms)", text, grace_us / 1000);
}

void record_say_end(struct job *job)
{
	const Sirdar__KeeperExited *end = &job->end;

	if (end->oom && job->limits.memory_bytes)
		record_say(job, "memory limit of %" PRIu64 " MB reached: the kernel killed it",
		           job->limits.memory_bytes >> 20);
	else if (end->oom)
		record_say(job, "out of memory: the kernel killed it");
	else if (end->exit_code < 0)
		record_say(job, "ended by signal %d", -end->exit_code);
	if (job->out.dropped || job->err.dropped)
		record_say(job,
		           "dropped in all: %" PRIu64 " bytes of its standard output, %" PRIu64
		           " of its standard error",
		           job->out.dropped, job->err.dropped);
}

uint64_t record_end(struct job *job)
{
	uint64_t size;

	if (!job->is_recorded)
		return 0;
	if (!job->record) { /* a former keeper's: what it had written */
		record_begin(job, NULL);
		record_say(job, "%.200s", job->end.text[0] ? job->end.text : "nobody saw its end");
		job->out.bytes = job->record->w.bytes[LOGREC_OUT];
		job->err.bytes = job->record->w.bytes[LOGREC_ERR];
	}
	size = job->record->w.at;
	record_free(job);
	return size;
}
