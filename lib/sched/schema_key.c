/* What a value may be, told by the reader of its row: one shape for each reader of
 * workflow_impl.h. A shape writes members into the object that is open. Texts are strings or
 * numbers, for YAML reads 2026 as a number; lengths are characters where readers count bytes, so
 * they refuse less than those do. */
#include "sched/schema_impl.h"

#include "util/buf.h"
#include "util/check.h"
#include "util/json_put.h"
#include "util/yaml.h"

#include <stdio.h>
#include <string.h>

/* --- pieces ---------------------------------------------------------------------------------- */

void schema__put_words(struct buf *out, const char *key, const char *words)
{
	put_open(out, key, '[');
	for (; *words; words += *words == '|') {
		size_t n = strcspn(words, "|");
		put_bytes(out, NULL, words, n);
		words += n;
	}
	put_close(out, ']');
}

static void put_list(struct buf *out, const char *key, const char *const *words)
{
	put_open(out, key, '[');
	for (; *words; words++)
		put_text(out, NULL, *words);
	put_close(out, ']');
}

void schema__ref(struct buf *out, const char *def)
{
	char ref[WORKFLOW_NAME_MAX + 40];

	snprintf(ref, sizeof ref, "#/$defs/%s", def);
	put_text(out, "$ref", ref);
}

void schema__put_ref(struct buf *out, const char *key, const char *def)
{
	put_open(out, key, '{');
	schema__ref(out, def);
	put_close(out, '}');
}

void schema__put_required(struct buf *out, const char *key, const char *one)
{
	put_open(out, key, '{');
	schema__put_words(out, "required", one);
	put_close(out, '}');
}

void schema__text(struct buf *out, int64_t min, int64_t max)
{
	schema__put_words(out, "type", "string|number");
	if (min > 0)
		put_int(out, "minLength", min);
	put_int(out, "maxLength", max);
}

void schema__number(struct buf *out, int64_t min, int64_t max)
{
	put_text(out, "type", "integer");
	put_int(out, "minimum", min);
	put_int(out, "maximum", max);
}

void schema__pattern(struct buf *out, const char *regex)
{
	put_text(out, "type", "string");
	put_text(out, "pattern", regex);
}

static void put_pattern(struct buf *out, const char *key, const char *regex)
{
	put_open(out, key, '{');
	schema__pattern(out, regex);
	put_close(out, '}');
}

static void put_enum(struct buf *out, const char *words)
{
	put_open(out, NULL, '{');
	schema__put_words(out, "enum", words);
	put_close(out, '}');
}

void schema__duration(struct buf *out, bool zero)
{
	struct buf regex;

	buf_init(&regex);
	duration_put_pattern(&regex);
	if (zero)
		put_open(out, "anyOf", '[');
	if (zero)
		put_open(out, NULL, '{');
	schema__pattern(out, buf_str(&regex));
	if (zero) {
		put_close(out, '}');
		put_open(out, NULL, '{');
		put_int(out, "const", 0);
		put_close(out, '}');
		put_close(out, ']');
	}
	buf_done(&regex);
}

static void shape_list(struct buf *out, const struct wf_key *k)
{
	put_text(out, "type", "array");
	if (k->min > 0)
		put_int(out, "minItems", k->min);
	put_int(out, "maxItems", k->max);
}

/* A list of maps of one table. */
static void shape_maps(struct buf *out, const struct wf_key *k, const char *def)
{
	shape_list(out, k);
	schema__put_ref(out, "items", def);
}

/* --- by readers ------------------------------------------------------------------------------ */

static void of_text(const struct wf_key *k, struct buf *out)
{
	schema__text(out, k->min, k->max);
}

static void of_name(const struct wf_key *k, struct buf *out)
{
	(void)k;
	schema__ref(out, "name");
}

static void of_word(const struct wf_key *k, struct buf *out)
{
	schema__ref(out, strcmp(k->key, "type") == 0 ? "type" : "word");
}

static void of_choice(const struct wf_key *k, struct buf *out)
{
	schema__put_words(out, "enum", k->want);
}

static void of_overlap(const struct wf_key *k, struct buf *out)
{
	put_open(out, "anyOf", '[');
	put_enum(out, k->want);
	put_open(out, NULL, '{');
	put_text(out, "type", "boolean");
	put_close(out, '}');
	put_close(out, ']');
}

static void of_truth(const struct wf_key *k, struct buf *out)
{
	(void)k;
	put_text(out, "type", "boolean");
}

static void of_int32(const struct wf_key *k, struct buf *out)
{
	schema__number(out, k->min, k->max);
}

