/* The history of an instance as spans: ids are computed from the task, the date, the generation
 * and the token (wire/trace.h), so that the same history gives the same spans, and a job that
 * was handed its trace context is found below its attempt. An attempt ends with the first event
 * in which its token no longer holds a slot. Only prints; what is exported and when is
 * traces.c's. */
#include "notifier/spans.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/buf.h"
#include "util/check.h"
#include "util/json_put.h"
#include "wire/trace.h"

/* OTLP's numbers. */
enum { KIND_INTERNAL = 1, KIND_CONSUMER = 5, STATUS_UNSET = 0, STATUS_OK = 1, STATUS_ERROR = 2 };

static void put_nanos(struct buf *b, const char *key, int64_t us)
{
	put_id(b, key, us > 0 ? (uint64_t)us * 1000 : 0);
}

static void attribute(struct buf *b, const char *key, const char *value)
{
	put_open(b, NULL, '{');
	put_text(b, "key", key);
	put_open(b, "value", '{');
	put_text(b, "stringValue", value);
	put_close(b, '}');
	put_close(b, '}');
}

static void attribute_number(struct buf *b, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRId64, value);
	put_open(b, NULL, '{');
	put_text(b, "key", key);
	put_open(b, "value", '{');
	put_text(b, "intValue", text); /* 64 bits are texts in JSON */
	put_close(b, '}');
	put_close(b, '}');
}

/* parent "": none. */
struct span {
	const char *name, *trace, *id, *parent;
	int kind;
	int64_t began_us, ended_us;
};

static void span_open(struct buf *b, const struct span *s)
{
	put_open(b, NULL, '{');
	put_text(b, "traceId", s->trace);
	put_text(b, "spanId", s->id);
	if (s->parent[0])
		put_text(b, "parentSpanId", s->parent);
	put_text(b, "name", s->name);
	put_int(b, "kind", s->kind);
	put_nanos(b, "startTimeUnixNano", s->began_us);
	put_nanos(b, "endTimeUnixNano", s->ended_us > s->began_us ? s->ended_us : s->began_us);
}

static void spans_status(struct buf *b, int code, const char *text)
{
	put_open(b, "status", '{');
	put_int(b, "code", code);
	if (code == STATUS_ERROR)
		put_text(b, "message", text);
	put_close(b, '}');
}

static int status_of(const struct instance *i)
{
	return i->state == ST_SUCC      ? STATUS_OK
	       : i->state == ST_SKIPPED ? STATUS_UNSET
	                                : STATUS_ERROR;
}

/* --- attempts --- */

/* What ends the attempt that e[0] granted: the first that is no longer its token's to go on. */
static size_t attempt_end(const struct read_event *e, size_t n)
{
	enum state to;

	CHECK(n > 0 && e[0].event == EV_GRANT);
	for (size_t k = 1; k < n; k++) {
		to = (enum state)e[k].to;
		if (e[k].token == e[0].token && !state_holds_slot(to))
			return k;
		if (e[k].token != e[0].token)
			return k;
	}
	return n;
}

static void attempt(struct buf *out, const struct trace_of *of, const struct read_event *e,
                    size_t n)
{
	char trace[33], id[17], parent[17];
	size_t end = attempt_end(e, n);
	const struct read_event *last = end < n ? &e[end] : &e[n - 1];
	bool well = last->event == EV_EXIT_OK || last->to == ST_SUCC;
	int64_t began_us = e[0].at_us;

	trace_id(of, trace);
	trace_attempt(of, id);
	trace_instance(of, parent);
	struct span s = { "attempt", trace, id, parent, KIND_CONSUMER, began_us, last->at_us };
	span_open(out, &s);
	put_open(out, "attributes", '[');
	attribute_number(out, "sirdar.attempt", e[0].attempt);
	attribute_number(out, "sirdar.fence_token", (int64_t)e[0].token);
	attribute_number(out, "sirdar.broker_id", e[0].broker);
	attribute_number(out, "sirdar.exit_code", last->exit_code);
	put_close(out, ']');
	put_open(out, "events", '[');
	for (size_t k = 1; k < end && k < n; k++) {
		put_open(out, NULL, '{');
		put_nanos(out, "timeUnixNano", e[k].at_us);
		put_text(out, "name", event_name((enum event)e[k].event));
		put_close(out, '}');
	}
	put_close(out, ']');
	spans_status(out, well ? STATUS_OK : STATUS_ERROR, reason_text((enum reason)last->reason));
	put_close(out, '}');
}

