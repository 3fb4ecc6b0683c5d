/* Pieces of logs of records: found by a few headers, decoded, shown.
 *
 * First comes the log's end (LOGREAD_TAIL): it says how many bytes each stream has, and most that
 * is asked for stands there already. What stands before it is looked for by headers, 64 KiB apart
 * (LOGREAD_SEEK), and read on from there (LOGREAD_RECORDS). One who reads both streams names a
 * place in the records, where reading goes on at once. Where a stream is silent for long, the next
 * block that has something of it is searched for too.
 *
 * A log without records is what a broker of an earlier release shipped: the stream is passed on.
 */
#include "cgi/server/logread.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sched/tz.h"
#include "sched/when.h"
#include "sirdar.pb-c.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/logmark.h"
#include "util/utf8.h"

enum {
	TAIL_BYTES = 2 * LOGREC_BLOCK, /* has a whole header, wherever the log ends */
	PIECE_BYTES = 262144,
	OUT_BYTES_MAX = 2 << 20, /* shown with times it is more than it was */
	ROUNDS_MAX = 64,
};

/* --- what is asked for -------------------------------------------------------------------- */

static unsigned streams_of(const struct log_ask *a)
{
	if (a->stream != LOG_MERGED)
		return 1u << a->stream;
	return 1u << LOGREC_OUT | 1u << LOGREC_ERR | (a->form.has_ours ? 1u << LOGREC_OURS : 0);
}

static bool is_from_end(const struct log_ask *a)
{
	return a->offset > INT64_MAX;
}

static void ask_put(struct log_ask *a, uint32_t stream, uint64_t offset, uint32_t bytes,
                    Sirdar__LogRead *ret)
{
	ret->stream = stream;
	ret->generation = a->read.generation ? a->read.generation : a->generation;
	ret->attempt = a->read.generation ? a->read.attempt : a->attempt;
	ret->execution = a->execution;
	ret->list = a->list;
	ret->offset = offset;
	ret->bytes_max = bytes;
}

static void ask_stream(struct log_ask *a, uint32_t stream, Sirdar__LogRead *ret)
{
	a->read.phase = LOGREAD_STREAM;
	a->read.generation = 0;
	a->ret_stream = (uint8_t)stream;
	ask_put(a, stream, a->offset, a->bytes_max, ret);
}

/* From the block that has that place. */
static void ask_records(struct log_ask *a, uint64_t at, Sirdar__LogRead *ret)
{
	a->read.phase = LOGREAD_RECORDS;
	a->read.at = (struct logrec_reader){ .place.at = at / LOGREC_BLOCK * LOGREC_BLOCK };
	ask_put(a, LOG_OF_records, a->read.at.place.at, PIECE_BYTES, ret);
}

static void ask_begin(struct log_ask *a, Sirdar__LogRead *ret)
{
	bool is_place = a->stream == LOG_MERGED && !is_from_end(a) && !a->since_ms && !a->line;

	if (a->form.times == LOG_SINCE && !a->read.begin_ms) {
		a->read.phase = LOGREAD_FIRST;
		ask_put(a, LOG_OF_records, 0, LOGREC_HEADER_MAX, ret);
	} else if (is_place) { /* and the record before it: whose line it left open */
		ask_records(a, a->offset ? a->offset - 1 : 0, ret);
	} else {
		a->read.phase = LOGREAD_TAIL;
		/* One more than there is: the answer says then whether anything follows. */
		ask_put(a, LOG_OF_records, UINT64_MAX - TAIL_BYTES + 1, TAIL_BYTES + 1, ret);
	}
}

