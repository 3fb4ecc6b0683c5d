/* Code with holes, and what goes into them. The text is expanded with its values apart, the places
 * of the letters they left are judged (sched/shell, sched/sql), and references are put there. */
#include "sched/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/command.h"
#include "sched/macro.h"
#include "sched/shell.h"
#include "sched/sql.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"

const char *const code_kind_names[CODE_KINDS] = { "none", "shell", "sql", "other" };

/* The variable that a runner makes of the parameter. */
#define SHELL_NAME "SIRDAR_PARAM_sirdar_data_%u"

static const struct {
	const char *where, *cure;
} shell_words[] = {
	[SHELL_SINGLE] = { "in single quotes",
	                   "\"${%s}\" in double quotes, or '...'\"${%s}\"'...'" },
	[SHELL_HEREDOC] = { "in a heredoc",
	                    "VALUE=${%s} on a line before it, and $VALUE in the heredoc, whose "
	                    "delimiter stands without quotes" },
	[SHELL_BACKTICK] = { "between backticks", "$(...) with ${%s} in place of the backticks" },
	[SHELL_ARITH] = { "where the shell computes",
	                  "VALUE=${%s} on a line before, and check it before it is computed with" },
	[SHELL_BRACE] = { "within the shell's own ${...}",
	                  "VALUE=${%s} on a line before, and $${VALUE...}" },
	[SHELL_ESCAPED] = { "behind a backslash or a dollar sign",
	                    "${%s} alone; $${NAME} leaves a variable to the shell" },
	[SHELL_EVAL] = { "where it is run as code once more (eval, sh -c, ssh, awk, ...)",
	                 "an argument: sh -c '... \"$1\"' sh ${%s}, awk -v v=${%s}; -- before the "
	                 "name "
	                 "of a file or host: python3 -- ${%s}, ssh -- ${%s}; sed --sandbox" },
	[SHELL_PROGRAM] = { "where the name of a program stands",
	                    "the name itself; of several: case ${%s} in a) program-a;; esac" },
	[SHELL_PIPED] = { "where a shell or its like reads it as code",
	                  "an argument: sh -c '... \"$1\"' sh ${%s}; or a program of its own, "
	                  "which "
	                  "reads its input as data" },
	[SHELL_WHOLE] = { "for the whole script: a value is no code",
	                  "`raw: true` beside it, which needs the right unsafe, or the script "
	                  "itself "
	                  "in place of ${%s}" },
	[SHELL_LOST] = { "where the quotes around it are not clear",
	                 "VALUE=${%s} on a line of its own at the top" },
};

static const struct {
	const char *where, *cure;
} sql_words[] = {
	[SQL_QUOTES] = { "in quotes", "${%s} without the quotes: it is a value, not text" },
	[SQL_NAME] = { "in a quoted name",
	               "the name itself: a value cannot name a table or column" },
	[SQL_COMMENT] = { "in a comment", "the comment without ${%s}" },
	[SQL_JOINED] = { "as a part of a word",
	                 "${%s} as a value of its own, with blanks around it" },
};

struct judged {
	struct buf text;
	struct macro_holes holes;
	enum shell_place *shell;
	enum sql_place *sql;
	bool is_shell; /* of CODE_SHELL: no other interpreter reads it */
};

static void judged_done(struct judged *j)
{
	buf_done(&j->text);
	macro_holes_done(&j->holes);
	free(j->shell);
	free(j->sql);
}

static void shell_judge(struct judged *j, const size_t *at)
{
	const char *text = buf_str(&j->text);
	size_t n = j->holes.n, before = strspn(text, " \t\n");

	shell_places(text, j->text.len, at, n, j->shell);
	if (n == 1 && at[0] == before &&
	    strspn(text + at[0] + 1, " \t\n") + at[0] + 1 == j->text.len)
		j->shell[0] = SHELL_WHOLE;
}

static int judge_text(enum code_kind kind, const char *text, const struct macro_scope *scope,
                      struct judged *j, struct err *err)
{
	*j = (struct judged){ 0 };
	buf_init(&j->text);
	int r = macro_expand_apart(text, scope, &j->text, &j->holes, err);
	size_t n = j->holes.n, *at = mem_array(n + 1, sizeof *at);