static void of_duration(const struct wf_key *k, struct buf *out)
{
	schema__duration(out, k->min <= 0);
}

static void of_expire(const struct wf_key *k, struct buf *out)
{
	(void)k;
	put_open(out, "anyOf", '[');
	put_enum(out, "end of local day");
	put_open(out, NULL, '{');
	schema__duration(out, false);
	put_close(out, '}');
	put_close(out, ']');
}

static void of_clock(const struct wf_key *k, struct buf *out)
{
	(void)k;
	schema__pattern(out, "^([01][0-9]|2[0-3]):[0-5][0-9]$");
}

static void of_cycle(const struct wf_key *k, struct buf *out)
{
	struct buf regex;
	bool first = true;

	(void)k;
	buf_init(&regex);
	buf_puts(&regex, "^[0-9]{1,5} *(");
	put_open(out, "anyOf", '[');
	put_open(out, NULL, '{');
	put_open(out, "enum", '[');
	for (const struct wf_unit *u = wf_units; u->name; u++) {
		put_text(out, NULL, u->name);
		if (u->has_step)
			buf_printf(&regex, "%s%s", first ? "" : "|", u->name);
		first = first && !u->has_step;
	}
	put_close(out, ']');
	put_close(out, '}');
	buf_puts(&regex, ")$");
	put_pattern(out, NULL, buf_str(&regex));
	put_close(out, ']');
	buf_done(&regex);
}

static void of_params(const struct wf_key *k, struct buf *out)
{
	(void)k;
	schema__ref(out, "values");
}

static void of_pools(const struct wf_key *k, struct buf *out)
{
	put_text(out, "type", "object");
	schema__put_ref(out, "propertyNames", "word");
	put_open(out, "additionalProperties", '{');
	schema__number(out, k->min, k->max);
	put_close(out, '}');
}

static void of_names(const struct wf_key *k, struct buf *out)
{
	shape_list(out, k);
	schema__put_ref(out, "items", "word");
}

static void of_texts(const struct wf_key *k, struct buf *out)
{
	shape_list(out, k);
	put_open(out, "items", '{');
	schema__text(out, 0, WORKFLOW_LISTED_MAX);
	put_close(out, '}');
}

static void of_events(const struct wf_key *k, struct buf *out)
{
	shape_list(out, k);
	put_open(out, "items", '{');
	put_list(out, "enum", wf_events);
	put_close(out, '}');
}

static void of_recipients(const struct wf_key *k, struct buf *out)
{
	struct buf regex;

	buf_init(&regex);
	for (size_t i = 0; wf_recipients[i]; i++)
		buf_printf(&regex, "%s%s", i ? "|" : "^(", wf_recipients[i]);
	buf_puts(&regex, "):[^\\r\\n]+$");
	shape_list(out, k);
	put_pattern(out, "items", buf_str(&regex));
	buf_done(&regex);
}

static void of_use(const struct wf_key *k, struct buf *out)
{
	put_int(out, "maxLength", k->max);
	schema__pattern(out, "^[^/]+/[^/]+(/[^/]+)?$");
}

static void of_used(const struct wf_key *k, struct buf *out)
{
	(void)k;
	put_text(out, "type", "array");
}

static void of_needs(const struct wf_key *k, struct buf *out)
{
	shape_list(out, k);
	put_open(out, "items", '{');
	put_open(out, "anyOf", '[');
	put_pattern(out, NULL, "^[^/]+(/[^/]+){0,2}$");
	schema__put_ref(out, NULL, wf_tables[WT_NEED].id);
	put_close(out, ']');
	put_close(out, '}');
}

static void of_join(const struct wf_key *k, struct buf *out)
{
	put_open(out, "anyOf", '[');
	put_enum(out, "all|any");
	put_open(out, NULL, '{');
	schema__number(out, k->min, k->max);
	put_close(out, '}');
	put_close(out, ']');
}

static void of_depend(const struct wf_key *k, struct buf *out)
{
	schema__number(out, k->min, k->max);
	put_open(out, "not", '{');
	put_int(out, "const", 0);
	put_close(out, '}');
}

static void of_strategy(const struct wf_key *k, struct buf *out)
{
	struct buf regex;

	(void)k;
	buf_init(&regex);
	for (size_t i = 0; wf_strategies[i]; i++)
		buf_printf(&regex, "%s%s%s", i ? "|" : "^(", wf_strategies[i],
		           wf_strategies[i][strlen(wf_strategies[i]) - 1] == ' ' ? "[1-9][0-9]*"
		                                                                 : "");
	buf_puts(&regex, ")$");
	schema__pattern(out, buf_str(&regex));
	buf_done(&regex);
}