void log_read_begin(struct log_ask *a, bool has_records, Sirdar__LogRead *ret)
{
	const struct log_read was = a->read;
	/* The next piece of a stream: in the block where the last one ended. */
	bool goes_on = a->stream != LOG_MERGED && was.phase == LOGREAD_RECORDS && a->offset &&
	               a->offset == a->ret_next && has_records;

	a->read = (struct log_read){ .begin_ms = was.begin_ms };
	a->ret_offset = a->ret_next = is_from_end(a) ? 0 : a->offset;
	a->ret_stream = (uint8_t)a->stream;
	a->ret_why = NULL;
	a->ret_line = a->ret_lines = 0;
	if (a->list) {
		a->read.phase = LOGREAD_LIST;
		ask_put(a, LOG_OF_records, 0, 0, ret);
	} else if (goes_on) {
		a->read.end = was.end;
		a->read.has_end = was.has_end;
		a->read.from = a->offset;
		a->read.generation = was.generation;
		a->read.attempt = was.attempt;
		ask_records(a, was.at.place.at ? was.at.place.at - 1 : 0, ret);
	} else if (has_records)
		ask_begin(a, ret);
	else
		ask_stream(a, a->stream == LOG_MERGED ? LOG_STDOUT : a->stream, ret);
}

/* --- how it is shown ---------------------------------------------------------------------- */

static void since_put(const struct log_ask *a, int64_t ms, struct buf *out)
{
	int64_t d = ms > a->read.begin_ms ? ms - a->read.begin_ms : 0;

	buf_printf(out, "+%" PRId64 ":%02d:%02d.%03d ", d / 3600000, (int)(d / 60000 % 60),
	           (int)(d / 1000 % 60), (int)(d % 1000));
}

static void time_put(const struct log_ask *a, int64_t ms, struct buf *out)
{
	static const int64_t last_ms = INT64_C(253402300799999); /* of the year 9999 */
	int32_t zone_s;
	char text[WHEN_TEXT];

	if (a->form.times == LOG_SINCE) {
		since_put(a, ms, out);
		return;
	}
	ms = ms < 0 ? 0 : ms > last_ms ? last_ms : ms;
	zone_s = a->form.times == LOG_ZONE ? tz_offset(a->form.zone, ms / 1000) : 0;
	when_print(ms / 1000 + zone_s, text);
	buf_printf(out, "%.19s.%03d", text, (int)(ms % 1000));
	if (a->form.times == LOG_UTC)
		buf_puts(out, "Z ");
	else
		buf_printf(out, "%c%02d:%02d ", zone_s < 0 ? '-' : '+', abs(zone_s) / 3600,
		           abs(zone_s) / 60 % 60);
}

/* A line of ours begins one, and says whose it is. */
static void begin_line(struct log_ask *a, const struct logrec *rec, struct buf *out)
{
	if (a->form.times)
		time_put(a, a->read.at.place.time_ms, out);
	if (rec->stream == LOGREC_OURS)
		buf_puts(out, LOGMARK);
}

/* What a job printed must not look like ours where ours stand beside it. */
static void line_put(struct log_ask *a, const struct logrec *rec, const uint8_t *p, size_t n,
                     bool begins, struct buf *out)
{
	if (rec->stream == LOGREC_OURS || !a->form.has_ours)
		buf_put(out, p, n);
	else
		a->read.is_bare = logmark_put(p, n, begins, out);
}

/* `opens`: its stream's line had no end before these bytes. Where nothing is known of what was
 * shown before them, that line is shown already, by an earlier piece; else it is if it was the
 * last. Without times a job's bytes follow each other as it wrote them. */
static void lines_put(struct log_ask *a, const struct logrec *rec, const uint8_t *p, size_t n,
                      bool opens, struct buf *out)
{
	const uint8_t *end = p + n;
	struct log_read *r = &a->read;
	bool is_known = r->has_shown || r->has_passed;
	bool goes_on = is_known ? r->line_of == rec->stream : opens;
	bool is_plain = !a->form.times && rec->stream != LOGREC_OURS;

	if (is_plain)
		goes_on = r->line_of != 0;
	if (r->line_of && !goes_on)
		buf_putc(out, '\n'); /* the other stream's line goes on later */
	while (p < end) {
		const uint8_t *stop = memchr(p, '\n', (size_t)(end - p));
		stop = stop ? stop + 1 : end;
		if (!goes_on)
			begin_line(a, rec, out);
		line_put(a, rec, p, (size_t)(stop - p), !goes_on || r->is_bare, out);
		goes_on = false;
		p = stop;
	}
}

