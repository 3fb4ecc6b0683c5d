/* sirdar import crontab: crontab(5) of users and of the system. One task a line; one workflow for
 * the lines between two that set MAILTO. */
#include "admin-console/cli/import/import.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sched/cron.h"
#include "sched/workflow.h"
#include "util/err.h"
#include "util/pile.h"

enum { VARIABLES_MAX = 200 };

struct variable {
	const char *name, *value;
};

struct tab {
	struct import *im;
	int line;
	char where[24];
	struct variable vars[VARIABLES_MAX];
	size_t n_vars;
	const char *mail; /* "" : nobody; NULL: not said */
	bool open;        /* a workflow has begun */
	int workflows, tasks;
};

static const char *crontab_skip(const char *p)
{
	return p + strspn(p, " \t");
}

static const char *trimmed(struct tab *t, const char *from, size_t n)
{
	while (n && isspace((unsigned char)from[n - 1]))
		n--;
	if (n >= 2 && (*from == '"' || *from == '\'') && from[n - 1] == *from) {
		from++;
		n -= 2;
	}
	return pile_strn(t->im->pile, from, n);
}

/* NAME = value, as cron reads it: before the first = no blank within the name. */
static bool take_variable(struct tab *t, const char *line)
{
	size_t n = strcspn(line, "= \t");
	const char *eq = crontab_skip(line + n);
	size_t i = 0;

	if (!n || *eq != '=' || isdigit((unsigned char)*line) || strchr("*@", *line))
		return false;
	const char *name = trimmed(t, line, n), *from = crontab_skip(eq + 1);
	const char *value = trimmed(t, from, strlen(from));
	if (strcmp(name, "MAILTO") == 0) {
		if (!t->mail || strcmp(t->mail, value) != 0)
			t->open = false;
		t->mail = value;
		return true;
	}
	if (strcmp(name, "MAILFROM") == 0 || strcmp(name, "LOGNAME") == 0 ||
	    strcmp(name, "RANDOM_DELAY") == 0 || strcmp(name, "START_HOURS_RANGE") == 0) {
		import_note(t->im, t->where, "%s is left out: Sirdar has no such setting", name);
		return true;
	}
	while (i < t->n_vars && strcmp(t->vars[i].name, name) != 0)
		i++;
	if (i == VARIABLES_MAX) {
		import_note(t->im, t->where, "%s is left out: more than %d variables", name,
		            VARIABLES_MAX);
		return true;
	}
	t->vars[i] = (struct variable){ name, value };
	if (i == t->n_vars)
		t->n_vars++;
	return true;
}

static const char *variable(const struct tab *t, const char *name)
{
	for (size_t i = 0; i < t->n_vars; i++)
		if (strcmp(t->vars[i].name, name) == 0)
			return t->vars[i].value;
	return NULL;
}

static void begin_workflow(struct tab *t)
{
	struct import *im = t->im;

	if (t->open)
		return;
	t->open = true;
	t->workflows++;
	if (im->out.len)
		buf_puts(&im->out, "---\n");
	const char *name = im->name ? im->name : "crontab";
	import_put(im, 0, "workflow",
	           t->workflows > 1 ? pile_fmt(im->pile, "%s_%d", name, t->workflows) : name);
	import_put(im, 0, "project", im->project);
	if (t->mail && *t->mail) {
		buf_puts(&im->out, "alerts:\n  - when: [failed]\n    to:\n");
		for (const char *p = t->mail; *p;) {
			size_t n = strcspn(p, ", ");
			if (n)
				buf_printf(&im->out, "      - \"mail:%.*s\"\n", (int)n, p);
			p += n + (p[n] != '\0');
		}
		import_note(im, t->where,
		            "MAILTO becomes an alert on failure: output alone sends no mail here, "
		            "it is kept as the log");
	}
	buf_puts(&im->out, "defaults:\n  type: shell\n  catchup: {mode: none}\n");
	if (im->group)
		import_put(im, 2, "group", im->group);
	buf_puts(&im->out, "tasks:\n");
}

/* The first % ends the command; what follows is its input, each further % a line end. */
static const char *script_of(struct tab *t, const char *command)
{
	const char *end = "SIRDAR_INPUT", *result;
	struct buf out, input;
	bool has_input = false;

	buf_init(&out);
	buf_init(&input);
	for (const char *p = command; *p; p++) {
		struct buf *to = has_input ? &input : &out;
		if (*p == '\\' && p[1] == '%')
			buf_putc(to, *++p);
		else if (*p != '%')
			buf_putc(to, *p);
		else if (has_input)
			buf_putc(to, '\n');
		else
			has_input = true;
	}
	result = has_input ? pile_fmt(t->im->pile, "{ %s\n} <<'%s'\n%s\n%s\n", buf_str(&out), end,
	                              buf_str(&input), end)
	                   : pile_str(t->im->pile, buf_str(&out));
	buf_done(&out);
	buf_done(&input);
	return import_plain(t->im, result);
}

