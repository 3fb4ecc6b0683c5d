/* Finds progress and outputs in what a process prints, a line at a time, as the bytes are shipped.
 *
 * The bytes come in pieces, some of them twice; `at` says how far they were looked at, and a piece
 * after a gap waits until the gap is read. Only a line that may be one of ours is kept while its
 * end is missing, and no longer than LINE_BYTES_MAX. A line of ours that does not read is told in
 * the log once a job, and the job goes on: what it prints is never a failure.
 */
#include "broker/loader/lines.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "broker/loader/loader.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/log.h"

/* An escaped text is twice as long at most. */
enum { LINE_BYTES_MAX = 2 * JOB_OUTPUT_BYTES_MAX + 256 };

static void lines_refused(struct job *j, const char *what, const char *line)
{
	if (j->lines.is_told)
		return;
	j->lines.is_told = true;
	log_warn("loader.line_refused", "token=%llx line=\"%.80s\": %s",
	         (unsigned long long)j->pub.token, line, what);
}

static void take_output(struct job *j, char *line)
{
	char *is = strchr(line, '=');

	if (!is || is == line) {
		lines_refused(j, "want name=value", line);
		return;
	}
	*is = 0;
	line[strcspn(line, " ")] = 0;
	pthread_mutex_lock(&j->loader->mu);
	int r = job_output(j, line, is + 1);
	pthread_mutex_unlock(&j->loader->mu);
	if (r < 0)
		lines_refused(j, "an output too many or too long", line);
}

static void take_progress(struct job *j, char *line)
{
	char *end;
	double percent = strtod(line, &end);

	if (end == line || !(percent >= 0 && percent <= 100) || !strchr(" %", *end)) {
		lines_refused(j, "want a number of 0..100", line);
		return;
	}
	end += *end == '%';
	end += strspn(end, " ");
	job_progress(j, (uint32_t)(percent * 10 + 0.5), end);
}

/* --- of a runner in a process of its own -------------------------------------------------- */

static const char escapes[][2] = { { '\\', '\\' }, { '\n', 'n' }, { '\r', 'r' }, { '=', 'e' } };

enum { ESCAPES = sizeof escapes / sizeof escapes[0] };

void lines_escape(struct buf *to, const char *text)
{
	for (; *text; text++) {
		size_t i = 0;

		while (i < ESCAPES && escapes[i][0] != *text)
			i++;
		if (i < ESCAPES)
			buf_putc(to, '\\');
		buf_putc(to, i < ESCAPES ? escapes[i][1] : *text);
	}
}

static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		size_t i = 0;

		if (*text == '\\' && text[1])
			for (text++; i < ESCAPES && escapes[i][1] != *text;)
				i++;
		else
			i = ESCAPES;
		*to++ = i < ESCAPES ? escapes[i][0] : *text;
	}
	*to = 0;
}

static void take_set(struct job *j, char *line)
{
	char *is = strchr(line, '=');

	if (!is) {
		lines_refused(j, "want name=value", line);
		return;
	}
	*is = 0;
	unescape(line);
	unescape(is + 1);
	pthread_mutex_lock(&j->loader->mu);
	job_output(j, line, is + 1);
	pthread_mutex_unlock(&j->loader->mu);
}

/* A number and the blank after it; *at is NULL where there is none. */
static int64_t take_number(char **at)
{
	char *end = *at;
	long long n = *at ? strtoll(*at, &end, 10) : 0;

	*at = *at && end > *at && *end == ' ' ? end + 1 : NULL;
	return n;
}

static void take_end(struct job *j, char *line)
{
	struct runner_result r = { .size = sizeof r };
	char *at = line;
	int64_t answer = take_number(&at);

	r.verdict = (uint32_t)take_number(&at);
	r.exit_code = (int32_t)take_number(&at);
	r.retry_after_ms = (uint64_t)take_number(&at);
	if (!at) {
		lines_refused(j, "want how it ended", line);
		return;
	}
	result_set_text(&r, at);
	j->process_result = r;
	j->answer = (int)answer;
	j->has_said = true;
}

static const struct {
	const char *mark;
	void (*take)(struct job *j, char *line);
	bool is_runners;
} marks[] = {
	{ "sirdar:output ", take_output }, { "::output ", take_output },
	{ LINES_PROGRESS, take_progress }, { "::progress ", take_progress },
	{ LINES_SET, take_set, true },     { LINES_END, take_end, true },
};

enum { MARKS = sizeof marks / sizeof marks[0] };

bool lines_may_be_ours(const char *p, size_t n)
{
	for (size_t i = 0; i < MARKS; i++) {
		size_t len = strlen(marks[i].mark);
		if (memcmp(p, marks[i].mark, n < len ? n : len) == 0)
			return true;
	}
	return false;
}

static void take_line(struct job *j, const char *p, size_t n)
{
	if (n > LINE_BYTES_MAX) {
		lines_refused(j, "it is too long", marks[0].mark);
		return;
	}
	char *line = mem_strn(p, n);

	n = strlen(line);
	if (n && line[n - 1] == '\r')
		line[n - 1] = 0;
	for (size_t i = 0; i < MARKS; i++)
		if (strncmp(line, marks[i].mark, strlen(marks[i].mark)) == 0 &&
		    (!marks[i].is_runners || loader_is_apart(j->loader))) {
			marks[i].take(j, line + strlen(marks[i].mark));
			break;
		}
	free(line);
}

/* The rest of a line that began in an earlier piece. */
static void part_add(struct lines *l, const char *p, size_t n)
{
	if (l->is_other)
		return;
	CHECK(l->bytes <= LINE_BYTES_MAX + 1);
	size_t room = LINE_BYTES_MAX + 1 - l->bytes; /* one too many: it shows */
	n = n < room ? n : room;
	l->part = mem_grow(l->part, l->bytes + n + 1, 1);
	memcpy(l->part + l->bytes, p, n);
	l->bytes += n;
	l->is_other = !lines_may_be_ours(l->part, l->bytes);
}

static void part_end(struct job *j)
{
	struct lines *l = &j->lines;

	if (!l->is_other && l->bytes)
		take_line(j, l->part, l->bytes);
	free(l->part);
	l->part = NULL;
	l->bytes = 0;
	l->is_other = false;
}

void lines_take(struct job *j, uint64_t offset, const uint8_t *data, size_t n)
{
	struct lines *l = &j->lines;

	if (offset > l->at || offset + n <= l->at)
		return;
	const char *p = (const char *)data + (l->at - offset), *end = (const char *)data + n;

	CHECK(p < end);
	l->at = offset + n;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;
		if (l->bytes || l->is_other || !newline)
			part_add(l, p, (size_t)(stop - p));
		else if (lines_may_be_ours(p, (size_t)(stop - p)) && stop > p)
			take_line(j, p, (size_t)(stop - p));
		if (newline)
			part_end(j);
		p = stop + 1;
	}
}

void lines_end(struct job *j)
{
	part_end(j);
}
