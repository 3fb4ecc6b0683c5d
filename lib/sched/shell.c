/* Contexts of quoting in a shell script. The walk keeps a stack of frames, one for each thing
 * that is open (a list of commands, double quotes, ${...}, arithmetic). It follows the words of
 * commands, because `case` has parentheses without a partner, and some programs read their words,
 * or what a pipe brings them, as code (command.h). The frames that are open at a hole decide
 * whether a value may stand there. What the walk does not understand makes every later hole
 * SHELL_LOST: a wrong refusal costs somebody a line in a script, a wrong permission costs the
 * machine. */
#include "sched/shell_impl.h"

#include <string.h>

#include "util/check.h"

static struct frame *top(struct reading *x)
{
	CHECK(x->depth > 0);
	return &x->frames[x->depth - 1];
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
	enter_frame(x, (struct frame){ .kind = COMMANDS,
	                               .close = close,
	                               .keyword = true,
	                               .command = true,
	                               .pipe_hole = x->hole,
	                               .command_hole = x->hole });
	command_begin(&top(x)->said);
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

static bool identifier_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
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

/* A word so far, without its quotes. From what only the run knows on it is COMMAND_UNKNOWN, but
 * for the last part of a path. */
static size_t word_text(const struct reading *x, const struct frame *f, size_t end, char *ret)
{
	size_t n = 0, hole = f->word_hole, tail = end;
	char quote = '\0';

	for (size_t i = f->word_at; i < end && n + 1 < WORD_MAX; i++) {
		char c = x->text[i];
		bool is_value = hole < x->n_holes && x->holes[hole] == i;
		bool is_command = !quote && (c == '<' || c == '>'); /* <(...) */
		if (is_value || is_command || (quote != '\'' && (c == '$' || c == '`'))) {
			ret[n++] = quote || is_value ? COMMAND_UNKNOWN : COMMAND_MAYBE;
			break;
		}
		if (c == quote || (!quote && (c == '\'' || c == '"')))
			quote = c == quote ? '\0' : c;
		else if (c == '\\' && quote != '\'' && i + 1 < end)
			ret[n++] = x->text[++i];
		else
			ret[n++] = c;
	}
	if (n == 0 || (ret[n - 1] != COMMAND_UNKNOWN && ret[n - 1] != COMMAND_MAYBE))
		return n;
	while (tail > f->word_at &&
	       (identifier_byte(x->text[tail - 1]) || x->text[tail - 1] == '"'))
		tail--;
	if (tail > f->word_at && x->text[tail - 1] == '/' && x->hole == f->word_hole)
		for (tail--; tail < end && n + 1 < WORD_MAX; tail++)
			if (x->text[tail] != '"')
				ret[n++] = x->text[tail];
	return n;
}

/* `is_output`: of a command within that word, which is what the value comes out of. */
static enum shell_place said_place(const struct reading *x, const struct frame *f, bool is_output)
{
	char before[WORD_MAX];
	size_t n = f->in_word ? word_text(x, f, x->at, before) : 0;
	size_t known = 0;

	while (known < n && before[known] != COMMAND_UNKNOWN && before[known] != COMMAND_MAYBE)
		known++;
	n = is_output ? known : n;

