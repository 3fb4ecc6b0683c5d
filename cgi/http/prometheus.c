/* The text format, in two parts: this program's own numbers, by rows of metric.def, and the
 * server's, whose answer is JSON and is printed member by member. A number is kept in whole
 * units (us, ms, permille) and shown in the base unit with as many decimals as it needs. What
 * the server says in a shape that is not known is left out, for one bad number must not hide
 * the rest. */
#include "cgi/http/prometheus.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/buf.h"
#include "util/json_in.h"
#include "util/timing.h"

static const struct {
	const char *name, *type, *unit, *help;
} table[METRIC_COUNT] = {
#define COUNTER                              "counter"
#define GAUGE                                "gauge"
#define HISTOGRAM                            "histogram"
#define ONE                                  ""
#define US                                   "us"
#define MS                                   "ms"
#define PERMILLE                             "permille"
#define METRIC(NAME, name, type, unit, help) [METRIC_##NAME] = { name, type, unit, help },
#include "tbl/metric.def"
#undef METRIC
};

static bool name_ok(const char *s)
{
	return s && s[0] != '\0' && (s[0] < '0' || s[0] > '9') &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
	               strlen(s);
}

/* In help a quote stays as it is. */
static void escaped(struct buf *out, const char *s, bool is_label)
{
	for (; *s != '\0'; s++) {
		if (*s == '\n') {
			buf_puts(out, "\\n");
			continue;
		}
		if (*s == '\\' || (is_label && *s == '"'))
			buf_putc(out, '\\');
		buf_putc(out, *s);
	}
}

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP sirdar_%s ", name);
	escaped(out, help, false);
	buf_printf(out, "\n# TYPE sirdar_%s %s\n", name, type);
}

/* --- a number in its unit: decimals as many as it takes, none for nothing --- */

static int decimals(const char *unit)
{
	if (!unit)
		return 0;
	return strcmp(unit, "us") == 0                                    ? 6
	       : strcmp(unit, "ms") == 0 || strcmp(unit, "permille") == 0 ? 3
	                                                                  : 0;
}

static void prometheus_number(struct buf *out, int64_t value, int digits)
{
	uint64_t v = value < 0 ? -(uint64_t)value : (uint64_t)value, one = 1;

	for (int i = 0; i < digits; i++)
		one *= 10;
	uint64_t part = v % one;
	for (; digits > 0 && part % 10 == 0; digits--)
		part /= 10;
	buf_printf(out, "%s%" PRIu64, value < 0 ? "-" : "", v / one);
	if (digits > 0)
		buf_printf(out, ".%0*" PRIu64, digits, part);
}

/* --- labels --- */

struct labels {
	const char *const *own; /* pairs, or NULL */
	const cJSON *json;      /* an object, or NULL */
};

static bool label(struct buf *out, bool first, const char *name, const char *value)
{
	if (!name_ok(name) || !value)
		return first;
	buf_printf(out, "%s%s=\"", first ? "{" : ",", name);
	escaped(out, value, true);
	buf_putc(out, '"');
	return false;
}

/* All of the sample, and le where that is not NULL. */
static void put_labels(struct buf *out, const struct labels *ls, const char *le)
{
	const cJSON *l;
	bool first = true;

	for (const char *const *own = ls->own; own && *own; own += 2)
		first = label(out, first, own[0], own[1]);
	cJSON_ArrayForEach(l, ls->json)
		first = label(out, first, l->string, cJSON_IsString(l) ? l->valuestring : NULL);
	if (le)
		first = label(out, first, "le", le);
	if (!first)
		buf_putc(out, '}');
}

static void line(struct buf *out, const char *name, const char *suffix, const struct labels *ls,
                 const char *le, int64_t value, int digits)
{
	buf_printf(out, "sirdar_%s%s", name, suffix);
	put_labels(out, ls, le);
	buf_putc(out, ' ');
	prometheus_number(out, value, digits);
	buf_putc(out, '\n');
}

static void bucket(struct buf *out, const char *name, const struct labels *ls, int64_t limit,
                   int64_t n, int digits)
{
	struct buf le;

	buf_init(&le);
	prometheus_number(&le, limit, digits);
	line(out, name, "_bucket", ls, buf_str(&le), n, 0);
	buf_done(&le);
}

static void totals(struct buf *out, const char *name, const struct labels *ls, int64_t n,
                   int64_t sum, int digits)
{
	line(out, name, "_bucket", ls, "+Inf", n, 0);
	line(out, name, "_sum", ls, NULL, sum, digits);
	line(out, name, "_count", ls, NULL, n, 0);
}

/* --- the cgi's own --- */

void prometheus_head(struct buf *out, enum metric m)
{
	head(out, table[m].name, table[m].type, table[m].help);
}

void prometheus_put(struct buf *out, enum metric m, const char *const *labels, int64_t value)
{
	struct labels ls = { labels, NULL };

	line(out, table[m].name, "", &ls, NULL, value, decimals(table[m].unit));
}

void prometheus_timing(struct buf *out, enum metric m, const char *const *labels,
                       const struct timing *t, int step)
{
	struct labels ls = { labels, NULL };
	int digits = decimals(table[m].unit);
	struct timing_view v;
	uint64_t n = 0;

	timing_read(t, &v);
	for (int i = 0; i < TIMING_CLASSES - 1; i++) {
		n += v.counts[i];
		if (i % step == 0)
			bucket(out, table[m].name, &ls, timing_limit_us(i), (int64_t)n, digits);
	}
	totals(out, table[m].name, &ls, (int64_t)v.n, (int64_t)v.sum_us, digits);
}

void prometheus_one(struct buf *out, enum metric m, int64_t value)
{
	prometheus_head(out, m);
	prometheus_put(out, m, NULL, value);
}

/* --- the server's --- */

static void histogram(struct buf *out, const char *name, const cJSON *s, int digits)
{
	struct labels ls = { NULL, json_get(s, "labels") };
	const cJSON *b;

	cJSON_ArrayForEach(b, json_get(s, "buckets")) {
		const cJSON *le = cJSON_GetArrayItem(b, 0), *n = cJSON_GetArrayItem(b, 1);

		if (cJSON_IsNumber(le) && cJSON_IsNumber(n))
			bucket(out, name, &ls, (int64_t)le->valuedouble, (int64_t)n->valuedouble,
			       digits);
	}
	totals(out, name, &ls, json_int(s, "count", 0), json_int(s, "sum", 0), digits);
}

void prometheus_server(struct buf *out, const char *json, size_t n)
{
	struct cJSON *root = NULL;
	const cJSON *m, *s;

	if (json_parse(json, n, &root, NULL) < 0)
		return;
	cJSON_ArrayForEach(m, json_get(root, "metrics")) {
		const char *name = json_text(m, "name"), *type = json_text(m, "type");
		const char *help = json_text(m, "help");
		int digits = decimals(json_text(m, "unit"));

		if (!name_ok(name) || !name_ok(type))
			continue;
		head(out, name, type, help ? help : name);
		cJSON_ArrayForEach(s, json_get(m, "samples")) {
			struct labels ls = { NULL, json_get(s, "labels") };

			if (strcmp(type, "histogram") == 0)
				histogram(out, name, s, digits);
			else
				line(out, name, "", &ls, NULL, json_int(s, "value", 0), digits);
		}
	}
	cJSON_Delete(root);
}
