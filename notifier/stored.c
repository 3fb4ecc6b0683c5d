/* Documents of the server that say who is told, and how: read from the store when one of their kind
 * has changed, so that a change counts without a restart.
 *
 * A channel is built from its document and from the secrets of that version, which come by wake.c.
 * Secrets of the same version outlive a refresh. Each channel asks at most once in ASK_US; what is
 * kept outside is asked for again after OUTSIDE_US, for it may have been changed there. A document
 * that does not read tells nobody, and the log says so. */
#include "notifier/stored.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/message.h"
#include "notifier/wake.h"
#include "rt/zones.h"
#include "sched/duty.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_read.h"
#include "util/log.h"
#include "util/yaml.h"

#define ASK_US     (5 * US_PER_S)
#define OUTSIDE_US (600 * US_PER_S)

enum { N_SECRETS = 3, WHY_BYTES = 300 };

struct kept {
	char *name;
	const struct jval *json;
	uint32_t version, got; /* got: of which version the secrets are; 0: none */
	struct channel channel;
	char *secret[N_SECRETS];
	char why[WHY_BYTES];
	int64_t asked_us, came_us;
};

struct duty_list {
	char *name;
	const struct jval *json;
	struct duty_plan plan;
};

struct rule {
	char *name;
	const struct jval *json;
	struct stored_rule is;
};

struct stored {
	struct reader *reader;
	struct kept *items;
	struct duty_list *lists;
	struct rule *rules;
	size_t n, n_lists, n_rules;
	bool is_read;
	uint64_t changes[3];
};

struct stored *stored_new(struct reader *reader)
{
	struct stored *s = mem_new(sizeof *s);

	s->reader = reader;
	return s;
}

static void secret_forget(char *text)
{
	if (text)
		sodium_memzero(text, strlen(text));
	free(text);
}

static void kept_done(struct kept *k)
{
	for (size_t i = 0; i < N_SECRETS; i++)
		secret_forget(k->secret[i]);
	jv_free(k->json);
	free(k->name);
}

static void kept_clear(struct kept *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		kept_done(&items[i]);
	free(items);
}

static void others_clear(struct stored *s)
{
	for (size_t i = 0; i < s->n_lists; i++) {
		jv_free(s->lists[i].json);
		free(s->lists[i].name);
	}
	for (size_t i = 0; i < s->n_rules; i++) {
		jv_free(s->rules[i].json);
		free(s->rules[i].name);
	}
	s->n_lists = s->n_rules = 0;
}

void stored_free(struct stored *s)
{
	if (!s)
		return;
	kept_clear(s->items, s->n);
	others_clear(s);
	free(s->lists);
	free(s->rules);
	free(s);
}

/* --- channels -------------------------------------------------------------------------- */

static bool has_secrets(const struct kept *k)
{
	return jv_first(jv_get(k->json, "secrets")) != NULL;
}

/* What is borrowed of the document and of the secrets. */
static void channel_build(struct kept *k)
{
	struct channel *c = &k->channel;
	bool ready = !has_secrets(k) || k->got == k->version;

	*c = (struct channel){ .type = c->type,
		               .made = CHANNEL_STORED,
		               .name = k->name,
		               .url = k->secret[0] ? k->secret[0] : jv_str(k->json, "where"),
		               .from = jv_str(k->json, "from"),
		               .user = jv_str(k->json, "user"),
		               .password = k->secret[1] ? k->secret[1] : "",
		               .secret = k->secret[2] ? k->secret[2] : "",
		               .chat = jv_str(k->json, "chat"),
		               .language = jv_str(k->json, "language"),
		               .ca_file = "",
		               .key_file = "",
		               .insecure = jv_true(k->json, "insecure"),
		               .is_confined = jv_true(k->json, "confined"),
		               .projects = jv_get(k->json, "projects"),
		               .lacks = ready       ? NULL
		                        : k->why[0] ? k->why
		                                    : CHANNEL_PENDING };
}

static int take_channel(void *ctx, const struct store_doc *d)
{
	struct stored *s = ctx;
	struct kept k = { .version = d->version };

	if (jv_parse(d->body, d->body_len, &k.json, NULL) < 0 ||
	    !channel_type_of(jv_str(k.json, "kind"), &k.channel.type)) {
		log_error("channels.document", "name=%s version=%u", d->name, d->version);
		jv_free(k.json);
		return 0;
	}
	k.name = mem_str(d->name);
	s->items = mem_grow(s->items, s->n + 1, sizeof *s->items);
	s->items[s->n++] = k;
	return 0;
}