static void of_retry(const struct wf_key *k, struct buf *out)
{
	(void)k;
	schema__ref(out, wf_tables[WT_RETRY].id);
}

static void of_catchup(const struct wf_key *k, struct buf *out)
{
	(void)k;
	schema__ref(out, wf_tables[WT_CATCHUP].id);
}

static void of_quota(const struct wf_key *k, struct buf *out)
{
	(void)k;
	schema__ref(out, wf_tables[WT_QUOTA].id);
}

static void of_dispatch(const struct wf_key *k, struct buf *out)
{
	put_open(out, "anyOf", '[');
	put_enum(out, k->want);
	schema__put_ref(out, NULL, wf_tables[WT_DISPATCH].id);
	put_close(out, ']');
}

static void of_alerts(const struct wf_key *k, struct buf *out)
{
	shape_maps(out, k, wf_tables[WT_ALERT].id);
}

static void of_silences(const struct wf_key *k, struct buf *out)
{
	shape_maps(out, k, wf_tables[WT_SILENCE].id);
}

static void of_baselines(const struct wf_key *k, struct buf *out)
{
	shape_maps(out, k, wf_tables[WT_BASELINE].id);
}

static void of_defaults(const struct wf_key *k, struct buf *out)
{
	(void)k;
	schema__ref(out, wf_tables[WT_TASK].id);
}

/* A map of tasks by name, of wf__has_tasks(). */
static void tasks_by_name(struct buf *out, const char *def)
{
	put_text(out, "type", "object");
	put_int(out, "minProperties", 1);
	put_int(out, "maxProperties", WORKFLOW_TASKS_MAX);
	schema__put_ref(out, "propertyNames", "name");
	schema__put_ref(out, "additionalProperties", def);
}

static void of_tasks(const struct wf_key *k, struct buf *out)
{
	(void)k;
	tasks_by_name(out, wf_tables[WT_TASK].id);
}

static void of_shared_tasks(const struct wf_key *k, struct buf *out)
{
	(void)k;
	tasks_by_name(out, wf_tables[WT_SHARED].id);
}

static void of_steps(const struct wf_key *k, struct buf *out)
{
	(void)k;
	put_text(out, "type", "array");
	put_int(out, "minItems", 1);
	put_int(out, "maxItems", WORKFLOW_TASKS_MAX);
	schema__put_ref(out, "items", wf_tables[WT_STEP].id);
}

static void of_hook(const struct wf_key *k, struct buf *out)
{
	(void)k;
	schema__ref(out, wf_tables[WT_HOOK].id);
}

#define SHAPE(name)  { wf_read_##name, of_##name, true },
#define CHOICE(name) { wf_read_##name, of_choice, false },
static const struct shape {
	void (*read)(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
	             void *field);
	void (*put)(const struct wf_key *k, struct buf *out);
	bool says_want; /* its choices are not listed anyway */
} shapes[] = {
	SHAPE(text) SHAPE(name) SHAPE(word) SHAPE(truth) SHAPE(int32) SHAPE(duration) SHAPE(
		expire) SHAPE(clock) SHAPE(cycle) SHAPE(params) SHAPE(pools) SHAPE(names)
		SHAPE(texts) SHAPE(events) SHAPE(recipients) SHAPE(use) SHAPE(used) SHAPE(
			needs) SHAPE(join) SHAPE(depend) SHAPE(strategy) SHAPE(retry) SHAPE(catchup)
			SHAPE(quota) SHAPE(alerts) SHAPE(silences) SHAPE(baselines) SHAPE(defaults)
				SHAPE(tasks) SHAPE(shared_tasks) SHAPE(steps) SHAPE(hook)
					CHOICE(choice)
						CHOICE(shift){ wf_read_overlap, of_overlap, false },
	{ wf_read_dispatch, of_dispatch, false },
	{ wf_read_title, of_text, true },
	{ wf_read_least, of_text, true },
};
#undef SHAPE
#undef CHOICE

static const struct shape *shape_of(const struct wf_key *k)
{
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (shapes[i].read == k->read)
			return &shapes[i];
	CHECK(!"a reader without a shape");
	return shapes;
}

void schema__key(const struct wf_key *k, struct buf *out)
{
	const struct shape *of = shape_of(k);
	char text[600];

	snprintf(text, sizeof text, of->says_want ? "%s Write %s." : "%s", k->help, k->want);
	put_open(out, k->key, '{');
	put_text(out, "description", text);
	of->put(k, out);
	put_close(out, '}');
}
