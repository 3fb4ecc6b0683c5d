/* ECTS's JSON as documents. They are written as JSON, which is read as YAML. */
#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/ects.h"
#include "sched/name.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/near.h"
#include "util/visible.h"
#include "util/yaml.h"

enum { STEPS_MAX = 1000, TEXT_MAX = 65536, NUMBER_MAX = 30 * 86400 };

/* What each object may have: t a text, n a number, o an object, l a list, - what is passed over. */
struct member {
	const char *key;
	char kind;
};

static const struct member of_pipeline[] = {
	{ "id", 't' },
	{ "name", 't' },
	{ "description", 't' },
	{ "spec", 't' },
	{ "status", 'n' },
	{ "finished", 't' },
	{ "failed", 't' },
	{ "overlap", 'n' },
	{ "created_at", '-' },
	{ "updated_at", '-' },
	{ "nodes", 'l' },
	{ "steps", 'l' },
	{ "finished_task", 'o' },
	{ "failed_task", 'o' },
	{ NULL, 0 },
};
static const struct member of_step[] = {
	{ "id", 't' },         { "pipeline_id", 't' }, { "task_id", 't' },    { "step", 'n' },
	{ "timeout", 'n' },    { "interval", 'n' },    { "retries", 'n' },    { "directory", 't' },
	{ "user", 't' },       { "environment", 't' }, { "dependence", 't' }, { "created_at", '-' },
	{ "updated_at", '-' }, { "task", 'o' },        { NULL, 0 },
};
static const struct member of_task[] = {
	{ "id", 't' },         { "name", 't' },    { "mode", 't' },        { "url", 't' },
	{ "method", 't' },     { "content", 't' }, { "description", 't' }, { "created_at", '-' },
	{ "updated_at", '-' }, { NULL, 0 },
};

static bool is_kind(const cJSON *v, char kind)
{
	switch (kind) {
	case 't':
		return cJSON_IsString(v) && strlen(v->valuestring) <= TEXT_MAX;
	case 'n':
		return cJSON_IsBool(v) ||
		       (cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble <= NUMBER_MAX);
	case 'o':
		return cJSON_IsObject(v);
	case 'l':
		return cJSON_IsArray(v) && cJSON_GetArraySize(v) <= STEPS_MAX;
	default:
		return true;
	}
}

static int read_check(const cJSON *root, const char *what, const struct member *known,
                      struct err *err)
{
	static const char *const wants[] = { ['t'] = "a text",
		                             ['n'] = "a number from 0 to 2592000",
		                             ['o'] = "an object",
		                             ['l'] = "a list of at most 1000" };
	const cJSON *v;

	if (!cJSON_IsObject(root))
		return err_set(err, E_INVALID, "%s is no object", what);
	cJSON_ArrayForEach(v, root) {
		const struct member *m = known;
		while (m->key && strcmp(m->key, v->string) != 0)
			m++;
		if (!m->key)
			return err_set(err, E_INVALID, "%s has no '%.60s'", what, v->string);
		if (!cJSON_IsNull(v) && !is_kind(v, m->kind))
			return err_set(err, E_INVALID, "%s of %s wants %s", m->key, what,
			               wants[(int)m->kind]);
	}
	return 0;
}

static const char *ects_read_text(const cJSON *o, const char *key)
{
	const char *is = json_text(o, key);

	return is ? is : "";
}

static int64_t ects_read_number(const cJSON *o, const char *key)
{
	return json_true(o, key) ? 1 : json_int(o, key, 0);
}

/* Nothing in it is ours to expand. */
static void put_double(struct buf *out, const char *key, const char *is)
{
	struct buf own;

	if (!*is)
		return;
	buf_init(&own);
	for (; *is; is++)
		buf_puts(&own, *is == '$' ? "$$" : (char[]){ *is, 0 });
	put_text(out, key, buf_str(&own));
	buf_done(&own);
}

static void put_some(struct buf *out, const char *key, const char *is)
{
	if (*is)
		put_text(out, key, is);
}