/* Secrets of the same version are still good. */
static void secrets_move(struct kept *to, struct kept *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(from[i].name, to->name) == 0 && from[i].version == to->version) {
			for (size_t k = 0; k < N_SECRETS; k++) {
				to->secret[k] = from[i].secret[k];
				from[i].secret[k] = NULL;
			}
			to->got = from[i].got;
			to->asked_us = from[i].asked_us;
			to->came_us = from[i].came_us;
			memcpy(to->why, from[i].why, sizeof to->why);
		}
}

static int channels_load(struct stored *s, struct err *err)
{
	struct kept *was = s->items;
	size_t n = s->n;

	s->items = NULL;
	s->n = 0;
	int r = read_doc_bodies(s->reader, DOC_CHANNEL, take_channel, s, err);
	for (size_t i = 0; i < s->n; i++) {
		secrets_move(&s->items[i], was, n);
		channel_build(&s->items[i]);
	}
	kept_clear(was, n);
	return r;
}

/* --- lists, rules ---------------------------------------------------------------------- */

static int take_list(void *ctx, const struct store_doc *d)
{
	struct stored *s = ctx;
	struct duty_list l = { .plan = { .tz = tz_utc() } };
	struct when from;

	if (jv_parse(d->body, d->body_len, &l.json, NULL) < 0)
		return 0;
	const char *every = jv_str(l.json, "every"), *zone = jv_str(l.json, "zone");
	const struct jval *people = jv_get(l.json, "people");
	l.plan.people = people ? people->len : 0;
	l.plan.every = strcmp(every, "day") == 0    ? DUTY_DAY
	               : strcmp(every, "week") == 0 ? DUTY_WEEK
	                                            : DUTY_ALL;
	if (zone[0] && zones_get(zone, &l.plan.tz, NULL) < 0)
		l.plan.tz = tz_utc(); /* the server has a zone that this machine has not */
	if (when_parse(jv_str(l.json, "start"), WHEN_NO_NOW, &from))
		l.plan.from = from.label;
	l.name = mem_str(d->name);
	s->lists = mem_grow(s->lists, s->n_lists + 1, sizeof *s->lists);
	s->lists[s->n_lists++] = l;
	return 0;
}

static int take_rule(void *ctx, const struct store_doc *d)
{
	struct stored *s = ctx;
	struct rule r = { .name = NULL };
	const char *after;

	if (jv_parse(d->body, d->body_len, &r.json, NULL) < 0)
		return 0;
	r.name = mem_str(d->name);
	after = jv_str(r.json, "after");
	r.is = (struct stored_rule){ .name = r.name,
		                     .covers = jv_str(r.json, "covers"),
		                     .when = jv_get(r.json, "when"),
		                     .to = jv_get(r.json, "to") };
	if (after[0] && !duration_parse_us(after, &r.is.after_us))
		r.is.after_us = 0;
	s->rules = mem_grow(s->rules, s->n_rules + 1, sizeof *s->rules);
	s->rules[s->n_rules++] = r;
	return 0;
}

int stored_refresh(struct stored *s, struct err *err)
{
	static const enum store_doc_kind kinds[] = { DOC_CHANNEL, DOC_ONCALL, DOC_RULE };
	uint64_t now[3] = { 0 };
	int r = 0;

	for (size_t i = 0; i < 3 && r == 0; i++)
		r = read_doc_changes(s->reader, kinds[i], &now[i], err);
	if (r < 0 || (s->is_read && memcmp(now, s->changes, sizeof now) == 0))
		return r;
	others_clear(s);
	r = channels_load(s, err);
	if (r == 0)
		r = read_doc_bodies(s->reader, DOC_ONCALL, take_list, s, err);
	if (r == 0)
		r = read_doc_bodies(s->reader, DOC_RULE, take_rule, s, err);
	memcpy(s->changes, now, sizeof now);
	s->is_read = r == 0;
	log_info("channels.stored", "channels=%zu lists=%zu rules=%zu", s->n, s->n_lists,
	         s->n_rules);
	return r;
}

/* --- secrets --------------------------------------------------------------------------- */

