/* Contexts of quoting in a shell script. The walk keeps a stack of frames, one for each thing
 * that is open (a list of commands, double quotes, ${...}, arithmetic). It follows the words of
 * commands, because `case` has parentheses without a partner and some builtins read their words
 * as code. The frames that are open at a hole decide whether a value may stand there. What the
 * walk does not understand makes every later hole SHELL_LOST: a wrong refusal costs somebody a
 * line in a script, a wrong permission costs the machine. */
#include "sched/shell.h"

#include <string.h>

#include "util/check.h"

enum { DEPTH_MAX = 100, HEREDOCS_MAX = 8, DELIMITER_MAX = 80 };

enum kind { COMMANDS, CASE, QUOTES, BRACE, ARITH };

struct frame {
	enum kind kind;
	char close; /* of COMMANDS and ARITH; 0: the end of the script */
	int depth;  /* of ARITH: parentheses open */
	/* of COMMANDS and CASE */
	enum { SUBJECT, WANT_IN, PATTERN, BODY } part; /* of a CASE */
	bool in_word, is_plain; /* plain: no quotes and nothing to replace in it */
	bool keyword, command;  /* what the next word may be */
	bool redirects;         /* the next word is a file's name */
	bool is_list;           /* of an array: no commands */
	bool after_for;
	bool condition, numbers; /* in [[ ]]; it compares numbers */
	size_t condition_hole;   /* the first in it */
	enum { PLAIN, EVALUATES, NAMES, SHELL, TEST } program;
	bool evaluates; /* the words to come */
	bool code_next; /* the next word alone */
	size_t word_at;
};

struct reading {
	const char *text;
	size_t n, at;
	const size_t *holes;
	size_t n_holes, hole; /* hole: the next one */
	enum shell_place *places;
	struct frame frames[DEPTH_MAX];
	size_t depth;
	struct {
		char delimiter[DELIMITER_MAX];
		bool strips, quoted;
	} heredocs[HEREDOCS_MAX];
	size_t n_heredocs;
	bool is_lost;
};

static struct frame *top(struct reading *x)
{
	CHECK(x->depth > 0);
	return &x->frames[x->depth - 1];
}

static bool is_hole(const struct reading *x, size_t at)
{
	return x->hole < x->n_holes && x->holes[x->hole] == at;
}

static char next_byte(const struct reading *x, size_t ahead)
{
	return x->at + ahead < x->n ? x->text[x->at + ahead] : '\0';
}

static void enter_frame(struct reading *x, struct frame f)
{
	if (x->depth == DEPTH_MAX) {
		x->is_lost = true;
		return;
	}
	x->frames[x->depth++] = f;
}

static void push_commands(struct reading *x, char close)
{
	enter_frame(x,
	            (struct frame){
			    .kind = COMMANDS, .close = close, .keyword = true, .command = true });
}

static void leave_frame(struct reading *x)
{
	if (x->depth > 1)
		x->depth--;
	else
		x->is_lost = true;
}

static struct frame *commands_of(struct reading *x)
{
	size_t i = x->depth;

	while (--i > 0 && x->frames[i].kind != COMMANDS && x->frames[i].kind != CASE)
		;
	return &x->frames[i];
}

/* --- holes ------------------------------------------------------------------------------- */

static void fill(struct reading *x, enum shell_place place)
{
	x->places[x->hole++] = x->is_lost ? SHELL_LOST : place;
}

/* Every hole before `end` is of that place. */
static void fill_until(struct reading *x, size_t end, enum shell_place place)
{
	while (x->hole < x->n_holes && x->holes[x->hole] < end)
		fill(x, place);
}

static size_t identifier(const char *word, size_t n)
{
	size_t i = 0;

	while (i < n && ((word[i] >= 'a' && word[i] <= 'z') || (word[i] >= 'A' && word[i] <= 'Z') ||
	                 word[i] == '_' || (i > 0 && word[i] >= '0' && word[i] <= '9')))
		i++;
	return i;
}

/* NAME[..., and [... in the list of an array. */
static bool in_index(const struct reading *x, const struct frame *f)
{
	size_t at = f->word_at + identifier(x->text + f->word_at, x->n - f->word_at);
	int open = 0;

	if (!f->in_word || at >= x->at || x->text[at] != '[' || (at == f->word_at && !f->is_list))
		return false;
	for (; at < x->at; at++)
		open += x->text[at] == '[' ? 1 : x->text[at] == ']' && open > 0 ? -1 : 0;
	return open > 0;
}

