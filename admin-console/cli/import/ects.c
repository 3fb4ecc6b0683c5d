/* sirdar import ects: pipelines as ECTS keeps them, one object or a list of them. */
#include "admin-console/cli/import/import.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sched/workflow.h"
#include "util/pile.h"
#include "util/yaml.h"

/* Weekdays there are 0-6, Sunday 0; here, with seconds, 1-7: names mean the same in both. */
static const char *cron_of(struct import *im, const char *spec)
{
	static const char *const days[] = {
		"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"
	};
	struct buf out;
	int field = 0;

	if (*spec == '@')
		return spec;
	buf_init(&out);
	bool is_step = false;
	for (const char *p = spec; *p; p++) {
		if (isspace((unsigned char)*p) && !isspace((unsigned char)p[1]))
			field++;
		is_step = *p == '/' || (is_step && isdigit((unsigned char)*p));
		bool is_nth = p > spec && p[-1] == '#';
		if (field == 5 && !is_step && !is_nth && *p >= '0' && *p <= '7')
			buf_puts(&out, days[*p - '0']);
		else
			buf_putc(&out, *p);
	}
	const char *text = pile_str(im->pile, buf_str(&out));
	buf_done(&out);
	return text;
}

static const char *node_name(struct import *im, const char *where, const char *id)
{
	size_t n = strlen(id);
	const cJSON *said;

	cJSON_ArrayForEach(said, im->nodes)
		if (strncmp(said->valuestring, id, n) == 0 && said->valuestring[n] == '=')
			return said->valuestring + n + 1;
	const char *name = word_ok(id) ? id : pile_fmt(im->pile, "node-%.50s", id);
	if (name != id)
		import_note(im, where, "the node %s is called %s: say --node %s=BROKER", id, name,
		            id);
	return name;
}

static void put_nodes(struct import *im, const char *where, const cJSON *nodes)
{
	const cJSON *n;
	bool any = false;

	cJSON_ArrayForEach(n, nodes) {
		if (!cJSON_IsString(n))
			continue;
		buf_puts(&im->out, any ? ", " : "nodes: [");
		yaml_print_text(node_name(im, where, n->valuestring), false, &im->out);
		any = true;
	}
	if (any)
		buf_puts(&im->out, "]\n");
}

/* A line, or a part between ; or , : NAME=value. */
static void put_environment(struct import *im, const char *where, int indent, const char *text)
{
	bool any = false;

	while (*text) {
		size_t n = strcspn(text, "\n;,");
		const char *pair = pile_strn(im->pile, text, n);
		pair += strspn(pair, " \t\r");
		size_t name = strcspn(pair, "=");
		text += n + (text[n] != '\0');
		if (!*pair)
			continue;
		const char *key = pile_strn(im->pile, pair, name);
		if (!pair[name] || !word_ok(key)) {
			import_note(im, where, "'%s' of environment is left out: not NAME=value",
			            pair);
			continue;
		}
		if (!any)
			buf_printf(&im->out, "%*senvironment:\n", indent, "");
		any = true;
		import_put(im, indent + 2, key, import_plain(im, pair + name + 1));
		if (!pair[name + 1])
			buf_printf(&im->out, "%*s%s: \"\"\n", indent + 2, "", key);
	}
}

static void put_task(struct import *im, const char *where, int indent, const cJSON *task)
{
	const char *mode = import_text(im, task, "mode");
	bool http = strcmp(mode, "http") == 0;

	import_put(im, indent, "type", http ? "http" : "shell");
	if (!http && strcmp(mode, "shell") != 0 && *mode)
		import_note(im, where, "mode '%s' is unknown here, taken for shell", mode);
	buf_printf(&im->out, "%*sparams:\n", indent, "");
	const char *content = import_plain(im, import_text(im, task, "content"));
	if (http) {
		const char *url = import_plain(im, import_text(im, task, "url"));
		const char *method = import_text(im, task, "method");
		import_put(im, indent + 2, "url", *url ? url : "http://localhost/");
		import_put(im, indent + 2, "method", *method ? method : "get");
		import_put(im, indent + 2, "body", content);
		if (!*url)
			import_note(im, where, "there is no url");
	} else {
		import_put(im, indent + 2, "script", *content ? content : "true");
		if (!*content)
			import_note(im, where, "there is no script");
	}
}

static void put_seconds(struct import *im, int indent, const char *key, long long value)
{
	if (value > 0)
		buf_printf(&im->out, "%*s%s: %llds\n", indent, "", key, value);
}

