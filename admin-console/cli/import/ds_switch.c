/* SWITCH of DolphinScheduler: a shell task that names the branch that goes on. Its conditions are
 * JavaScript there; comparisons joined by && or by || are carried over, nothing beyond. */
#include <string.h>

#include "admin-console/cli/import/ds.h"
#include "util/buf.h"
#include "util/pile.h"
#include "util/yaml.h"

/* What a condition reads, as parameters of the task: value_1 and so on. */
struct values {
	struct ds *d;
	cJSON *task;
	const char *where;
	int n;
	struct buf params;
};

static const char *switch_skip(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

static const char *put_value(struct values *v, const char *p, struct buf *out)
{
	const char *end = strchr(p, '}');
	if (!end)
		return NULL;
	const char *name = pile_strn(v->d->im->pile, p, (size_t)(end - p) + 1);
	const char *ours = ds_text(v->d, v->task, v->where, name);
	if (strncmp(ours, "$$", 2) == 0)
		return NULL; /* nobody gives it */
	buf_printf(&v->params, "      value_%d: ", ++v->n);
	yaml_print_text(ours, false, &v->params);
	buf_putc(&v->params, '\n');
	buf_printf(out, "\"$value_%d\"", v->n);
	return end + 1;
}

/* ${name}, "text", "${name}", 12 or word, as a word of the shell; NULL: something else. */
static const char *put_operand(struct values *v, const char *p, struct buf *out)
{
	char quote = *p == '"' || *p == '\'' ? *p : 0;
	p += quote != 0;
	size_t n = quote ? strcspn(p, "\"'$\\\n") : strcspn(p, " \t\r\n\"'$\\=!<>&|()+*/%?:;");

	if (strncmp(p, "${", 2) == 0) {
		p = put_value(v, p, out);
	} else if (n || quote) {
		buf_printf(out, "'%.*s'", (int)n, p);
		p += n;
	} else {
		return NULL;
	}
	if (p && quote && *p++ != quote)
		return NULL;
	return p ? switch_skip(p) : NULL;
}

static const char *put_operator(const char *p, struct buf *out)
{
	static const char *const map[][2] = { { "===", "=" }, { "!==", "!=" }, { "==", "=" },
		                              { "!=", "!=" }, { ">=", "-ge" }, { "<=", "-le" },
		                              { ">", "-gt" }, { "<", "-lt" } };

	for (size_t i = 0; i < sizeof map / sizeof *map; i++)
		if (strncmp(p, map[i][0], strlen(map[i][0])) == 0) {
			buf_printf(out, " %s ", map[i][1]);
			return switch_skip(p + strlen(map[i][0]));
		}
	return NULL;
}

/* False: it says more than comparisons joined in one way. */
static bool put_condition(struct values *v, const char *p, struct buf *out)
{
	char joined = 0;

	for (p = switch_skip(p);; p = switch_skip(p + 2)) {
		buf_puts(out, "[ ");
		p = put_operand(v, p, out);
		p = p ? put_operator(p, out) : NULL;
		p = p ? put_operand(v, p, out) : NULL;
		if (!p)
			return false;
		buf_puts(out, " ]");
		if (!*p)
			return true;
		if ((*p != '&' && *p != '|') || p[1] != *p || (joined && joined != *p))
			return false;
		joined = *p;
		buf_printf(out, " %c%c ", *p, *p);
	}
}

/* The task that goes on, by name; NULL: none. */
static const char *next_of(struct ds *d, const cJSON *branch)
{
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(branch, "nextNode");

	if (cJSON_IsArray(n))
		n = cJSON_GetArrayItem(n, 0);
	cJSON *task = ds_task(d->flow, ds_code(n));
	return task ? ds_full_name(d, task) : NULL;
}

static bool put_script(struct values *v, const cJSON *result, struct buf *out)
{
	const cJSON *b;
	const char *rest = next_of(v->d, result);
	bool first = true;

	cJSON_ArrayForEach(b, cJSON_GetObjectItemCaseSensitive(result, "dependTaskList")) {
		const char *name = next_of(v->d, b);
		if (!name)
			return false;
		buf_puts(out, first ? "if " : "elif ");
		if (!put_condition(v, import_text(v->d->im, b, "condition"), out))
			return false;
		buf_printf(out, "; then\n\techo sirdar:output branch=%s\n", name);
		first = false;
	}
	if (first)
		return false;
	if (rest)
		buf_printf(out, "else\n\techo sirdar:output branch=%s\nfi\n", rest);
	else
		buf_puts(out, "else\n\techo no branch is meant >&2\n\texit 1\nfi\n");
	return true;
}

bool ds_put_switch(struct ds *d, const char *where, cJSON *task)
{
	struct values v = { .d = d, .task = task, .where = where };
	struct buf script;

	buf_init(&v.params);
	buf_init(&script);
	bool good = put_script(&v, import_node(ds_params(task), "switchResult"), &script);
	if (good) {
		import_put(d->im, 4, "type", "shell");
		buf_puts(&d->im->out, "    params:\n");
		import_put(d->im, 6, "script", buf_str(&script));
		buf_put(&d->im->out, buf_str(&v.params), v.params.len);
	} else {
		import_note(d->im, where,
		            "the conditions of a switch are more than comparisons of known "
		            "parameters joined by && or by ||, or lead nowhere");
	}
	buf_done(&script);
	buf_done(&v.params);
	return good;
}
