/* Reading: words, then by precedence, types judged on the way; the steps come out in the order in
 * which they are taken. */
#include "sched/expr_impl.h"

#include "util/alloc.h"
#include "util/check.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/map.h"
#include "util/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum word { W_END, W_NUMBER, W_TEXT, W_NAME, W_SIGN };

struct reading {
	const char *text, *at; /* at: behind the present word */
	const struct expr_name *names;
	size_t n_names;
	struct expr_wrong *wrong;
	bool is_wrong; /* what follows is not looked at */
	enum word word;
	const char *begin; /* of the present word ... */
	size_t length;
	double number;
	struct expr_op ops[EXPR_OPS_MAX];
	size_t n;
	char texts[EXPR_BYTES_MAX];
	size_t n_texts;
	int deep;
};

/* The first that is found stands. */
__attribute__((format(printf, 4, 5))) static enum expr_type read_wrong(struct reading *r,
                                                                       const char *at,
                                                                       const char *hint,
                                                                       const char *fmt, ...)
{
	va_list args;

	if (r->is_wrong)
		return EXPR_NUMBER;
	r->is_wrong = true;
	r->word = W_END;
	r->wrong->at = 1;
	for (const char *p = r->text; p < at; p++)
		r->wrong->at += ((unsigned char)*p & 0xc0) != 0x80;
	snprintf(r->wrong->hint, sizeof r->wrong->hint, "%s", hint);
	va_start(args, fmt);
	vsnprintf(r->wrong->text, sizeof r->wrong->text, fmt, args);
	va_end(args);
	utf8_clean(r->wrong->text);
	return EXPR_NUMBER;
}

/* --- words */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static const char *read_digits(const char *p)
{
	while (is_digit(*p))
		p++;
	return p;
}

/* 12, 1.5, .5, 1e9, 2.5e-3. */
static void read_number(struct reading *r)
{
	const char *p = read_digits(r->begin);

	if (*p == '.' && is_digit(p[1]))
		p = read_digits(p + 1);
	if (*p == 'e' || *p == 'E') {
		const char *power = p + 1 + (p[1] == '+' || p[1] == '-');
		p = is_digit(*power) ? read_digits(power) : p;
	}
	r->at = p;
	r->number = strtod(r->begin, NULL);
	if (is_letter(*p) || *p == '.')
		read_wrong(r, r->begin, "write 12, 1.5 or 1e9", "'%.*s' is not a number",
		           (int)(p - r->begin) + 1, r->begin);
	else if (!isfinite(r->number))
		read_wrong(r, r->begin, "numbers are at most 1.7e308", "a number is too large");
}

static void read_text(struct reading *r)
{
	const char *p = r->begin + 1;

	while (*p && *p != *r->begin && *p != '\\' && (unsigned char)*p >= ' ')
		p++;
	r->at = p + 1;
	if (*p == '\\' || (*p && *p != *r->begin))
		read_wrong(r, p, "names of brokers and groups have none of these",
		           "a text has no \\ and no control characters");
	else if (!*p)
		read_wrong(r, r->begin, "close it with the same quote", "a text has no end");
	else if (p == r->begin + 1)
		read_wrong(r, r->begin, "write a name between the quotes", "a text is empty");
}

static void read_sign(struct reading *r)
{
	static const char *const signs[] = { "<=", ">=", "==", "!=", "&&", "||" };

	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (strncmp(r->begin, signs[i], 2) == 0) {
			r->at = r->begin + 2;
			return;
		}
	r->at = r->begin + 1;
	if (!strchr("+-*/<>!?:()", *r->begin))
		read_wrong(r, r->begin, "+ - * / < <= > >= == != && || ! ? : ( ) and in",
		           "'%c' is no sign of an expression",
		           (unsigned char)*r->begin < ' ' || (unsigned char)*r->begin > '~'
		                   ? '?'
		                   : *r->begin);
}

