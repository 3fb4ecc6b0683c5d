/* A request's arguments, read and refused with their place, and the ways in which a call waits.
 * To wait, a call is suspended first and posted to the actor second, for the answer may come
 * before actor_post() returns; from then on only that actor touches it, until call_resume()
 * gives it back. Whoever waits is bounded by request_ms and by the actor's mailbox. An actor
 * that ends discards its calls, which are then answered E_CLOSED. */
#include "cgi/http/call.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cgi/http/cgi.h"
#include "sched/name.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_in.h"

int call_fail(struct call *c, int code, const char *place, const char *fmt, ...)
{
	va_list ap;
	char text[sizeof c->err.text];

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	snprintf(c->place, sizeof c->place, "%s", place ? place : "");
	return err_set(&c->err, code, "%s", text);
}

const char *call_arg(struct call *c, const char *name)
{
	const char *v = NULL;
	size_t n = 0;

	if (MHD_lookup_connection_value_n(c->conn, MHD_GET_ARGUMENT_KIND, name, strlen(name), &v,
	                                  &n) == MHD_NO)
		return NULL;
	char *nfc = v ? name_nfc(v) : NULL;
	if (!nfc)
		return v ? v : "";
	c->normal = mem_grow(c->normal, c->n_normal + 1, sizeof *c->normal);
	return c->normal[c->n_normal++] = nfc;
}

int call_arg_int(struct call *c, const char *name, int64_t def, int64_t lo, int64_t hi,
                 int64_t *ret)
{
	const char *v = call_arg(c, name);
	char *end = NULL;
	long long n;

	if (!v) {
		*ret = def;
		return 0;
	}
	n = strtoll(v, &end, 10);
	if (*v == '\0' || *v == ' ' || *v == '+' || *end != '\0' || strlen(v) > 19 || n < lo ||
	    n > hi)
		return call_fail(c, E_INVALID, name,
		                 "%s wants a number from %" PRId64 " to %" PRId64, name, lo, hi);
	*ret = n;
	return 0;
}

int call_arg_bool(struct call *c, const char *name, bool *ret)
{
	const char *v = call_arg(c, name);

	if (v && strcmp(v, "1") != 0 && strcmp(v, "true") != 0 && strcmp(v, "0") != 0 &&
	    strcmp(v, "false") != 0)
		return call_fail(c, E_INVALID, name, "%s wants true or false", name);
	*ret = v && (*v == '1' || *v == 't');
	return 0;
}

struct known {
	struct call *c;
	const char *const *names;
	bool is_get; /* every answer may be cut by `fields` */
	int code;
};

static enum MHD_Result arg_check(void *ctx, enum MHD_ValueKind kind, const char *key,
                                 const char *value)
{
	struct known *k = ctx;
	const char *const *n = k->names;

	(void)kind;
	(void)value;
	while (*n && strcmp(*n, key) != 0)
		n++;
	if (*n || (k->is_get && strcmp(key, "fields") == 0))
		return MHD_YES;
	k->code = call_fail(k->c, E_INVALID, "query", "there is no argument '%.60s' here", key);
	return MHD_NO;
}

int call_args_only(struct call *c, const char *const *names)
{
	struct known k = { c, names, strcmp(c->route->method, "GET") == 0, 0 };

	MHD_get_connection_values(c->conn, MHD_GET_ARGUMENT_KIND, arg_check, &k);
	return k.code;
}

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

int call_members_only(struct call *c, const char *const *names)
{
	const cJSON *m;
	char known[200] = "";
	size_t n = 0;

	cJSON_ArrayForEach(m, c->json) {
		if (is_one_of(m->string, names))
			continue;
		for (size_t i = 0; names[i] && n < sizeof known; i++)
			n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "",
			                      names[i]);
		return call_fail(c, E_INVALID, "body", "there is no key '%.60s' here, want %s",
		                 m->string, known);
	}
	return 0;
}

int call_truth_member(struct call *c, const char *key, bool *ret)
{
	const cJSON *v = json_get(c->json, key);

	if (v && !cJSON_IsBool(v))
		return call_fail(c, E_INVALID, key, "'%s' wants true or false", key);
	if (v)
		*ret = cJSON_IsTrue(v);
	return 0;
}

const char *call_header(struct call *c, const char *name)
{
	return MHD_lookup_connection_value(c->conn, MHD_HEADER_KIND, name);
}