/* An id is the last part of a path, and people see it in terminals and pages. */
static int check_id(const char *what, const char *id, struct err *err)
{
	size_t n = strlen(id);
	struct buf seen;

	buf_init(&seen);
	visible_put(id, n, VISIBLE_LINE, &seen);
	bool is_plain = n < ECTS_ID_BYTES && strcspn(id, "/\\?#% ") == n && id[0] != '.' &&
	                strcmp(buf_str(&seen), id) == 0;
	int r = is_plain ? 0
	                 : err_set(err, E_INVALID,
	                           "%s cannot have the id '%.100s': an id has at most %d bytes, "
	                           "nothing invisible and none of '/ \\ ? # %%' and the space, and "
	                           "does not begin with a dot",
	                           what, buf_str(&seen), ECTS_ID_BYTES - 1);
	buf_done(&seen);
	return r;
}

/* --- tasks ------------------------------------------------------------------------------- */

/* The keys of a task, into an object that is open. */
static int put_task(const cJSON *task, struct buf *out, struct err *err)
{
	int r = read_check(task, "a task", of_task, err);
	const char *mode = ects_read_text(task, "mode"), *name = ects_read_text(task, "name");
	bool http = strcmp(mode, "http") == 0;

	if (r == 0)
		r = check_id("a task", ects_read_text(task, "id"), err);
	if (r < 0)
		return r;
	if (*mode && !http && strcmp(mode, "shell") != 0)
		return err_set(err, E_INVALID,
		               "mode of the task '%.100s' is '%.60s', want shell or http", name,
		               mode);
	if (!*ects_read_text(task, http ? "url" : "content"))
		return err_set(err, E_INVALID, "the task '%.100s' has no %s", name,
		               http ? "url" : "content");
	put_some(out, "id", ects_read_text(task, "id"));
	put_some(out, "description", ects_read_text(task, "description"));
	put_text(out, "type", http ? "http" : "shell");
	put_open(out, "params", '{');
	if (http) {
		put_double(out, "url", ects_read_text(task, "url"));
		put_some(out, "method", ects_read_text(task, "method"));
	}
	put_double(out, http ? "body" : "script", ects_read_text(task, "content"));
	put_close(out, '}');
	return 0;
}

static void put_node(struct buf *out, const char *key, const struct yaml_node *n)
{
	struct buf own;

	buf_init(&own);
	yaml_print_json(n, &own);
	put_raw(out, key, buf_str(&own));
	buf_done(&own);
}

int ects_task_read(const cJSON *task, const struct yaml_node *was, struct buf *out, struct err *err)
{
	static const char *const ours[] = { "description", "type", "params", NULL };

	put_open(out, NULL, '{');
	int r = put_task(task, out, err);
	for (size_t i = 0; was && i < was->n; i++)
		if (!near_is_one(was->keys[i]->text, ours) && !json_get(task, was->keys[i]->text))
			put_node(out, was->keys[i]->text, was->items[i]);
	put_close(out, '}');
	return r;
}

void ects_library_put(const struct yaml_node *library, const char *project, const char *name,
                      const char *value, struct buf *out)
{
	const struct yaml_node *tasks = library ? yaml_get(library, "tasks") : NULL;
	bool is_put = false;

	put_open(out, NULL, '{');
	for (size_t i = 0; library && i < library->n; i++)
		if (library->items[i] != tasks)
			put_node(out, library->keys[i]->text, library->items[i]);
	if (!library) {
		put_text(out, "library", ECTS_LIBRARY);
		put_text(out, "project", project);
	}
	put_open(out, "tasks", '{');
	for (size_t i = 0; tasks && i < tasks->n; i++) {
		bool is_it = strcmp(tasks->keys[i]->text, name) == 0;
		if (is_it && *value)
			put_raw(out, name, value);
		else if (!is_it)
			put_node(out, tasks->keys[i]->text, tasks->items[i]);
		is_put = is_put || is_it;
	}
	if (!is_put && *value)
		put_raw(out, name, value);
	put_close(out, '}');
	put_close(out, '}');
}

/* --- steps ------------------------------------------------------------------------------- */

