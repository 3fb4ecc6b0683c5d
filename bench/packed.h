/* packed.h — the limit of a store of SQLite: the same commits as one packed record each.
 *
 * Each commit of the program (linked with --wrap=store_commit) is packed, and kept. After the run
 * the records go into a database of their own, a transaction each, as durable as the store: what is
 * between both rates is what rows cost. The time of packing is told apart. */
#ifndef BENCH_PACKED_H
#define BENCH_PACKED_H

#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "store/journal/journal.h"
#include "store/journal/piece.h"
#include "store/journal/rows.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"

static struct packed {
	struct journal_packer *packer;
	struct journal_place place;
	struct buf bytes; /* pieces, one after the other */
	size_t *ends;     /* of each commit, in `bytes` */
	size_t n, cap;
	double cpu_s; /* of packing */
} packed;

int __real_store_commit(struct store *s, const struct store_batch *b, struct err *err);
int __wrap_store_commit(struct store *s, const struct store_batch *b, struct err *err);

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int __wrap_store_commit(struct store *s, const struct store_batch *b, struct err *err)
{
	const double began = seconds_of(CLOCK_THREAD_CPUTIME_ID);

	if (!packed.packer)
		packed.packer = journal_packer_new();
	journal_pack(packed.packer, &packed.place, b, &packed.bytes);
	packed.ends = mem_room(packed.ends, &packed.cap, packed.n + 1, sizeof *packed.ends);
	packed.ends[packed.n++] = packed.bytes.len;
	packed.cpu_s += seconds_of(CLOCK_THREAD_CPUTIME_ID) - began;
	return __real_store_commit(s, b, err);
}

/* What this process wrote and synced since counted_begin(); 0 unless bench/count.c is preloaded. */
enum { COUNT_BYTES, COUNT_WRITES, COUNT_SYNCS, COUNTS };

static const uint64_t *count_at;
static uint64_t count_began[COUNTS];

static void counted_begin(void)
{
	const char *path = getenv("BENCH_COUNT");
	int fd = path && !count_at ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		void *at = mmap(NULL, sizeof count_began, PROT_READ, MAP_SHARED, fd, 0);
		CHECK(at != MAP_FAILED);
		count_at = at;
		close(fd);
	}
	if (count_at)
		memcpy(count_began, count_at, sizeof count_began);
}

static uint64_t counted(int what)
{
	return count_at ? count_at[what] - count_began[what] : 0;
}

static void packed_sections(double n)
{
	static uint64_t sums[SECTION_END], pieces;
	struct row_source in = { 0 };
	struct journal_head h;
	uint64_t length;

	for (const uint8_t *p = buf_at(&packed.bytes), *end = p + packed.bytes.len; p < end;
	     p += h.length, pieces++) {
		CHECK(journal_head_read(p, (size_t)(end - p), &h, NULL) == 0);
		sums[0] += PIECE_HEAD;
		in.end = p + h.length;
		for (in.at = p + PIECE_HEAD; in.at < in.end; in.at += length) {
			const uint8_t *begin = in.at++;
			CHECK(source_number(&in, &length));
			sums[*begin & (SECTION_MUST - 1)] += length + (uint64_t)(in.at - begin);
		}
	}
	printf("record: %.1f bytes, %.2f us to pack an instance, %" PRIu64
	       " pieces in %zu commits;",
	       (double)packed.bytes.len / n, packed.cpu_s * 1e6 / n, pieces, packed.n);
	for (int i = 0; i < SECTION_END; i++)
		if (sums[i])
			printf(" %s %.1f", section_name((enum section)i), (double)sums[i] / n);
	printf("\n");
}

/* What rows written behind would save: live rows (and their deletes) when the commits of MERGE_US
 * are one. Of a slot the last one counts. */
enum { MERGE_US = 250000, SLOT_STORED = 1, SLOT_WAITS = 2 };

struct merged {
	uint8_t *slots;
	size_t cap, n;
	uint64_t live, deletes; /* rows written, rows deleted */
};

static void merge_end(struct merged *m)
{
	for (size_t i = 0; i < m->n; i++) {
		if (m->slots[i] & SLOT_WAITS)
			m->live++;
		m->slots[i] = m->slots[i] & SLOT_WAITS ? SLOT_STORED : m->slots[i] & SLOT_STORED;
	}
}