static void read_next(struct reading *r)
{
	if (r->is_wrong)
		return;
	r->at += strspn(r->at, " \t\r\n");
	r->begin = r->at;
	if (!*r->at) {
		r->word = W_END;
	} else if (is_digit(*r->at) || (*r->at == '.' && is_digit(r->at[1]))) {
		r->word = W_NUMBER;
		read_number(r);
	} else if (*r->at == '"' || *r->at == '\'') {
		r->word = W_TEXT;
		read_text(r);
	} else if (is_letter(*r->at)) {
		r->word = W_NAME;
		while (is_letter(*r->at) || is_digit(*r->at))
			r->at++;
	} else {
		r->word = W_SIGN;
		read_sign(r);
	}
	r->length = (size_t)(r->at - r->begin);
}

static bool is(const struct reading *r, const char *word)
{
	return (r->word == W_SIGN || r->word == W_NAME) && r->length == strlen(word) &&
	       strncmp(r->begin, word, r->length) == 0;
}

static bool read_take(struct reading *r, const char *word)
{
	bool found = is(r, word);

	if (found)
		read_next(r);
	return found;
}

static void need(struct reading *r, const char *word, const char *what)
{
	if (!read_take(r, word))
		read_wrong(r, r->begin, what,
		           r->word == W_END ? "it ends where '%s' is missing" : "want '%s' here",
		           word);
}

/* --- steps */

static void read_put(struct reading *r, struct expr_op op, const char *at)
{
	if (r->n == EXPR_OPS_MAX)
		read_wrong(r, at, "divide both sides by the same, or leave something out",
		           "an expression has at most %d values and signs", EXPR_OPS_MAX);
	if (!r->is_wrong)
		r->ops[r->n++] = op;
}

static const char *type_name(enum expr_type t)
{
	static const char *const names[] = { [EXPR_NUMBER] = "a number",
		                             [EXPR_BOOL] = "true or false",
		                             [EXPR_TEXT] = "a text",
		                             [EXPR_TEXTS] = "a list of texts" };

	return names[t];
}

static void read_want(struct reading *r, enum expr_type got, enum expr_type type, const char *at,
                      const char *sign)
{
	if (got != type)
		read_wrong(
			r, at,
			got == EXPR_BOOL ? "write (... ? 1 : 0) for a number"
			: got == EXPR_TEXT
				? "compare a text with == or !=, or look for it: \"etl\" in groups"
			: got == EXPR_TEXTS ? "ask whether it has one: \"etl\" in groups"
					    : "compare it: cpu < 0.5",
			"%s wants %s, this is %s", sign, type_name(type), type_name(got));
}

/* --- by precedence, the weakest first */

static enum expr_type choice(struct reading *r);

static void hint_of_names(const struct reading *r, const char *name, char hint[300])
{
	struct nearest near = nearest_to(name);
	size_t used = (size_t)snprintf(hint, 300, "its names are");

	for (size_t i = 0; i < r->n_names; i++) {
		nearest_try(&near, r->names[i].name);
		used += (size_t)snprintf(hint + used, 300 - used, "%s %s", i ? "," : "",
		                         r->names[i].name);
		CHECK(used < 300);
	}
	if (nearest_name(&near))
		snprintf(hint, 300, "did you mean '%s'?", nearest_name(&near));
}

static enum expr_type name(struct reading *r)
{
	char word[64], hint[300];
	const char *at = r->begin;

	snprintf(word, sizeof word, "%.*s", (int)r->length, r->begin);
	for (size_t i = 0; i < r->n_names; i++)
		if (is(r, r->names[i].name)) {
			read_next(r);
			read_put(r, (struct expr_op){ .code = EXPR_PUT_NAME, .at = (uint32_t)i },
			         at);
			return r->names[i].type;
		}
	hint_of_names(r, word, hint);
	return read_wrong(r, at, hint, "there is no name '%s'", word);
}

static enum expr_type expr_read_text(struct reading *r)
{
	struct expr_op op = { .code = EXPR_PUT_TEXT, .at = (uint32_t)r->n_texts };
	const char *at = r->begin;
	size_t n = r->length - 2;