/* export "NAME=value": the value may be one, the name not. */
static bool in_name(const struct reading *x, const struct frame *f)
{
	return !f->in_word || !memchr(x->text + f->word_at, '=', x->at - f->word_at);
}

static enum shell_place place_of_hole(struct reading *x)
{
	const struct frame *f = commands_of(x);

	for (size_t i = x->depth; &x->frames[--i] != f;) {
		if (x->frames[i].kind == BRACE)
			return SHELL_BRACE;
		if (x->frames[i].kind == ARITH)
			return SHELL_ARITH;
	}
	if (in_index(x, f))
		return SHELL_ARITH;
	if (f->redirects)
		return top(x)->kind == QUOTES ? SHELL_QUOTED : SHELL_BARE;
	if (f->evaluates || f->code_next || (f->program == NAMES && in_name(x, f)))
		return SHELL_EVAL;
	return top(x)->kind == QUOTES ? SHELL_QUOTED : SHELL_BARE;
}

/* --- words of a list of commands ---------------------------------------------------------- */

static void begin_word(struct reading *x, struct frame *f, bool plain)
{
	if (!f->in_word) {
		f->in_word = f->is_plain = true;
		f->word_at = x->at;
	}
	f->is_plain = f->is_plain && plain;
}

static bool one_of(const char *word, size_t n, const char *list)
{
	for (const char *p = list; *p; p += strcspn(p, " "), p += *p == ' ') {
		size_t len = strcspn(p, " ");
		if (len == n && memcmp(p, word, n) == 0)
			return true;
	}
	return false;
}

static bool is_assignment(const char *word, size_t n)
{
	size_t i = identifier(word, n);

	return i > 0 && i < n && (word[i] == '=' || word[i] == '[' || word[i] == '+');
}

/* By the last part of its path. */
static bool is_shell(const char *word, size_t n)
{
	size_t from = n;

	while (from > 0 && word[from - 1] != '/')
		from--;
	return one_of(word + from, n - from, "sh bash dash ash ksh mksh");
}

static void next_command(struct frame *f)
{
	if (f->condition)
		return;
	f->keyword = f->command = !f->is_list;
	f->redirects = f->after_for = f->evaluates = f->code_next = false;
	f->program = PLAIN;
}

/* The first word of a command. */
static void end_program(struct frame *f, const char *word, size_t n)
{
	if (is_assignment(word, n)) {
		f->keyword = false;
		return;
	}
	if (f->is_plain && one_of(word, n, "command builtin exec"))
		return;
	f->keyword = f->command = false;
	if (!f->is_plain)
		return;
	f->after_for = one_of(word, n, "for");
	f->evaluates = one_of(word, n, "eval let trap unset read getopts mapfile readarray alias");
	if (one_of(word, n, "export declare typeset local readonly"))
		f->program = NAMES;
	else if (is_shell(word, n) || one_of(word, n, "su"))
		f->program = SHELL;
	else if (one_of(word, n, "[ test printf"))
		f->program = TEST;
}

static void end_argument(struct reading *x, struct frame *f, const char *word, size_t n)
{
	f->code_next = false;
	if (!f->is_plain)
		return;
	if (f->condition && one_of(word, n, "]]")) {
		for (size_t i = f->condition_hole; f->numbers && i < x->hole; i++)
			x->places[i] = SHELL_ARITH;
		f->condition = f->numbers = false;
		return;
	}
	if (f->program == PLAIN && is_shell(word, n))
		f->program = SHELL; /* sudo sh -c */
	f->numbers = f->numbers ||
	             (f->condition && one_of(word, n, "-eq -ne -lt -le -gt -ge -v -R"));
	if (word[0] != '-' || n < 2)
		return;
	if (f->program == NAMES && memchr(word, 'i', n))
		f->evaluates = true; /* declare -i */
	if (f->program == TEST && one_of(word, n, "-v -R"))
		f->evaluates = true;
	if (f->program == SHELL && word[1] != '-' && memchr(word, 'c', n))
		f->code_next = true;
}

/* True: the word is one of the language, and what follows is as if nothing was before. */
static bool end_keyword(struct reading *x, struct frame *f, const char *word, size_t n)
{
	if (one_of(word, n, "case")) {
		f->keyword = f->command = false;
		enter_frame(x, (struct frame){ .kind = CASE, .part = SUBJECT });
		return true;
	}
	if (f->kind == CASE && one_of(word, n, "esac")) {
		leave_frame(x);
		return true;
	}
	if (one_of(word, n, "[[")) {
		f->keyword = f->command = f->numbers = false;
		f->condition = true;
		f->condition_hole = x->hole;
		return true;
	}
	return one_of(word, n, "if then else elif do while until ! time { coproc");
}

