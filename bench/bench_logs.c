/* What a log costs: small ones as files, the way of releases before segments, and in segments, in
 * the same run; then tails and ranges of any, lines, retention, one large log.
 *
 *   bench_logs [SMALL [FILES [DIR]]]
 *
 * 1,000,000 small logs, 20,000 of them as files too, below DIR (/tmp). */
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "logs/logs.h"
#include "tests/support/child.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

enum { PER_TURN = 64, TAILS = 2000, TAIL_BYTES = 65536, CHUNK = 262144, LARGE_MB = 512 };
#define DAY_US (INT64_C(86400) * US_PER_S)

static const char text[] = "ok\n";
static char dir[4000];

static double now_s(void)
{
	return (double)clock_mono_us(&clock_machine) / US_PER_S;
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static struct log_id id_of(uint64_t n)
{
	return (struct log_id){
		{ (int64_t)(n % 100000) * 60, (uint32_t)(1 + n / 100000), 0 }, 1, 1, n + 1, 1
	};
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void touch_file(const char *path, const char *what, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	CHECK(fd >= 0 && write(fd, what, n) == (ssize_t)n);
	close(fd);
}

/* A small job as it was: a folder, the owner, the output, the end mark. */
static void as_files(uint64_t n)
{
	char path[sizeof dir + 200];
	double began = now_s(), cpu = cpu_s();

	for (uint64_t i = 0; i < n; i++) {
		struct log_id id = id_of(i);
		int at = snprintf(path, sizeof path, "%s/files/%u", dir, id.key.task);
		mkdir(path, 0700);
		at += snprintf(path + at, sizeof path - (size_t)at, "/%" PRId64 ".0",
		               id.key.run_date);
		mkdir(path, 0700);
		snprintf(path + at, sizeof path - (size_t)at, "/1.1.owner");
		touch_file(path, "0000000000000001 1", 18);
		snprintf(path + at, sizeof path - (size_t)at, "/1.1.out");
		touch_file(path, text, sizeof text - 1);
		snprintf(path + at, sizeof path - (size_t)at, "/1.1.out.end");
		touch_file(path, "", 0);
	}
	printf("  as files, not synced     %10.1f us, %5.1f us of processor a small job, 4 inodes,"
	       " 8192 bytes of blocks\n",
	       (now_s() - began) * 1e6 / (double)n, (cpu_s() - cpu) * 1e6 / (double)n);
}

/* The limit: a disk that syncs 4 KB more of a file, again and again. */
static void syncs(void)
{
	char path[sizeof dir + 16];
	static char page[4096];
	static double took[200];

	snprintf(path, sizeof path, "%s/sync", dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (size_t i = 0; i < 200; i++) {
		double began = now_s();
		CHECK(fd >= 0 && write(fd, page, sizeof page) == sizeof page && fdatasync(fd) == 0);
		took[i] = now_s() - began;
	}
	close(fd);
	qsort(took, 200, sizeof took[0], by_value);
	printf("  the disk: fdatasync of 4 KB p50 %.2f ms\n", took[100] * 1e3);
}

static struct logs *opened(const char *name)
{
	char path[sizeof dir + 32];
	struct logs_settings set = { .dir = path };
	struct err err = { 0 };
	struct logs *l;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	if (logs_open(&set, &l, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return l;
}

static struct logs *as_segments(uint64_t n, int64_t *ret_last_us)
{
	struct logs *l = opened("segments");
	double began = now_s(), cpu = cpu_s();
	struct logs_size all, old;
	struct log_facts f;

	for (uint64_t i = 0; i < n; i++) {
		/* 48 hours of them, so that half of it is older than a day */
		*ret_last_us = (int64_t)((double)i / (double)n * 2 * (double)DAY_US);
		struct log_piece p = { id_of(i),        1,    0,           (const uint8_t *)text,
			               sizeof text - 1, true, *ret_last_us };
		CHECK(logs_find(l, &p.id, &f) == E_NOT_FOUND); /* as the logkeeper asks */
		CHECK(logs_append(l, &p) == 0);
		if (i % PER_TURN == PER_TURN - 1)
			CHECK(logs_commit(l) == 0);
	}
	CHECK(logs_commit(l) == 0);
	double took = now_s() - began, used = cpu_s() - cpu;
	logs_size(l, 0, &all, &old);
	printf("  in segments, synced by %d %9.1f us, %5.1f us of processor a small job, %" PRIu64
	       " inodes, %.0f bytes each (goal 20 us, 200 bytes)\n",
	       PER_TURN, took * 1e6 / (double)n, used * 1e6 / (double)n, all.segments * 2,
	       (double)all.bytes / (double)n);
	printf("  %" PRIu64 " logs: %.0f MB on disk, %" PRIu64 " segments; heap %.1f MB\n",
	       all.logs, (double)all.bytes / 1e6, all.segments, (double)mallinfo2().uordblks / 1e6);
	return l;
}

static void tails(struct logs *l, uint64_t n)
{
	static double took[TAILS];
	static uint8_t to[TAIL_BYTES];
	uint64_t at = 1;

	for (size_t i = 0; i < TAILS; i++) {
		struct log_facts *all;
		struct log_id id = id_of((at = at * 6364136223846793005u + 1442695040888963407u) %
		                         n);
		size_t bytes = 0;
		double began = now_s();
		size_t found = logs_of(l, id.key, &all); /* by instance, as a reader asks */

		CHECK(found == 1);
		id = all[0].id;
		free(all);
		CHECK(logs_read(l, &id, 0, (struct log_room){ to, sizeof to }, &bytes, NULL) == 0);
		CHECK(bytes == sizeof text - 1);
		took[i] = now_s() - began;
	}
	qsort(took, TAILS, sizeof took[0], by_value);
	printf("  tail of any               p50 %.2f ms, p99 %.2f ms, most %.2f ms (goal 5 ms)\n",
	       took[TAILS / 2] * 1e3, took[TAILS * 99 / 100] * 1e3, took[TAILS - 1] * 1e3);
}

/* Synced after so many chunks: one stream alone, or many at once. */
static void large(int per_sync, bool reads)
{
	struct logs *l = opened(reads ? "large" : "alone");
	uint8_t *chunk = mem_new(CHUNK);
	struct log_id id = id_of(0);
	uint64_t lines = 0, at, chunks = 0;
	size_t n = 0, bytes;
	double began, wrote = 0, cpu, used = 0;
	struct logs_size all, old;

	for (uint64_t done = 0; done < (uint64_t)LARGE_MB << 20; done += n) {
		for (n = 0; n + 64 < CHUNK; lines++)
			n += (size_t)snprintf((char *)chunk + n, CHUNK - n,
			                      "%" PRIx64 " a line of a job that prints much\n",
			                      (lines + 1) * 0x9e3779b97f4a7c15u);
		struct log_piece p = { id, 1, done, chunk, n, false, 1 };
		began = now_s();
		cpu = cpu_s();
		CHECK(logs_append(l, &p) == 0);
		if (++chunks % (uint64_t)per_sync == 0)
			CHECK(logs_commit(l) == 0);
		wrote += now_s() - began;
		used += cpu_s() - cpu;
	}
	CHECK(logs_commit(l) == 0);
	logs_size(l, 0, &all, &old);
	printf("  one log of %d MB, synced every %d KB: %.0f MB/s, %.2f s of processor a GB, %.0f "
	       "MB on disk\n",
	       LARGE_MB, per_sync * CHUNK >> 10, (double)all.printed / 1e6 / wrote,
	       used / ((double)all.printed / 1e9), (double)all.bytes / 1e6);
	logs_close(l);
	l = NULL;
	if (!reads) {
		free(chunk);
		return;
	}
	l = opened("large");
	began = now_s();
	CHECK(logs_line(l, &id, lines - 10, &at, NULL) == 0);
	printf("  line %" PRIu64 " of %" PRIu64 "   %.2f ms (goal 10 ms)\n", lines - 10, lines,
	       (now_s() - began) * 1e3);
	began = now_s();
	CHECK(logs_read(l, &id, all.printed / 2, (struct log_room){ chunk, CHUNK }, &bytes, NULL) ==
	      0);
	printf("  %d KB of its middle       %.2f ms\n", CHUNK >> 10, (now_s() - began) * 1e3);
	free(chunk);
	logs_close(l);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint64_t files = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000;
	char path[sizeof dir + 16];
	int64_t last_us = 0;

	snprintf(dir, sizeof dir, "%s/sirdar-bench-logs-XXXXXX", argc > 3 ? argv[3] : "/tmp");
	CHECK(n >= PER_TURN && mkdtemp(dir));
	snprintf(path, sizeof path, "%s/files", dir);
	CHECK(mkdir(path, 0700) == 0);
	syncs();
	as_files(files);
	struct logs *l = as_segments(n, &last_us);
	tails(l, n);
	logs_close(l);
	double began = now_s();
	l = opened("segments");
	printf("  opened again in           %.2f s\n", now_s() - began);
	tails(l, n);
	began = now_s();
	size_t gone = logs_retain(l, last_us - DAY_US);
	printf("  retention of a day        %.2f s, %zu segments (goal 1 s)\n", now_s() - began,
	       gone);
	logs_close(l);
	large(1, false);
	large(16, true);
	dir_remove(dir);
	return 0;
}