static uint8_t *merge_slot(struct merged *m, const struct instance *i)
{
	while (m->n <= i->slot) {
		m->slots = mem_room(m->slots, &m->cap, m->n + 1, 1);
		m->slots[m->n++] = 0;
	}
	return &m->slots[i->slot];
}

static void merge_batch(struct merged *m, const struct store_batch *b)
{
	for (size_t i = 0; i < b->n_done; i++) {
		uint8_t *slot = merge_slot(m, b->done[i]);
		m->deletes += *slot & SLOT_STORED;
		*slot = 0;
	}
	for (size_t i = 0; i < b->n_live; i++)
		*merge_slot(m, b->live[i]) |= SLOT_WAITS;
}

static void packed_merged(double n)
{
	struct journal_reader *r = journal_reader_new(NULL);
	struct merged m = { 0 };
	struct journal_head h;
	uint64_t live = 0, done = 0;
	int64_t began_us = 0;

	for (size_t at = 0; at < packed.bytes.len; at += h.length) {
		const uint8_t *p = buf_at(&packed.bytes) + at;
		CHECK(journal_head_read(p, packed.bytes.len - at, &h, NULL) == 0);
		if (h.at_us - began_us >= MERGE_US && h.flags & JOURNAL_BEGINS) {
			merge_end(&m);
			began_us = h.at_us;
		}
		int code = journal_take(r, p, h.length, NULL);
		CHECK(code >= 0);
		if (code == 0)
			continue;
		const struct store_batch *b = journal_batch(r);
		live += b->n_live;
		done += b->n_done;
		merge_batch(&m, b);
	}
	merge_end(&m);
	printf("merged over %d ms, an instance: %.2f live rows written of %.2f, %.2f deleted of "
	       "%.2f\n",
	       MERGE_US / 1000, (double)m.live / n, (double)live / n, (double)m.deletes / n,
	       (double)done / n);
	free(m.slots);
	journal_reader_free(r);
}

static void packed_insert(sqlite3 *db, sqlite3_stmt *put, size_t from, size_t to)
{
	struct journal_head h;

	CHECK(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
	for (; from < to; from += h.length) {
		const uint8_t *p = buf_at(&packed.bytes) + from;
		CHECK(journal_head_read(p, to - from, &h, NULL) == 0);
		sqlite3_bind_int64(put, 1, (sqlite3_int64)h.place.seq);
		sqlite3_bind_int64(put, 2, (sqlite3_int64)h.last);
		sqlite3_bind_blob(put, 3, p, (int)h.length, SQLITE_STATIC);
		CHECK(sqlite3_step(put) == SQLITE_DONE);
		sqlite3_reset(put);
	}
	CHECK(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
}

/* `rate`, `cpu_us`: of the store's run, of n instances. */
static void packed_tell(const char *dir, double n, double rate, double cpu_us)
{
	char path[4300];
	sqlite3 *db;
	sqlite3_stmt *put;

	packed_sections(n);
	packed_merged(n);
	snprintf(path, sizeof path, "%s/packed.db", dir);
	CHECK(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) ==
	      SQLITE_OK);
	CHECK(sqlite3_exec(db,
	                   "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
	                   "PRAGMA wal_autocheckpoint = 8192; PRAGMA locking_mode = EXCLUSIVE;"
	                   "CREATE TABLE lb_journal (seq INTEGER PRIMARY KEY, number INTEGER, "
	                   "body BLOB) STRICT",
	                   NULL, NULL, NULL) == SQLITE_OK);
	CHECK(sqlite3_prepare_v2(db, "INSERT INTO lb_journal VALUES (?, ?, ?)", -1, &put, NULL) ==
	      SQLITE_OK);
	counted_begin();
	const double began = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
	for (size_t i = 0; i < packed.n; i++)
		packed_insert(db, put, i ? packed.ends[i - 1] : 0, packed.ends[i]);
	const double took = seconds_of(CLOCK_MONOTONIC) - began;
	const double spent = (seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu + packed.cpu_s) * 1e6 / n;
	sqlite3_finalize(put);
	sqlite3_close(db);
	unlink(path);
	printf("packed SQLite: %.0f/s, %.2f us CPU each with packing, %.0f bytes, %.4f syncs: "
	       "the store has %.1f %% of its rate, %.1f times its CPU\n",
	       n / (took + packed.cpu_s), spent, (double)counted(COUNT_BYTES) / n,
	       (double)counted(COUNT_SYNCS) / n, rate * (took + packed.cpu_s) * 100 / n,
	       cpu_us / spent);
}

#endif
