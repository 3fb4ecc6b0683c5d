/* Documents whose keys are not those of workflow_keys.def: calendars and target servers. Each shape
 * is a function that the rows of their tables name. */
#include "sched/schema_impl.h"

#include "sched/calendar_doc.h"
#include "util/buf.h"
#include "util/json_put.h"

#define DAY   "[0-9]{2}-[0-9]{2}"
#define DATE  "([0-9]{4}-)?" DAY
#define DATES "^" DATE "(\\.\\." DATE ")?$"

/* --- calendars -------------------------------------------------------------------------------- */

static void calendar_name(struct buf *out)
{
	schema__ref(out, "word");
}

static void calendar_text(struct buf *out)
{
	schema__text(out, 0, CALENDAR_TEXT_MAX);
}

static void calendar_years(struct buf *out)
{
	put_open(out, "anyOf", '[');
	put_open(out, NULL, '{');
	schema__number(out, 1, 9999);
	put_close(out, '}');
	put_open(out, NULL, '{');
	schema__pattern(out, "^[0-9]{4}(\\.\\.[0-9]{4})?$");
	put_close(out, '}');
	put_close(out, ']');
}

static void calendar_week(struct buf *out)
{
	put_text(out, "type", "array");
	put_open(out, "items", '{');
	put_open(out, "enum", '[');
	for (int i = 0; i < CALENDAR_WEEK; i++)
		put_text(out, NULL, calendar_weekdays[i]);
	for (int i = 0; i < CALENDAR_WEEK; i++)
		put_bytes(out, NULL, calendar_weekdays[i], CALENDAR_SHORT);
	put_close(out, ']');
	put_close(out, '}');
}

static void calendar_days(struct buf *out)
{
	put_open(out, "anyOf", '[');
	schema__put_ref(out, NULL, "dates");
	put_open(out, NULL, '{');
	put_text(out, "type", "object");
	put_open(out, "propertyNames", '{');
	put_text(out, "pattern", "^[0-9]{4}$");
	put_close(out, '}');
	schema__put_ref(out, "additionalProperties", "dates");
	put_close(out, '}');
	put_close(out, ']');
}

/* A list of dates, of ranges and of {on, name}. */
static void put_dates(struct buf *out)
{
	put_open(out, "date", '{');
	schema__pattern(out, DATES);
	put_close(out, '}');
	put_open(out, "dates", '{');
	put_text(out, "type", "array");
	put_open(out, "items", '{');
	put_open(out, "anyOf", '[');
	schema__put_ref(out, NULL, "date");
	put_open(out, NULL, '{');
	put_text(out, "type", "object");
	schema__put_words(out, "required", "on");
	put_open(out, "properties", '{');
	put_open(out, "on", '{');
	put_open(out, "anyOf", '[');
	schema__put_ref(out, NULL, "date");
	schema__put_ref(out, NULL, "dates");
	put_close(out, ']');
	put_close(out, '}');
	put_raw(out, "name", "true");
	put_close(out, '}');
	put_bool(out, "additionalProperties", false);
	put_close(out, '}');
	put_close(out, ']');
	put_close(out, '}');
	put_close(out, '}');
}

/* One way to say which days count. */
static void put_ways(struct buf *out)
{
	static const char *const ways[] = { "weekends", "working", "dates" };

	put_open(out, "oneOf", '[');
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		schema__put_required(out, NULL, ways[i]);
	put_close(out, ']');
	put_open(out, "dependentSchemas", '{');
	put_open(out, "dates", '{');
	put_open(out, "properties", '{');
	put_bool(out, "holidays", false);
	put_bool(out, "workdays", false);
	put_close(out, '}');
	put_close(out, '}');
	put_close(out, '}');
}

struct other_key {
	const char *key, *help;
	void (*put)(struct buf *out);
};

static void put_keys(struct buf *out, const struct other_key *keys, size_t n)
{
	put_text(out, "type", "object");
	schema__put_words(out, "required", keys[0].key);
	put_open(out, "properties", '{');
	for (size_t i = 0; i < n; i++) {
		put_open(out, keys[i].key, '{');
		put_text(out, "description", keys[i].help);
		keys[i].put(out);
		put_close(out, '}');
	}
	put_close(out, '}');
	put_bool(out, "additionalProperties", false);
}

void schema__calendar(struct buf *out)
{
	static const struct other_key keys[] = {
#define CALENDAR_KEY(key, shape, help) { key, help, calendar_##shape },
#include "sched/calendar_keys.def"
	};

	put_dates(out);
	put_open(out, "calendar", '{');
	put_keys(out, keys, sizeof keys / sizeof *keys);
	put_ways(out);
	put_close(out, '}');
}

/* --- target servers ------------------------------------------------------------------------- */

static void target_TEXT(struct buf *out)
{
	schema__put_words(out, "type", "string|number");
}

static void target_NUMBER(struct buf *out)
{
	schema__number(out, 0, INT32_MAX);
}

static void put_scalars(struct buf *out)
{
	schema__put_words(out, "type", "string|number|boolean|null");
}

static void target_MAP(struct buf *out)
{
	put_text(out, "type", "object");
	put_open(out, "additionalProperties", '{');
	put_scalars(out);
	put_close(out, '}');
}

static void target_LIST(struct buf *out)
{
	put_text(out, "type", "array");
	put_open(out, "items", '{');
	put_scalars(out);
	put_close(out, '}');
}

static void target_OUTSIDE(struct buf *out)
{
	target_MAP(out);
}

static void target_OUTSIDES(struct buf *out)
{
	put_text(out, "type", "object");
	put_open(out, "additionalProperties", '{');
	target_MAP(out);
	put_close(out, '}');
}

void schema__target(struct buf *out)
{
	static const struct other_key keys[] = {
#define TARGET_KEY(key, shape, help) { key, help, target_##shape },
#define TARGET_OWN(key, shape, help) { key, help, target_##shape },
#include "sched/target_keys.def"
	};

	put_open(out, "target", '{');
	put_keys(out, keys, sizeof keys / sizeof *keys);
	put_close(out, '}');
}
