/* What failures of one cause have in common: their line with what differs from run to run left out.
 * The cause's name is made of it, here and nowhere else, and is the same on every machine and in
 * every release: links and scripts keep it. A change of the rules below changes such names. Pure.
 *
 *   digits, also with . , : - between them     #
 *   one digit at the end of a name     stays: python3, utf8
 *   hexadecimal (0x.., 4 digits and more), UUIDs, words of three numbers and more     #
 *   /a/b/c.txt     .../c.txt
 *   blanks     one
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/failure.h"
#include "util/utf8.h"

struct fold {
	char *to;
	size_t n;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_path(char c)
{
	return is_word(c) || (c != '\0' && strchr("/.-+%@~=", c));
}

static void fold_put(struct fold *f, char c)
{
	if (f->n < FAILURE_LINE_BYTES)
		f->to[f->n++] = c;
}

/* "12:03,7" is one number. */
static void fold_number(struct fold *f)
{
	if (f->n >= 2 && f->to[f->n - 2] == '#' && strchr(".,:-", f->to[f->n - 1]))
		f->n--;
	else if (f->n == 0 || f->to[f->n - 1] != '#')
		fold_put(f, '#');
}

static size_t uuid_bytes(const char *p)
{
	static const uint8_t groups[] = { 8, 4, 4, 4, 12 };
	size_t n = 0;

	for (size_t g = 0; g < sizeof groups; g++) {
		if (g && p[n++] != '-')
			return 0;
		for (size_t i = 0; i < groups[g]; i++)
			if (!isxdigit((unsigned char)p[n++]))
				return 0;
	}
	return is_word(p[n]) ? 0 : n;
}

/* A word whose letters mean nothing either: hexadecimal, or letters and numbers by turns. */
static bool is_mark(const char *word, size_t n)
{
	size_t hex = 0, digits = 0, runs = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_digit = isdigit((unsigned char)word[i]);

		hex += isxdigit((unsigned char)word[i]) != 0;
		digits += is_digit;
		runs += is_digit && (i == 0 || !isdigit((unsigned char)word[i - 1]));
	}
	if (n > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X'))
		return hex == n - 1;
	return runs > 2 || (digits && n >= 4 && hex == n);
}

/* "python3": another digit would be another program. Of "host17" and "part_3" only the name
 * counts. */
static bool is_name(const char *word, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (isdigit((unsigned char)word[i]))
			return false;
	return n > 1 && isalpha((unsigned char)word[n - 2]);
}

static size_t fold_word(struct fold *f, const char *p)
{
	size_t n = 0, uuid = uuid_bytes(p);

	while (is_word(p[n]))
		n++;
	if (uuid || is_mark(p, n)) {
		fold_number(f);
		return uuid ? uuid : n;
	}
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)p[i]) || is_name(p, n))
			fold_put(f, p[i]);
		else if (i == 0 || !isdigit((unsigned char)p[i - 1]))
			fold_number(f);
	return n;
}

/* Up to the last name of a path of several; 0: it is none. */
static size_t path_bytes(const char *p)
{
	size_t n = 0, last = 0;

	while (is_path(p[n])) {
		if (p[n] == '/' && is_path(p[n + 1]) && p[n + 1] != '/')
			last = n + 1;
		n++;
	}
	return last > 1 ? last : 0;
}

static void fold_line(const char *p, char ret[FAILURE_LINE_BYTES + 1])
{
	struct fold f = { ret, 0 };
	char before = ' ';

	for (size_t step; *p; p += step) {
		size_t path = *p == '/' && !is_path(before) && before != ':' ? path_bytes(p) : 0;

		step = 1;
		if (path) {
			for (int i = 0; i < 3; i++)
				fold_put(&f, '.');
			fold_put(&f, '/');
			step = path;
		} else if (is_word(*p)) {
			step = fold_word(&f, p);
		} else if (*p != ' ' || (f.n && f.to[f.n - 1] != ' ')) {
			fold_put(&f, *p);
		}
		before = p[step - 1];
	}
	f.n -= utf8_unfinished((const uint8_t *)ret, f.n);
	while (f.n && ret[f.n - 1] == ' ')
		f.n--;
	ret[f.n] = '\0';
}

void failure_fold(const char *class, const char *line, const char *exit, struct failure_cause *ret)
{
	uint64_t h = 1469598103934665603ULL; /* FNV-1a */

	fold_line(*line ? line : exit, ret->line);
	for (int i = 0; i < 2; i++) {
		for (const char *p = i ? ret->line : class; *p; p++)
			h = (h ^ (uint8_t)*p) * 1099511628211ULL;
		h *= 1099511628211ULL; /* what ends each */
	}
	snprintf(ret->id, sizeof ret->id, "%016" PRIx64, h);
}
