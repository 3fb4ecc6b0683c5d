/* From the text of an expression to its program.
 *
 * One pass, top down: each part appends its code, and what comes before a part (the choice of a
 * repetition, of an alternative) is inserted in front of it. Jumps are relative, so a block of code
 * is moved or copied as it is. The program has a largest size, so that {255}{255} ends here and
 * takes no memory. A character that is more than one byte is a sequence of bytes. */
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/rex.h"
#include "util/rex_impl.h"
#include "util/utf8.h"

enum { DEPTH_MAX = 50, TIMES_MAX = 255, NO_MOST = -1 };

struct parse {
	const char *text, *at;
	int folds;
	int depth;
	struct rex_program *p;
	struct err *err;
	int code; /* of the first thing that was wrong; 0: nothing */
};

static void parse_fail(struct parse *s, const char *what)
{
	if (s->code == 0)
		s->code = err_set(s->err, E_INVALID, "%s, at character %zu of the expression", what,
		                  (size_t)(s->at - s->text) + 1);
}

/* --- code --------------------------------------------------------------------------------- */

static struct rex_code *code_insert(struct parse *s, size_t at, enum rex_op op)
{
	static struct rex_code none;
	struct rex_program *p = s->p;

	CHECK(at <= p->n);
	if (p->n >= REX_CODE_MAX) {
		parse_fail(s, "the expression is too large: repeat less");
		return &none;
	}
	p->code = mem_room(p->code, &p->cap, p->n + 1, sizeof *p->code);
	memmove(p->code + at + 1, p->code + at, (p->n - at) * sizeof *p->code);
	p->n++;
	p->code[at] = (struct rex_code){ .op = (uint8_t)op };
	return &p->code[at];
}

static void code_split(struct parse *s, size_t at, int32_t to, int32_t also)
{
	struct rex_code *c = code_insert(s, at, REX_SPLIT);

	c->to = to;
	c->also = also;
}

static void code_jump(struct parse *s, int32_t to)
{
	code_insert(s, s->p->n, REX_JUMP)->to = to;
}

static void code_set(struct parse *s, const uint32_t set[8])
{
	memcpy(code_insert(s, s->p->n, REX_SET)->set, set, 8 * sizeof *set);
}

static void code_copy(struct parse *s, size_t from, size_t n)
{
	for (size_t i = 0; i < n && s->code == 0; i++) {
		struct rex_code c = s->p->code[from + i];
		*code_insert(s, s->p->n, REX_SET) = c;
	}
}

/* --- sets of bytes ------------------------------------------------------------------------ */

static void set_put(uint32_t set[8], unsigned lo, unsigned hi)
{
	for (unsigned b = lo; b <= hi; b++)
		set[b / 32] |= UINT32_C(1) << (b % 32);
}

static void set_fold(const struct parse *s, uint32_t set[8])
{
	for (unsigned b = 'a'; s->folds && b <= 'z'; b++)
		if (rex__has(set, b) || rex__has(set, b - 32)) {
			set_put(set, b, b);
			set_put(set, b - 32, b - 32);
		}
}

/* Digits, letters, blanks: by the letter of \d, \w, \s. False: it is none. */
static bool set_class(char letter, uint32_t set[8])
{
	if (letter == 'd' || letter == 'w')
		set_put(set, '0', '9');
	if (letter == 'w') {
		set_put(set, 'a', 'z');
		set_put(set, 'A', 'Z');
		set_put(set, '_', '_');
	}
	if (letter == 's') {
		set_put(set, '\t', '\r');
		set_put(set, ' ', ' ');
	}
	return letter == 'd' || letter == 'w' || letter == 's';
}

/* One byte of the set, or a character of several bytes, or a byte of none. */
static void any_other(struct parse *s, const uint32_t ascii[8])
{
	static const struct {
		uint8_t lo, hi, more;
	} leads[] = { { 0xc2, 0xdf, 1 }, { 0xe0, 0xef, 2 }, { 0xf0, 0xf4, 3 } };
	uint32_t one[8];
	size_t begin = s->p->n;

	memcpy(one, ascii, sizeof one);
	set_put(one, 0x80, 0xff);
	code_set(s, one);
	for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
		uint32_t lead[8] = { 0 }, next[8] = { 0 };
		int32_t n = (int32_t)(s->p->n - begin);

		set_put(lead, leads[i].lo, leads[i].hi);
		set_put(next, 0x80, 0xbf);
		code_split(s, begin, 1, n + 2);
		code_jump(s, leads[i].more + 2);
		code_set(s, lead);
		for (int k = 0; k < leads[i].more; k++)
			code_set(s, next);
	}
}

