/* Answers about instances, kept while the stream of events has told nothing newer (fresh.h).
 *
 * An answer has the number of its snapshot. A newer event about its instance ends it; a list's, any
 * newer event. Without the stream nothing is kept, with it nothing longer than a second. One lock
 * guards all of it.
 */
#include "cgi/server/fresh.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/who/sight.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

#define SLOTS     2048
#define WAYS      4    /* a target has so many places, the oldest gives way */
#define KEYS      4096 /* instances share a place: one's event ends the other's answer too */
#define BYTES_MAX ((size_t)4 << 20)
#define BODY_MAX  ((size_t)512 << 10)
#define AGE_US    US_PER_S
#define IDLE_US   (10 * US_PER_S)

struct fresh_body {
	_Atomic unsigned refs;
	uint64_t number;
	size_t n;
	char data[];
};

struct slot {
	char *target;
	struct fresh_body *body;
	struct inst_key key;
	enum fresh_kind kind;
	int64_t read_us;
};

struct fresh {
	pthread_mutex_t mu; /* guards all below */
	struct slot slots[SLOTS];
	uint64_t seen[KEYS]; /* the last event of the instances of a place */
	uint64_t seen_any;
	uint64_t told;
	uint64_t live_from; /* events after it come; UINT64_MAX: none do */
	uint64_t want;
	int64_t used_us;
	size_t bytes;
};

struct fresh *fresh_new(void)
{
	struct fresh *f = mem_new(sizeof *f);

	pthread_mutex_init(&f->mu, NULL);
	f->live_from = UINT64_MAX;
	return f;
}

static void body_unref(void *ctx)
{
	struct fresh_body *b = ctx;
	unsigned was = atomic_fetch_sub(&b->refs, 1);

	CHECK(was > 0);
	if (was == 1)
		free(b);
}

/* Locked. */
static void slot_clear(struct fresh *f, struct slot *s)
{
	if (!s->body)
		return;
	CHECK(f->bytes >= s->body->n);
	f->bytes -= s->body->n;
	body_unref(s->body);
	free(s->target);
	*s = (struct slot){ 0 };
}

static void slots_clear(struct fresh *f)
{
	for (size_t i = 0; i < SLOTS; i++)
		slot_clear(f, &f->slots[i]);
}

void fresh_free(struct fresh *f)
{
	if (!f)
		return;
	slots_clear(f);
	pthread_mutex_destroy(&f->mu);
	free(f);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}

static size_t place_of(struct inst_key k)
{
	uint64_t x = (uint64_t)k.run_date * 1000003 + k.task;

	return (size_t)(mix(x + (uint64_t)(uint32_t)k.part * 7919) % KEYS);
}

/* The slot of a target, or the one that gives way to it. Locked. */
static struct slot *slot_of(struct fresh *f, const char *target)
{
	uint64_t x = 1469598103934665603u;

	for (const char *p = target; *p != '\0'; p++)
		x = (x ^ (unsigned char)*p) * 1099511628211u;
	struct slot *first = &f->slots[mix(x) % (SLOTS / WAYS) * WAYS], *oldest = first;
	for (struct slot *s = first; s < first + WAYS; s++) {
		if (s->body && strcmp(s->target, target) == 0)
			return s;
		if (s->read_us < oldest->read_us)
			oldest = s;
	}
	return oldest;
}

/* Locked. Has nothing been told that the answer does not show? */
static bool fresh_holds(const struct fresh *f, enum fresh_kind kind, struct inst_key key,
                        uint64_t number)
{
	uint64_t seen = kind == FRESH_LIST ? f->seen_any : f->seen[place_of(key)];

	return f->live_from <= number && f->told <= number && seen <= number;
}

/* --- asked and kept -------------------------------------------------------------------------- */

static int body_reply(struct call *c, struct fresh_body *b)
{
	struct MHD_Response *r = reply_packed(c, b->data, b->n);

	c->number = b->number;
	if (!r)
		r = MHD_create_response_from_buffer_with_free_callback_cls(b->n, b->data,
		                                                           body_unref, b);
	else
		body_unref(b);
	CHECK(r);
	return reply_as_json(c, c->status != 0 ? c->status : MHD_HTTP_OK, r);
}