static void json_put_text(const struct log_ask *a, int stream, const uint8_t *p, size_t n,
                          struct buf *out)
{
	buf_printf(out, "%s[%" PRId64 ",%d,", out->len ? "," : "", a->read.at.place.time_ms,
	           stream);
	json_quote(out, (const char *)p, n);
	buf_putc(out, ']');
}

/* A character whose end has not come waits for the next record of its stream. */
static void json_put_record(struct log_ask *a, const struct logrec *rec, const uint8_t *p, size_t n,
                            struct buf *out)
{
	struct log_carry *c = &a->read.carry[rec->stream];
	struct buf text;

	buf_init(&text);
	buf_put(&text, c->bytes, c->n);
	buf_put(&text, p, n);
	c->n = utf8_unfinished(buf_at(&text), text.len);
	memcpy(c->bytes, buf_at(&text) + text.len - c->n, c->n);
	if (text.len > c->n)
		json_put_text(a, rec->stream, buf_at(&text), text.len - c->n, out);
	buf_done(&text);
}

static void json_end(struct log_ask *a, struct buf *out)
{
	for (int s = LOGREC_OUT; s < LOGREC_STREAMS; s++) {
		struct log_carry *c = &a->read.carry[s];
		if (c->n)
			json_put_text(a, s, c->bytes, c->n, out);
		c->n = 0;
	}
}

static void raw_put(const struct log_ask *a, const struct logrec *rec, struct buf *out)
{
	const struct logrec_place *now = &a->read.at.place;
	struct log_raw raw = { .time_ms = now->time_ms,
		               .at = a->read.begin_at,
		               .lines = now->lines[rec->stream] - logrec_lines(rec->data, rec->n),
		               .stream = rec->stream,
		               .n = (uint32_t)rec->n };

	buf_put(out, &raw, sizeof raw);
	buf_put(out, rec->data, rec->n);
}

static bool is_shaped(const struct log_ask *a)
{
	return a->form.times || a->form.has_ours;
}

static void line_left(struct log_ask *a, const struct logrec *rec, const uint8_t *p, size_t n)
{
	a->read.line_of = is_shaped(a) && p[n - 1] != '\n' ? (uint8_t)rec->stream : 0;
}

/* n bytes of a record from `from` on; `opens`: as of lines_put(), before its first one. */
static void record_show(struct log_ask *a, const struct logrec *rec, size_t from, size_t n,
                        bool opens, struct buf *out)
{
	const uint8_t *p = rec->data + from;

	if (from > 0)
		opens = p[-1] != '\n';
	if (a->form.is_json)
		json_put_record(a, rec, p, n, out);
	else if (a->form.is_raw)
		raw_put(a, rec, out);
	else if (is_shaped(a))
		lines_put(a, rec, p, n, opens, out);
	else
		buf_put(out, p, n);
	line_left(a, rec, p, n);
}

/* --- records ------------------------------------------------------------------------------ */

/* Bytes at the beginning that are of lines before the one that is asked for. */
static size_t lines_skip(struct log_ask *a, const uint8_t *p, size_t n, uint64_t before)
{
	size_t skip = 0;

	while (before + 1 < a->line && skip < n) {
		const uint8_t *stop = memchr(p + skip, '\n', n - skip);
		skip = stop ? (size_t)(stop + 1 - p) : n;
		before += stop != NULL;
	}
	return skip;
}

/* Of n bytes those that the lines which are asked for have yet. */
static size_t lines_most(struct log_ask *a, const uint8_t *p, size_t n)
{
	size_t at = 0;

	while (a->lines && at < n && a->read.lines < a->lines) {
		const uint8_t *stop = memchr(p + at, '\n', n - at);
		at = stop ? (size_t)(stop + 1 - p) : n;
		a->read.lines += stop != NULL;
	}
	return a->lines ? at : n;
}