static void end_case_word(struct reading *x, struct frame *f, const char *word, size_t n)
{
	if (f->part == SUBJECT) {
		f->part = WANT_IN;
	} else if (f->part == WANT_IN) {
		x->is_lost = x->is_lost || !f->is_plain || !one_of(word, n, "in");
		f->part = PATTERN;
	} else if (f->is_plain && one_of(word, n, "esac")) {
		leave_frame(x);
	}
}

static void end_word(struct reading *x)
{
	struct frame *f = top(x);
	const char *word = x->text + f->word_at;
	size_t n = x->at - f->word_at;

	if (!f->in_word)
		return;
	f->in_word = false;
	if (f->redirects)
		f->redirects = false;
	else if (f->kind == CASE && f->part != BODY)
		end_case_word(x, f, word, n);
	else if (f->is_plain && f->keyword && end_keyword(x, f, word, n))
		return;
	else if (f->command)
		end_program(f, word, n);
	else
		end_argument(x, f, word, n);
}

/* --- heredocs ------------------------------------------------------------------------------ */

/* << was read: what ends it. */
static void take_delimiter(struct reading *x)
{
	char *to = x->heredocs[x->n_heredocs % HEREDOCS_MAX].delimiter, quote = '\0';
	bool quoted = false, strips = next_byte(x, 0) == '-';
	size_t n = 0;

	x->at += strips;
	while (next_byte(x, 0) == ' ' || next_byte(x, 0) == '\t')
		x->at++;
	for (; x->at < x->n; x->at++) {
		char c = next_byte(x, 0);
		if (!quote && (strchr(" \t\n;&|<>()", c) || !c))
			break;
		if (is_hole(x, x->at))
			fill(x, SHELL_HEREDOC);
		if (c == quote || (!quote && (c == '\'' || c == '"'))) {
			quote = c == quote ? '\0' : c;
			quoted = true;
			continue;
		}
		if (c == '\\' && quote != '\'') {
			quoted = true;
			continue;
		}
		if (n + 1 < DELIMITER_MAX)
			to[n++] = c;
	}
	to[n] = '\0';
	if (n == 0 || n + 1 == DELIMITER_MAX || x->n_heredocs == HEREDOCS_MAX) {
		x->is_lost = true;
		return;
	}
	x->heredocs[x->n_heredocs].strips = strips;
	x->heredocs[x->n_heredocs++].quoted = quoted;
}

/* The length of the line at x->at, and whether the next one is a part of it. */
static size_t line_length(const struct reading *x, bool quoted, bool *ret_goes_on)
{
	const char *line = x->text + x->at, *end = memchr(line, '\n', x->n - x->at);
	size_t n = end ? (size_t)(end - line) : x->n - x->at, slashes = 0;

	while (slashes < n && line[n - 1 - slashes] == '\\')
		slashes++;
	*ret_goes_on = !quoted && slashes % 2 == 1;
	return n;
}

/* A line break was read: what the heredocs hold. */
static void skip_heredocs(struct reading *x)
{
	for (size_t i = 0; i < x->n_heredocs; i++) {
		const char *delimiter = x->heredocs[i].delimiter;
		bool over = false, part = false;
		while (!over && x->at < x->n) {
			bool goes_on;
			size_t n = line_length(x, x->heredocs[i].quoted, &goes_on), tabs = 0;
			const char *line = x->text + x->at;
			while (x->heredocs[i].strips && !part && tabs < n && line[tabs] == '\t')
				tabs++;
			over = !part && n - tabs == strlen(delimiter) &&
			       memcmp(line + tabs, delimiter, n - tabs) == 0;
			part = goes_on;
			fill_until(x, x->at + n + 1, SHELL_HEREDOC);
			x->at += n + (x->at + n < x->n);
		}
	}
	x->n_heredocs = 0;
}

/* --- quotes and what begins with a dollar sign ---------------------------------------------- */

/* Behind the opening ' of '...' or $'...'. */
static void skip_single(struct reading *x, bool ansi)
{
	size_t i = x->at;

	while (i < x->n && x->text[i] != '\'') {
		/* dash ends it at \', bash does not. */
		if (ansi && x->text[i] == '\\' && i + 1 < x->n) {
			x->is_lost = x->is_lost || x->text[i + 1] == '\'';
			i++;
		}
		i++;
	}
	fill_until(x, i, SHELL_SINGLE);
	x->is_lost = x->is_lost || i >= x->n;
	x->at = i + (i < x->n);
}

