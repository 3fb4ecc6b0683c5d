/* A command read word by word. A program that runs another one (RUNS) gives its place to that; so
 * `sudo -u etl env A=1 bash -c` is read as bash in the end. Options are known by their letters
 * alone: a long one with a word of its own is taken for one without, and the word for the name of
 * a program, which refuses too much rather than too little (`--user=NAME` is clear). */
#include "sched/command.h"

#include <stdint.h>
#include <string.h>

enum kind { RUNS, INTERPRETER, FIRST, REST, ANYWHERE, FINDS, STDIN };

struct program {
	const char *name;
	enum kind kind;
	const char *code, *args;
	int words;
};

static const struct program programs[] = {
#define PROGRAM(name, kind, code, args, words) { name, kind, code, args, words },
#include "sched/programs.def"
};

static bool is_word(const char *word, size_t n, const char *text)
{
	return strlen(text) == n && memcmp(word, text, n) == 0;
}

static bool is_any(const char *word, size_t n, const char *const *list)
{
	while (*list && !is_word(word, n, *list))
		list++;
	return *list != NULL;
}

/* By the last part of its path; `python3.11` is `python`. NULL: not known. */
static const struct program *program_find(const char *word, size_t n)
{
	size_t from = n;

	while (from > 0 && word[from - 1] != '/')
		from--;
	for (size_t len = n - from;; len--) {
		for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
			if (is_word(word + from, len, programs[i].name))
				return &programs[i];
		char last = len > 1 ? word[from + len - 1] : 'x';
		if (last != '.' && (last < '0' || last > '9'))
			return NULL;
	}
}

static bool is_shell(const struct program *p)
{
	return p && p->kind == INTERPRETER && strcmp(p->args, "oO") == 0;
}

static bool is_option(const struct command *c, const char *word, size_t n)
{
	return n > 0 && word[0] == '-' && !c->ends_options;
}

static bool is_assignment(const char *word, size_t n)
{
	size_t i = 0;

	while (i < n && ((word[i] >= 'a' && word[i] <= 'z') || (word[i] >= 'A' && word[i] <= 'Z') ||
	                 word[i] == '_' || (i > 0 && word[i] >= '0' && word[i] <= '9')))
		i++;
	return i > 0 && i < n && (word[i] == '=' || word[i] == '[' || word[i] == '+');
}

void command_begin(struct command *c)
{
	*c = (struct command){ .takes_assignments = true };
}

/* --- values -------------------------------------------------------------------------------- */

static enum command_place name_value(const struct command *c, const char *before, size_t n)
{
	if (c->takes_assignments && is_assignment(before, n))
		return COMMAND_DATA;
	if (c->program && c->program->kind == RUNS) {
		if (is_option(c, before, n))
			return COMMAND_DATA;
		if (c->words < c->program->words)
			return COMMAND_DATA;
	}
	return COMMAND_NAME;
}

/* -F${x}: of an option that takes a word. */
static bool is_arg(const struct program *p, const char *before, size_t n)
{
	return n > 1 && before[0] == '-' && strchr(p->args, before[1]) != NULL;
}

static enum command_place program_value(const struct command *c, const char *before, size_t n)
{
	const struct program *p = c->program;

	switch (p->kind) {
	case INTERPRETER: /* `${x}` may be an option with code in it; `jobs/${x}.py` is a file */
		return c->has_code || c->is_anyones || c->ends_options ||
		                       (n > 0 && before[0] != '-')
		               ? COMMAND_DATA
		               : COMMAND_CODE;
	case FIRST:
		return c->has_code || c->is_boxed || is_arg(p, before, n) ? COMMAND_DATA
		                                                          : COMMAND_CODE;
	case REST:
		return c->words < p->words && (n > 0 || c->ends_options) ? COMMAND_DATA
		                                                         : COMMAND_CODE;
	default:
		return COMMAND_DATA;
	}
}

enum command_place command_value(const struct command *c, const char *before, size_t n)
{
	if (c->code_next)
		return c->is_boxed ? COMMAND_DATA : COMMAND_CODE;
	if (c->skips_next)
		return COMMAND_DATA;
	if (!c->has_name)
		return name_value(c, before, n);
	return c->program ? program_value(c, before, n) : COMMAND_DATA;
}

/* --- words --------------------------------------------------------------------------------- */

static void take_option(struct command *c, const char *word, size_t n)
{
	static const char *const longs[] = { "--eval",    "--print",  "--expression", "--command",
		                             "--execute", "--source", "--run",        NULL };
	const struct program *p = c->program;

	if (is_word(word, n, "--")) {
		c->ends_options = true;
		return;
	}
	if (n > 1 && word[1] == '-') {
		c->code_next = p->code[0] && is_any(word, n, longs);
		c->is_boxed = c->is_boxed || is_word(word, n, "--sandbox");
		return;
	}
	for (size_t i = 1; i < n; i++) {
		if (strchr(p->code, word[i]) && word[i]) {
			/* A shell's code is the next word, whatever follows the letter. */
			c->code_next = i + 1 == n || is_shell(p) || p->kind == ANYWHERE;
			c->has_code = c->has_code || !c->code_next;
			return;
		}
		if (strchr(p->args, word[i]) && word[i]) {
			c->skips_next = i + 1 == n;
			c->has_code = c->has_code || (word[i] == 'f' && p->kind == FIRST);
			return;
		}
		if (strcmp(p->name, "command") == 0 && (word[i] == 'v' || word[i] == 'V')) {
			c->program = NULL; /* it only says where that is */
			c->has_name = true;
			return;
		}
		if (p->kind == FIRST && word[i] == 'i') /* sed -i.bak */
			return;
		if (p->kind == INTERPRETER && !strncmp(p->name, "py", 2) && word[i] == 'm')
			c->has_code = true;
		if (is_shell(p) && word[i] == 's')
			c->has_code = c->reads_input = true;
	}
}