static bool is_outside(const struct kept *k)
{
	JV_EACH(v, jv_get(k->json, "secrets"))
		if (v->kind == JV_OBJECT)
			return true;
	return false;
}

static bool wants(const struct kept *k, int64_t now_us)
{
	bool fresh = k->got == k->version && !(is_outside(k) && now_us - k->came_us > OUTSIDE_US);
	bool asked = now_us >= k->asked_us && now_us - k->asked_us < ASK_US;

	return has_secrets(k) && !fresh && !asked;
}

void stored_ask(struct stored *s, struct wake *w, int64_t now_us)
{
	for (size_t i = 0; i < s->n; i++)
		if (wants(&s->items[i], now_us)) {
			s->items[i].asked_us = now_us;
			wake_ask_secrets(w, s->items[i].name);
		}
}

static struct kept *stored_find(const struct stored *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->items[i].name, name) == 0)
			return &s->items[i];
	return NULL;
}

static void take_given(struct kept *k, struct given *g, int64_t now_us)
{
	if (g->code == 0 && g->version == k->version) {
		for (size_t i = 0; i < N_SECRETS; i++) {
			secret_forget(k->secret[i]);
			k->secret[i] = g->secret[i];
			g->secret[i] = NULL;
		}
		k->got = g->version;
		k->came_us = now_us;
		k->why[0] = '\0';
	} else if (g->code < 0 && k->got != k->version) {
		snprintf(k->why, sizeof k->why, "its secrets are not available: %.250s", g->text);
		log_warn("channels.secrets", "channel=%s code=%s why=\"%s\"", k->name,
		         err_name(g->code), g->text);
	}
	channel_build(k);
}

void stored_take(struct stored *s, struct given *list, int64_t now_us)
{
	while (list) {
		struct given *g = list;
		struct kept *k = stored_find(s, g->channel);

		list = g->next;
		if (k)
			take_given(k, g, now_us);
		given_free(g);
	}
}

/* --- asked ----------------------------------------------------------------------------- */

size_t stored_count(const struct stored *s)
{
	return s ? s->n : 0;
}

const struct channel *stored_at(const struct stored *s, size_t i)
{
	return i < stored_count(s) ? &s->items[i].channel : NULL;
}

const struct jval *stored_json(const struct stored *s, const struct channel *c)
{
	const struct kept *k = stored_find(s, c->name);

	return k ? k->json : NULL;
}

static const struct duty_list *list_find(const struct stored *s, const char *name)
{
	for (size_t i = 0; s && i < s->n_lists; i++)
		if (strcmp(s->lists[i].name, name) == 0)
			return &s->lists[i];
	return NULL;
}

bool stored_has_list(const struct stored *s, const char *list, const struct jval **ret_projects)
{
	const struct duty_list *l = list_find(s, list);

	*ret_projects = l ? jv_get(l->json, "projects") : NULL;
	return l != NULL;
}

const char *stored_duty(const struct stored *s, const char *list, int64_t at, size_t i)
{
	const struct duty_list *l = list_find(s, list);
	const struct jval *v;

	if (!l || l->plan.people == 0 || i >= l->plan.people ||
	    (l->plan.every != DUTY_ALL && i > 0))
		return NULL;
	if (l->plan.every != DUTY_ALL)
		i = duty_turn(&l->plan, at, NULL);
	v = jv_first(jv_get(l->json, "people"));
	while (v && i-- > 0)
		v = v->next;
	return v && jv_is(v, JV_TEXT) ? v->text : NULL;
}

const struct stored_rule *stored_rule_at(const struct stored *s, size_t i)
{
	return s && i < s->n_rules ? &s->rules[i].is : NULL;
}

bool stored_rule_is_of(const struct stored_rule *r, const char *task, const char *word)
{
	size_t n = strlen(r->covers);
	bool covers = n == 0 ||
	              (strncmp(r->covers, task, n) == 0 && (task[n] == '/' || task[n] == '\0'));

	return covers && jv_has(r->when, word);
}

bool stored_watches(const struct stored *s)
{
	for (size_t i = 0; s && i < s->n_rules; i++)
		JV_EACH(v, s->rules[i].is.when)
			if (v->kind == JV_TEXT && happening_from_word(v->text) >= HP_BROKER_LOST)
				return true;
	return false;
}