	for (size_t i = 0; i < n; i++)
		at[i] = j->holes.items[i].at;
	j->shell = mem_array(n + 1, sizeof *j->shell);
	j->sql = mem_array(n + 1, sizeof *j->sql);
	j->is_shell = shell_is_script(buf_str(&j->text));
	if (kind == CODE_SHELL)
		shell_judge(j, at);
	else if (kind == CODE_SQL)
		sql_places(buf_str(&j->text), j->text.len, at, n, j->sql);
	free(at);
	return r;
}

/* NULL: it fits. */
static const char *wrong_with(enum code_kind kind, const struct judged *j, size_t i,
                              const char **ret_cure)
{
	*ret_cure = "a parameter of the task, `NAME: ${%s}`, where the program reads its own "
		    "(SIRDAR_PARAM_NAME in its environment); or `raw: true`, which needs the right "
		    "unsafe";
	if (kind == CODE_OTHER || (kind == CODE_SHELL && !j->is_shell))
		return "in a text of another language than the shell's and SQL";
	if (kind == CODE_SHELL && !shell_place_fits(j->shell[i])) {
		*ret_cure = shell_words[j->shell[i]].cure;
		return shell_words[j->shell[i]].where;
	}
	if (kind == CODE_SQL && j->sql[i] != SQL_FITS) {
		*ret_cure = sql_words[j->sql[i]].cure;
		return sql_words[j->sql[i]].where;
	}
	return NULL;
}

/* The cure with the name in it, as often as it stands there. */
static void put_hint(const char *cure, const char *name, char *ret)
{
	size_t n = (size_t)snprintf(ret, CODE_HINT_BYTES, "write ");

	for (; *cure && n + 1 < CODE_HINT_BYTES; cure++) {
		if (cure[0] != '%' || cure[1] != 's') {
			ret[n++] = *cure;
			ret[n] = '\0';
			continue;
		}
		n += (size_t)snprintf(ret + n, CODE_HINT_BYTES - n, "%.80s", name);
		cure++;
	}
}

static int code_refuse(enum code_kind kind, const char *text, const struct judged *j,
                       struct err *err, char *ret_hint)
{
	for (size_t i = 0; i < j->holes.n; i++) {
		const struct macro_hole *h = &j->holes.items[i];
		const char *cure, *where = wrong_with(kind, j, i, &cure);
		int line = 1, column = 1;

		if (!where)
			continue;
		for (size_t k = 0; k < h->from; k++, column++)
			if (text[k] == '\n') {
				line++;
				column = 0;
			}
		if (ret_hint)
			put_hint(cure, h->name, ret_hint);
		return err_set(err, E_INVALID, "line %d, column %d: ${%.100s} stands %s", line,
		               column, h->name, where);
	}
	return 0;
}

int code_check(enum code_kind kind, const char *text, struct err *err, char *ret_hint)
{
	struct judged j;
	int r = 0;

	if (kind != CODE_NONE && judge_text(kind, text, NULL, &j, NULL) == 0)
		r = code_refuse(kind, text, &j, err, ret_hint);
	if (kind != CODE_NONE)
		judged_done(&j);
	return r;
}

static int word_refuse(enum command_place place, size_t number, const char *name, struct err *err,
                       char *ret_hint)
{
	enum shell_place as = place == COMMAND_CODE ? SHELL_EVAL : SHELL_PROGRAM;

	if (place == COMMAND_DATA)
		return 0;
	put_hint(shell_words[as].cure, name, ret_hint);
	return err_set(err, E_INVALID, "word %zu: ${%.100s} stands %s", number, name,
	               shell_words[as].where);
}

/* Each hole is what only the run knows. */
static int word_take(struct command *c, const char *word, size_t number, struct err *err,
                     char *ret_hint)
{
	struct macro_holes holes = { 0 };
	struct buf text;
	int r = 0;

	buf_init(&text);
	macro_expand_apart(word, NULL, &text, &holes, NULL);
	buf_putc(&text, '\0');
	for (size_t i = 0; i < holes.n; i++)
		text.data[text.from + holes.items[i].at] = COMMAND_UNKNOWN;
	for (size_t i = 0; r == 0 && i < holes.n; i++)
		r = word_refuse(command_value(c, (const char *)buf_at(&text), holes.items[i].at),
		                number, holes.items[i].name, err, ret_hint);
	command_word(c, (const char *)buf_at(&text), text.len - 1);
	macro_holes_done(&holes);
	buf_done(&text);
	return r;
}