/* What is kept is of one sight: of who reads everything, the target alone. The caller's. */
static char *target_of(const struct call *c)
{
	return c->sight ? mem_fmt("%s\n%s", c->sight->text, c->raw) : mem_str(c->raw);
}

bool fresh_reply(struct call *c)
{
	struct fresh *f = c->cgi->fresh;
	char *target = target_of(c);
	struct slot *s;
	int64_t now = clock_mono_us(&clock_machine);
	struct fresh_body *b = NULL;

	pthread_mutex_lock(&f->mu);
	f->used_us = now;
	s = slot_of(f, target);
	if (s->body && strcmp(s->target, target) == 0 && now - s->read_us < AGE_US &&
	    fresh_holds(f, s->kind, s->key, s->body->number)) {
		b = s->body;
		atomic_fetch_add(&b->refs, 1);
	}
	pthread_mutex_unlock(&f->mu);
	free(target);
	if (!b)
		return false;
	atomic_fetch_add_explicit(&c->cgi->kept, 1, memory_order_relaxed);
	return body_reply(c, b) == 0;
}

/* Locked. */
static void slot_fill(struct fresh *f, struct call *c, struct fresh_body *b)
{
	char *target = target_of(c);
	struct slot *s = slot_of(f, target);

	slot_clear(f, s);
	if (f->bytes + b->n > BYTES_MAX)
		slots_clear(f);
	atomic_fetch_add(&b->refs, 1);
	f->bytes += b->n;
	CHECK(f->bytes <= BYTES_MAX); /* one alone is BODY_MAX at most */
	*s = (struct slot){ .target = target,
		            .body = b,
		            .key = c->fresh_key,
		            .kind = c->fresh,
		            .read_us = clock_mono_us(&clock_machine) };
}

int fresh_keep(struct call *c)
{
	struct fresh *f = c->cgi->fresh;
	struct fresh_body *b = mem_new(sizeof *b + c->out.len);

	CHECK(c->fresh != FRESH_NO && c->number != 0); /* whose snapshot it is */
	atomic_init(&b->refs, 1);
	b->number = c->number;
	b->n = c->out.len;
	memcpy(b->data, buf_at(&c->out), b->n);
	pthread_mutex_lock(&f->mu);
	if (f->live_from == UINT64_MAX)
		f->want = c->number;
	else if (b->n <= BODY_MAX && fresh_holds(f, c->fresh, c->fresh_key, b->number))
		slot_fill(f, c, b);
	pthread_mutex_unlock(&f->mu);
	return body_reply(c, b);
}

/* --- told ------------------------------------------------------------------------------------ */

uint64_t fresh_want(struct fresh *f, int64_t now_us)
{
	uint64_t want;

	pthread_mutex_lock(&f->mu);
	want = now_us - f->used_us < IDLE_US ? f->want : 0;
	pthread_mutex_unlock(&f->mu);
	return want;
}

void fresh_live(struct fresh *f, uint64_t from)
{
	pthread_mutex_lock(&f->mu);
	f->live_from = from;
	pthread_mutex_unlock(&f->mu);
}

bool fresh_is_live(struct fresh *f)
{
	bool live;

	pthread_mutex_lock(&f->mu);
	live = f->live_from != UINT64_MAX;
	pthread_mutex_unlock(&f->mu);
	return live;
}

void fresh_event(struct fresh *f, uint64_t number, struct inst_key key)
{
	size_t place = place_of(key);

	pthread_mutex_lock(&f->mu);
	if (f->seen[place] < number)
		f->seen[place] = number;
	if (f->seen_any < number)
		f->seen_any = number;
	pthread_mutex_unlock(&f->mu);
}

void fresh_told(struct fresh *f, uint64_t number)
{
	pthread_mutex_lock(&f->mu);
	if (f->told < number)
		f->told = number;
	pthread_mutex_unlock(&f->mu);
}

void fresh_lost(struct fresh *f)
{
	pthread_mutex_lock(&f->mu);
	f->live_from = UINT64_MAX;
	f->want = 0;
	slots_clear(f);
	pthread_mutex_unlock(&f->mu);
}
