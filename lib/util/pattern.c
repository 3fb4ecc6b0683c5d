/* Pieces between the stars are found one after the other, each at its first place: where that does
 * not fit, a later one does not either, but for the last of a pattern with '$', which has one
 * place. */
#include "util/pattern.h"

#include <string.h>

/* A pattern without its anchors. */
struct anchored {
	const char *text;
	size_t n;
	bool begins, after_word, ends;
};

static struct anchored anchors_read(const char *pattern)
{
	struct anchored a = { .text = pattern, .begins = pattern[0] == '^' };

	a.text += a.begins;
	a.after_word = a.begins && a.text[0] == '~';
	a.text += a.after_word;
	a.n = strlen(a.text);
	a.ends = a.n > 0 && a.text[a.n - 1] == '$';
	a.n -= a.ends;
	return a;
}

bool pattern_ok(const char *pattern)
{
	struct anchored a = anchors_read(pattern);
	size_t stars = 0;

	for (size_t i = 0; i < a.n; i++)
		stars += a.text[i] == '*';
	return a.n > stars && strlen(pattern) <= PATTERN_BYTES_MAX;
}

static bool has_blank(const char *p, size_t n)
{
	return memchr(p, ' ', n) || memchr(p, '\t', n);
}

/* The place of a piece in line[at .. n); n: none. */
static size_t piece_find(const struct anchored *a, const char *piece, size_t len, const char *line,
                         size_t at, size_t n)
{
	bool is_first = piece == a->text, is_last = piece + len == a->text + a->n;

	if (len > n - at)
		return n + 1;
	if (is_last && a->ends) {
		size_t only = n - len;
		bool fits = memcmp(line + only, piece, len) == 0;
		bool stands = !is_first || !a->begins || only == 0 ||
		              (a->after_word && !has_blank(line, only));
		return fits && stands ? only : n + 1;
	}
	if (is_first && a->begins && !a->after_word)
		return memcmp(line, piece, len) == 0 ? 0 : n + 1;
	const char *found = len ? memmem(line + at, n - at, piece, len) : line + at;
	if (!found)
		return n + 1;
	size_t place = (size_t)(found - line);
	if (is_first && a->after_word && (place == 0 || has_blank(line, place)))
		return n + 1;
	return place;
}

bool pattern_fits(const char *pattern, const char *line, size_t n, size_t *ret_at)
{
	struct anchored a = anchors_read(pattern);
	const char *piece = a.text, *end = a.text + a.n;
	size_t at = 0;

	*ret_at = 0;
	while (piece <= end) {
		const char *star = memchr(piece, '*', (size_t)(end - piece));
		size_t len = (size_t)((star ? star : end) - piece);
		size_t place = piece_find(&a, piece, len, line, at, n);

		if (place > n)
			return false;
		if (piece == a.text)
			*ret_at = place;
		at = place + len;
		piece += len + 1;
	}
	return true;
}
