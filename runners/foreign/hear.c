/* hear.c — what guests print and say, and what follows from it. */
#include "foreign.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES        65536
#define READS_MAX         32 /* in one go: more than a pipe holds, and a flood is not waited for */
#define OUTPUTS_BYTES_MAX (4u << 20)

/* --- what it prints ------------------------------------------------------------------ */

static void keep_last_line(struct guest *g, const char *bytes, size_t len)
{
	while (len && (bytes[len - 1] == '\n' || bytes[len - 1] == ' '))
		len--;
	const char *newline = len ? memrchr(bytes, '\n', len) : NULL;
	const char *line = newline ? newline + 1 : bytes;
	size_t n = len - (size_t)(line - bytes);

	if (n)
		snprintf(g->said, sizeof g->said, "%.*s", (int)(n < 159 ? n : 159), line);
}

/* Of one job it is the job's. Of several nobody can say whose: all get it, marked. */
static void share(struct foreign *f, struct guest *g, uint32_t stream, const char *bytes,
                  size_t len)
{
	for (struct call *c = g->calls; c; c = c->next) {
		if (g->n_calls > 1)
			f->host->log(c->job, stream, "[process] ", 10);
		f->host->log(c->job, stream, bytes, len);
	}
	if (!g->calls && stream == RUNNER_STDERR)
		dprintf(STDERR_FILENO, "foreign type=%s pid=%d: %.*s", f->about->type, g->pid,
		        (int)(len < 1000 ? len : 1000), bytes);
}

static int hear_output(struct foreign *f, struct guest *g, int pipe)
{
	char bytes[READ_BYTES];

	for (int turn = 0; turn < READS_MAX; turn++) {
		ssize_t n = read(g->from[pipe], bytes, sizeof bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		keep_last_line(g, bytes, (size_t)n);
		share(f, g, pipe == PIPE_OUT ? RUNNER_STDOUT : RUNNER_STDERR, bytes, (size_t)n);
		if ((size_t)n < sizeof bytes)
			return 1;
	}
	return 1;
}

/* What it printed before it said something on descriptor 4 belongs before it. */
static void hear_outputs(struct foreign *f, struct guest *g)
{
	for (int pipe = PIPE_OUT; pipe <= PIPE_ERR; pipe++) {
		if (g->from[pipe] >= 0)
			hear_output(f, g, pipe);
	}
}

/* --- what it says -------------------------------------------------------------------- */

static struct call *find_call(const struct guest *g, int64_t id)
{
	for (struct call *c = g->calls; c; c = c->next) {
		if (c->id == (uint64_t)id)
			return c;
	}
	return NULL;
}

static void on_hello(struct foreign *f, struct guest *g, const struct message *m)
{
	if (m->protocol != FOREIGN_PROTOCOL) {
		guest_end(g, "it speaks protocol %lld, this broker %d", (long long)m->protocol,
		          FOREIGN_PROTOCOL);
		return;
	}
	g->state = f->is_closing ? GUEST_LEAVING : GUEST_READY;
	g->beats = m->beats;
	g->concurrency = (uint32_t)m->concurrency;
	if (f->about->concurrency && f->about->concurrency < g->concurrency)
		g->concurrency = f->about->concurrency;
	g->owner->concurrency = g->concurrency;
	g->idle_us = now_us();
	f->has_met = 1;
	pthread_cond_broadcast(&f->first);
	guests_place(f);
}

/* Kept for the job's own thread: the host takes outputs there alone. */
static void on_output(struct foreign *f, struct guest *g, struct call *c, const struct message *m)
{
	static const char lost[] = "sirdar: an output was dropped: too many bytes of them\n";

	(void)g;
	if (c->outputs.len + strlen(m->name) + strlen(m->value) > OUTPUTS_BYTES_MAX) {
		f->host->log(c->job, RUNNER_STDERR, lost, sizeof lost - 1);
		return;
	}
	text_put(&c->outputs, m->name, strlen(m->name) + 1);
	text_put(&c->outputs, m->value, strlen(m->value) + 1);
}

static void on_done(struct foreign *f, struct guest *g, struct call *c, const struct message *m)
{
	hear_outputs(f, g);
	c->result->exit_code = (int32_t)m->exit_code;
	c->result->verdict = message_verdict(m->verdict);
	c->result->retry_after_ms = (uint64_t)m->retry_after_ms;
	if (m->text)
		snprintf(c->result->text, sizeof c->result->text, "%s", m->text);
	g->owner->pause_ms = 0;
	call_over(c);
	guests_place(f);
}

static void on_progress(struct foreign *f, struct guest *g, struct call *c, const struct message *m)
{
	(void)g;
	f->host->progress(c->job, (uint32_t)m->permille, m->text);
}

static void on_log(struct foreign *f, struct guest *g, struct call *c, const struct message *m)
{
	(void)g;
	f->host->log(c->job, m->stream && *m->stream == 'e' ? RUNNER_STDERR : RUNNER_STDOUT,
	             m->text, strlen(m->text));
}

static void take_message(struct foreign *f, struct guest *g, const struct message *m)
{
	static void (*const of_job[OPS])(struct foreign *, struct guest *, struct call *,
	                                 const struct message *) = {
		[OP_PROGRESS] = on_progress,
		[OP_LOG] = on_log,
		[OP_OUTPUT] = on_output,
		[OP_DONE] = on_done,
	};

	if ((m->op == OP_HELLO) != (g->state == GUEST_STARTING)) {
		guest_end(g,
		          m->op == OP_HELLO ? "it said hello twice" : "it began without a hello");
		return;
	}
	if (m->op == OP_HELLO) {
		on_hello(f, g, m);
		return;
	}
	if (!of_job[m->op])
		return; /* that it was heard is all a pong says */
	struct call *c = find_call(g, m->job);

	if (c)
		of_job[m->op](f, g, c, m);
	else if ((uint64_t)m->job > f->last_id)
		guest_end(g, "it speaks of job %lld, which it was never given", (long long)m->job);
}

static void take_line(struct foreign *f, struct guest *g, const char *line, size_t len)
{
	char why[FOREIGN_WHY_BYTES];
	struct message m;

	if (message_read(line, len, &m, why) < 0)
		guest_end(g, "%s", why);
	else
		take_message(f, g, &m);
	message_done(&m);
}

static int hear_messages(struct foreign *f, struct guest *g)
{
	char bytes[READ_BYTES];
	ssize_t n = read(g->from[PIPE_SAYS], bytes, sizeof bytes);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	g->heard_us = now_us();
	size_t at = 0, searched = g->heard.len;

	text_put(&g->heard, bytes, (size_t)n);
	while (g->state != GUEST_ENDING && searched < g->heard.len) {
		const char *newline = memchr(g->heard.at + searched, '\n', g->heard.len - searched);

		if (!newline)
			break;
		size_t len = (size_t)(newline - g->heard.at) - at;

		if (len > 0)
			take_line(f, g, g->heard.at + at, len);
		at = searched = at + len + 1;
	}
	text_drop(&g->heard, at);
	if (g->heard.len > FOREIGN_LINE_BYTES_MAX || g->heard.is_short)
		guest_end(g, "a line of more than %u bytes on descriptor 4",
		          FOREIGN_LINE_BYTES_MAX);
	return 1;
}

int guest_hear(struct foreign *f, struct guest *g, int pipe)
{
	return pipe == PIPE_SAYS ? hear_messages(f, g) : hear_output(f, g, pipe);
}