	if (f->kind == CASE && f->part != BODY)
		return SHELL_BARE;
	if (f->is_list || f->condition || f->redirects)
		return SHELL_BARE;
	switch (command_value(&f->said, before, n)) {
	case COMMAND_NAME:
		return SHELL_PROGRAM;
	case COMMAND_CODE:
		return SHELL_EVAL;
	default:
		return SHELL_BARE;
	}
}

static void add_read(const struct reading *x, struct frame *f)
{
	if (!f->in_word || f->read_end != x->hole)
		f->read_hole = x->hole;
	f->read_end = x->hole + 1;
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
	enum shell_place said = said_place(x, f, false);
	if (!f->redirects && (f->evaluates || (f->program == NAMES && in_name(x, f))))
		return SHELL_EVAL;
	/* A command's output may be a word of one around it. */
	for (size_t i = (size_t)(f - x->frames); said == SHELL_BARE && i-- > 0;) {
		const struct frame *around = &x->frames[i];
		if (around->kind == ARITH)
			said = SHELL_ARITH;
		else if ((around->kind == COMMANDS || around->kind == CASE) && around->in_word)
			said = around->evaluates ? SHELL_EVAL : said_place(x, around, true);
	}
	if (said != SHELL_BARE)
		return said;
	if (f->redirects && f->is_read)
		add_read(x, commands_of(x));
	return top(x)->kind == QUOTES ? SHELL_QUOTED : SHELL_BARE;
}

/* --- words of a list of commands ---------------------------------------------------------- */

static void begin_word(struct reading *x, struct frame *f, bool plain)
{
	if (!f->in_word) {
		f->in_word = f->is_plain = true;
		f->word_at = x->at;
		f->word_hole = x->hole;
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

static void fill_piped(struct reading *x, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (shell_place_fits(x->places[i]) && x->places[i] != SHELL_COMMENT)
			x->places[i] = SHELL_PIPED;
}

/* What a shell, or another reader of code, gets on its standard input is code. */
static void end_command(struct reading *x, struct frame *f)
{
	bool reads = f->kind == CASE ? f->part == BODY : f->kind == COMMANDS;

	if (reads && !f->is_list && command_reads_code(&f->said)) {
		fill_piped(x, f->pipe_hole, f->command_hole);
		fill_piped(x, f->read_hole, f->read_end);
	}
	command_begin(&f->said);
	f->read_hole = f->read_end = 0;
	f->is_read = false;
}

static void next_command(struct reading *x, struct frame *f)
{
	if (f->condition)
		return;
	end_command(x, f);
	f->pipe_hole = f->is_piped ? f->pipe_hole : x->hole;
	f->command_hole = x->hole;
	f->keyword = f->command = !f->is_list;
	f->redirects = f->after_for = f->evaluates = false;
	f->program = PLAIN;
}

/* The first word of a command, without its quotes. */
static void end_program(struct frame *f, const char *word, size_t n)
{
	if (is_assignment(word, n)) {
		f->keyword = false;
		return;
	}
	if (one_of(word, n, "command builtin exec"))
		return;
	f->keyword = f->command = false;
	f->after_for = f->is_plain && one_of(word, n, "for");
	f->evaluates = one_of(word, n, "eval let trap unset read getopts mapfile readarray alias");
	if (one_of(word, n, "export declare typeset local readonly"))
		f->program = NAMES;
	else if (one_of(word, n, "[ test printf"))
		f->program = TEST;
}

static void end_argument(struct reading *x, struct frame *f, const char *word, size_t n)
{
	if (!f->is_plain)
		return;
	if (f->condition && one_of(word, n, "]]")) {
		for (size_t i = f->condition_hole; f->numbers && i < x->hole; i++)
			x->places[i] = SHELL_ARITH;
		f->condition = f->numbers = false;
		return;
	}
	f->numbers = f->numbers ||
	             (f->condition && one_of(word, n, "-eq -ne -lt -le -gt -ge -v -R"));
	if (word[0] != '-' || n < 2)
		return;
	if (f->program == NAMES && memchr(word, 'i', n))
		f->evaluates = true; /* declare -i */
	if (f->program == TEST && one_of(word, n, "-v -R"))
		f->evaluates = true;
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

/* What a group or loop holds comes out of it together: `{ echo ${x}; } | sh`. */
static bool take_keyword(struct reading *x, struct frame *f, const char *word, size_t n)
{
	if (one_of(word, n, "{ if while until for select") && f->groups++ == 0)
		f->group_hole = f->pipe_hole;
	if (one_of(word, n, "} fi done") && f->groups > 0 && --f->groups == 0)
		f->pipe_hole = f->group_hole;
	return end_keyword(x, f, word, n);
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

/* Is the word that ended one of a command? Some close the frame. */
static bool is_of_command(struct reading *x, const struct frame *f)
{
	return f == top(x) && !f->is_list && !f->condition &&
	       (f->kind == COMMANDS || (f->kind == CASE && f->part == BODY));
}

static void end_word(struct reading *x)
{
	struct frame *f = top(x);
	const char *word = x->text + f->word_at;
	size_t n = x->at - f->word_at;

	if (!f->in_word)
		return;
	char text[WORD_MAX];
	size_t len = word_text(x, f, x->at, text);

	f->in_word = f->is_piped = false;
	if (f->redirects) {
		f->redirects = f->is_read = false;
		return;
	}
	if (f->kind == CASE && f->part != BODY)
		end_case_word(x, f, word, n);
	else if (f->is_plain && f->keyword && take_keyword(x, f, word, n))
		return;
	else if (f->command)
		end_program(f, text, len);
	else
		end_argument(x, f, word, n);
	if (is_of_command(x, f))
		command_word(&f->said, text, len);
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
	reading__fill_until(x, i, SHELL_SINGLE);
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
	reading__fill_until(x, i, SHELL_BACKTICK);
	x->is_lost = x->is_lost || i == x->n;
	x->at = i + (i < x->n);
}

static void take_dollar(struct reading *x)
{
	char next = reading__byte(x, 1);
	bool quoted = top(x)->kind == QUOTES;

	if (x->at + 1 < x->n && x->hole < x->n_holes && x->holes[x->hole] == x->at + 1) {
		x->at += 2;
		reading__fill(x, SHELL_ESCAPED);
	} else if (next == '(' && reading__byte(x, 2) == '(') {
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
	if (reading__is_hole(x, x->at))
		reading__fill(x, SHELL_ESCAPED);
	x->at += x->at < x->n;
}

/* What means the same in all frames. */
static bool take_common(struct reading *x)
{
	switch (reading__byte(x, 0)) {
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
	char c = reading__byte(x, 0);

	if (reading__is_hole(x, x->at)) {
		reading__fill(x, place_of_hole(x));
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

	reading__fill_until(x, to, SHELL_COMMENT);
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
	bool arith = reading__byte(x, 1) == '(' && !list && (f->keyword || f->after_for);
	x->at += arith ? 2 : 1;
	if (arith) {
		f->keyword = f->command = f->after_for = false;
		enter_frame(x, (struct frame){ .kind = ARITH, .close = ')', .depth = 2 });
		return;
	}
	push_commands(x, ')');
	top(x)->is_list = list;
	top(x)->is_piped = f->is_piped;
	top(x)->pipe_hole = f->pipe_hole;
	next_command(x, top(x));
	f->keyword = f->command = false;
}

static void close_parenthesis(struct reading *x)
{
	end_word(x);
	struct frame *f = top(x);

	x->at++;
	if (f->kind == CASE && f->part == PATTERN) {
		f->part = BODY;
		next_command(x, f);
	} else if (f->kind == COMMANDS && f->close == ')') {
		end_command(x, f);
		leave_frame(x);
		f = top(x);
		if (!f->in_word) { /* f() { ...; } */
			f->keyword = f->command = true;
			command_begin(&f->said);
		}
	} else {
		x->is_lost = true;
	}
}

/* ; & | and a line break */
static void take_separator(struct reading *x)
{
	char c = reading__byte(x, 0);

	end_word(x);
	struct frame *f = top(x);
	bool ends_body = c == ';' && (reading__byte(x, 1) == ';' || reading__byte(x, 1) == '&');

	char before = x->at > 0 ? x->text[x->at - 1] : '\0';
	bool is_pipe = (c == '|' && reading__byte(x, 1) != '|' && before != '|') ||
	               (c == '&' && before == '|');

	f->is_piped = is_pipe || (c == '\n' && f->is_piped);
	x->at++;
	if (f->kind == CASE && f->part == BODY && ends_body) {
		end_command(x, f);
		x->at += reading__byte(x, 0) == ';' && reading__byte(x, 1) == '&' ? 2 : 1;
		f->part = PATTERN;
	} else {
		next_command(x, f);
	}
	if (c == '\n' && x->n_heredocs)
		shell__skip_heredocs(x);
}

/* < and > */
static void take_redirection(struct reading *x)
{
	char c = reading__byte(x, 0);

	end_word(x);
	struct frame *f = top(x);

	if (f->condition) {
		x->at++;
	} else if (reading__byte(x, 1) == '(') {
		begin_word(x, f, false);
		x->at += 2;
		push_commands(x, ')');
	} else if (c == '<' && reading__byte(x, 1) == '<' && reading__byte(x, 2) != '<') {
		x->at += 2;
		shell__take_delimiter(x);
	} else {
		while (x->at < x->n && strchr("<>&|", reading__byte(x, 0)) && reading__byte(x, 0))
			x->at++;
		f->redirects = true;
		f->is_read = c == '<';
	}
}

/* What is a part of a word. */
static void take_letter(struct reading *x, struct frame *f)
{
	char c = reading__byte(x, 0);

	if (reading__is_hole(x, x->at)) {
		enum shell_place place = place_of_hole(x);
		begin_word(x, f, false);
		reading__fill(x, place);
		x->at++;
		return;
	}
	if (c == '#' && !f->in_word) {
		skip_comment(x);
		return;
	}
	bool line_goes_on = c == '\\' && reading__byte(x, 1) == '\n';
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
	char c = reading__byte(x, 0);

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
	if (top(&x)->kind == COMMANDS || top(&x)->kind == CASE)
		end_word(&x);
	for (size_t i = 0; i < x.depth; i++)
		end_command(&x, &x.frames[i]);
	x.is_lost = true; /* none is left but those behind what was cut off */
	reading__fill_until(&x, (size_t)-1, SHELL_LOST);
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