/* Between backticks everything up to the next one is another script, with escapes of its own. */
static void skip_backticks(struct reading *x)
{
	size_t i = x->at;

	while (i < x->n && x->text[i] != '`')
		i += x->text[i] == '\\' ? 2 : 1;
	i = i < x->n ? i : x->n;
	fill_until(x, i, SHELL_BACKTICK);
	x->is_lost = x->is_lost || i == x->n;
	x->at = i + (i < x->n);
}

static void take_dollar(struct reading *x)
{
	char next = next_byte(x, 1);
	bool quoted = top(x)->kind == QUOTES;

	if (x->at + 1 < x->n && x->hole < x->n_holes && x->holes[x->hole] == x->at + 1) {
		x->at += 2;
		fill(x, SHELL_ESCAPED);
	} else if (next == '(' && next_byte(x, 2) == '(') {
		x->at += 3;
		enter_frame(x, (struct frame){ .kind = ARITH, .close = ')', .depth = 2 });
	} else if (next == '(') {
		x->at += 2;
		push_commands(x, ')');
	} else if (next == '{') {
		x->at += 2;
		enter_frame(x, (struct frame){ .kind = BRACE });
	} else if (next == '[') {
		x->at += 2;
		enter_frame(x, (struct frame){ .kind = ARITH, .close = ']', .depth = 1 });
	} else if (next == '\'' && !quoted) {
		x->at += 2;
		skip_single(x, true);
	} else {
		x->at += next == '$' ? 2 : 1; /* $$ is the shell's number */
	}
}

static void take_backslash(struct reading *x)
{
	x->at++;
	if (is_hole(x, x->at))
		fill(x, SHELL_ESCAPED);
	x->at += x->at < x->n;
}

/* What means the same in all frames. */
static bool take_common(struct reading *x)
{
	switch (next_byte(x, 0)) {
	case '\\':
		take_backslash(x);
		return true;
	case '$':
		take_dollar(x);
		return true;
	case '`':
		x->at++;
		skip_backticks(x);
		return true;
	default:
		return false;
	}
}

static bool in_quotes(const struct reading *x)
{
	for (size_t i = x->depth; i-- > 0;) {
		if (x->frames[i].kind == QUOTES)
			return true;
		if (x->frames[i].kind == COMMANDS || x->frames[i].kind == CASE)
			return false;
	}
	return false;
}

/* "...", ${...}, $((...)) */
static void take_inside(struct reading *x)
{
	struct frame *f = top(x);
	char c = next_byte(x, 0);

	if (is_hole(x, x->at)) {
		fill(x, place_of_hole(x));
		x->at++;
		return;
	}
	if (take_common(x))
		return;
	x->at++;
	if ((c == '"' && f->kind == QUOTES) || (c == '}' && f->kind == BRACE) ||
	    (f->kind == ARITH && c == f->close && --f->depth == 0)) {
		leave_frame(x);
	} else if (c == '"') {
		enter_frame(x, (struct frame){ .kind = QUOTES });
	} else if (c == '\'' && f->kind != QUOTES) {
		/* Whether they quote in "${x:-'...'}" shells do not agree. */
		x->is_lost = x->is_lost || in_quotes(x);
		skip_single(x, false);
	} else if (f->kind == ARITH && c == (f->close == ')' ? '(' : '[')) {
		f->depth++;
	}
}

/* --- a list of commands ---------------------------------------------------------------------- */

static void skip_comment(struct reading *x)
{
	const char *end = memchr(x->text + x->at, '\n', x->n - x->at);
	size_t to = end ? (size_t)(end - x->text) : x->n;

	fill_until(x, to, SHELL_COMMENT);
	x->at = to;
}

static void open_parenthesis(struct reading *x, struct frame *f)
{
	bool list = f->in_word && x->text[x->at - 1] == '=';

	if (f->kind == CASE && f->part == PATTERN && !f->in_word) {
		x->at++;
		return;
	}
	if (!list) {
		end_word(x);
		f = top(x);
	}
	bool arith = next_byte(x, 1) == '(' && !list && (f->keyword || f->after_for);
	x->at += arith ? 2 : 1;
	if (arith) {
		f->keyword = f->command = f->after_for = false;
		enter_frame(x, (struct frame){ .kind = ARITH, .close = ')', .depth = 2 });
		return;
	}
	push_commands(x, ')');
	top(x)->is_list = list;
	next_command(top(x));
	f->keyword = f->command = false;
}