int code_check_words(const char *const *words, size_t n, struct err *err, char *ret_hint)
{
	struct command c;
	int r = 0;

	command_begin(&c);
	c.takes_assignments = false; /* no shell reads them */
	for (size_t i = 0; r == 0 && i < n; i++)
		r = word_take(&c, words[i], i + 1, err, ret_hint);
	return r;
}

bool code_takes(const char *text)
{
	struct macro_holes holes = { 0 };
	struct buf out;

	if (!macro_has(text))
		return false;
	buf_init(&out);
	macro_expand_apart(text, NULL, &out, &holes, NULL);
	bool takes = holes.n > 0;
	macro_holes_done(&holes);
	buf_done(&out);
	return takes;
}

static void put_reference(enum code_kind kind, const struct judged *j, size_t i, unsigned number,
                          struct buf *out)
{
	CHECK(kind == CODE_SHELL || kind == CODE_SQL);
	if (kind == CODE_SQL)
		buf_printf(out, "${" CODE_VALUE "%u}", number);
	else
		buf_printf(out,
		           j->shell[i] == SHELL_BARE ? "\"${" SHELL_NAME "}\""
		                                     : "${" SHELL_NAME "}",
		           number);
}

int code_expand(enum code_kind kind, const char *text, const struct macro_scope *scope,
                const struct code_binder *to, struct buf *out, struct err *err)
{
	struct judged j;
	size_t from = 0;
	int r = judge_text(kind, text, scope, &j, err);

	CHECK(kind != CODE_NONE);
	if (r == 0)
		r = code_refuse(kind, text, &j, err, NULL);
	for (size_t i = 0; r == 0 && i < j.holes.n; i++) {
		const struct macro_hole *h = &j.holes.items[i];
		buf_put(out, buf_str(&j.text) + from, h->at - from);
		put_reference(kind, &j, i, to->bind(to->ctx, h->name, h->value), out);
		from = h->at + 1;
	}
	if (r == 0)
		buf_put(out, buf_str(&j.text) + from, j.text.len - from);
	judged_done(&j);
	return r;
}

static bool has_control(const char *value)
{
	while ((unsigned char)*value >= ' ' || *value == '\t')
		value++;
	return *value != '\0';
}

int code_expand_line(const char *text, const struct macro_scope *scope, struct buf *out,
                     struct err *err)
{
	struct macro_holes holes = { 0 };
	struct buf plain;
	size_t from = 0;

	buf_init(&plain);
	int r = macro_expand_apart(text, scope, &plain, &holes, err);
	for (size_t i = 0; r == 0 && i < holes.n; i++) {
		const struct macro_hole *h = &holes.items[i];
		if (has_control(h->value))
			r = err_set(err, E_INVALID,
			            "the value of ${%.100s} has a line break or another control "
			            "character, which may not stand here",
			            h->name);
		buf_put(out, buf_str(&plain) + from, h->at - from);
		buf_puts(out, h->value);
		from = h->at + 1;
	}
	if (r == 0)
		buf_put(out, buf_str(&plain) + from, plain.len - from);
	macro_holes_done(&holes);
	buf_done(&plain);
	return r;
}

/* As a part of a text in JSON. */
static void put_escaped(const char *value, struct buf *out)
{
	for (const char *p = value; *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_printf(out, "\\%c", *p);
		else if ((unsigned char)*p < 0x20)
			buf_printf(out, "\\u%04x", (unsigned)*p);
		else
			buf_putc(out, *p);
	}
}

int code_expand_json(enum code_kind kind, const char *json, const struct macro_scope *scope,
                     const struct code_binder *to, struct buf *out, struct err *err)
{
	struct macro_holes holes = { 0 };
	struct buf text;
	size_t from = 0;

	buf_init(&text);
	int r = macro_expand_apart(json, scope, &text, &holes, err);
	for (size_t i = 0; r == 0 && i < holes.n; i++) {
		const struct macro_hole *h = &holes.items[i];
		buf_put(out, buf_str(&text) + from, h->at - from);
		if (kind == CODE_SQL)
			buf_printf(out, "${" CODE_VALUE "%u}",
			           to->bind(to->ctx, h->name, h->value));
		else
			put_escaped(h->value, out);
		from = h->at + 1;
	}
	if (r == 0)
		buf_put(out, buf_str(&text) + from, text.len - from);
	macro_holes_done(&holes);
	buf_done(&text);
	return r;
}