	if (r->is_wrong)
		return EXPR_TEXT;
	memcpy(r->texts + r->n_texts, at + 1, n);
	r->texts[r->n_texts + n] = '\0';
	r->n_texts += n + 1;
	read_next(r);
	read_put(r, op, at);
	return EXPR_TEXT;
}

static enum expr_type read_value(struct reading *r)
{
	const char *at = r->begin;
	struct expr_op op = { .code = EXPR_PUT_NUMBER, .number = r->number };

	if (r->word == W_NUMBER) {
		read_next(r);
		read_put(r, op, at);
		return EXPR_NUMBER;
	}
	if (r->word == W_TEXT)
		return expr_read_text(r);
	if (r->word == W_NAME && !is(r, "in"))
		return name(r);
	if (!read_take(r, "("))
		return read_wrong(r, at, "a number, a name, a text in quotes, or ( )",
		                  r->word == W_END ? "it ends where a value is missing"
		                                   : "want a value here");
	enum expr_type got = choice(r);
	need(r, ")", "close what was opened");
	return got;
}

/* All ! or all -, as CEL has them. */
static enum expr_type unary(struct reading *r)
{
	const char *at = r->begin;
	bool minus = is(r, "-");
	size_t n = 0;

	while (read_take(r, minus ? "-" : "!"))
		n++;
	enum expr_type got = read_value(r);
	if (n)
		read_want(r, got, minus ? EXPR_NUMBER : EXPR_BOOL, at, minus ? "-" : "!");
	if (n % 2)
		read_put(r, (struct expr_op){ .code = minus ? EXPR_NEGATE : EXPR_NOT }, at);
	return got;
}

struct sign {
	const char *text;
	enum expr_code code;
};

static const struct sign *take_one_of(struct reading *r, const struct sign *signs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (read_take(r, signs[i].text))
			return &signs[i];
	return NULL;
}

/* Signs of one strength, from left to right, both sides `type`. */
static enum expr_type row_of(struct reading *r, enum expr_type type, const struct sign *signs,
                             size_t n, enum expr_type (*stronger)(struct reading *r))
{
	const char *left = r->begin, *at;
	enum expr_type got = stronger(r);

	for (const struct sign *s; at = r->begin, (s = take_one_of(r, signs, n));) {
		read_want(r, got, type, left, s->text);
		const char *right = r->begin;
		read_want(r, stronger(r), type, right, s->text);
		read_put(r, (struct expr_op){ .code = s->code }, at);
	}
	return got;
}

static enum expr_type product(struct reading *r)
{
	static const struct sign signs[] = { { "*", EXPR_MULTIPLY }, { "/", EXPR_DIVIDE } };

	return row_of(r, EXPR_NUMBER, signs, 2, unary);
}

static enum expr_type sum(struct reading *r)
{
	static const struct sign signs[] = { { "+", EXPR_ADD }, { "-", EXPR_SUBTRACT } };

	return row_of(r, EXPR_NUMBER, signs, 2, product);
}

/* One at most: what it says is neither a number nor a text. */
static enum expr_type relation(struct reading *r)
{
	static const struct sign signs[] = { { "<", EXPR_LESS },  { "<=", EXPR_AT_MOST },
		                             { ">", EXPR_MORE },  { ">=", EXPR_AT_LEAST },
		                             { "==", EXPR_SAME }, { "!=", EXPR_OTHER },
		                             { "in", EXPR_IN } };
	const char *left = r->begin;
	enum expr_type got = sum(r);
	const char *at = r->begin;
	const struct sign *s = take_one_of(r, signs, sizeof signs / sizeof *signs);

