/* Names are judged as UTS 39 has it for identifiers, "highly restrictive": letters, marks and
 * decimal digits, nothing that cannot be seen, and in one word (what stands between _ . and -)
 * one script, or Latin with Han and either Kana, Hangul or Bopomofo, one kind of digits. What
 * ASCII allows is what names could be before. The properties are libunistring's. */
#include "sched/name.h"

#include "util/alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

static bool is_ascii(const char *text)
{
	while (*text && !((unsigned char)*text & 0x80))
		text++;
	return !*text;
}

static bool is_ascii_letter(ucs4_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_ascii_name(const char *text)
{
	static const char all[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.-";

	return (is_ascii_letter((unsigned char)*text) || *text == '_') && !text[strspn(text, all)];
}

/* --- one code point -------------------------------------------------------------------------- */

static bool is_invisible(ucs4_t c)
{
	return uc_is_property(c, UC_PROPERTY_DEFAULT_IGNORABLE_CODE_POINT);
}

static bool is_letter(ucs4_t c)
{
	if (c < 0x80)
		return is_ascii_letter(c);
	/* 〇 is a letter's number */
	return uc_is_general_category_withtable(c, UC_CATEGORY_MASK_L | UC_CATEGORY_MASK_Nl) &&
	       !is_invisible(c);
}

static bool is_mark(ucs4_t c)
{
	return c >= 0x80 &&
	       uc_is_general_category_withtable(c, UC_CATEGORY_MASK_Mn | UC_CATEGORY_MASK_Mc) &&
	       !is_invisible(c);
}

static bool is_digit(ucs4_t c)
{
	return uc_is_general_category_withtable(c, UC_CATEGORY_MASK_Nd);
}

static bool is_separator(ucs4_t c)
{
	return c == '_' || c == '.' || c == '-';
}

/* Behind the first one; scripts are the word's business. */
static bool is_allowed(ucs4_t c)
{
	return is_letter(c) || is_mark(c) || is_digit(c) || is_separator(c);
}

static const char *kind_of(ucs4_t c)
{
	if (uc_is_general_category_withtable(c, UC_CATEGORY_MASK_Cn))
		return "no character is assigned to it";
	if (is_invisible(c) ||
	    uc_is_general_category_withtable(c, UC_CATEGORY_MASK_C | UC_CATEGORY_MASK_Z))
		return "it cannot be seen";
	return "it is neither a letter nor a digit nor one of _ . -";
}

/* What breaks a line, does not show, or turns the text around it. What chooses the form of the sign
 * before it is part of that: the colour of an emoji, the form of a Chinese letter. */
static bool is_no_line(ucs4_t c)
{
	if (uc_is_property(c, UC_PROPERTY_VARIATION_SELECTOR))
		return false;
	return is_invisible(c) || uc_is_general_category_withtable(
					  c, UC_CATEGORY_MASK_Cc | UC_CATEGORY_MASK_Cf |
						     UC_CATEGORY_MASK_Zl | UC_CATEGORY_MASK_Zp);
}

static bool can_be_shown(ucs4_t c)
{
	return c < 0x110000 && !is_invisible(c) && !is_mark(c) &&
	       !uc_is_general_category_withtable(c, UC_CATEGORY_MASK_C | UC_CATEGORY_MASK_Z);
}

/* 'x' (U+0078), or the number alone. */
static const char *print_point(ucs4_t c, char ret[24])
{
	uint8_t utf8[8] = { 0 };
	int n = can_be_shown(c) ? u8_uctomb(utf8, c, 6) : 0;

	if (n > 0)
		snprintf(ret, 24, "'%.*s' (U+%04X)", n, (const char *)utf8, (unsigned)c);
	else
		snprintf(ret, 24, "U+%04X", (unsigned)c);
	return ret;
}

const char *title_wrong(const char *text, char why[NAME_WHY_BYTES])
{
	size_t n = strlen(text);
	bool shows = false;
	ucs4_t c;

	for (size_t i = 0; i < n;) {
		int length = u8_mbtoucr(&c, (const uint8_t *)text + i, n - i);
		char point[24];
		if (length <= 0)
			return snprintf(why, NAME_WHY_BYTES, "it is no UTF-8"), why;
		if (is_no_line(c)) {
			snprintf(why, NAME_WHY_BYTES, "%s has no place in one line",
			         print_point(c, point));
			return why;
		}
		shows = shows || can_be_shown(c);
		i += (size_t)length;
	}
	if (shows)
		return NULL;
	snprintf(why, NAME_WHY_BYTES, "nothing of it can be seen");
	return why;
}

/* --- one word -------------------------------------------------------------------------------- */

enum script_bit { LATIN = 1, HAN = 2, KANA = 4, HANGUL = 8, BOPOMOFO = 16, OTHER = 32 };

/* What was seen since the last separator. */
struct word {
	unsigned scripts; /* enum script_bit */
	const char *first, *other;
	ucs4_t zero;    /* of its digits; 0: none yet */
	unsigned marks; /* in a row, up to here */
};

static unsigned script_bit(const char *name)
{
	static const struct {
		const char *name;
		enum script_bit bit;
	} known[] = {
		{ "Latin", LATIN },   { "Han", HAN },       { "Hiragana", KANA },
		{ "Katakana", KANA }, { "Hangul", HANGUL }, { "Bopomofo", BOPOMOFO },
	};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].bit;
	return OTHER;
}

static bool go_together(unsigned scripts)
{
	return !(scripts & ~(unsigned)(LATIN | HAN | KANA)) ||
	       !(scripts & ~(unsigned)(LATIN | HAN | HANGUL)) ||
	       !(scripts & ~(unsigned)(LATIN | HAN | BOPOMOFO)) || scripts == OTHER;
}

/* False: c does not go with what the word has. */
static bool take_script(struct word *w, ucs4_t c)
{
	const uc_script_t *s = uc_script(c);
	const char *name = s ? s->name : "Common";

	if (strcmp(name, "Common") == 0 || strcmp(name, "Inherited") == 0)
		return true;
	unsigned bit = script_bit(name);
	if (!w->first)
		w->first = name;
	else if (strcmp(w->first, name) != 0)
		w->other = name;
	w->scripts |= bit;
	return go_together(w->scripts) && !(bit == OTHER && w->other);
}

/* False: the word has digits of another kind. */
static bool take_digit(struct word *w, ucs4_t c)
{
	ucs4_t zero = c - (ucs4_t)uc_decimal_value(c);

	if (w->zero && w->zero != zero)
		return false;
	w->zero = zero;
	return true;
}

static const char *sched_name_take(struct word *w, ucs4_t c, char why[NAME_WHY_BYTES])
{
	char point[24];

	if (is_separator(c)) {
		*w = (struct word){ 0 };
		return NULL;
	}
	if (!is_allowed(c)) {
		snprintf(why, NAME_WHY_BYTES, "%s is not allowed: %s", print_point(c, point),
		         kind_of(c));
		return why;
	}
	if (is_digit(c) && !take_digit(w, c)) {
		snprintf(why, NAME_WHY_BYTES, "a word of it mixes two kinds of digits (at %s)",
		         print_point(c, point));
		return why;
	}
	w->marks = is_mark(c) ? w->marks + 1 : 0;
	if (w->marks > NAME_MARKS_MAX) {
		snprintf(why, NAME_WHY_BYTES,
		         "more than %d marks in a row stand on one letter (at %s)", NAME_MARKS_MAX,
		         print_point(c, point));
		return why;
	}
	if (!take_script(w, c)) {
		snprintf(why, NAME_WHY_BYTES,
		         "a word of it mixes %s of %s and %s (at %s); Latin goes with Han, Kana or "
		         "Hangul only",
		         is_digit(c) ? "letters and digits" : "letters", w->first, w->other,
		         print_point(c, point));
		return why;
	}
	return NULL;
}

/* --- whole names ----------------------------------------------------------------------------- */

static const char *length_wrong(const char *text, char why[NAME_WHY_BYTES])
{
	size_t n = strlen(text);

	if (n >= 1 && n <= NAME_BYTES_MAX)
		return NULL;
	if (n == 0)
		snprintf(why, NAME_WHY_BYTES, "it is empty");
	else
		snprintf(why, NAME_WHY_BYTES, "it has %zu bytes, at most %d are allowed", n,
		         NAME_BYTES_MAX);
	return why;
}

const char *name_wrong(const char *text, char why[NAME_WHY_BYTES])
{
	size_t n = strlen(text);
	struct word w = { 0 };
	const char *wrong = length_wrong(text, why);
	char point[24], *nfc;

	if (wrong || is_ascii_name(text))
		return wrong;
	for (size_t i = 0; i < n;) {
		ucs4_t c = 0;
		int len = u8_mbtoucr(&c, (const uint8_t *)text + i, n - i);
		if (len <= 0) {
			snprintf(why, NAME_WHY_BYTES, "byte %zu is not UTF-8", i + 1);
			return why;
		}
		if ((wrong = sched_name_take(&w, c, why)))
			return wrong;
		if (i == 0 && c != '_' && !is_letter(c)) {
			snprintf(why, NAME_WHY_BYTES, "it begins with %s, not with a letter or _",
			         print_point(c, point));
			return why;
		}
		i += (size_t)len;
	}
	if (!(nfc = name_nfc(text)))
		return NULL;
	free(nfc);
	snprintf(why, NAME_WHY_BYTES, "its letters are not in Unicode's normal form C");
	return why;
}

bool name_ok(const char *text)
{
	char why[NAME_WHY_BYTES];

	return !name_wrong(text, why);
}

const char *word_wrong(const char *text, char why[NAME_WHY_BYTES])
{
	const char *wrong = length_wrong(text, why);

	if (wrong || is_ascii_name(text))
		return wrong;
	snprintf(why, NAME_WHY_BYTES,
	         "only letters of ASCII, digits, _ . - are allowed, a letter or _ first");
	return why;
}

bool word_ok(const char *text)
{
	char why[NAME_WHY_BYTES];

	return !word_wrong(text, why);
}

static void sched_name_make(const char *text, bool ascii, size_t max, char ret[NAME_BYTES_MAX + 1])
{
	size_t bytes = strlen(text), n = 0;
	bool any = false;

	for (size_t i = 0; i < bytes;) {
		ucs4_t c = 0;
		int len = u8_mbtoucr(&c, (const uint8_t *)text + i, bytes - i);
		size_t taken = len > 0 ? (size_t)len : 1;
		bool good = len > 0 && is_allowed(c) && !(ascii && c >= 0x80);
		if (n + taken + 1 > max)
			break;
		if (good && n == 0 && !is_letter(c) && c != '_')
			ret[n++] = '_';
		if (good) {
			memcpy(ret + n, text + i, taken);
			n += taken;
			any |= !is_separator(c);
		} else if (n && ret[n - 1] != '_') {
			ret[n++] = '_';
		}
		i += taken;
	}
	ret[any ? n : 0] = '\0';
}

void name_make(const char *text, size_t max, char ret[NAME_BYTES_MAX + 1])
{
	char *nfc = name_nfc(text);

	max = max < NAME_BYTES_MAX ? max : NAME_BYTES_MAX;
	sched_name_make(nfc ? nfc : text, false, max, ret);
	if (*ret && !name_ok(ret)) /* a mixture of scripts */
		sched_name_make(text, true, max, ret);
	free(nfc);
}

int name_shown(const char *text)
{
	enum { SHOWN_MAX = 80 };
	size_t n = strnlen(text, SHOWN_MAX), whole = n;

	while (n == SHOWN_MAX && whole && ((unsigned char)text[whole] & 0xc0) == 0x80)
		whole--;
	return (int)(whole ? whole : n);
}

/* --- forms ----------------------------------------------------------------------------------- */

char *name_nfc(const char *text)
{
	size_t n = strlen(text), bytes = 0;

	if (is_ascii(text) || u8_check((const uint8_t *)text, n))
		return NULL;
	uint8_t *made = u8_normalize(UNINORM_NFC, (const uint8_t *)text, n, NULL, &bytes);
	char *ret = made && (bytes != n || memcmp(made, text, n) != 0)
	                    ? mem_strn((const char *)made, bytes)
	                    : NULL;
	free(made);
	return ret;
}

char *name_fold(const char *text)
{
	size_t n = strlen(text), bytes = 0;
	uint8_t *made = is_ascii(text) ? NULL
	                               : u8_casefold((const uint8_t *)text, n, NULL, UNINORM_NFKC,
	                                             NULL, &bytes);
	char *ret = made ? mem_strn((const char *)made, bytes) : mem_str(text);

	free(made);
	for (char *p = ret; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p + ('a' - 'A'));
	return ret;
}
