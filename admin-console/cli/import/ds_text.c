/* Scripts of DolphinScheduler: its built-in names to ours, outputs, and what it leaves alone. */
#include <string.h>

#include "admin-console/cli/import/ds.h"
#include "sched/macro.h"
#include "util/err.h"
#include "util/pile.h"

static bool text_declares(cJSON *list, const char *name, const char *direct)
{
	const cJSON *p;

	cJSON_ArrayForEach(p, list) {
		const cJSON *prop = cJSON_GetObjectItemCaseSensitive(p, "prop");
		const cJSON *way = cJSON_GetObjectItemCaseSensitive(p, "direct");
		if (cJSON_IsString(prop) && strcmp(prop->valuestring, name) == 0 &&
		    (!cJSON_IsString(way) || strcmp(way->valuestring, direct) == 0))
			return true;
	}
	return false;
}

/* An output of a task right before this one? Conditions in between are links here. */
static bool from_parent(const struct ds *d, long long code, const char *name, int depth)
{
	const cJSON *r;

	cJSON_ArrayForEach(r, d->flow->relations) {
		cJSON *parent = import_number(r, "postTaskCode") == code
		                        ? ds_task(d->flow, import_number(r, "preTaskCode"))
		                        : NULL;
		const cJSON *type = parent ? cJSON_GetObjectItemCaseSensitive(parent, "taskType")
		                           : NULL;
		if (!parent)
			continue;
		if (text_declares(import_node(ds_params(parent), "localParams"), name, "OUT"))
			return true;
		if (cJSON_IsString(type) && strcmp(type->valuestring, "CONDITIONS") == 0 && depth &&
		    from_parent(d, import_number(parent, "code"), name, depth - 1))
			return true;
	}
	return false;
}

static bool is_parameter(const struct ds *d, const cJSON *task, const char *name)
{
	cJSON *own = ds_params((cJSON *)(uintptr_t)task);
	cJSON *global = import_node(d->flow->definition, "globalParamList");

	if (!global)
		global = import_node(d->flow->definition, "globalParams");
	return (own && text_declares(import_node(own, "localParams"), name, "IN")) ||
	       text_declares(global, name, "IN") ||
	       from_parent(d, import_number(task, "code"), name, 1);
}

static const char *built_in(const char *name)
{
	static const char *const map[][2] = {
		{ "system.biz.date", "$[yyyyMMdd-1]" },
		{ "system.biz.curdate", "$[yyyyMMdd]" },
		{ "system.datetime", "$[yyyyMMddHHmmss]" },
	};

	for (size_t i = 0; i < sizeof map / sizeof *map; i++)
		if (strcmp(map[i][0], name) == 0)
			return map[i][1];
	return NULL;
}

static void put_name(struct ds *d, const cJSON *task, const char *where, const char *name,
                     struct buf *out)
{
	const char *ours = built_in(name);

	if (ours) {
		buf_puts(out, ours);
		return;
	}
	if (strncmp(name, "system.", 7) == 0)
		import_note(d->im, where, "${%s} has no counterpart here and stays as text", name);
	buf_printf(out, "%s{%s}", is_parameter(d, task, name) ? "$" : "$$", name);
}

/* ${setValue(key=value)} and #{setValue(key=value)}, printed, are outputs. */
static size_t take_output(const char *p, struct buf *out)
{
	size_t head = strlen("${setValue(");
	const char *end;

	if (strncmp(p + 1, "{setValue(", head - 1) != 0)
		return 0;
	end = strstr(p, ")}");
	if (!end)
		return 0;
	buf_printf(out, "sirdar:output %.*s", (int)(end - p - (long)head), p + head);
	return (size_t)(end - p) + 2;
}

static bool date_is_good(const char *macro)
{
	return macro_check(macro, NULL, NULL, NULL, NULL) == 0;
}

const char *ds_text(struct ds *d, const cJSON *task, const char *where, const char *text)
{
	struct buf out;

	buf_init(&out);
	for (const char *p = text; *p;) {
		const char *end = *p == '$' && p[1] == '{'   ? strchr(p, '}')
		                  : *p == '$' && p[1] == '[' ? strchr(p, ']')
		                                             : NULL;
		size_t output = *p == '$' || *p == '#' ? take_output(p, &out) : 0;
		if (output) {
			p += output;
		} else if (end) {
			const char *whole = pile_strn(d->im->pile, p, (size_t)(end - p) + 1);
			if (p[1] == '{')
				put_name(d, task, where,
				         pile_strn(d->im->pile, p + 2, (size_t)(end - p) - 2),
				         &out);
			else if (date_is_good(whole))
				buf_puts(&out, whole);
			else {
				import_note(d->im, where, "%s is no date here and stays as text",
				            whole);
				buf_printf(&out, "$%s", whole);
			}
			p = end + 1;
		} else if (*p == '$' && p[1] && strchr("${[", p[1])) {
			buf_puts(&out, "$$");
			p++;
		} else {
			buf_putc(&out, *p++);
		}
	}
	const char *result = pile_str(d->im->pile, buf_str(&out));
	buf_done(&out);
	return result;
}
