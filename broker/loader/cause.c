/* The digest of a failure: how it ended in words, the line that says why, the last lines.
 *
 * Looked at is the end of what the job printed, CAUSE_BYTES of a stream, secrets hidden already:
 * of a process the jobkeeper's files, of a job in this process what job_say() kept. A manifest's
 * patterns go before those of failure_pattern.def, standard error before standard output. What
 * ended well costs nothing. The server judges and bounds it again.
 */
#include "broker/loader/cause.h"

#include <errno.h>
#include <keeper.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/loader/guest.h"
#include "broker/loader/loader.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/failure.h"
#include "util/pattern.h"

enum { CAUSE_BYTES = 16384, LONG_LINE = FAILURE_LINE_BYTES / 2 };
/* enum kill_intent of lib/sched; the others are a person's, or make way for another run. */
enum { INTENT_NONE = 0, INTENT_TIMEOUT = 1 };

static const struct cause_pattern known[] = {
#define FAILURE_PATTERN(pattern, class) { pattern, FC_##class },
#include "tbl/failure_pattern.def"
#undef FAILURE_PATTERN
};

/* What a stream ends with; SAID: the runner's own word. */
enum { SAID = 2, ENDS };
struct end_of {
	char *text;
	size_t n;
};

struct found {
	const char *line;
	size_t n;
	uint8_t class, stream;
};

/* --- what it printed ----------------------------------------------------------------------- */

static void read_end(struct loader *l, const struct job *j, int stream, struct end_of *ret)
{
	uint64_t size = j->logs[stream].size;
	uint64_t from = size > CAUSE_BYTES ? size - CAUSE_BYTES : 0;
	int fd = size ? loader_open_log(l, j, j->is_recorded ? LOG_RECORDS : stream) : -1;
	struct logrec_reader at;
	ssize_t n;

	if (fd < 0)
		return;
	ret->text = mem_new((size_t)(size - from) + 1);
	if (j->is_recorded)
		recorded_find(fd, j->logs[LOG_RECORDS].size, stream, from, &at);
	do {
		n = j->is_recorded
		            ? (ssize_t)recorded_read(fd, &at, stream, from, (uint8_t *)ret->text,
		                                     (size_t)(size - from))
		            : pread(fd, ret->text, (size_t)(size - from), (off_t)from);
	} while (n < 0 && errno == EINTR);
	close(fd);
	ret->n = n > 0 ? (size_t)n : 0;
	char *whole = from ? memchr(ret->text, '\n', ret->n) : NULL;
	if (!whole) /* or one line, longer than what is looked at */
		return;
	ret->n -= (size_t)(whole + 1 - ret->text);
	memmove(ret->text, whole + 1, ret->n);
}

static void take_end(struct loader *l, const struct job *j, int stream, struct end_of *ret)
{
	const struct buf *tail = &j->logs[stream].tail;

	if (j->is_process) {
		read_end(l, j, stream, ret);
		return;
	}
	pthread_mutex_lock(&l->mu);
	ret->n = tail->len;
	ret->text = ret->n ? mem_strn((const char *)buf_at(tail), ret->n) : NULL;
	pthread_mutex_unlock(&l->mu);
}

/* Colours and control characters are not shown. They may have kept the pieces of a secret apart
 * when it was looked for, so it is looked for once more where they are gone; an earlier loader took
 * what it knew of secrets with it, then the pieces stay apart. */
static void clean_end(const struct job *j, struct end_of *e)
{
	if (!e->text)
		return;
	e->n = failure_clean(e->text, e->n, j->is_adopted ? ' ' : '\0');
	e->text[e->n] = '\0';
	char *own = job_masked(j, e->text);
	free(e->text);
	*e = (struct end_of){ own, strlen(own) };
}

/* --- the line ------------------------------------------------------------------------------ */

/* Of a long line that shows where what was found stands, with the words before it. */
static size_t shown_from(const char *line, size_t at)
{
	size_t from = at - LONG_LINE;

	while (from < at && line[from] != ' ')
		from++;
	return from < at ? from + 1 : at - LONG_LINE;
}

static bool line_fits(const struct cause_pattern *list, size_t n_list, const char *line, size_t n,
                      struct found *ret)
{
	for (size_t i = 0; i < n_list; i++) {
		size_t at;
		if (!pattern_fits(list[i].text, line, n, &at))
			continue;
		at = at > LONG_LINE ? shown_from(line, at) : 0;
		*ret = (struct found){ line + at, n - at, list[i].class, 0 };
		return true;
	}
	return false;
}

static bool text_fits(const struct cause_pattern *list, size_t n_list, const char *text, size_t n,
                      struct found *ret)
{
	const char *end = text + n;

	while (n_list && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		stop = stop ? stop : end;
		size_t len = (size_t)(stop - text);
		len -= len && text[len - 1] == '\r';
		if (line_fits(list, n_list, text, len, ret))
			return true;
		text = stop + 1;
	}
	return false;
}

/* In the runner's word first, where it has one: what it logged is its own. */
static bool find_line(const struct loader *l, const struct job *j, const struct end_of ends[ENDS],
                      struct found *ret)
{
	const struct cause_pattern *own = l->guest ? l->guest->errors : NULL;
	size_t n_own = l->guest ? l->guest->n_errors : 0, n_text = ends[SAID].n;
	bool says = n_text && (!j->is_process || j->has_said);

