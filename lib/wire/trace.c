#include "wire/trace.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "util/buf.h"
#include "util/check.h"

/* The first `bytes` of the sum, in hexadecimal. */
static void summed(struct buf *text, int bytes, char *ret)
{
	unsigned char sum[32];

	CHECK(gnutls_hash_fast(GNUTLS_DIG_SHA256, buf_at(text), text->len, sum) == 0);
	for (int i = 0; i < bytes; i++)
		snprintf(ret + (ptrdiff_t)2 * i, 3, "%02x", sum[i]);
	buf_done(text);
}

static void of_run(const struct trace_of *o, const char *what, int bytes, char *ret)
{
	const char *last = strrchr(o->task, '/');
	struct buf text;

	buf_init(&text);
	buf_printf(&text, "%s\n", what);
	buf_put(&text, o->task, last ? (size_t)(last - o->task) : strlen(o->task));
	buf_printf(&text, "\n%" PRId64 "\n", o->run_date);
	summed(&text, bytes, ret);
}

static void of_task(const struct trace_of *o, const char *what, uint64_t number, char *ret)
{
	struct buf text;

	buf_init(&text);
	buf_printf(&text, "%s\n%s\n%" PRId64 "\n%" PRId32 "\n%" PRIu64 "\n", what, o->task,
	           o->run_date, o->part, number);
	summed(&text, 8, ret);
}

void trace_id(const struct trace_of *o, char ret[33])
{
	of_run(o, "run", 16, ret);
}

void trace_run(const struct trace_of *o, char ret[17])
{
	of_run(o, "run span", 8, ret);
}

void trace_instance(const struct trace_of *o, char ret[17])
{
	of_task(o, "instance", o->generation, ret);
}

void trace_attempt(const struct trace_of *o, char ret[17])
{
	of_task(o, "attempt", o->token, ret);
}

void trace_parent(const struct trace_of *o, char ret[TRACE_PARENT_MAX])
{
	char trace[33], span[17];

	trace_id(o, trace);
	trace_attempt(o, span);
	snprintf(ret, TRACE_PARENT_MAX, "00-%s-%s-01", trace, span);
}