/* What stands before the piece: it says whether a line is open there. */
static void record_pass(struct log_ask *a, const struct logrec *rec)
{
	line_left(a, rec, rec->data, rec->n);
	a->read.has_passed = true;
}

/* Bytes at the beginning of a record that are not asked for. */
static size_t record_skip(struct log_ask *a, const struct logrec *rec, uint64_t end)
{
	const struct log_read *r = &a->read;
	uint64_t begin = end - rec->n;

	if (a->line && r->has_shown)
		return 0;
	if (!a->line)
		return r->from > begin ? (size_t)(r->from - begin) : 0;
	uint64_t lines = logrec_measure(&r->at.place, LOGREC_BY_LINES, streams_of(a));
	return lines_skip(a, rec->data, rec->n, lines - logrec_lines(rec->data, rec->n));
}

static void first_line_note(struct log_ask *a, const struct logrec *rec, size_t skip)
{
	uint64_t before = logrec_measure(&a->read.at.place, LOGREC_BY_LINES, streams_of(a)) -
	                  logrec_lines(rec->data + skip, rec->n - skip);

	a->ret_line = before + 1;
}

/* A record that was just read. What of it is asked for; `full`: no more of it fits. */
static void record_take(struct log_ask *a, const struct logrec *rec, uint64_t begin, bool opens,
                        struct buf *out)
{
	struct log_read *r = &a->read;
	unsigned streams = streams_of(a);
	uint64_t end = logrec_measure(&r->at.place, LOGREC_BY_BYTES, streams);
	bool is_place = a->stream == LOG_MERGED && !is_from_end(a) && !a->since_ms && !a->line;

	if (!(streams & 1u << rec->stream) || r->at.place.time_ms < a->since_ms)
		return;
	if (a->until_ms && r->at.place.time_ms >= a->until_ms) {
		r->is_past = true;
		return;
	}
	size_t skip = is_place && begin < a->offset ? rec->n : record_skip(a, rec, end);
	if (skip >= rec->n) {
		record_pass(a, rec);
		return;
	}
	size_t n = rec->n - skip;
	if (a->stream != LOG_MERGED && n > a->bytes_max - r->taken)
		n = (size_t)(a->bytes_max - r->taken);
	n = lines_most(a, rec->data + skip, n);
	if (!r->taken) {
		a->ret_offset = a->stream == LOG_MERGED ? begin : end - rec->n + skip;
		first_line_note(a, rec, skip);
	}
	r->begin_at = begin;
	record_show(a, rec, skip, n, opens, out);
	r->has_shown = true;
	r->taken += n;
	a->ret_next = a->stream == LOG_MERGED ? r->at.place.at : end - rec->n + skip + n;
}

static bool is_full(const struct log_ask *a, const struct buf *out)
{
	return a->read.taken >= a->bytes_max || out->len >= OUT_BYTES_MAX || a->read.is_past ||
	       (a->lines && a->read.lines >= a->lines);
}

/* Whole records of the n bytes, until the piece is full: how many bytes they are. */
static size_t records_take(struct log_ask *a, const uint8_t *p, size_t n, struct buf *out)
{
	struct logrec_reader *r = &a->read.at;
	struct logrec rec;
	size_t used = 0, k;

	while (!is_full(a, out)) {
		struct logrec_reader was = *r;
		if ((k = logrec_next(r, p + used, n - used, &rec)) == 0)
			break;
		if (rec.n && a->stream == LOG_MERGED && a->read.taken &&
		    a->read.taken + rec.n > a->bytes_max) {
			*r = was; /* whole records only, but for the first */
			a->read.taken = a->bytes_max;
			break;
		}
		used += k;
		if (!a->read.begin_ms && was.place.at == 0)
			a->read.begin_ms = r->place.time_ms;
		if (rec.n)
			record_take(a, &rec, was.place.at, was.place.open & 1u << rec.stream, out);
	}
	return used;
}

