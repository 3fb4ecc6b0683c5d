/* logread.h — one piece of a log, whichever way it is kept: a log of records (util/logrec.h) is
 * searched and decoded here, what a broker of an earlier release shipped is passed on.
 *
 * A question after the other goes to the server until the piece is whole. Whoever asks sees bytes
 * of one stream by its own offsets, or both streams in their order by offsets of the records.
 */
#ifndef CGI_LOGREAD_H
#define CGI_LOGREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgi/who/auth.h"
#include "sched/instance.h"
#include "util/logrec.h"

struct buf;

struct tz;
typedef struct Sirdar__LogData Sirdar__LogData;
typedef struct Sirdar__LogRead Sirdar__LogRead;

enum { LOG_STDOUT = 1, LOG_STDERR, LOG_MERGED }; /* streams of a log_ask */

/* Streams of a LogRead: what the server keeps. */
enum {
#define LOG_STREAM(word, number, text) LOG_OF_##word = number,
#include "tbl/log_stream.def"
#undef LOG_STREAM
};

enum log_times {
	LOG_NO_TIMES,
	LOG_UTC,   /* 2026-11-24T05:46:11.120Z */
	LOG_ZONE,  /* the same in another zone, +02:00 */
	LOG_SINCE, /* since its first record: +0:00:01.120 */
};

/* How what is read is shown. Zeros: as the job wrote it. */
struct log_form {
	enum log_times times;  /* before each line */
	const struct tz *zone; /* LOG_ZONE */
	bool has_ours;         /* merged: with what Sirdar says of it, a line each */
	bool is_json;          /* [ms, stream, "text"] for each record */
	bool is_raw;           /* a struct log_raw and its bytes for each record */
};

/* A record for who goes on with it here. */
struct log_raw {
	int64_t time_ms;
	uint64_t at;    /* of the records: where it begins */
	uint64_t lines; /* of its stream, before it */
	uint32_t stream, n;
};

/* What is kept of an execution. */
struct log_execution {
	uint32_t generation, attempt, execution, broker;
	uint64_t bytes[3]; /* of standard output, error and records, as they are kept */
	bool is_ended, counts;
};

enum log_phase {
	LOGREAD_FIRST,   /* the log's first header: when it began */
	LOGREAD_TAIL,    /* its end, which says how much there is */
	LOGREAD_SEEK,    /* the block to begin with */
	LOGREAD_RECORDS, /* from there on */
	LOGREAD_STREAM,  /* it is no log of records: that stream as it is */
	LOGREAD_LIST,    /* which executions there are */
};

/* The beginning of a character. */
struct log_carry {
	uint8_t bytes[4];
	size_t n;
};

/* Where a piece is; log_read_*() only. */
struct log_read {
	enum log_phase phase;
	unsigned rounds;
	uint32_t generation, attempt; /* which the first answer was of */
	struct logrec_seek seek;
	struct logrec_reader at;
	struct logrec_place end;
	uint64_t from;    /* bytes of what is asked for that are passed over */
	uint64_t taken;   /* bytes shown, without times */
	int64_t begin_ms; /* the log's first record; 0: not known */
	struct log_carry carry[LOGREC_STREAMS];
	bool has_end; /* the end is known, and nothing follows it */
	bool has_shown;
	bool has_passed;   /* records before what is asked for: line_of is theirs */
	bool is_bare;      /* nothing of the open line is to be seen yet */
	uint8_t line_of;   /* merged, with times: whose line is open in what is shown; 0: none */
	bool is_past;      /* until_ms was reached */
	uint64_t begin_at; /* of the record that is shown: where it begins */
	uint64_t lines;    /* shown, of those that `line` asks for */
};

struct log_ask {
	struct inst_key key;
	uint32_t generation, attempt, stream, bytes_max;
	uint32_t execution;   /* of the attempt, from 1 on; 0: the one that counts */
	bool list;            /* no bytes: which executions there are */
	uint64_t line, lines; /* instead of offset: from this one on (from 1), and how many */
	/* Of the stream's bytes; merged: of the records. 2^64-n: n bytes before the end. */
	uint64_t offset;
	int64_t since_ms; /* not 0: what came from then on, UTC */
	int64_t until_ms; /* not 0: what came before that */
	struct log_form form;
	bool is_over;  /* its instance was over when it was asked for: what is to come comes soon */
	uint64_t mark; /* of who follows it, as in struct follow */
	struct session_ref session; /* the follower's */
	/* of the answer */
	uint64_t ret_offset, ret_next;
	uint32_t ret_generation, ret_attempt;
	bool ret_end;
	const char *ret_why; /* static: why there is nothing; NULL: the server says it */
	uint64_t ret_line;   /* number of the first line that is shown, from 1; 0: not known */
	uint64_t ret_lines;  /* line ends of what is asked for, in all; 0: not known */
	struct log_execution *ret_known; /* of `list`; heap, the asker's: log_known_done() */
	size_t n_known;
	uint8_t ret_stream; /* which it is: merged of a log that has no records is one of the two */
	struct log_read read;
};

enum log_step { LOGREAD_MORE, LOGREAD_DONE };

/* The question to begin with. `has_records`: the server knows of them. *ret has a kept key. */
void log_read_begin(struct log_ask *a, bool has_records, Sirdar__LogRead *ret);
/* An answer, whose data is shown in `out`, and the next question. *ret_code is how it ended. */
enum log_step log_read_take(struct log_ask *a, const Sirdar__LogData *d, struct buf *out,
                            Sirdar__LogRead *ret, int *ret_code);

void log_known_done(struct log_ask *a);

/* --- following ---------------------------------------------------------------------------- */

/* Once the first record is found that is to be shown, all goes through this: `pending` has bytes of
 * the log that begin where a->read.at is; what of them is whole is shown and dropped. `is_end`:
 * nothing follows them. */
void log_read_show(struct log_ask *a, struct buf *pending, bool is_end, struct buf *out);

#endif