static void take_name(struct command *c, const char *word, size_t n)
{
	if (c->takes_assignments && is_assignment(word, n))
		return;
	if (c->program && is_option(c, word, n)) {
		take_option(c, word, n);
		return;
	}
	if (c->program && c->words < c->program->words) {
		c->words++;
		return;
	}
	const struct program *p = program_find(word, n);
	const char *slash = memrchr(word, '/', n);
	size_t tail = slash ? (size_t)(slash - word) : 0;

	c->by_xargs = c->by_xargs || (p && strcmp(p->name, "xargs") == 0);
	c->in_find = c->in_find || (p && p->kind == FINDS);
	c->is_made_up = memchr(word + tail, COMMAND_UNKNOWN, n - tail) ||
	                memchr(word + tail, COMMAND_MAYBE, n - tail);
	c->program = p;
	c->has_name = !p || p->kind != RUNS;
	c->takes_assignments = p && strcmp(p->name, "env") == 0;
	c->ends_options = false;
	c->words = 0;
}

/* Of a program that is not known: `docker exec x sh -c`, `$SHELL -c`. */
static void take_anyones(struct command *c, const char *word, size_t n)
{
	const struct program *p = program_find(word, n);

	if (c->is_made_up && n > 1 && word[0] == '-' && word[1] != '-')
		c->code_next = word[n - 1] == 'c' || word[n - 1] == 'e';
	if (is_shell(p)) {
		c->program = p;
		c->is_anyones = true;
	}
}

static void take_word(struct command *c, const char *word, size_t n)
{
	static const char *const execs[] = { "-exec", "-execdir", "-ok", "-okdir", NULL };
	const struct program *p = c->program;

	if (p->kind == FINDS) {
		if (is_any(word, n, execs)) {
			c->has_name = false;
			c->program = NULL;
		}
		return;
	}
	if (is_option(c, word, n) && n > 1 &&
	    (p->kind == ANYWHERE || p->kind == REST || !c->has_code)) {
		if (p->kind != REST || c->words < p->words)
			take_option(c, word, n);
		return;
	}
	c->words++;
	c->has_code = c->has_code || p->kind == INTERPRETER || p->kind == FIRST;
	c->reads_input = c->reads_input || (p->kind == INTERPRETER && is_word(word, n, "-"));
}

void command_word(struct command *c, const char *word, size_t n)
{
	if (n == 0)
		return;
	if (c->in_find && (is_word(word, n, ";") || is_word(word, n, "+"))) {
		command_begin(c);
		take_name(c, "find", 4);
	} else if (c->code_next && word[0] == COMMAND_MAYBE) {
		; /* where it is nothing, the next word is the code */
	} else if (c->code_next) {
		c->code_next = false;
		c->has_code = true;
	} else if (c->skips_next) {
		c->skips_next = false;
	} else if (!c->has_name) {
		take_name(c, word, n);
	} else if (c->program) {
		take_word(c, word, n);
	} else {
		take_anyones(c, word, n);
	}
}

bool command_reads_code(const struct command *c)
{
	static const char *const shells[] = { "sudo", "chroot", "unshare", NULL };
	const struct program *p = c->program;

	if (!p || c->is_anyones)
		return false;
	switch (p->kind) {
	case RUNS: /* nothing */
		return is_any(p->name, strlen(p->name), shells);
	case ANYWHERE:
		return !c->has_code;
	case INTERPRETER: /* xargs puts what it reads behind the code, or into it (-I) */
		return !c->has_code || c->reads_input || c->by_xargs;
	case REST:
		return c->words <= p->words;
	case STDIN:
		return true;
	default:
		return false;
	}
}

bool command_is_steering(const char *name)
{
	static const char *const names[] = { "BASH_ENV",
		                             "ENV",
		                             "PATH",
		                             "IFS",
		                             "PS4",
		                             "SHELLOPTS",
		                             "BASHOPTS",
		                             "CDPATH",
		                             "PYTHONSTARTUP",
		                             "PYTHONPATH",
		                             "PYTHONHOME",
		                             "PERL5OPT",
		                             "PERL5LIB",
		                             "PERL5DB",
		                             "PERLLIB",
		                             "RUBYOPT",
		                             "RUBYLIB",
		                             "NODE_OPTIONS",
		                             "NODE_PATH",
		                             "JAVA_TOOL_OPTIONS",
		                             "_JAVA_OPTIONS",
		                             "JDK_JAVA_OPTIONS",
		                             "PROMPT_COMMAND",
		                             "GCONV_PATH",
		                             "GIT_SSH_COMMAND",
		                             NULL };

	return is_any(name, strlen(name), names) || strncmp(name, "LD_", 3) == 0 ||
	       strncmp(name, "BASH_FUNC_", 10) == 0;
}