static void not_of(struct parse *s, const uint32_t set[8])
{
	uint32_t rest[8] = { 0 };

	for (unsigned b = 0; b < 0x80; b++)
		if (b != '\n' && !rex__has(set, b))
			set_put(rest, b, b);
	any_other(s, rest);
}

/* --- parts -------------------------------------------------------------------------------- */

static void parse_literal(struct parse *s)
{
	size_t n = strlen(s->at), bytes = 1;

	while (bytes < n && ((unsigned char)s->at[bytes] & 0xc0) == 0x80)
		bytes++;
	for (size_t i = 0; i < bytes; i++) {
		uint32_t set[8] = { 0 };
		set_put(set, (unsigned char)s->at[i], (unsigned char)s->at[i]);
		set_fold(s, set);
		code_set(s, set);
	}
	s->at += bytes;
}

static int control_of(char letter)
{
	return letter == 't' ? '\t' : letter == 'r' ? '\r' : letter == 'f' ? '\f' : 0;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static void parse_escape(struct parse *s)
{
	uint32_t set[8] = { 0 };
	char c = s->at[1];
	char low = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);

	if (c == '\0') {
		parse_fail(s, "a backslash ends the expression: write \\\\ for one");
	} else if (set_class(low, set)) {
		s->at += 2;
		if (c == low)
			code_set(s, set);
		else
			not_of(s, set);
	} else if (control_of(c)) {
		set_put(set, (unsigned)control_of(c), (unsigned)control_of(c));
		s->at += 2;
		code_set(s, set);
	} else if (is_word(c)) {
		parse_fail(s,
		           "this backslash means nothing here: \\d \\w \\s \\D \\W \\S and \\t do");
	} else {
		s->at++;
		parse_literal(s);
	}
}

/* [:digit:] and the like. False: it is none. */
static bool named_class(struct parse *s, uint32_t set[8])
{
	static const struct {
		const char *name, *ranges; /* pairs */
	} classes[] = { { "[:alpha:]", "azAZ" },    { "[:digit:]", "09" },
		        { "[:alnum:]", "azAZ09" },  { "[:upper:]", "AZ" },
		        { "[:lower:]", "az" },      { "[:space:]", "\t\r  " },
		        { "[:blank:]", "\t\t  " },  { "[:xdigit:]", "09afAF" },
		        { "[:punct:]", "!/:@[`{~" } };

	for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
		size_t n = strlen(classes[i].name);
		if (strncmp(s->at, classes[i].name, n) != 0)
			continue;
		for (const char *r = classes[i].ranges; *r; r += 2)
			set_put(set, (unsigned char)r[0], (unsigned char)r[1]);
		s->at += n;
		return true;
	}
	return false;
}

/* One character of a set, or one end of a range; -1: it was a class, or is wrong. */
static int set_char(struct parse *s, uint32_t set[8])
{
	char c = s->at[0];

	if (c == '\\' && s->at[1]) {
		c = s->at[1];
		s->at += 2;
		if (set_class(c, set))
			return -1;
		return control_of(c) ? control_of(c) : (unsigned char)c;
	}
	if ((unsigned char)c >= 0x80) {
		parse_fail(s, "a set has characters of ASCII only: write (A|B) for others");
		return -1;
	}
	s->at++;
	return (unsigned char)c;
}

static void parse_set(struct parse *s)
{
	uint32_t set[8] = { 0 };
	bool is_not = s->at[1] == '^';

	s->at += is_not ? 2 : 1;
	for (bool first = true; s->code == 0 && (first || *s->at != ']'); first = false) {
		if (*s->at == '\0') {
			parse_fail(s, "a set has no end: ] is missing");
			return;
		}
		if (named_class(s, set))
			continue;
		int lo = set_char(s, set), hi = lo;
		if (lo >= 0 && s->at[0] == '-' && s->at[1] != ']' && s->at[1] != '\0') {
			s->at++;
			hi = set_char(s, set);
		}
		if (lo >= 0 && hi >= lo)
			set_put(set, (unsigned)lo, (unsigned)hi);
		else if (lo >= 0)
			parse_fail(s, "this range of a set runs backwards");
	}
	if (*s->at == ']')
		s->at++;
	set_fold(s, set);
	if (is_not)
		not_of(s, set);
	else
		code_set(s, set);
}

static void parse_either(struct parse *s);

static void parse_group(struct parse *s)
{
	s->at++;
	if (s->at[0] == '?' && s->at[1] == ':') {
		s->at += 2;
	} else if (s->at[0] == '?') {
		parse_fail(s, "there is no look-around and no other (?");
		return;
	}
	if (++s->depth > DEPTH_MAX) {
		parse_fail(s, "too many brackets within each other");
		return;
	}
	parse_either(s);
	s->depth--;
	if (s->code == 0 && *s->at != ')')
		parse_fail(s, "a bracket is not closed: ) is missing");
	else if (s->code == 0)
		s->at++;
}