struct reading {
	const struct ects_world *w;
	struct buf *out;
	struct err *err;
	struct buf names; /* of the steps so far, each between two lines */
};

/* Is what the step brings just what the library has under that name? */
static bool is_same(const struct reading *x, const char *name, const cJSON *task)
{
	const struct yaml_node *is = yaml_get(yaml_get(x->w->library, "tasks"), name);
	struct buf own;
	struct yaml_doc **docs = NULL;
	size_t n = 0;

	buf_init(&own);
	bool same = ects_task_read(task, NULL, &own, NULL) == 0;
	if (same) {
		struct diags d;
		diags_init(&d);
		same = yaml_read(buf_str(&own), own.len, "", &d, &docs, &n) == 0 && n == 1;
		diags_done(&d);
	}
	/* What ECTS has of it; the rest is the library's alone. */
	static const char *const keys[] = { "type", "params", "description" };
	for (size_t i = 0; same && i < sizeof keys / sizeof keys[0]; i++) {
		const struct yaml_node *a = yaml_get(yaml_root(docs[0]), keys[i]),
				       *b = yaml_get(is, keys[i]);
		same = a && b ? yaml_same(a, b) : !a && !b;
	}
	for (size_t i = 0; i < n; i++)
		yaml_free(docs[i]);
	free(docs);
	buf_done(&own);
	return same;
}

/* `id` or `task`, as a step or a hook has them. */
static int put_used(struct reading *x, const char *id, const cJSON *task, const char *what)
{
	const char *of = *id ? id : ects_read_text(task, "id");
	const char *name = *of && x->w->library ? ects_task_find(x->w->library, x->w->project, of)
	                                        : NULL;

	if (!task && !name)
		return err_set(x->err, E_INVALID, "%s: there is no task '%.100s'", what, of);
	if (task && *id && *ects_read_text(task, "id") &&
	    strcmp(id, ects_read_text(task, "id")) != 0)
		return err_set(x->err, E_INVALID, "%s: its task_id and its task are two", what);
	if (!name || (task && !is_same(x, name, task)))
		return put_task(task, x->out, x->err);
	char *use = mem_fmt(ECTS_LIBRARY "/%s", name);
	put_text(x->out, "use", use);
	free(use);
	return 0;
}

/* A=1;B=2, or lines. */
static int put_environment(struct reading *x, const char *is)
{
	if (!*is)
		return 0;
	put_open(x->out, "environment", '{');
	while (*is) {
		is += strspn(is, " \t\r\n;");
		size_t n = strcspn(is, "\n;"), name = strcspn(is, "=");
		if (!n)
			continue;
		char *key = mem_strn(is, name < n ? name : n), *value;
		if (name >= n || !word_ok(key)) {
			int r = err_set(x->err, E_INVALID,
			                "environment wants NAME=value;NAME=value, not '%.60s'", is);
			free(key);
			return r;
		}
		value = mem_strn(is + name + 1, n - name - 1);
		if (*value)
			put_double(x->out, key, value);
		else
			put_text(x->out, key, "");
		free(value);
		free(key);
		is += n;
	}
	put_close(x->out, '}');
	return 0;
}

static void put_seconds(struct buf *out, const char *key, int64_t is)
{
	char own[32];

	snprintf(own, sizeof own, "%llds", (long long)is);
	if (is)
		put_text(out, key, own);
}

static bool is_taken(const struct reading *x, const char *name)
{
	char *line = mem_fmt("\n%s\n", name);
	bool is = strstr(buf_str((struct buf *)(uintptr_t)&x->names), line) != NULL;

	free(line);
	return is;
}