	for (int pass = 0; pass < 2; pass++) {
		const struct cause_pattern *list = pass ? known : own;
		size_t n = pass ? sizeof known / sizeof known[0] : n_own;
		if (says && text_fits(list, n, ends[SAID].text, n_text, ret))
			return true;
		for (int stream = 1; stream >= 0; stream--)
			if (text_fits(list, n, ends[stream].text, ends[stream].n, ret)) {
				ret->stream = (uint8_t)(stream + 1);
				return true;
			}
	}
	if (n_text) {
		*ret = (struct found){ ends[SAID].text, n_text, FC_NONE, 0 };
		text_fits(known, sizeof known / sizeof known[0], ends[SAID].text, n_text, ret);
	}
	return n_text > 0;
}

/* --- its end in words ---------------------------------------------------------------------- */

static void say_limit(const struct job *j, const char *exit, struct failure *f)
{
	uint64_t bytes = j->start ? j->start->message->memory_max_bytes : 0;
	char limit[60] = "out of memory"; /* the machine's, or it was adopted */

	if (bytes >= 1u << 20)
		snprintf(limit, sizeof limit, "memory limit of %llu MB reached",
		         (unsigned long long)(bytes >> 20));
	snprintf(f->exit, sizeof f->exit, "%s, %.80s", limit, exit);
}

static void say_timeout(const struct job *j, const char *exit, struct failure *f)
{
	uint64_t ms = j->pub.budget_ms;
	char time[60] = "too long";

	if (ms)
		snprintf(time, sizeof time,
		         ms % 1000 ? "longer than %llu ms" : "longer than %llu s",
		         (unsigned long long)(ms % 1000 ? ms : ms / 1000));
	snprintf(f->exit, sizeof f->exit, "ran %s, %.80s", time, exit);
}

static void say_exit(const struct job *j, struct failure *f)
{
	static const char *const verdicts[] = {
		[RUNNER_BY_CODE] = "failed",
		[RUNNER_RETRYABLE] = "failed, may be tried again",
		[RUNNER_FATAL] = "failed, trying again cannot help",
		[RUNNER_INFRA] = "failed through no fault of the job",
	};
	char exit[FAILURE_EXIT_BYTES + 1];

	CHECK(j->result.verdict < sizeof verdicts / sizeof verdicts[0]);
	failure_exit_words(j->result.exit_code, exit);
	if (j->reason == REASON_OOM)
		say_limit(j, exit, f);
	else if (failure_of_reason(j->reason))
		failure_guess(j->reason, j->result.exit_code, f);
	else if (j->kill_intent == INTENT_TIMEOUT)
		say_timeout(j, exit, f);
	else if (j->kill_intent != INTENT_NONE)
		snprintf(f->exit, sizeof f->exit, "told to stop, %.100s", exit);
	else
		snprintf(f->exit, sizeof f->exit, "%s",
		         j->result.exit_code ? exit : verdicts[j->result.verdict]);
}

static enum failure_class class_of(const struct job *j, const struct found *found)
{
	enum failure_class by_reason = failure_of_reason(j->reason);

	if (by_reason)
		return by_reason;
	if (j->kill_intent != INTENT_NONE)
		return j->kill_intent == INTENT_TIMEOUT ? FC_TIMEOUT : FC_KILLED;
	if (found->class)
		return (enum failure_class)found->class;
	/* A runner that works on something else and is not to blame: that is. */
	return j->result.verdict == RUNNER_INFRA ? FC_TARGET : FC_USER;
}

static void set_last_line(struct failure *f)
{
	const char *last = strrchr(f->tail, '\n');

	last = last ? last + 1 : f->tail;
	failure_set_line(f->line, sizeof f->line, last, strlen(last));
}

static bool is_failure(const struct job *j)
{
	return j->report_kind == REPORT_ENDED &&
	       (j->result.exit_code != 0 || j->result.verdict != RUNNER_BY_CODE);
}

struct failure *cause_find(struct loader *l, struct job *j)
{
	struct end_of ends[ENDS] = { 0 };
	struct found found = { 0 };

	if (!is_failure(j))
		return NULL;
	struct failure *f = mem_new(sizeof *f);
	for (int stream = 0; stream < 2; stream++)
		take_end(l, j, stream, &ends[stream]);
	ends[SAID] = (struct end_of){ mem_str(j->result.text), strlen(j->result.text) };
	for (int i = 0; i < ENDS; i++)
		clean_end(j, &ends[i]);
	if (find_line(l, j, ends, &found))
		failure_set_line(f->line, sizeof f->line, found.line, found.n);
	say_exit(j, f);
	f->class = (uint8_t)class_of(j, &found);
	f->stream = found.stream;
	for (int stream = 1; stream >= 0 && !f->tail[0]; stream--)
		if (f->stream == 0 || f->stream == stream + 1) {
			failure_set_tail(f->tail, ends[stream].text, ends[stream].n);
			f->stream = f->tail[0] ? (uint8_t)(stream + 1) : f->stream;
		}
	if (!f->line[0]) /* nothing is known of it: what it said last */
		set_last_line(f);
	f->cpu_us = j->cpu_us;
	f->memory_bytes = j->rss_max_bytes;
	for (int i = 0; i < ENDS; i++)
		free(ends[i].text);
	return f;
}