/* What there is of a record whose end was not kept. */
static void torn_take(struct log_ask *a, const uint8_t *p, size_t n, struct buf *out)
{
	struct logrec_reader *r = &a->read.at;
	uint64_t begin = r->place.at;
	uint8_t open = r->place.open;
	struct logrec rec;

	if (!is_full(a, out) && logrec_torn(r, p, n, &rec) > 0)
		record_take(a, &rec, begin, open & 1u << rec.stream, out);
}

void log_read_show(struct log_ask *a, struct buf *pending, bool is_end, struct buf *out)
{
	a->read.taken = 0;
	a->bytes_max = UINT32_MAX;
	a->since_ms = 0; /* what stands before `offset` in its block is passed over */
	buf_drop(pending, records_take(a, buf_at(pending), pending->len, out));
	if (is_end)
		torn_take(a, buf_at(pending), pending->len, out);
	a->ret_next = a->stream == LOG_MERGED ? a->read.at.place.at
	                                      : a->read.at.place.bytes[a->stream];
	a->ret_offset = a->read.taken ? a->ret_offset : a->ret_next;
	a->offset = a->ret_next;
}

/* --- answers ------------------------------------------------------------------------------ */

static enum log_step done(struct log_ask *a, bool is_end, struct buf *out)
{
	const struct logrec_place *now = &a->read.at.place;

	json_end(a, out);
	a->ret_end = is_end;
	if (a->read.end.at)
		a->ret_lines = logrec_measure(&a->read.end, LOGREC_BY_LINES, streams_of(a));
	if (!a->read.has_shown && (a->since_ms || a->line || is_from_end(a)))
		a->ret_offset = a->ret_next = logrec_measure(now, LOGREC_BY_BYTES, streams_of(a));
	if (a->stream == LOG_MERGED)
		a->ret_next = now->at > a->offset || is_from_end(a) ? now->at : a->offset;
	if (a->stream == LOG_MERGED && !a->read.has_shown)
		a->ret_offset = a->ret_next;
	return LOGREAD_DONE;
}

static enum log_step nothing(struct log_ask *a, const char *why, int *ret_code)
{
	a->ret_why = why;
	*ret_code = E_NOT_FOUND;
	return LOGREAD_DONE;
}

/* A script that fails has often printed to one of the two only. */
static bool is_silent(struct log_ask *a, enum log_step *ret, int *ret_code)
{
	const struct logrec_place *e = &a->read.end;
	bool has_out = e->bytes[LOGREC_OUT] > 0, has_err = e->bytes[LOGREC_ERR] > 0;

	if (logrec_measure(e, LOGREC_BY_BYTES, streams_of(a)) > 0)
		return false;
	*ret = nothing(a,
	               a->stream == LOG_STDOUT && has_err
	                       ? "it printed nothing to its standard output, but to its standard "
	                         "error (logs -e)"
	               : a->stream == LOG_STDERR && has_out
	                       ? "it printed nothing to its standard error, but to its standard "
	                         "output (logs -o)"
	                       : "no attempt of it has printed anything; `sirdar why` says how it "
	                         "stands",
	               ret_code);
	return true;
}

/* By what the block to begin with is found: the last one that has no more before it. */
static void target(struct log_ask *a, enum logrec_by *ret_by, uint64_t *ret_most)
{
	uint64_t all = logrec_measure(&a->read.end, LOGREC_BY_BYTES, streams_of(a));
	uint64_t back = -a->offset;

	*ret_by = a->since_ms ? LOGREC_BY_TIME : a->line ? LOGREC_BY_LINES : LOGREC_BY_BYTES;
	if (a->line && !a->since_ms)
		*ret_most = a->line - 1;
	else if (a->since_ms)
		*ret_most = a->since_ms > 0 ? (uint64_t)a->since_ms - 1 : 0;
	else
		*ret_most = a->read.from = is_from_end(a) ? (all > back ? all - back : 0)
		                                          : a->offset;
}

