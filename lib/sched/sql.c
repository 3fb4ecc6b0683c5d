/* One walk over the text per dialect: quotes of texts and names, comments. They differ in what
 * escapes a quote, in what nests and in what begins a comment; where they differ about a hole, the
 * one that refuses it is right. */
#include "sched/sql.h"

#include <stdbool.h>
#include <string.h>

#include "util/check.h"

enum dialect { POSTGRES, LITE, MY };

struct walk {
	enum dialect dialect;
	const char *text;
	size_t n, at;
	const size_t *holes;
	size_t n_holes, hole;
	enum sql_place *places;
};

static char byte_at(const struct walk *w, size_t ahead)
{
	return w->at + ahead < w->n ? w->text[w->at + ahead] : '\0';
}

/* Holes before `end` are of that place, unless an earlier walk refused them. */
static void fill_until(struct walk *w, size_t end, enum sql_place place)
{
	for (; w->hole < w->n_holes && w->holes[w->hole] < end; w->hole++)
		if (w->places[w->hole] == SQL_FITS)
			w->places[w->hole] = place;
}

static void go_to(struct walk *w, size_t end, enum sql_place place)
{
	end = end < w->n ? end : w->n;
	fill_until(w, end, place);
	w->at = end;
}

/* Behind the opening quote. A doubled one is two texts side by side, which comes to the same. */
static void skip_quoted(struct walk *w, char close, bool escapes, enum sql_place place)
{
	size_t i = w->at + 1;

	while (i < w->n && w->text[i] != close)
		i += escapes && w->text[i] == '\\' ? 2 : 1;
	go_to(w, i + 1, place);
}

static void skip_line(struct walk *w)
{
	const char *end = memchr(w->text + w->at, '\n', w->n - w->at);

	go_to(w, end ? (size_t)(end - w->text) : w->n, SQL_COMMENT);
}

static void skip_comment(struct walk *w)
{
	int depth = 1;
	size_t i = w->at + 2;

	while (i < w->n && depth > 0) {
		bool ends = w->text[i] == '*' && i + 1 < w->n && w->text[i + 1] == '/';
		bool nests = w->dialect == POSTGRES && w->text[i] == '/' && i + 1 < w->n &&
		             w->text[i + 1] == '*';
		depth += nests - ends;
		i += ends || nests ? 2 : 1;
	}
	go_to(w, i, SQL_COMMENT);
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

/* $tag$...$tag$ of PostgreSQL; false: it is none. */
static bool skip_dollars(struct walk *w)
{
	size_t n = 1;

	while (is_letter(byte_at(w, n)))
		n++;
	if (byte_at(w, n) != '$' || (w->at > 0 && is_letter(w->text[w->at - 1])))
		return false;
	n++;
	for (size_t i = w->at + n; i + n <= w->n; i++)
		if (memcmp(w->text + i, w->text + w->at, n) == 0) {
			go_to(w, i + n, SQL_QUOTES);
			return true;
		}
	go_to(w, w->n, SQL_QUOTES);
	return true;
}

static void take_hole(struct walk *w)
{
	char before = w->at > 0 ? w->text[w->at - 1] : ' ', after = byte_at(w, 1);
	bool joined = is_letter(before) || is_letter(after);

	for (const char *p = "'\"`$@\\&#"; *p; p++)
		joined = joined || before == *p || after == *p;
	go_to(w, w->at + 1, joined ? SQL_JOINED : SQL_FITS);
}

static void take(struct walk *w)
{
	char c = byte_at(w, 0), next = byte_at(w, 1);
	bool my = w->dialect == MY;

	if (w->hole < w->n_holes && w->holes[w->hole] == w->at)
		take_hole(w);
	else if (c == '\'')
		skip_quoted(w, '\'', my, SQL_QUOTES);
	else if (c == '"')
		skip_quoted(w, '"', my, SQL_NAME);
	else if (c == '`' && w->dialect != POSTGRES)
		skip_quoted(w, '`', false, SQL_NAME);
	else if (c == '[' && w->dialect == LITE)
		skip_quoted(w, ']', false, SQL_NAME);
	else if ((c == '#' && my) ||
	         (c == '-' && next == '-' && (!my || (unsigned char)byte_at(w, 2) <= ' ')))
		skip_line(w);
	else if (c == '/' && next == '*')
		skip_comment(w);
	else if (!(c == '$' && w->dialect == POSTGRES && skip_dollars(w)))
		w->at++;
}

void sql_places(const char *text, size_t bytes, const size_t *holes, size_t n,
                enum sql_place *ret_places)
{
	for (size_t i = 0; i < n; i++)
		ret_places[i] = SQL_FITS;
	for (int d = POSTGRES; d <= MY; d++) {
		struct walk w = { .dialect = (enum dialect)d,
			          .text = text,
			          .n = bytes,
			          .holes = holes,
			          .n_holes = n,
			          .places = ret_places };
		while (w.at < w.n) {
			size_t was = w.at;
			take(&w);
			CHECK(w.at > was);
		}
	}
}
