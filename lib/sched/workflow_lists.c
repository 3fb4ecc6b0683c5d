/* Readers of lists and of maps with free names. */
#include "sched/tz.h"
#include "sched/when.h"
#include "sched/workflow_impl.h"

#include "util/pile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_list(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n)
{
	char want[200];

	if (n->kind == YAML_LIST && (int64_t)n->n >= k->min && (int64_t)n->n <= k->max)
		return true;
	if (n->kind != YAML_LIST)
		wf__wrong(r, n, k->want);
	else {
		snprintf(want, sizeof want, "%" PRId64 " to %" PRId64 " items", k->min, k->max);
		wf__wrong(r, n, want);
	}
	return false;
}

/* What runners read in a form of their own: a map of variables as NAME=value lines, words of a
 * command as strings even where they look like numbers. */
static const char *environment_lines(struct pile *pile, const struct yaml_node *n)
{
	struct buf out;

	buf_init(&out);
	for (size_t i = 0; i < n->n; i++)
		buf_printf(&out, "%s%s=%s", i ? "\n" : "", n->keys[i]->text, n->items[i]->text);
	const char *text = pile_str(pile, buf_str(&out));
	buf_done(&out);
	return text;
}

static bool all_scalars(const struct yaml_node *n)
{
	for (size_t i = 0; i < n->n; i++)
		if (n->items[i]->kind != YAML_SCALAR)
			return false;
	return true;
}

static const char *json_text_of(struct pile *pile, const struct yaml_node *n)
{
	struct buf out;

	buf_init(&out);
	yaml_print_json(n, &out);
	const char *text = pile_str(pile, buf_str(&out));
	buf_done(&out);
	return text;
}

static const char *json_words(struct pile *pile, const struct yaml_node *n)
{
	struct yaml_node list = *n;
	const struct yaml_node **items = pile_take(pile, n->n * sizeof *items + 1);

	for (size_t i = 0; i < n->n; i++) {
		struct yaml_node *word = pile_take(pile, sizeof *word);
		*word = *n->items[i];
		word->is_plain = false;
		items[i] = word;
	}
	list.items = items;
	return json_text_of(pile, &list);
}

bool wf__has_pair(const struct wf_pairs *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->items[i].name, name) == 0)
			return true;
	return false;
}

/* The value of a parameter as its runner gets it: text, or JSON for maps and lists. */
static const char *wf_param_value(struct pile *pile, const char *name, const struct yaml_node *n)
{
	if (n->kind == YAML_SCALAR)
		return n->text;
	if (n->kind == YAML_MAP && strcmp(name, "environment") == 0 && all_scalars(n))
		return environment_lines(pile, n);
	if (n->kind == YAML_LIST && strcmp(name, "argv") == 0 && all_scalars(n))
		return json_words(pile, n);
	return json_text_of(pile, n);
}

/* `p` goes over one of that name, else behind. */
static void put_pair(struct wf_pairs *all, struct wf_pair p)
{
	for (size_t i = 0; i < all->n; i++) {
		if (strcmp(all->items[i].name, p.name) == 0) {
			all->items[i] = p;
			return;
		}
	}
	all->items[all->n++] = p;
}

/* A copy of what defaults gave, with room for more. */
static struct wf_pairs inherit(struct wf_reader *r, const struct wf_pairs *from,
                               const struct yaml_node *n)
{
	struct wf_pairs all = { .items = pile_take(r->pile,
		                                   (from->n + n->n) * sizeof *all.items + 1),
		                .n = from->n,
		                .node = n };

	if (from->n)
		memcpy(all.items, from->items, from->n * sizeof *all.items);
	return all;
}

enum { PARAMS_MAX = WORKFLOW_PARAMS_MAX, TEXT_BYTES_MAX = WORKFLOW_LISTED_MAX };

void wf_read_params(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                    void *field)
{
	if (n->kind != YAML_MAP || n->n > PARAMS_MAX) {
		wf__wrong(r, n, n->kind == YAML_MAP ? "at most 1000 names" : k->want);
		return;
	}
	struct wf_pairs all = inherit(r, field, n);
	for (size_t i = 0; i < n->n; i++) {
		char why[NAME_WHY_BYTES];
		const struct yaml_node *key = n->keys[i], *value = n->items[i];
		size_t length = wf__push(r, key->text);
		if (word_wrong(key->text, why))
			wf__wrong_name(r, key, key->text, "the name of a parameter", why);
		else if (yaml_is_null(value))
			diag_error(r->d, wf__here(r, value), "wrong_value",
			           "write \"\" for an empty text", "%s has no value", key->text);
		else
			put_pair(&all, (struct wf_pair){ key->text,
			                                 wf_param_value(r->pile, key->text, value),
			                                 value });
		wf__pop(r, length);
	}
	*(struct wf_pairs *)field = all;
}

