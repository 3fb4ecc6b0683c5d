/* A copy of the documents of devices and of which people are disabled, taken anew when the
 * store says that one of them changed. A device whose push service said "gone" is marked at
 * once and stays marked in the outbox by its version, until the server has removed it: nothing
 * is pushed to it meanwhile, also after a restart. One that was subscribed anew has a newer
 * version and is not meant. */
#include "notifier/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/outbox.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"

/* A person's name has at most 63 bytes. */
enum { WHY_BYTES = 200, SUBJECT_BYTES = 100 };

/* One document; texts of `device` and the names of persons are inside `json` or owned. */
struct kept {
	const struct jval *json;
	char *name;
	struct device device;
};

struct person {
	char *name;
	bool disabled;
};

struct devices {
	struct reader *reader;
	struct outbox *outbox;
	struct kept *items;
	struct person *persons;
	size_t n, n_persons;
	bool is_read;
	uint64_t changes, people;
	char why[WHY_BYTES];
};

struct devices *devices_new(struct reader *reader, struct outbox *outbox)
{
	struct devices *d = mem_new(sizeof *d);

	d->reader = reader;
	d->outbox = outbox;
	return d;
}

static void devices_clear(struct devices *d)
{
	for (size_t i = 0; i < d->n; i++) {
		jv_free(d->items[i].json);
		free(d->items[i].name);
	}
	for (size_t i = 0; i < d->n_persons; i++)
		free(d->persons[i].name);
	d->n = d->n_persons = 0;
}

void devices_free(struct devices *d)
{
	if (!d)
		return;
	devices_clear(d);
	free(d->items);
	free(d->persons);
	free(d);
}

/* --- read ---------------------------------------------------------------------------- */

static int severity_of(const char *word)
{
	return strcmp(word, "critical") == 0 ? 2 : strcmp(word, "notice") == 0 ? 0 : 1;
}

static void subject_of(const char *name, char ret[SUBJECT_BYTES])
{
	snprintf(ret, SUBJECT_BYTES, "gone:%.80s", name);
}

/* Of a version that its service knows no more? One that was subscribed anew is a newer one. */
static bool was_dropped(struct devices *d, const char *name, uint32_t version)
{
	char subject[SUBJECT_BYTES], state[OUTBOX_FACT_BYTES] = "";
	struct err ignored = { 0 };

	subject_of(name, subject);
	return outbox_fact(d->outbox, subject, state, &ignored) == 0 && state[0] &&
	       strtoul(state, NULL, 10) >= version;
}

static int take_device(void *ctx, const struct store_doc *doc)
{
	struct devices *d = ctx;
	struct kept k = { 0 };

	if (jv_parse(doc->body, doc->body_len, &k.json, NULL) < 0)
		return 0;
	k.name = mem_str(doc->name);
	k.device = (struct device){ .name = k.name,
		                    .owner = jv_str(k.json, "owner"),
		                    .to = { .endpoint = jv_str(k.json, "endpoint"),
		                            .p256dh = jv_str(k.json, "p256dh"),
		                            .auth = jv_str(k.json, "auth") },
		                    .version = doc->version,
		                    .least = severity_of(jv_str(k.json, "least")),
		                    .zh = jv_str(k.json, "language")[0] == 'z',
		                    .is_gone = was_dropped(d, doc->name, doc->version) };
	d->items = mem_grow(d->items, d->n + 1, sizeof *d->items);
	d->items[d->n++] = k;
	return 0;
}

static int take_person(void *ctx, const struct store_doc *doc)
{
	struct devices *d = ctx;
	const struct jval *json = NULL;

	if (jv_parse(doc->body, doc->body_len, &json, NULL) < 0)
		return 0;
	d->persons = mem_grow(d->persons, d->n_persons + 1, sizeof *d->persons);
	d->persons[d->n_persons++] = (struct person){ mem_str(doc->name),
		                                      jv_true(json, "disabled") };
	jv_free(json);
	return 0;
}

int devices_refresh(struct devices *d, struct err *err)
{
	uint64_t changes = 0, people = 0;
	int r = read_doc_changes(d->reader, DOC_DEVICE, &changes, err);

	if (r == 0)
		r = read_doc_changes(d->reader, DOC_USER, &people, err);
	if (r < 0 || (d->is_read && changes == d->changes && people == d->people))
		return r;
	devices_clear(d);
	d->changes = changes;
	d->people = people;
	r = read_doc_bodies(d->reader, DOC_DEVICE, take_device, d, err);
	if (r == 0)
		r = read_doc_bodies(d->reader, DOC_USER, take_person, d, err);
	d->is_read = r == 0;
	return r;
}

/* --- asked --------------------------------------------------------------------------- */

const struct device *devices_at(const struct devices *d, size_t i)
{
	return i < d->n ? &d->items[i].device : NULL;
}

const struct device *devices_find(const struct devices *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->items[i].name, name) == 0)
			return &d->items[i].device;
	return NULL;
}

int devices_drop(struct devices *d, const char *name, uint32_t version, struct err *err)
{
	char subject[SUBJECT_BYTES], state[24];

	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->items[i].name, name) == 0 && d->items[i].device.version == version)
			d->items[i].device.is_gone = true;
	subject_of(name, subject);
	snprintf(state, sizeof state, "%u", version);
	return outbox_put_fact(d->outbox, subject, state, err);
}

bool device_wants(const struct device *d, const char *person, int severity)
{
	return !d->is_gone && strcmp(d->owner, person) == 0 && severity >= d->least;
}

/* admin is no document, and cannot be disabled. */
static const struct person *person_of(const struct devices *d, const char *name)
{
	static const struct person admin = { 0 };

	for (size_t i = 0; i < d->n_persons; i++)
		if (strcmp(d->persons[i].name, name) == 0)
			return &d->persons[i];
	return strcmp(name, "admin") == 0 ? &admin : NULL;
}

const char *devices_refusal(struct devices *d, const char *person, int severity)
{
	const struct person *p = person_of(d, person);
	bool any = false, wanted = false;

	for (size_t i = 0; p && i < d->n; i++) {
		any = any || device_wants(&d->items[i].device, person, 2);
		wanted = wanted || device_wants(&d->items[i].device, person, severity);
	}
	if (wanted && !p->disabled)
		return NULL;
	snprintf(d->why, sizeof d->why, "%s%.64s%s", p ? "" : "there is nobody called ", person,
	         !p            ? ""
	         : p->disabled ? " is disabled"
	         : any         ? " wants only severer ones pushed"
	                       : " has no device that alerts are pushed to");
	return d->why;
}