/* As its task is called; a second of that name with a number. */
static int put_name(struct reading *x, const cJSON *step, const char *what)
{
	const cJSON *task = json_get(step, "task");
	const char *id = ects_read_text(step, "task_id"), *found = NULL;
	const char *name = ects_read_text(task, "name");
	char why[NAME_WHY_BYTES];

	if (!*name && x->w->library)
		found = ects_task_find(x->w->library, x->w->project, id);
	name = found ? found : name;
	if (!*name && task)
		return err_set(x->err, E_INVALID, "%s: its task has no name", what);
	if (!*name)
		return err_set(x->err, E_INVALID, "%s: there is no task '%.100s'", what, id);
	if (name_wrong(name, why))
		return err_set(x->err, E_INVALID, "the task '%.100s' cannot be called so: %s", name,
		               why);
	char *own = mem_str(name);
	for (int i = 2; is_taken(x, own); i++) {
		free(own);
		own = mem_fmt("%s_%d", name, i);
	}
	put_text(x->out, "name", own);
	buf_printf(&x->names, "%s\n", own);
	free(own);
	return 0;
}

static int put_step(struct reading *x, const cJSON *step, size_t i)
{
	char what[40];
	const char *dependence = ects_read_text(step, "dependence");
	int r = read_check(step, "a step", of_step, x->err);

	snprintf(what, sizeof what, "step %zu", i + 1);
	if (r == 0 && *dependence && strcmp(dependence, "weak") != 0 &&
	    strcmp(dependence, "strong") != 0)
		r = err_set(x->err, E_INVALID, "%s: dependence is '%.40s', want strong or weak",
		            what, dependence);
	put_open(x->out, NULL, '{');
	if (r == 0)
		r = put_name(x, step, what);
	if (r == 0)
		r = put_used(x, ects_read_text(step, "task_id"), json_get(step, "task"), what);
	if (r == 0)
		r = put_environment(x, ects_read_text(step, "environment"));
	if (r < 0)
		return r;
	put_seconds(x->out, "timeout", ects_read_number(step, "timeout"));
	put_seconds(x->out, "interval", ects_read_number(step, "interval"));
	if (ects_read_number(step, "retries"))
		put_int(x->out, "retries", ects_read_number(step, "retries"));
	put_double(x->out, "directory", ects_read_text(step, "directory"));
	put_some(x->out, "user", ects_read_text(step, "user"));
	put_some(x->out, "dependence", dependence);
	put_close(x->out, '}');
	return 0;
}

static int by_step(const void *a, const void *b)
{
	int64_t x = json_int(*(const cJSON *const *)a, "step", 0),
		y = json_int(*(const cJSON *const *)b, "step", 0);

	return (x > y) - (x < y);
}

static int put_steps(struct reading *x, const cJSON *steps)
{
	size_t n = (size_t)cJSON_GetArraySize(steps), i = 0;
	const cJSON **all = mem_array(n + 1, sizeof *all), *s;
	int r = n ? 0 : err_set(x->err, E_INVALID, "a pipeline needs steps");

	cJSON_ArrayForEach(s, steps)
		all[i++] = s;
	qsort(all, n, sizeof *all, by_step);
	put_open(x->out, "steps", '[');
	for (i = 0; i < n && r == 0; i++)
		r = put_step(x, all[i], i);
	put_close(x->out, ']');
	free(all);
	return r;
}

static int put_hook(struct reading *x, const cJSON *root, const char *hook)
{
	char key[20];

	snprintf(key, sizeof key, "%s_task", hook);
	if (!*ects_read_text(root, hook) && !json_get(root, key))
		return 0;
	put_open(x->out, hook, '{');
	int r = put_used(x, ects_read_text(root, hook), json_get(root, key), hook);
	put_close(x->out, '}');
	return r;
}

/* --- a pipeline -------------------------------------------------------------------------- */

/* Weekdays there are 0-6, Sunday 0; here, with seconds, 1-7: names mean the same in both. */
static void put_cron(struct buf *out, const char *spec)
{
	static const char *const days[] = {
		"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"
	};
	struct buf own;
	int field = 0;
	bool is_step = false;

	buf_init(&own);
	if (*spec == '@')
		buf_puts(&own, spec);
	for (const char *p = spec; *spec != '@' && *p; p++) {
		if (isspace((unsigned char)*p) && !isspace((unsigned char)p[1]))
			field++;
		is_step = *p == '/' || (is_step && isdigit((unsigned char)*p));
		bool is_nth = p > spec && p[-1] == '#';
		if (field == 5 && !is_step && !is_nth && *p >= '0' && *p <= '7')
			buf_puts(&own, days[*p - '0']);
		else
			buf_putc(&own, *p);
	}
	put_text(out, "cron", buf_str(&own));
	buf_done(&own);
}

