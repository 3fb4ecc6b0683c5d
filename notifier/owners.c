/* People and groups as the store has them, and the ways by which each is reached: mail, chat,
 * devices. Ways are numbered and asked for one by one, so that the caller puts a letter for
 * each; a way without a channel does not count. Who has no way at all is a recipient too
 * (`owner:NAME`), so that a row says why he was not told. Disabled people have no way. */
#include "notifier/owners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/channels.h"
#include "notifier/devices.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"

enum { WHY_BYTES = 200 };

#define UNTOLD "owner:"

/* Texts of `json`. */
struct named {
	char *name;
	const struct jval *json;
};

struct list {
	struct named *items;
	size_t n;
};

struct owners {
	struct reader *reader;
	struct list people, groups;
	bool is_read;
	uint64_t changes[2]; /* of people, of groups */
	char why[WHY_BYTES];
};

struct owners *owners_new(struct reader *reader)
{
	struct owners *o = mem_new(sizeof *o);

	o->reader = reader;
	return o;
}

static void owners_clear(struct list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		jv_free(l->items[i].json);
		free(l->items[i].name);
	}
	free(l->items);
	*l = (struct list){ 0 };
}

void owners_free(struct owners *o)
{
	if (!o)
		return;
	owners_clear(&o->people);
	owners_clear(&o->groups);
	free(o);
}

/* --- read ---------------------------------------------------------------------------- */

static int owners_take(void *ctx, const struct store_doc *doc)
{
	struct list *l = ctx;
	const struct jval *json = NULL;

	if (jv_parse(doc->body, doc->body_len, &json, NULL) < 0)
		return 0;
	l->items = mem_grow(l->items, l->n + 1, sizeof *l->items);
	l->items[l->n++] = (struct named){ mem_str(doc->name), json };
	return 0;
}

int owners_refresh(struct owners *o, struct err *err)
{
	uint64_t people = 0, groups = 0;
	int r = read_doc_changes(o->reader, DOC_USER, &people, err);

	if (r == 0)
		r = read_doc_changes(o->reader, DOC_GROUP, &groups, err);
	if (r < 0 || (o->is_read && people == o->changes[0] && groups == o->changes[1]))
		return r;
	owners_clear(&o->people);
	owners_clear(&o->groups);
	r = read_doc_bodies(o->reader, DOC_USER, owners_take, &o->people, err);
	if (r == 0)
		r = read_doc_bodies(o->reader, DOC_GROUP, owners_take, &o->groups, err);
	o->changes[0] = people;
	o->changes[1] = groups;
	o->is_read = r == 0;
	return r;
}

/* --- who ----------------------------------------------------------------------------- */

static const struct named *owners_find(const struct list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->items[i].name, name) == 0)
			return &l->items[i];
	return NULL;
}

static const char *owners_text(const struct named *who, const char *key)
{
	return who ? jv_str(who->json, key) : "";
}

static bool is_disabled(const struct named *person)
{
	return person && jv_true(person->json, "disabled");
}

/* A member by name, or told so by the directory that both are of: as cgi/who/people_read.c. */
static bool owners_belongs(const struct named *person, const struct named *group)
{
	return jv_has(jv_get(group->json, "members"), person->name) ||
	       (strcmp(owners_text(person, "source"), owners_text(group, "source")) == 0 &&
	        jv_has(jv_get(person->json, "groups"), group->name));
}

/* --- ways ---------------------------------------------------------------------------- */

/* Who is called like an address has that one, if no other is said. */
static const char *mail_of(const struct named *person, const char *name)
{
	const char *said = owners_text(person, "mail");

	return *said ? said : strchr(name, '@') ? name : "";
}

/* Of a channel that there is: what has no channel is none of his ways. */
static bool is_way(const struct channels *c, const char *recipient)
{
	const struct channel *by = NULL;
	const char *who = NULL;
	struct err ignored = { 0 };

	return channels_find(c, recipient, 0, &by, &who, &ignored) == 0;
}

/* His next way, *at ways being passed over; `owner:NAME` when he has none at all. */
static char *next_way(const struct owners *o, const struct channels *c, struct devices *d,
                      const char *name, int severity, size_t *at)
{
	const struct named *person = owners_find(&o->people, name);
	const char *mail = mail_of(person, name), *chat = owners_text(person, "chat");
	char *ways[] = { *mail ? mem_fmt("mail:%s", mail) : NULL, *chat ? mem_str(chat) : NULL,
		         channels_of_type(c, CH_PUSH) && !devices_refusal(d, name, severity)
		                 ? mem_fmt("push:%s", name)
		                 : NULL };
	char *ret = NULL;
	bool any = false;

	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		bool is = ways[i] && !is_disabled(person) && is_way(c, ways[i]);

		any = any || is;
		if (is && !ret && (*at)-- == 0) {
			ret = ways[i];
			ways[i] = NULL;
		}
		free(ways[i]);
	}
	if (!any && (*at)-- == 0)
		ret = mem_fmt(UNTOLD "%s", name);
	return ret;
}

char *owners_recipient(const struct owners *o, const struct channels *c, struct devices *d,
                       const char *owner, int severity, size_t i)
{
	const struct named *group = owners_find(&o->people, owner) ? NULL
	                                                           : owners_find(&o->groups, owner);
	char *ret = NULL;
	bool any = false;

	for (size_t k = 0; group && k < o->people.n && !ret; k++) {
		const struct named *person = &o->people.items[k];

		if (is_disabled(person) || !owners_belongs(person, group))
			continue;
		any = true;
		ret = next_way(o, c, d, person->name, severity, &i);
	}
	return ret || any ? ret : next_way(o, c, d, owner, severity, &i);
}

const char *owner_untold(const char *recipient)
{
	size_t n = strlen(UNTOLD);

	return strncmp(recipient, UNTOLD, n) == 0 ? recipient + n : NULL;
}

const char *owners_refusal(struct owners *o, struct devices *d, const char *name, int severity)
{
	const struct named *person = owners_find(&o->people, name);
	const char *why = " has no address";
	bool is_admin = strcmp(name, "admin") == 0; /* no document */

	if (is_disabled(person))
		why = " is disabled";
	else if (*mail_of(person, name) || *owners_text(person, "chat"))
		why = " has an address that no channel serves";
	else if (!person && !is_admin)
		why = owners_find(&o->groups, name) ? " is a group of nobody" : " is nobody here";
	else if (!devices_refusal(d, name, 2) && devices_refusal(d, name, severity))
		why = " wants only severer ones pushed, and has no other address";
	snprintf(o->why, sizeof o->why, "not told: %.64s%s", name, why);
	return o->why;
}