/* The name of what is run: the last part of the first word that looks like a program. */
static const char *name_of(struct tab *t, const char *command)
{
	const char *p = command;

	while (*p) {
		size_t n = strcspn(p, " \t;|&<>()");
		const char *word = pile_strn(t->im->pile, p, n), *slash = strrchr(word, '/');
		slash = slash ? slash + 1 : word;
		bool is_cd = strcmp(word, "cd") == 0;
		if (is_cd) { /* and where to */
			p += n + strspn(p + n, " \t");
			p += strcspn(p, " \t;|&");
			continue;
		}
		if (n && *slash && !strchr(word, '=') && *word != '-' && *word != '[' &&
		    strcmp(word, "test") != 0 && strcmp(word, "exec") != 0)
			return import_numbered(t->im, import_name(t->im, slash, "line"), t->line);
		p += n + (p[n] != '\0');
	}
	return pile_fmt(t->im->pile, "line_%d", t->line);
}

static void put_environment(struct tab *t)
{
	struct import *im = t->im;
	bool any = false;

	for (size_t i = 0; i < t->n_vars; i++) {
		const struct variable *v = &t->vars[i];
		if (strcmp(v->name, "SHELL") == 0 || strcmp(v->name, "CRON_TZ") == 0)
			continue;
		if (!word_ok(v->name)) {
			import_note(im, t->where, "the variable '%s' is left out: no name",
			            v->name);
			continue;
		}
		if (!any)
			buf_puts(&im->out, "      environment: |\n");
		any = true;
		buf_printf(&im->out, "        %s=%s\n", v->name, import_plain(im, v->value));
	}
}

static void put_task(struct tab *t, const char *cron, const char *user, const char *command)
{
	struct import *im = t->im;
	const char *shell = variable(t, "SHELL"), *zone = variable(t, "CRON_TZ");
	const char *script = script_of(t, command);

	begin_workflow(t);
	t->tasks++;
	buf_printf(&im->out, "  %s:\n", name_of(t, command));
	import_put(im, 4, "cron", cron);
	import_put(im, 4, "timezone", zone ? zone : "");
	import_put(im, 4, "run_as", user);
	buf_puts(&im->out, "    params:\n");
	if (shell && strcmp(shell, "/bin/sh") != 0)
		script = pile_fmt(im->pile, "#!%s\n%s", shell, script);
	import_put(im, 6, "script", script);
	put_environment(t);
}

static bool cron_is_good(struct tab *t, const char *cron)
{
	struct cron *c;
	struct err err = { 0 };

	if (cron_parse(cron, "x", &c, &err) < 0) {
		import_note(t->im, t->where, "the line is left out: %s", err.text);
		return false;
	}
	cron_free(c);
	return true;
}

static void take_entry(struct tab *t, const char *line)
{
	const char *p = line, *user = "";
	int fields = *line == '@' ? 1 : 5;

	for (int i = 0; i < fields; i++) {
		p += strcspn(p, " \t");
		p = i + 1 < fields ? crontab_skip(p) : p;
	}
	const char *cron = trimmed(t, line, (size_t)(p - line));
	p = crontab_skip(p);
	if (strcmp(cron, "@reboot") == 0) {
		import_note(
			t->im, t->where,
			"@reboot is left out: it runs when a machine starts, and tasks here are "
			"due by time; a unit of the machine's init does it");
		return;
	}
	if (t->im->is_system) {
		size_t n = strcspn(p, " \t");
		user = pile_strn(t->im->pile, p, n);
		p = crontab_skip(p + n);
		if (*user && !word_ok(user)) {
			import_note(t->im, t->where, "the line is left out: '%s' is no user", user);
			return;
		}
	}
	if (!*p) {
		import_note(t->im, t->where, "the line is left out: it has no command");
		return;
	}
	if (*p == '-' && t->im->is_system)
		p++;
	if (cron_is_good(t, cron))
		put_task(t, cron, user, p);
}

static void make(struct import *im)
{
	struct tab t = { .im = im };
	const char *base = strrchr(im->file, '/');

	im->is_system |= strstr(im->file, "cron.d/") || strcmp(im->file, "/etc/crontab") == 0 ||
	                 (base && strcmp(base, "/etc.crontab") == 0);
	for (const char *p = buf_str(&im->text); *p;) {
		size_t n = strcspn(p, "\n");
		const char *line = crontab_skip(pile_strn(im->pile, p, n));
		line = trimmed(&t, line, strlen(line));
		t.line++;
		snprintf(t.where, sizeof t.where, "%d", t.line);
		if (*line && *line != '#' && !take_variable(&t, line))
			take_entry(&t, line);
		p += n + (p[n] == '\n');
	}
}

IMPORT(crontab, import_crontab_options);