static enum log_step seek_go_on(struct log_ask *a, Sirdar__LogRead *ret)
{
	uint64_t at;

	a->read.phase = LOGREAD_SEEK;
	if (logrec_seek_next(&a->read.seek, &at))
		ask_put(a, LOG_OF_records, at, LOGREC_HEADER_MAX, ret);
	else
		ask_records(a, logrec_seek_found(&a->read.seek), ret);
	return LOGREAD_MORE;
}

static enum log_step seek_take(struct log_ask *a, const Sirdar__LogData *d, struct buf *out,
                               Sirdar__LogRead *ret)
{
	struct logrec_place header;
	bool reads = logrec_header(d->offset, d->data.data, d->data.len, &header);
	uint64_t at;

	if (!logrec_seek_next(&a->read.seek, &at) || at != d->offset)
		return done(a, true, out); /* it was not what was asked for */
	logrec_seek_take(&a->read.seek, at, reads ? &header : NULL);
	return seek_go_on(a, ret);
}

static enum log_step records_answer(struct log_ask *a, const uint8_t *p, size_t n, bool is_end,
                                    struct buf *out, Sirdar__LogRead *ret)
{
	struct log_read *r = &a->read;
	const struct logrec_place *now = &r->at.place, *end = &r->end;
	uint64_t was = r->taken;
	size_t used = records_take(a, p, n, out);
	unsigned streams = streams_of(a);

	if (is_end && used < n)
		torn_take(a, p + used, n - used, out);
	bool is_alone = a->stream != LOG_MERGED && end->at;
	uint64_t has = logrec_measure(now, LOGREC_BY_BYTES, streams);

	if (is_full(a, out))
		return done(a, r->is_past || (is_end && used == n && a->stream == LOG_MERGED), out);
	if (is_alone && r->has_end && has >= logrec_measure(end, LOGREC_BY_BYTES, streams))
		return done(a, true, out);
	if (n < PIECE_BYTES || used == 0 || ++r->rounds == ROUNDS_MAX)
		return done(a, is_end, out);
	if (is_alone && r->taken == was && now->at / LOGREC_BLOCK + 1 < end->at / LOGREC_BLOCK &&
	    !a->since_ms) {
		logrec_seek_begin(&r->seek, LOGREC_BY_BYTES, streams, has, end);
		r->seek.low = now->at / LOGREC_BLOCK;
		r->seek.low_is = r->from = has;
		return seek_go_on(a, ret);
	}
	ask_put(a, LOG_OF_records, now->at, PIECE_BYTES, ret);
	return LOGREAD_MORE;
}

/* It has a header at least, but for a log that has none yet. */
static enum log_step tail_take(struct log_ask *a, const Sirdar__LogData *d, struct buf *out,
                               Sirdar__LogRead *ret, int *ret_code)
{
	uint64_t block = (d->offset + LOGREC_BLOCK - 1) / LOGREC_BLOCK * LOGREC_BLOCK, most;
	size_t from = (size_t)(block - d->offset) < d->data.len ? (size_t)(block - d->offset)
	                                                        : d->data.len;
	const uint8_t *p = d->data.data + from;
	struct logrec_reader r = { .place.at = block };
	struct logrec_place first = { 0 };
	size_t n = d->data.len - from, used = 0, k;
	struct logrec rec;
	enum logrec_by by;
	enum log_step step;

	logrec_header(block, p, n, &first);
	while ((k = logrec_next(&r, p + used, n - used, &rec)) > 0)
		used += k;
	if (d->end)
		logrec_torn(&r, p + used, n - used, &rec);
	a->read.end = r.place;
	a->read.has_end = d->end;
	if (is_silent(a, &step, ret_code))
		return step;
	target(a, &by, &most);
	if (block == 0 || logrec_measure(&first, by, streams_of(a)) <= most) {
		a->read.at = (struct logrec_reader){ .place.at = block };
		a->read.phase = LOGREAD_RECORDS;
		return records_answer(a, p, n, d->end, out, ret);
	}
	first.at = block;
	logrec_seek_begin(&a->read.seek, by, streams_of(a), most, &first);
	return seek_go_on(a, ret);
}

