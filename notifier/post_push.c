/* A message to a person, to each of his devices that wants it and has not got it yet. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "notifier/channels.h"
#include "notifier/devices.h"
#include "notifier/message.h"
#include "notifier/notifier.h"
#include "notifier/outbox.h"
#include "notifier/payload.h"
#include "notifier/post_impl.h"
#include "notifier/push.h"
#include "notifier/sender.h"
#include "notifier/wake.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum { HTTP_NOT_FOUND = 404, HTTP_GONE = 410, HTTP_TOO_LARGE = 413, SUBJECT_BYTES = 100 };

/* --- afterwards ---------------------------------------------------------------------- */

static void brief_subject(const char *device, char ret[SUBJECT_BYTES])
{
	snprintf(ret, SUBJECT_BYTES, "brief:%.80s", device);
}

/* What this device's service answered, kept for who looks; and which letters it has. */
static int write_down(struct notifier *n, const struct parcel *part, const char *error, int status,
                      struct err *err)
{
	char subject[SUBJECT_BYTES], *name = push_try_name(part->device);
	int r = outbox_begin(n->outbox, err);

	if (r == 0) {
		r = outbox_put_try(n->outbox, name, clock_wall_us(&clock_machine),
		                   error ? error : "", err);
		for (size_t i = 0; i < part->n_letters && r == 0 && !error; i++)
			r = outbox_put_handed(n->outbox, part->letters[i], part->device, err);
		if (r == 0 && status == HTTP_TOO_LARGE) {
			brief_subject(part->device, subject);
			r = outbox_put_fact(n->outbox, subject, "1", err);
		}
		if (r == 0 && (status == HTTP_GONE || status == HTTP_NOT_FOUND))
			r = devices_drop(n->devices, part->device, part->version, err);
		r = outbox_end(n->outbox, r, err);
	}
	free(name);
	return r;
}

void push__part_end(struct parcel *part, const char *error, int status)
{
	struct notifier *n = part->notifier;
	struct parcel *whole = part->of;
	bool gone = error && (status == HTTP_GONE || status == HTTP_NOT_FOUND);
	struct err err = { 0 };

	CHECK(!whole->of && whole->pending > 0);
	if (write_down(n, part, error, status, &err) < 0)
		log_error("outbox.unwritten", "why=\"%s\"", err.text);
	if (gone) {
		log_warn("push.gone", "device=%s status=%d", part->device, status);
		if (n->wake)
			wake_forget(n->wake, part->device);
	}
	/* A device that is gone fails no letter, but a test of it: others have it, or the next try
	 * finds that there is none. */
	if (error)
		snprintf(whole->error, sizeof whole->error, "%s", error);
	parcel__free(part);
	if (--whole->pending == 0)
		parcel__end(whole, whole->error[0] ? whole->error : NULL);
}

/* --- beforehand ---------------------------------------------------------------------- */

static bool is_brief(struct notifier *n, const char *device)
{
	char subject[SUBJECT_BYTES], state[OUTBOX_FACT_BYTES] = "";
	struct err ignored = { 0 };

	brief_subject(device, subject);
	return outbox_fact(n->outbox, subject, state, &ignored) == 0 && state[0];
}

static struct parcel *part_new(struct notifier *n, struct parcel *whole, const struct device *d)
{
	struct parcel *part = mem_new(sizeof *part);

	CHECK(!whole->of);
	part->notifier = n;
	part->of = whole;
	part->device = mem_str(d->name);
	part->version = d->version;
	whole->pending++;
	return part;
}

static void part_send(struct notifier *n, struct parcel *part, struct payload_ask *ask,
                      const struct device *d, int64_t alert)
{
	struct push_target target = {
		.device = d, .pair = n->pair, .alert = alert, .brief = is_brief(n, d->name)
	};
	struct err err = { 0 };

	if (push_check(ask->channel, &d->to, &err) < 0) {
		push__part_end(part, err.text, 0);
		return;
	}
	ask->push = &target;
	sender_start(n->sender, ask, part);
	ask->push = NULL;
}

/* The letters of the parcel that are for this device; what cannot be read is sent. */
static size_t push_choose(struct notifier *n, const struct parcel *p, const struct device *d,
                          const char *who, const struct alert **alerts, size_t *places)
{
	size_t many = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct item *it = &p->items[i];
		struct err ignored = { 0 };
		bool has = false;
		if (!device_wants(d, who, happening_severity(it->alert.what)))
			continue;
		outbox_is_handed(n->outbox, it->id, d->name, &has, &ignored);
		if (has)
			continue;
		CHECK(many <= i);
		alerts[many] = &it->alert;
		places[many++] = i;
	}
	return many;
}

static void to_device(struct notifier *n, struct parcel *p, struct payload_ask *ask,
                      const struct device *d, const char *who)
{
	const struct alert **alerts = mem_array(p->n + 1, sizeof(struct alert *));
	size_t *places = mem_array(p->n + 1, sizeof *places);
	size_t many = push_choose(n, p, d, who, alerts, places);
	struct payload_ask one = *ask;

	if (many > 0) {
		struct parcel *part = part_new(n, p, d);
		part->letters = mem_array(many, sizeof *part->letters);
		for (size_t i = 0; i < many; i++)
			part->letters[part->n_letters++] = p->items[places[i]].id;
		one.alerts = alerts;
		one.n = many;
		part_send(n, part, &one, d, p->items[places[0]].of);
	}
	free(alerts);
	free(places);
}

/* A test has no letters: each device of his gets it. */
static void test_device(struct notifier *n, struct parcel *p, struct payload_ask *ask,
                        const struct device *d, const char *who)
{
	if (device_wants(d, who, 2))
		part_send(n, part_new(n, p, d), ask, d, 0);
}

void push__parcel(struct notifier *n, struct parcel *p, struct payload_ask *ask, const char *who)
{
	const struct device *d;
	const char *why = p->ask ? devices_refusal(n->devices, who, 2) : NULL;

	CHECK(p->pending == 0);
	p->pending = 1; /* parts may end at once: the whole stays until all have begun */
	for (size_t i = 0; !why && (d = devices_at(n->devices, i)); i++)
		(p->ask ? test_device : to_device)(n, p, ask, d, who);
	if (why)
		snprintf(p->error, sizeof p->error, "%s", why);
	if (--p->pending == 0)
		parcel__end(p, p->error[0] ? p->error : NULL);
}

void push__one(struct notifier *n, struct parcel *p, struct payload_ask *ask,
               const struct device *d)
{
	CHECK(p->pending == 0 && p->ask);
	part_send(n, part_new(n, p, d), ask, d, 0);
}