static void close_parenthesis(struct reading *x)
{
	end_word(x);
	struct frame *f = top(x);

	x->at++;
	if (f->kind == CASE && f->part == PATTERN) {
		f->part = BODY;
		next_command(f);
	} else if (f->kind == COMMANDS && f->close == ')') {
		leave_frame(x);
		if (!top(x)->in_word)
			top(x)->keyword = top(x)->command = true; /* f() { ...; } */
	} else {
		x->is_lost = true;
	}
}

/* ; & | and a line break */
static void take_separator(struct reading *x)
{
	char c = next_byte(x, 0);

	end_word(x);
	struct frame *f = top(x);
	bool ends_body = c == ';' && (next_byte(x, 1) == ';' || next_byte(x, 1) == '&');

	x->at++;
	if (f->kind == CASE && f->part == BODY && ends_body) {
		x->at += next_byte(x, 0) == ';' && next_byte(x, 1) == '&' ? 2 : 1;
		f->part = PATTERN;
	} else {
		next_command(f);
	}
	if (c == '\n' && x->n_heredocs)
		skip_heredocs(x);
}

/* < and > */
static void take_redirection(struct reading *x)
{
	char c = next_byte(x, 0);

	end_word(x);
	struct frame *f = top(x);

	if (f->condition) {
		x->at++;
	} else if (next_byte(x, 1) == '(') {
		begin_word(x, f, false);
		x->at += 2;
		push_commands(x, ')');
	} else if (c == '<' && next_byte(x, 1) == '<' && next_byte(x, 2) != '<') {
		x->at += 2;
		take_delimiter(x);
	} else {
		while (x->at < x->n && strchr("<>&|", next_byte(x, 0)) && next_byte(x, 0))
			x->at++;
		f->redirects = true;
	}
}

/* What is a part of a word. */
static void take_letter(struct reading *x, struct frame *f)
{
	char c = next_byte(x, 0);

	if (is_hole(x, x->at)) {
		enum shell_place place = place_of_hole(x);
		begin_word(x, f, false);
		fill(x, place);
		x->at++;
		return;
	}
	if (c == '#' && !f->in_word) {
		skip_comment(x);
		return;
	}
	bool line_goes_on = c == '\\' && next_byte(x, 1) == '\n';
	if (!line_goes_on)
		begin_word(x, f, !strchr("\\$`'\"", c));
	if (take_common(x))
		return;
	x->at++;
	if (c == '\'')
		skip_single(x, false);
	else if (c == '"')
		enter_frame(x, (struct frame){ .kind = QUOTES });
}

static void take_command(struct reading *x)
{
	struct frame *f = top(x);
	char c = next_byte(x, 0);

	switch (c) {
	case ' ':
	case '\t':
		end_word(x);
		x->at++;
		return;
	case '\n':
	case ';':
	case '&':
	case '|':
		take_separator(x);
		return;
	case '<':
	case '>':
		take_redirection(x);
		return;
	case '(':
	case ')':
		if (f->condition)
			take_letter(x, f);
		else if (c == '(')
			open_parenthesis(x, f);
		else
			close_parenthesis(x);
		return;
	default:
		take_letter(x, f);
	}
}

void shell_places(const char *text, size_t bytes, const size_t *holes, size_t n,
                  enum shell_place *ret_places)
{
	struct reading x = {
		.text = text, .n = bytes, .holes = holes, .n_holes = n, .places = ret_places
	};

	push_commands(&x, '\0');
	while (x.at < x.n) { /* to its end: what follows may say more of a hole */
		size_t was = x.at;
		enum kind kind = top(&x)->kind;
		if (kind == COMMANDS || kind == CASE)
			take_command(&x);
		else
			take_inside(&x);
		CHECK(x.at > was);
	}
	x.is_lost = true; /* none is left but those behind what was cut off */
	fill_until(&x, (size_t)-1, SHELL_LOST);
	/* [[ that never ends */
	for (size_t i = 0; i < x.depth; i++)
		for (size_t k = x.frames[i].condition_hole;
		     x.frames[i].condition && x.frames[i].numbers && k < n; k++)
			ret_places[k] = SHELL_ARITH;
}

bool shell_is_script(const char *text)
{
	size_t end = strcspn(text, "\n"), n = 0;
	const char *word = text + 2;

	if (strncmp(text, "#!", 2) != 0)
		return true;
	for (;; word += n) {
		word += strspn(word, " \t\r");
		n = strcspn(word, " \t\r\n");
		if (word >= text + end || n == 0)
			return false;
		if (is_shell(word, n))
			return true;
		if (word[0] != '-' && (n < 3 || memcmp(word + n - 3, "env", 3) != 0))
			return false;
	}
}