void wf_read_pools(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	int64_t slots;
	char why[NAME_WHY_BYTES];

	if (n->kind != YAML_MAP || n->n > PARAMS_MAX) {
		wf__wrong(r, n, k->want);
		return;
	}
	struct wf_pairs all = inherit(r, field, n);
	for (size_t i = 0; i < n->n; i++) {
		const struct yaml_node *key = n->keys[i], *value = n->items[i];
		size_t length = wf__push(r, key->text);
		if (word_wrong(key->text, why))
			wf__wrong_name(r, key, key->text, "the name of a pool", why);
		else if (!yaml_int(value, k->min, k->max, &slots))
			wf__wrong(r, value, "a number of slots, 1 or more");
		else
			put_pair(&all, (struct wf_pair){ key->text, value->text, value });
		wf__pop(r, length);
	}
	*(struct wf_pairs *)field = all;
}

static void read_texts(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                       bool names, struct wf_texts *ret)
{
	if (!is_list(r, k, n))
		return;
	struct wf_texts all = { .items = pile_take(r->pile, n->n * sizeof *all.items + 1),
		                .node = n };
	for (size_t i = 0; i < n->n; i++) {
		const struct yaml_node *item = n->items[i];
		size_t length = wf__push_index(r, i);
		char why[NAME_WHY_BYTES];
		if (item->kind != YAML_SCALAR || yaml_is_null(item))
			wf__wrong(r, item, names ? "a name" : "a text");
		else if (names && word_wrong(item->text, why))
			wf__wrong_name(r, item, item->text, "a name", why);
		else if (item->n > TEXT_BYTES_MAX)
			wf__wrong(r, item, "a text of at most 500 bytes");
		else
			all.items[all.n++] = (struct wf_text){ item->text, item };
		wf__pop(r, length);
	}
	*ret = all;
}

void wf_read_names(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	read_texts(r, k, n, true, field);
}

void wf_read_texts(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	read_texts(r, k, n, false, field);
}

/* task, workflow/task or project/workflow/task */
static void check_reference(struct wf_reader *r, const struct wf_text *task)
{
	static const char want[] = "task, workflow/task or project/workflow/task";
	char why[NAME_WHY_BYTES];
	int parts = 0;

	for (const char *text = task->node ? task->text : NULL; text; parts++) {
		size_t n = strcspn(text, "/");
		const char *part = pile_strn(r->pile, text, n);
		if (name_wrong(part, why)) {
			wf__wrong_name(r, task->node, part, "a name", why);
			return;
		}
		text = text[n] ? text + n + 1 : NULL;
	}
	if (parts > 3)
		wf__wrong(r, task->node, want);
}

static void read_need(struct wf_reader *r, const struct yaml_node *n, struct wf_need *need)
{
	need->node = n;
	if (n->kind == YAML_SCALAR && !yaml_is_null(n)) {
		need->task = (struct wf_text){ n->text, n };
	} else if (n->kind == YAML_MAP) {
		wf__read_map(r, WT_NEED, n, need);
		if (!wf__has_must(WT_NEED, n))
			diag_error(r->d, wf__here(r, n), "missing_key", NULL,
			           "a need says which `task`");
	} else {
		wf__wrong(r, n, "a task, or {task: ..., depend: ...}");
	}
	check_reference(r, &need->task);
}

void wf_read_needs(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	struct wf_needs all = { .node = n };

	if (!is_list(r, k, n))
		return;
	all.items = pile_take(r->pile, n->n * sizeof *all.items + 1);
	for (size_t i = 0; i < n->n; i++) {
		size_t length = wf__push_index(r, i);
		read_need(r, n->items[i], &all.items[all.n]);
		/* One without a task was complained about; the others keep their numbers. */
		all.n++;
		wf__pop(r, length);
	}
	*(struct wf_needs *)field = all;
}

const char *const wf_recipients[] = {
#define CHANNEL(name, text, needs, payload, answer, made) text,
#include "tbl/channel.def"
#undef CHANNEL
	"oncall",
	NULL,
};

/* "mail:me@example.org": a kind of channel, and who. */
static bool is_recipient(const char *text)
{
	size_t n = strcspn(text, ":");

	if (!text[n] || !text[n + 1] || strpbrk(text, "\r\n"))
		return false;
	for (size_t i = 0; wf_recipients[i]; i++)
		if (strlen(wf_recipients[i]) == n && strncmp(wf_recipients[i], text, n) == 0)
			return true;
	return false;
}

void wf_read_recipients(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                        void *field)
{
	struct wf_texts *to = field;

	read_texts(r, k, n, false, to);
	for (size_t i = 0; i < to->n; i++)
		if (!is_recipient(to->items[i].text))
			diag_error(r->d, wf__here(r, to->items[i].node), "wrong_value", NULL,
			           "'%.80s' is nobody to tell, want mail:ADDRESS, or webhook:, "
			           "dingtalk:, "
			           "wecom:, feishu:, slack:, telegram:, pagerduty:, alertmanager: "
			           "or script: and the name of a channel, or oncall: and a list's",
			           to->items[i].text);
}

