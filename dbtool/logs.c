/* Logs of jobs as a server keeps them (lib/logs), read by hand: what there is, one of them, and
 * whether all of it reads back.
 *
 * Nothing is written, so a server may have the directory meanwhile: what it is writing in that
 * moment may be missing at the end. A log's name is one word, as `logs` prints it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dbtool.h"
#include "logs/logs.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/logrec.h"

enum { NAME_BYTES = 160, PART_BYTES = 262144 };
enum {
#define LOG_STREAM(word, number, text) STREAM_##word = number,
#include "tbl/log_stream.def"
#undef LOG_STREAM
	RECORDS = STREAM_records
};

static void on_told(void *ctx, const char *what, const char *text)
{
	(void)ctx;
	fprintf(stderr, "sirdar-db: %s: %s\n", what, text);
}

/* log_dir or its folder of segments. */
static int open_logs(const char *dir, struct logs **ret, struct err *err)
{
	char *below = mem_fmt("%s/segments", dir);
	struct stat st;
	struct logs_settings set = { .dir = stat(below, &st) == 0 ? below : dir,
		                     .is_read_only = true,
		                     .told = on_told };
	int r = logs_open(&set, ret, err);

	free(below);
	return r;
}

static void name_put(char to[NAME_BYTES], const struct log_id *id)
{
	snprintf(to, NAME_BYTES, "%u/%" PRId64 ".%d/%u.%u/%" PRIx64 "/%u", id->key.task,
	         id->key.run_date, id->key.part, id->generation, id->attempt, id->token,
	         id->stream);
}

static bool name_get(const char *text, struct log_id *ret)
{
	struct log_id id = { .token = 0 };
	char again[NAME_BYTES];

	/* NOLINTNEXTLINE(cert-err34-c): what does not fit its number does not print as it was */
	if (sscanf(text, "%u/%" SCNd64 ".%d/%u.%u/%" SCNx64 "/%u", &id.key.task, &id.key.run_date,
	           &id.key.part, &id.generation, &id.attempt, &id.token, &id.stream) != 7)
		return false;
	name_put(again, &id);
	*ret = id;
	return strcmp(again, text) == 0;
}

static bool print_one(void *ctx, uint32_t segment, const struct log_facts *f)
{
	char name[NAME_BYTES];

	(void)ctx;
	name_put(name, &f->id);
	if (f->id.stream == 0)
		printf("%08" PRIx32 " %-56s broker %u, granted\n", segment, name, f->broker);
	else
		printf("%08" PRIx32 " %-56s broker %u, %" PRIu64 " bytes%s\n", segment, name,
		       f->broker, f->bytes, f->is_ended ? ", ended" : "");
	return !ferror(stdout);
}

int db_logs(const struct db_options *o)
{
	struct err err = { 0 };
	struct logs_size all, old;
	struct logs *l;

	if (open_logs(o->urls[0], &l, &err) < 0)
		return db_fail(&err);
	printf("%-8s %-56s\n", "SEGMENT", "TASK/DATE.PART/GENERATION.ATTEMPT/EXECUTION/STREAM");
	logs_each(l, print_one, NULL);
	logs_size(l, 0, &all, &old);
	printf("%" PRIu64 " logs in %" PRIu64 " segments, %" PRIu64 " bytes printed, %" PRIu64
	       " on disk\n",
	       all.logs, all.segments, all.printed, all.bytes);
	logs_close(l);
	return 0;
}

/* The data of one piece, from the `*before`-th line end on. */
static int print_piece(const uint8_t *p, size_t n, uint64_t *before, struct err *err)
{
	while (*before > 0 && n > 0) {
		const uint8_t *end = memchr(p, '\n', n);
		size_t take = end ? (size_t)(end - p) + 1 : n;
		*before -= end ? 1 : 0;
		p += take;
		n -= take;
	}
	if (fwrite(p, 1, n, stdout) != n)
		return err_set(err, E_IO, "what is printed is not taken");
	return 0;
}