static void put_step(struct import *im, const char *where, const cJSON *step, int i)
{
	const cJSON *task = cJSON_GetObjectItemCaseSensitive(step, "task");
	const char *title = import_text(im, task, "name"),
		   *about = import_text(im, task, "description");
	const char *name = import_name(im, title, "");

	name = *name && strcmp(name, "finished") != 0 && strcmp(name, "failed") != 0
	               ? import_numbered(im, name, i)
	               : pile_fmt(im->pile, "step_%d", i);
	buf_printf(&im->out, "  - name: %s\n", name);
	import_title(im, 4, title, name);
	import_put(im, 4, "description", about);
	put_task(im, where, 4, task);
	put_seconds(im, 4, "timeout", import_number(step, "timeout"));
	put_seconds(im, 4, "interval", import_number(step, "interval"));
	if (import_number(step, "retries") > 0)
		buf_printf(&im->out, "    retries: %lld\n", import_number(step, "retries"));
	import_put(im, 4, "directory", import_text(im, step, "directory"));
	import_put(im, 4, "user", import_text(im, step, "user"));
	put_environment(im, where, 4, import_text(im, step, "environment"));
	const char *dependence = import_text(im, step, "dependence");
	if (strcmp(dependence, "weak") == 0)
		import_put(im, 4, "dependence", "weak");
	else if (*dependence && strcmp(dependence, "strong") != 0)
		import_note(im, where, "dependence '%s' is unknown, taken for strong", dependence);
}

static int by_step(const void *a, const void *b)
{
	long long x = import_number(*(const cJSON *const *)a, "step"),
		  y = import_number(*(const cJSON *const *)b, "step");

	return x < y ? -1 : x > y;
}

static void put_steps(struct import *im, const char *where, const cJSON *steps)
{
	int n = cJSON_GetArraySize(steps), i = 0;
	const cJSON **all = pile_take(im->pile, (size_t)n * sizeof *all + 1), *s;

	cJSON_ArrayForEach(s, steps)
		all[i++] = s;
	qsort(all, (size_t)n, sizeof *all, by_step);
	buf_puts(&im->out, "steps:\n");
	for (i = 0; i < n; i++)
		put_step(im, pile_fmt(im->pile, "%s.steps[%d]", where, i), all[i], i + 1);
}

static void put_hook(struct import *im, const char *where, const char *key, const cJSON *task)
{
	if (!cJSON_IsObject(task))
		return;
	buf_printf(&im->out, "%s:\n", key);
	put_task(im, pile_fmt(im->pile, "%s.%s_task", where, key), 2, task);
}

static void take_pipeline(struct import *im, const cJSON *p, int i)
{
	const char *where = pile_fmt(im->pile, "pipelines[%d]", i),
		   *title = import_text(im, p, "name");
	const char *about = import_text(im, p, "description");
	const cJSON *steps = cJSON_GetObjectItemCaseSensitive(p, "steps");

	if (cJSON_GetArraySize(steps) == 0) {
		import_note(im, where, "the pipeline '%s' is left out: it has no steps", title);
		return;
	}
	buf_puts(&im->out, im->out.len ? "---\n" : "");
	const char *name = import_name(
		im, title, pile_fmt(im->pile, "%s_%d", im->name ? im->name : "pipeline", i + 1));
	import_put(im, 0, "pipeline", name);
	import_put(im, 0, "project", im->project);
	import_title(im, 0, title, name);
	import_put(im, 0, "description", about);
	const char *cron = cron_of(im, import_text(im, p, "spec"));
	import_put(im, 0, "cron", cron);
	if (!*cron) {
		import_put(im, 0, "cycle", "none");
		import_note(im, where, "there is no spec: it runs when asked");
	}
	put_nodes(im, where, cJSON_GetObjectItemCaseSensitive(p, "nodes"));
	buf_printf(&im->out, "overlap: %s\n", import_number(p, "overlap") ? "true" : "false");
	if (cJSON_GetObjectItemCaseSensitive(p, "status"))
		import_note(im, where, "status %s is left out: set `state` by hand",
		            import_text(im, p, "status"));
	put_steps(im, where, steps);
	put_hook(im, where, "finished", cJSON_GetObjectItemCaseSensitive(p, "finished_task"));
	put_hook(im, where, "failed", cJSON_GetObjectItemCaseSensitive(p, "failed_task"));
}

static void make(struct import *im)
{
	cJSON *root = cJSON_ParseWithLength(buf_str(&im->text), im->text.len), *p;
	int i = 0;

	if (!root) {
		import_note(im, "1", "this is no JSON");
		return;
	}
	if (cJSON_IsArray(root))
		cJSON_ArrayForEach(p, root)
			take_pipeline(im, p, i++);
	else
		take_pipeline(im, root, 0);
	cJSON_Delete(root);
}

IMPORT(ects, import_ects_options);