static int put_nodes(struct reading *x, const cJSON *nodes)
{
	const cJSON *n;

	if (cJSON_GetArraySize(nodes) == 0)
		return 0;
	put_open(x->out, "nodes", '[');
	cJSON_ArrayForEach(n, nodes) {
		if (!cJSON_IsString(n))
			return err_set(x->err, E_INVALID, "nodes wants a list of texts");
		const char *name = x->w->node ? x->w->node(x->w->ctx, n->valuestring) : NULL;
		if (!name && !word_ok(n->valuestring))
			return err_set(x->err, E_INVALID, "there is no node '%.100s'",
			               n->valuestring);
		put_text(x->out, NULL, name ? name : n->valuestring);
	}
	put_close(x->out, ']');
	return 0;
}

/* What ECTS has no word for stays as it was. */
static void put_rest(struct reading *x, bool has_cron)
{
	static const char *const ours[] = { "pipeline", "project", "id",      "description",
		                            "cron",     "nodes",   "overlap", "steps",
		                            "finished", "failed",  "used",    NULL };
	const struct yaml_node *was = x->w->was;
	bool has_cycle = was && yaml_get(was, "cycle");

	for (size_t i = 0; was && i < was->n; i++)
		if (!near_is_one(was->keys[i]->text, ours))
			put_node(x->out, was->keys[i]->text, was->items[i]);
	if (!has_cron && !has_cycle)
		put_text(x->out, "cycle", "none");
}

/* A pipeline keeps the id that it was given; another is refused, for people and keys name it so. */
static int keep_id(struct reading *x, const char *said)
{
	const struct yaml_node *was = x->w->was, *had = was ? yaml_get(was, "id") : NULL;
	char is[ECTS_ID_BYTES];
	int r = check_id("a pipeline", said, x->err);

	if (was)
		ects_pipeline_id(was, x->w->project, is);
	if (r == 0 && was && *said && strcmp(said, is) != 0)
		r = err_set(x->err, E_CONFLICT, "its id is '%s', and it keeps it; not '%s'", is,
		            said);
	put_some(x->out, "id", *said ? said : had ? had->text : "");
	return r;
}

int ects_pipeline_read(const cJSON *root, const struct ects_world *w, struct buf *out,
                       struct err *err)
{
	struct reading x = { .w = w, .out = out, .err = err };
	int r = read_check(root, "a pipeline", of_pipeline, err);
	const char *name = ects_read_text(root, "name"), *spec = ects_read_text(root, "spec");
	char why[NAME_WHY_BYTES];

	if (r == 0 && !*name)
		r = err_set(err, E_INVALID, "name is missing");
	if (r == 0 && name_wrong(name, why))
		r = err_set(err, E_INVALID, "a pipeline cannot be called '%.100s': %s", name, why);
	if (r < 0)
		return r;
	buf_init(&x.names);
	buf_puts(&x.names, "\nfinished\nfailed\n");
	put_open(out, NULL, '{');
	put_text(out, "pipeline", name);
	put_text(out, "project", w->project);
	r = keep_id(&x, ects_read_text(root, "id"));
	put_some(out, "description", ects_read_text(root, "description"));
	if (*spec)
		put_cron(out, spec);
	put_rest(&x, *spec != '\0');
	if (json_get(root, "overlap"))
		put_text(out, "overlap", ects_read_number(root, "overlap") ? "allow" : "skip");
	if (r == 0)
		r = put_nodes(&x, json_get(root, "nodes"));
	if (r == 0)
		r = put_steps(&x, json_get(root, "steps"));
	if (r == 0)
		r = put_hook(&x, root, "finished");
	if (r == 0)
		r = put_hook(&x, root, "failed");
	put_close(out, '}');
	buf_done(&x.names);
	return r;
}