	if (!s)
		return got;
	bool is_in = s->code == EXPR_IN;
	bool texts = got == EXPR_TEXT && (s->code == EXPR_SAME || s->code == EXPR_OTHER);
	read_want(r, got, is_in || texts ? EXPR_TEXT : EXPR_NUMBER, left, s->text);
	const char *right = r->begin;
	read_want(r, sum(r), is_in ? EXPR_TEXTS : texts ? EXPR_TEXT : EXPR_NUMBER, right, s->text);
	read_put(r,
	         (struct expr_op){ .code = !texts                 ? s->code
	                                   : s->code == EXPR_SAME ? EXPR_SAME_TEXT
	                                                          : EXPR_OTHER_TEXT },
	         at);
	return EXPR_BOOL;
}

static enum expr_type all_of(struct reading *r)
{
	static const struct sign sign = { "&&", EXPR_AND };

	return row_of(r, EXPR_BOOL, &sign, 1, relation);
}

static enum expr_type any_of(struct reading *r)
{
	static const struct sign sign = { "||", EXPR_OR };

	return row_of(r, EXPR_BOOL, &sign, 1, all_of);
}

static enum expr_type choice(struct reading *r)
{
	const char *at = r->begin;

	if (++r->deep > EXPR_DEEP_MAX)
		return read_wrong(r, at, "take some out",
		                  "( ) and ? : stand in each other more than %d "
		                  "deep",
		                  EXPR_DEEP_MAX);
	enum expr_type got = any_of(r);
	if (read_take(r, "?")) {
		read_want(r, got, EXPR_BOOL, at, "?");
		const char *one = r->begin;
		got = any_of(r);
		if (got != EXPR_BOOL)
			read_want(r, got, EXPR_NUMBER, one, "?");
		need(r, ":", "condition ? this : that");
		const char *other = r->begin;
		read_want(r, choice(r), got, other, ":");
		read_put(r, (struct expr_op){ .code = EXPR_PICK }, at);
	}
	r->deep--;
	return got;
}

/* Of the steps and the texts, not of blanks between the words. */
static uint64_t hash_of(const struct reading *r)
{
	uint64_t h = 1;

	for (size_t i = 0; i < r->n; i++) {
		uint64_t bits;
		memcpy(&bits, &r->ops[i].number, sizeof bits);
		h = map_mix(map_mix(h, bits), (uint64_t)r->ops[i].code << 32 | r->ops[i].at);
	}
	for (size_t i = 0; i < r->n_texts; i++)
		h = map_mix(h, (unsigned char)r->texts[i]);
	return h ? h : 1;
}

static struct expr *assemble(const struct reading *r)
{
	CHECK(r->n > 0 && r->n <= EXPR_OPS_MAX);
	size_t head = sizeof(struct expr) + r->n * sizeof *r->ops;
	struct expr *e = mem_new(head + r->n_texts);

	e->bytes = head + r->n_texts;
	e->n = r->n;
	e->hash = hash_of(r);
	memcpy(e->ops, r->ops, r->n * sizeof *r->ops);
	for (size_t i = 0; i < e->n; i++)
		if (e->ops[i].code == EXPR_PUT_TEXT)
			e->ops[i].at += (uint32_t)head;
	memcpy((char *)e + head, r->texts, r->n_texts);
	return e;
}

int expr_read(const char *text, const struct expr_name *names, size_t n, struct expr **ret_expr,
              struct expr_wrong *ret_wrong)
{
	struct reading r = { .text = text,
		             .at = text,
		             .begin = text,
		             .names = names,
		             .n_names = n,
		             .wrong = ret_wrong };

	if (strlen(text) >= EXPR_BYTES_MAX)
		read_wrong(&r, text, "leave something out", "an expression has at most %d bytes",
		           EXPR_BYTES_MAX - 1);
	read_next(&r);
	enum expr_type got = choice(&r);
	if (r.word != W_END)
		read_wrong(&r, r.begin, "a sign such as + between two values",
		           "nothing can follow here");
	read_want(&r, got, EXPR_NUMBER, text, "the whole");
	if (r.is_wrong)
		return E_INVALID;
	*ret_expr = assemble(&r);
	return 0;
}