const char *const wf_events[] = {
#define ALERT(name, word, severity, lasts, en, zh) word,
#define ALERT_OTHER(...)
#include "tbl/alert.def"
#undef ALERT
	NULL,
};

static void check_event(struct wf_reader *r, const struct wf_text *word)
{
	struct nearest near = nearest_to(word->text);
	char hint[NEAREST_HINT_BYTES];

	for (size_t i = 0; wf_events[i]; i++) {
		if (strcmp(wf_events[i], word->text) == 0)
			return;
		nearest_try(&near, wf_events[i]);
	}
	diag_error(r->d, wf__here(r, word->node), "wrong_value", nearest_hint(&near, hint),
	           "'%.80s' is nothing to be told of, want failed, retried, late, long, killed, "
	           "hanged, skipped, succeeded, forced, at_risk or breached",
	           word->text);
}

void wf_read_events(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                    void *field)
{
	struct wf_texts *when = field;

	read_texts(r, k, n, true, when);
	for (size_t i = 0; i < when->n; i++)
		check_event(r, &when->items[i]);
}

static void check_alert(struct wf_reader *r, void *item, const struct yaml_node *n)
{
	(void)item;
	if (!wf__has_must(WT_ALERT, n))
		diag_error(r->d, wf__here(r, n), "missing_key", NULL,
		           "an alert says `when` and `to`");
}

/* Read each map of a list into its place of `items`, `bytes` each, and check it. */
static void read_maps(struct wf_reader *r, enum wf_table_id table, const struct yaml_node *n,
                      void *items, size_t bytes,
                      void (*check)(struct wf_reader *r, void *item, const struct yaml_node *n))
{
	for (size_t i = 0; i < n->n; i++) {
		size_t length = wf__push_index(r, i);
		void *item = (char *)items + i * bytes;
		wf__read_map(r, table, n->items[i], item);
		if (n->items[i]->kind == YAML_MAP)
			check(r, item, n->items[i]);
		wf__pop(r, length);
	}
}

void wf_read_alerts(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                    void *field)
{
	struct wf_alerts *all = field;

	all->node = n;
	if (!is_list(r, k, n))
		return;
	all->items = pile_take(r->pile, n->n * sizeof *all->items + 1);
	all->n = n->n;
	read_maps(r, WT_ALERT, n, all->items, sizeof *all->items, check_alert);
}

static int64_t read_instant(struct wf_reader *r, const struct wf_text *text)
{
	struct when w;

	if (when_parse(text->text, WHEN_NO_NOW, &w) && !when_is_local(&w))
		return w.at;
	diag_error(r->d, wf__here(r, text->node), "wrong_value", NULL,
	           "'%.40s' is no instant with its offset, want 2026-03-01T22:00:00Z or +08:00",
	           text->text);
	return 0;
}

static void check_silence(struct wf_reader *r, void *item, const struct yaml_node *n)
{
	struct wf_silence *s = item;

	if (!wf__has_must(WT_SILENCE, n)) {
		diag_error(r->d, wf__here(r, n), "missing_key", NULL,
		           "a silence says `until` when, and the `reason`");
		return;
	}
	if (!s->until.node)
		return; /* complained about */
	s->until_s = read_instant(r, &s->until);
	s->from_s = s->from.node ? read_instant(r, &s->from) : INT64_MIN;
	if (s->until_s && s->from_s >= s->until_s)
		diag_error(r->d, wf__here(r, s->until.node), "wrong_value", NULL,
		           "it ends before it begins");
}

void wf_read_silences(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                      void *field)
{
	struct wf_silences *all = field;

	all->node = n;
	if (!is_list(r, k, n))
		return;
	all->items = pile_take(r->pile, n->n * sizeof *all->items + 1);
	all->n = n->n;
	read_maps(r, WT_SILENCE, n, all->items, sizeof *all->items, check_silence);
}

void wf_read_baselines(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                       void *field)
{
	wf_read_node(r, k, n, field);
	if (!is_list(r, k, n))
		return;
	r->wf->baseline_items = pile_take(r->pile, n->n * sizeof *r->wf->baseline_items + 1);
	for (size_t i = 0; i < n->n; i++) {
		size_t length = wf__push_index(r, i);
		struct wf_baseline *b = &r->wf->baseline_items[r->wf->n_baselines++];
		b->node = n->items[i];
		wf__read_map(r, WT_BASELINE, n->items[i], b);
		check_reference(r, &b->task);
		if (n->items[i]->kind == YAML_MAP && !wf__has_must(WT_BASELINE, n->items[i]))
			diag_error(r->d, wf__here(r, n->items[i]), "missing_key", NULL,
			           "a baseline says `task` and `committed`");
		wf__pop(r, length);
	}
}