static void parse_part(struct parse *s)
{
	static const uint32_t none[8];

	switch (*s->at) {
	case '(':
		parse_group(s);
		break;
	case '[':
		parse_set(s);
		break;
	case '\\':
		parse_escape(s);
		break;
	case '.':
		s->at++;
		not_of(s, none);
		break;
	case '^':
		s->at++;
		code_insert(s, s->p->n, REX_BEGIN);
		break;
	case '$':
		s->at++;
		code_insert(s, s->p->n, REX_END);
		break;
	case '*':
	case '+':
	case '?':
		parse_fail(
			s,
			"nothing stands before this * + or ?: write \\ before it to look for it");
		break;
	default:
		parse_literal(s);
	}
}

/* --- repetition --------------------------------------------------------------------------- */

static int parse_number(struct parse *s)
{
	int n = 0;

	if (*s->at < '0' || *s->at > '9')
		return NO_MOST;
	for (; *s->at >= '0' && *s->at <= '9'; s->at++)
		n = n > TIMES_MAX ? n : n * 10 + (*s->at - '0');
	return n;
}

/* "{3,5}" behind a part. False: that is text. */
static bool parse_times(struct parse *s, int *ret_least, int *ret_most)
{
	const char *was = s->at;

	s->at++;
	*ret_least = *ret_most = parse_number(s);
	if (*ret_least >= 0 && *s->at == ',') {
		s->at++;
		*ret_most = parse_number(s);
	}
	if (*ret_least < 0 || *s->at != '}') {
		s->at = was;
		return false;
	}
	if (*ret_least > TIMES_MAX || *ret_most > TIMES_MAX)
		parse_fail(s, "it repeats more than 255 times");
	else if (*ret_most != NO_MOST && *ret_most < *ret_least)
		parse_fail(s, "it repeats from more times to fewer");
	s->at++;
	return true;
}

static void code_star(struct parse *s, size_t from)
{
	int32_t n = (int32_t)(s->p->n - from);

	code_split(s, from, 1, n + 2);
	code_jump(s, -(n + 1));
}

static void code_repeat(struct parse *s, size_t from, int least, int most)
{
	size_t n = s->p->n - from;

	if (least == 0 && most == NO_MOST) {
		code_star(s, from);
		return;
	}
	for (int i = 1; i < least; i++)
		code_copy(s, from, n);
	for (int i = least; i < most && s->code == 0; i++) {
		size_t at = s->p->n;
		if (i > 0)
			code_copy(s, from + (least == 0), n);
		code_split(s, i > 0 ? at : from, 1, (int32_t)n + 1);
	}
	if (most == NO_MOST && s->code == 0) {
		size_t at = s->p->n;
		code_copy(s, from, n);
		code_star(s, at);
	}
	if (most == 0)
		s->p->n = from;
}

static void parse_repeated(struct parse *s)
{
	size_t from = s->p->n;

	parse_part(s);
	while (s->code == 0) {
		int least = 0, most = 1;
		char c = *s->at;

		if (c == '*' || c == '+' || c == '?') {
			least = c == '+';
			most = c == '?' ? 1 : NO_MOST;
			s->at++;
		} else if (c != '{' || !parse_times(s, &least, &most)) {
			return;
		}
		if (s->code == 0)
			code_repeat(s, from, least, most);
	}
}

static void parse_either(struct parse *s)
{
	size_t from = s->p->n;

	while (s->code == 0 && *s->at && *s->at != '|' && *s->at != ')')
		parse_repeated(s);
	if (s->code < 0 || *s->at != '|')
		return;
	s->at++;
	code_split(s, from, 1, (int32_t)(s->p->n - from) + 2);
	size_t jump = s->p->n;
	code_jump(s, 0);
	parse_either(s);
	if (s->code == 0)
		s->p->code[jump].to = (int32_t)(s->p->n - jump);
}

int rex__parse(const char *text, int folds, struct rex_program *p, struct err *err)
{
	struct parse s = { .text = text, .at = text, .folds = folds, .p = p, .err = err };

	if (text[0] == '\0')
		parse_fail(&s, "the expression is empty");
	else if (strlen(text) > REX_BYTES_MAX)
		parse_fail(&s, "the expression is longer than 512 bytes");
	if (s.code == 0)
		parse_either(&s);
	if (s.code == 0 && *s.at == ')')
		parse_fail(&s, "a bracket is closed that was not opened: write \\) to look for it");
	if (s.code == 0)
		code_insert(&s, p->n, REX_MATCH);
	return s.code;
}
