#include "cgi/prometheus.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "util/buf.h"
#include "util/json_in.h"

static bool name_ok(const char *s)
{
	return s != NULL && s[0] != '\0' && (s[0] < '0' || s[0] > '9') &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
	               strlen(s);
}

static void escaped(struct buf *out, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '\n') {
			buf_puts(out, "\\n");
			continue;
		}
		if (*s == '\\' || *s == '"')
			buf_putc(out, '\\');
		buf_putc(out, *s);
	}
}

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP sirdar_%s ", name);
	escaped(out, help);
	buf_printf(out, "\n# TYPE sirdar_%s %s\n", name, type);
}

void prometheus_own(struct buf *out, const char *name, const char *type, const char *help,
                    uint64_t value)
{
	head(out, name, type, help);
	buf_printf(out, "sirdar_%s %" PRIu64 "\n", name, value);
}

/* Labels of the sample and one more (le), if any. */
static void labels(struct buf *out, const cJSON *ls, const char *le)
{
	const cJSON *l;
	bool first = true;

	cJSON_ArrayForEach(l, ls)
	{
		if (!name_ok(l->string) || !cJSON_IsString(l))
			continue;
		buf_printf(out, "%s%s=\"", first ? "{" : ",", l->string);
		escaped(out, l->valuestring);
		buf_putc(out, '"');
		first = false;
	}
	if (le != NULL) {
		buf_printf(out, "%sle=\"%s\"", first ? "{" : ",", le);
		first = false;
	}
	if (!first)
		buf_putc(out, '}');
}

static void line(struct buf *out, const char *name, const char *suffix, const cJSON *s,
                 const char *le, int64_t value)
{
	buf_printf(out, "sirdar_%s%s", name, suffix);
	labels(out, json_get(s, "labels"), le);
	buf_printf(out, " %" PRId64 "\n", value);
}

static void histogram(struct buf *out, const char *name, const cJSON *s)
{
	const cJSON *b;

	cJSON_ArrayForEach(b, json_get(s, "buckets"))
	{
		const cJSON *le = cJSON_GetArrayItem(b, 0), *n = cJSON_GetArrayItem(b, 1);
		struct buf text;

		if (!cJSON_IsNumber(le) || !cJSON_IsNumber(n))
			continue;
		buf_init(&text);
		buf_printf(&text, "%.0f", le->valuedouble);
		line(out, name, "_bucket", s, buf_str(&text), (int64_t)n->valuedouble);
		buf_done(&text);
	}
	line(out, name, "_bucket", s, "+Inf", json_int(s, "count", 0));
	line(out, name, "_sum", s, NULL, json_int(s, "sum", 0));
	line(out, name, "_count", s, NULL, json_int(s, "count", 0));
}

void prometheus_server(struct buf *out, const char *json, size_t n)
{
	struct cJSON *root = NULL;
	const cJSON *m, *s;

	if (json_parse(json, n, &root, NULL) < 0)
		return;
	cJSON_ArrayForEach(m, json_get(root, "metrics"))
	{
		const char *name = json_text(m, "name"), *type = json_text(m, "type");
		const char *help = json_text(m, "help");

		if (!name_ok(name) || !name_ok(type))
			continue;
		head(out, name, type, help != NULL ? help : name);
		cJSON_ArrayForEach(s, json_get(m, "samples"))
		{
			if (strcmp(type, "histogram") == 0)
				histogram(out, name, s);
			else
				line(out, name, "", s, NULL, json_int(s, "value", 0));
		}
	}
	cJSON_Delete(root);
}
