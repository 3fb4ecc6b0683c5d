/* Lines are put together by stream, for records of both come between each other. Most lines stand
 * whole in a record: those are looked at where they are, and only what ends within a record is
 * copied. */
#include "cgi/server/logsearch.h"

#include <stdlib.h>
#include <string.h>

#include "cgi/server/logread.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/logrec.h"
#include "util/rex.h"

/* A line whose end has not come. */
struct open_line {
	struct buf text;
	uint64_t line, at; /* line: of the one that is open, or comes next */
	int64_t time_ms;
};

struct logsearch {
	struct rex *rex;
	struct open_line open[LOGREC_STREAMS];
	logsearch_fn *each; /* of the call */
	void *ctx;
};

int logsearch_new(const char *expression, bool folds, struct logsearch **ret, struct err *err)
{
	struct logsearch *s = mem_new(sizeof *s);
	int r = rex_new(expression, folds, &s->rex, err);

	for (int i = 0; i < LOGREC_STREAMS; i++)
		buf_init(&s->open[i].text);
	if (r < 0)
		logsearch_free(s);
	else
		*ret = s;
	return r;
}

void logsearch_free(struct logsearch *s)
{
	if (!s)
		return;
	for (int i = 0; i < LOGREC_STREAMS; i++)
		buf_done(&s->open[i].text);
	rex_free(s->rex);
	free(s);
}

void logsearch_begin(struct logsearch *s)
{
	for (int i = 0; i < LOGREC_STREAMS; i++) {
		buf_clear(&s->open[i].text);
		s->open[i].line = 1;
		s->open[i].at = 0;
		s->open[i].time_ms = 0;
	}
}

static bool line_judge(struct logsearch *s, struct logsearch_hit *hit)
{
	if (hit->n > 0 && hit->text[hit->n - 1] == '\r')
		hit->n--;
	return !rex_finds(s->rex, hit->text, hit->n) || s->each(s->ctx, hit);
}

static void open_put(struct open_line *o, const uint8_t *p, size_t n)
{
	size_t room = LOGSEARCH_LINE_MAX - o->text.len;

	CHECK(o->text.len <= LOGSEARCH_LINE_MAX);
	buf_put(&o->text, p, n < room ? n : room);
}

/* n bytes of a stream, that came in one record. */
static bool lines_look(struct logsearch *s, const struct log_raw *r, const uint8_t *p, size_t n)
{
	struct open_line *o = &s->open[r->stream];
	const uint8_t *end = p + n;
	bool more = true;

	while (more && p < end) {
		const uint8_t *stop = memchr(p, '\n', (size_t)(end - p));
		bool goes_on = o->text.len > 0;

		if (!goes_on) {
			o->at = r->at;
			o->time_ms = r->time_ms;
		}
		if (goes_on || !stop)
			open_put(o, p, (size_t)((stop ? stop : end) - p));
		if (!stop)
			break;
		size_t length = (size_t)(stop - p);
		struct logsearch_hit hit = {
			.stream = r->stream,
			.line = o->line,
			.at = o->at,
			.time_ms = o->time_ms,
			.text = goes_on ? (const char *)buf_at(&o->text) : (const char *)p,
			.n = goes_on                       ? o->text.len
			     : length < LOGSEARCH_LINE_MAX ? length
			                                   : LOGSEARCH_LINE_MAX,
		};
		more = line_judge(s, &hit);
		buf_clear(&o->text);
		o->line++;
		p = stop + 1;
	}
	return more;
}

bool logsearch_records(struct logsearch *s, const struct buf *piece, logsearch_fn *each, void *ctx)
{
	const uint8_t *p = buf_at(piece);
	size_t at = 0;
	bool more = true;

	s->each = each;
	s->ctx = ctx;
	while (more && at < piece->len) {
		struct log_raw r;

		CHECK(piece->len - at >= sizeof r);
		memcpy(&r, p + at, sizeof r);
		at += sizeof r;
		CHECK(r.n <= piece->len - at && r.stream < LOGREC_STREAMS);
		if (s->open[r.stream].text.len == 0) /* what was left out has lines too */
			s->open[r.stream].line = r.lines + 1;
		more = lines_look(s, &r, p + at, r.n);
		at += r.n;
	}
	return more;
}

bool logsearch_bytes(struct logsearch *s, unsigned stream, const struct buf *piece,
                     logsearch_fn *each, void *ctx)
{
	struct log_raw r = { .stream = stream };

	CHECK(stream < LOGREC_STREAMS);
	s->each = each;
	s->ctx = ctx;
	return lines_look(s, &r, buf_at(piece), piece->len);
}

bool logsearch_end(struct logsearch *s, logsearch_fn *each, void *ctx)
{
	bool more = true;

	s->each = each;
	s->ctx = ctx;
	for (unsigned i = 1; more && i < LOGREC_STREAMS; i++) {
		struct open_line *o = &s->open[i];
		struct logsearch_hit hit = {
			i, o->line, o->at, o->time_ms, (const char *)buf_at(&o->text), o->text.len
		};
		if (o->text.len > 0)
			more = line_judge(s, &hit);
		buf_clear(&o->text);
	}
	return more;
}