/* --- an instance --- */

static void instance_events(struct buf *out, const struct read_event *e, size_t n)
{
	put_open(out, "events", '[');
	for (size_t k = 0; k < n; k++) {
		put_open(out, NULL, '{');
		put_nanos(out, "timeUnixNano", e[k].at_us);
		put_text(out, "name", event_name((enum event)e[k].event));
		put_open(out, "attributes", '[');
		attribute(out, "sirdar.state", state_name((enum state)e[k].to));
		if (e[k].reason)
			attribute(out, "sirdar.reason", reason_name((enum reason)e[k].reason));
		put_close(out, ']');
		put_close(out, '}');
	}
	put_close(out, ']');
}

size_t spans_instance(struct buf *out, const char *task, const struct instance *i,
                      const struct read_event *events, size_t n)
{
	struct trace_of of = { task, i->key.run_date, i->key.part, i->generation, 0 };
	char trace[33], id[17], parent[17];
	size_t made = 1;

	trace_id(&of, trace);
	trace_instance(&of, id);
	trace_run(&of, parent);
	struct span s = { task,
		          trace,
		          id,
		          parent,
		          KIND_INTERNAL,
		          n ? events[0].at_us : i->created_us,
		          n ? events[n - 1].at_us : i->ended_us };
	span_open(out, &s);
	put_open(out, "attributes", '[');
	attribute(out, "sirdar.task", task);
	attribute_number(out, "sirdar.run_date", i->key.run_date);
	attribute_number(out, "sirdar.part", i->key.part);
	attribute_number(out, "sirdar.generation", i->generation);
	attribute(out, "sirdar.state", state_name((enum state)i->state));
	attribute(out, "sirdar.origin", origin_name((enum origin)i->origin));
	attribute_number(out, "sirdar.priority", i->priority);
	put_close(out, ']');
	instance_events(out, events, n);
	spans_status(out, status_of(i), reason_text((enum reason)i->reason));
	put_close(out, '}');
	for (size_t k = 0; k < n; k++) {
		if (events[k].event != EV_GRANT)
			continue;
		of.token = events[k].token;
		attempt(out, &of, events + k, n - k);
		made++;
	}
	return made;
}

/* --- a run --- */

void spans_run(struct buf *out, const struct span_run *r)
{
	struct trace_of of = { .task = r->task, .run_date = r->run_date };
	const char *last = strrchr(r->task, '/');
	char trace[33], id[17], name[300];

	trace_id(&of, trace);
	trace_run(&of, id);
	snprintf(name, sizeof name, "%.*s", last ? (int)(last - r->task) : (int)strlen(r->task),
	         r->task);
	struct span s = { name, trace, id, "", KIND_INTERNAL, r->began_us, r->ended_us };
	span_open(out, &s);
	put_open(out, "attributes", '[');
	attribute(out, "sirdar.workflow", name);
	attribute_number(out, "sirdar.run_date", r->run_date);
	attribute_number(out, "sirdar.instances", (int64_t)r->instances);
	attribute_number(out, "sirdar.failed", (int64_t)r->failed);
	put_close(out, ']');
	spans_status(out, r->failed ? STATUS_ERROR : STATUS_OK, "not every instance succeeded");
	put_close(out, '}');
}

void spans_request(struct buf *out, const char *service, const struct buf *spans)
{
	put_open(out, NULL, '{');
	put_open(out, "resourceSpans", '[');
	put_open(out, NULL, '{');
	put_open(out, "resource", '{');
	put_open(out, "attributes", '[');
	attribute(out, "service.name", service);
	attribute(out, "service.version", SIRDAR_VERSION);
	attribute(out, "telemetry.sdk.name", "sirdar");
	put_close(out, ']');
	put_close(out, '}');
	put_open(out, "scopeSpans", '[');
	put_open(out, NULL, '{');
	put_open(out, "scope", '{');
	put_text(out, "name", "sirdar-notifier");
	put_text(out, "version", SIRDAR_VERSION);
	put_close(out, '}');
	put_open(out, "spans", '[');
	buf_put(out, buf_at(spans), spans->len);
	put_close(out, ']');
	put_close(out, '}');
	put_close(out, ']');
	put_close(out, '}');
	put_close(out, ']');
	put_close(out, '}');
}