bool call_has_type(const char *given, const char *type)
{
	size_t n = strlen(type);

	return given && strncasecmp(given, type, n) == 0 &&
	       (given[n] == '\0' || given[n] == ';' || given[n] == ' ');
}

int call_json(struct call *c)
{
	snprintf(c->place, sizeof c->place, "body");
	if (json_parse(buf_str(&c->body), c->body.len, &c->json, &c->err) < 0)
		return c->err.code;
	c->place[0] = '\0';
	if (!cJSON_IsObject(c->json))
		return call_fail(c, E_INVALID, "body", "want a JSON object");
	return 0;
}

/* --- waiting --- */

void call_resume(struct call *c)
{
	CHECK(c->suspended); /* exactly once, by the actor that has it */
	MHD_resume_connection(c->conn);
}

/* The letter of a call that no actor took: the wait ends with E_CLOSED. */
static void call_discard(struct letter *l)
{
	struct call *c = (struct call *)l;

	err_set(&c->err, E_CLOSED, "%s", err_text(E_CLOSED));
	call_resume(c);
}

/* Suspended first, posted then: the answer may come before actor_post() returns. */
static int call_wait(struct call *c, enum waits_for what)
{
	const struct waiter *to = &c->cgi->waiters[what];
	int r;

	CHECK(to->post || (to->actor && to->deliver));
	CHECK(c->streaming || (!c->suspended && !c->answered)); /* a call waits for one */
	c->letter.deliver = to->deliver;
	c->letter.discard = call_discard;
	c->deadline_us = clock_mono_us(&clock_machine) +
	                 param_now(c->cgi->param.request_ms) * US_PER_MS;
	c->suspended = true;
	MHD_suspend_connection(c->conn);
	r = to->post ? to->post(c->cgi, c) : actor_post(to->actor, &c->letter);
	if (r < 0 && c->err.code == 0)
		err_set(&c->err, r, "%s",
		        r == E_BUSY ? "too many requests wait already" : err_text(r));
	if (r < 0)
		call_resume(c);
	return 0;
}

/* The store knew what is to be asked about: it is asked now. */
static int call_gate_done(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	c->then = c->after_gate;
	c->is_answered = true;
	return call_wait(c, FOR_SERVER);
}

/* What somebody asks who reads some projects only goes through the gate. */
static int call_ask(struct call *c)
{
	int (*work)(struct call *, struct reader *) = NULL;
	int r = c->sight ? c->cgi->may_ask(c, &work) : 0;

	if (r < 0)
		return r;
	if (r == 0) {
		c->is_answered = c->sight != NULL;
		return call_wait(c, FOR_SERVER);
	}
	c->after_gate = c->then;
	c->then = call_gate_done;
	return call_read(c, work);
}

int call_query(struct call *c, const char *kind, const char *args)
{
	c->ask_kind = kind;
	c->ask_command = false;
	buf_clear(&c->ask_args);
	buf_puts(&c->ask_args, args);
	return call_ask(c);
}

int call_command(struct call *c, const char *kind, const char *args, bool dry_run,
                 const char *request_id)
{
	c->ask_kind = kind;
	c->ask_command = true;
	c->ask_dry = dry_run;
	snprintf(c->ask_request, sizeof c->ask_request, "%s", request_id);
	buf_clear(&c->ask_args);
	buf_puts(&c->ask_args, args);
	return call_ask(c);
}

int call_sign_in(struct call *c, const char *args)
{
	c->ask_kind = "sign-in";
	c->ask_command = false;
	c->ask_sign_in = true;
	buf_clear(&c->ask_args);
	buf_puts(&c->ask_args, args);
	return call_wait(c, FOR_SERVER);
}

int call_log(struct call *c)
{
	c->ask_command = false;
	if (c->sight && c->cgi->may_log(c) < 0)
		return c->err.code;
	return call_wait(c, FOR_LOG);
}

int call_read(struct call *c, call_work_fn work)
{
	c->work = work;
	return call_wait(c, FOR_DISK);
}

int call_way(struct call *c, call_work_fn work)
{
	c->work = work;
	return call_wait(c, FOR_WAY);
}

int call_hash(struct call *c, call_work_fn work)
{
	c->work = work;
	return call_wait(c, FOR_HASH);
}

int call_search(struct call *c, call_work_fn work)
{
	c->work = work;
	return call_wait(c, FOR_SEARCH);
}