static enum log_step list_take(struct log_ask *a, const Sirdar__LogData *d)
{
	a->ret_known = mem_array(d->n_executions + 1, sizeof *a->ret_known);
	a->n_known = d->n_executions;
	for (size_t i = 0; i < d->n_executions; i++) {
		const Sirdar__LogExecution *e = d->executions[i];
		struct log_execution *k = &a->ret_known[i];

		*k = (struct log_execution){ .generation = e->generation,
			                     .attempt = e->attempt,
			                     .execution = e->execution,
			                     .broker = e->broker,
			                     .is_ended = e->end,
			                     .counts = e->counts };
		for (size_t s = 0; s < 3 && s < e->n_bytes; s++)
			k->bytes[s] = e->bytes[s];
	}
	return LOGREAD_DONE;
}

void log_known_done(struct log_ask *a)
{
	free(a->ret_known);
	a->ret_known = NULL;
	a->n_known = 0;
}

/* No such file: it may be of an earlier release's broker. */
static enum log_step absent_take(struct log_ask *a, const Sirdar__LogData *d, Sirdar__LogRead *ret,
                                 int *ret_code)
{
	if (a->read.phase != LOGREAD_STREAM)
		ask_stream(a, a->stream == LOG_MERGED ? LOG_STDOUT : a->stream, ret);
	else if (a->stream == LOG_MERGED && a->ret_stream == LOG_STDOUT)
		ask_stream(a, LOG_STDERR, ret);
	else
		return *ret_code = d->code, LOGREAD_DONE;
	return LOGREAD_MORE;
}

enum log_step log_read_take(struct log_ask *a, const Sirdar__LogData *d, struct buf *out,
                            Sirdar__LogRead *ret, int *ret_code)
{
	struct logrec_place first;
	enum log_step step;

	*ret_code = d->code;
	if (a->read.phase == LOGREAD_LIST)
		return d->code < 0 ? LOGREAD_DONE : list_take(a, d);
	if (d->code == E_NOT_FOUND && !a->read.generation)
		return absent_take(a, d, ret, ret_code);
	if (d->code < 0)
		return LOGREAD_DONE;
	a->ret_generation = a->read.generation = d->generation;
	a->ret_attempt = a->read.attempt = d->attempt;
	switch (a->read.phase) {
	case LOGREAD_FIRST:
		a->read.begin_ms = logrec_header(0, d->data.data, d->data.len, &first)
		                           ? first.time_ms
		                           : 1;
		ask_begin(a, ret);
		return LOGREAD_MORE;
	case LOGREAD_TAIL:
		return tail_take(a, d, out, ret, ret_code);
	case LOGREAD_SEEK:
		return seek_take(a, d, out, ret);
	case LOGREAD_RECORDS:
		step = records_answer(a, d->data.data, d->data.len, d->end, out, ret);
		if (step == LOGREAD_DONE && a->offset == 0 && !a->read.has_shown) {
			a->read.end = a->read.at.place;
			is_silent(a, &step, ret_code);
		}
		return step;
	case LOGREAD_STREAM:
	case LOGREAD_LIST:
		break;
	}
	if (a->line) {
		a->ret_why = "this log is of an earlier release's broker: it has no numbers of "
			     "lines";
		*ret_code = E_UNSUPPORTED;
		return LOGREAD_DONE;
	}
	buf_put(out, d->data.data, d->data.len);
	a->ret_offset = d->offset;
	a->ret_next = d->offset + d->data.len;
	a->ret_end = d->end;
	return LOGREAD_DONE;
}