/* One block of records as text: standard output, standard error and what Sirdar said, in order. */
static int print_block(uint64_t at, const uint8_t *part, size_t n, uint64_t *before,
                       struct err *err)
{
	struct logrec_reader reader = { .place.at = at };
	size_t done = 0, took;
	int r = 0;

	while (r == 0 && done < n) {
		struct logrec rec;
		took = logrec_next(&reader, part + done, n - done, &rec);
		if (took == 0)
			took = logrec_torn(&reader, part + done, n - done, &rec);
		if (took == 0)
			break;
		if (rec.stream == LOGREC_OURS && *before == 0)
			fputs("[sirdar] ", stdout);
		if (rec.stream != LOGREC_NONE)
			r = print_piece(rec.data, rec.n, before, err);
		done += took;
	}
	return r;
}

/* No record crosses a block's end (util/logrec.h), so each block is read alone. */
static int print_records(struct logs *l, const struct log_id *id, int64_t line, struct err *err)
{
	uint64_t before = line > 0 ? (uint64_t)line - 1 : 0, at = 0;
	uint8_t *part = mem_new(LOGREC_BLOCK);
	size_t n = LOGREC_BLOCK;
	int r = 0;

	while (r == 0 && n == LOGREC_BLOCK) {
		size_t more = 1;
		for (n = 0; r == 0 && more > 0 && n < LOGREC_BLOCK; n += more)
			r = logs_read(l, id, at + n,
			              (struct log_room){ part + n, LOGREC_BLOCK - n }, &more, err);
		if (r == 0)
			r = print_block(at, part, n, &before, err);
		at += n;
	}
	free(part);
	return r;
}

static int print_stream(struct logs *l, const struct log_id *id, int64_t line, struct err *err)
{
	uint8_t *part = mem_new(PART_BYTES);
	uint64_t at = 0;
	size_t n = 1;
	int r = line > 0 ? logs_line(l, id, (uint64_t)line - 1, &at, err) : 0;

	while (r == 0 && n > 0) {
		r = logs_read(l, id, at, (struct log_room){ part, PART_BYTES }, &n, err);
		if (r == 0 && fwrite(part, 1, n, stdout) != n)
			r = err_set(err, E_IO, "what is printed is not taken");
		at += n;
	}
	free(part);
	return r;
}

int db_log(const struct db_options *o)
{
	struct err err = { 0 };
	struct log_id id;
	struct logs *l;

	if (!name_get(o->urls[1], &id)) {
		fprintf(stderr,
		        "sirdar-db: '%s' is no log; `sirdar-db logs %s` prints their names\n",
		        o->urls[1], o->urls[0]);
		return DB_USAGE;
	}
	int r = open_logs(o->urls[0], &l, &err);
	if (r == 0) {
		r = id.stream == RECORDS ? print_records(l, &id, o->line, &err)
		                         : print_stream(l, &id, o->line, &err);
		logs_close(l);
	}
	if (r == E_CORRUPT) {
		fprintf(stderr, "sirdar-db: %s\n", err.text);
		return DB_PROBLEMS;
	}
	return r < 0 ? db_fail(&err) : 0;
}

int db_check_logs(const struct db_options *o)
{
	struct err err = { 0 };
	struct logs_size all, old;
	struct logs *l;

	if (open_logs(o->urls[0], &l, &err) < 0)
		return db_fail(&err);
	size_t bad = logs_verify(l);
	logs_size(l, 0, &all, &old);
	logs_close(l);
	CHECK(o->n_urls == 1);
	if (bad == 0)
		printf("%" PRIu64 " segments, %" PRIu64 " logs: all of it reads back\n",
		       all.segments, all.logs);
	else
		printf("%zu damaged places in %" PRIu64 " segments\n", bad, all.segments);
	return bad ? DB_PROBLEMS : 0;
}
