/* value.c — one value from one database into another, or why not. A value travels as text; what its
 * source writes in a way of its own is made plain first, then written as the target wants it. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistr.h>

#include "runners/transfer/transfer.h"

/* SQLite keeps a number as a double where its column is one: so many digits are sure. */
#define LITE_DIGITS 15
#define UUID_BYTES  16

int value_session(struct db *db)
{
	static const char my[] = "SET SESSION time_zone = '+00:00', "
				 "sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')";
	static const char *const plain[] = {
		[DB_MYSQL] = my,
		[DB_MARIADB] = my,
		[DB_POSTGRESQL] = "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; "
				  "SET bytea_output = 'hex'",
		[DB_SQLITE] = "",
	};

	return db_run(db, plain[db_kind(db)], NULL);
}

void value_type_take(const struct db_type *from, struct value_type *ret)
{
	*ret = (struct value_type){ .class = from->class };
	snprintf(ret->name, sizeof ret->name, "%s", from->name);
}

#define BIT(class) (1u << (class))

/* Where a class may go, besides itself. What only some values of it can be is told with them. */
static const unsigned into[DB_CLASSES] = {
	[DB_TEXT] = ~(BIT(DB_SHAPE)),
	[DB_BOOLEAN] = BIT(DB_TEXT) | BIT(DB_NUMBER) | BIT(DB_BITS),
	[DB_NUMBER] = BIT(DB_TEXT) | BIT(DB_BOOLEAN) | BIT(DB_BITS),
	[DB_DATE] = BIT(DB_TEXT) | BIT(DB_STAMP) | BIT(DB_INSTANT),
	[DB_TIME] = BIT(DB_TEXT),
	[DB_ZONED_TIME] = BIT(DB_TEXT),
	[DB_STAMP] = BIT(DB_TEXT) | BIT(DB_INSTANT),
	[DB_INSTANT] = BIT(DB_TEXT) | BIT(DB_STAMP),
	[DB_BYTES] = BIT(DB_TEXT) | BIT(DB_UUID),
	[DB_BITS] = BIT(DB_TEXT) | BIT(DB_BOOLEAN) | BIT(DB_NUMBER),
	[DB_UUID] = BIT(DB_TEXT) | BIT(DB_BYTES),
};

static bool value_refuse(const struct value_type *from, const struct value_type *to,
                         const char *reason, char why[static VALUE_WHY_BYTES])
{
	snprintf(why, VALUE_WHY_BYTES, "column %.60s: %s at the source, %s at the target: %s",
	         from->column, from->name, to->name, reason);
	return false;
}

bool value_fits(const struct value_type *from, const struct value_type *to,
                char why[static VALUE_WHY_BYTES])
{
	if (from->class != DB_SHAPE &&
	    (from->class == to->class || into[from->class] & BIT(to->class)))
		return true;
	return value_refuse(from, to, "this cannot be carried", why);
}

/* --- from the source -------------------------------------------------------------------- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'         ? c - '0'
	       : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10
	                                    : -1;
}

/* "\x00ff" of PostgreSQL, or the digits of a uuid. */
static void put_unhexed(const char *value, size_t len, struct text *out)
{
	int high = -1;

	for (size_t i = 0; i < len; i++) {
		int digit = hex_digit(value[i]);

		if (digit < 0)
			continue;
		if (high < 0) {
			high = digit;
			continue;
		}
		text_add(out, &(char){ (char)(high << 4 | digit) }, 1);
		high = -1;
	}
}

static void put_hexed(const char *value, size_t len, struct text *out)
{
	for (size_t i = 0; i < len; i++)
		text_addf(out, "%02x", (unsigned)(unsigned char)value[i]);
}

/* The bytes of a BIT column, as binary digits without those in front that say nothing. */
static void put_bits(const char *value, size_t len, struct text *out)
{
	bool is_begun = false;

	for (size_t i = 0; i < len * 8; i++) {
		bool is_set = (unsigned char)value[i / 8] >> (7 - i % 8) & 1;

		is_begun = is_begun || is_set || i + 1 == len * 8;
		if (is_begun)
			text_str_add(out, is_set ? "1" : "0");
	}
}

/* All zones are UTC (value_session()): what says so is taken off. */
static size_t unzoned(const char *value, size_t len)
{
	static const char *const ends[] = { "+00:00", "+00", "Z" };

	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		size_t n = strlen(ends[i]);

		if (len > n + strlen("2026-03-01 00") && memcmp(value + len - n, ends[i], n) == 0)
			return len - n;
	}
	return len;
}

static void put_plain(enum db_kind kind, const struct value_type *from, const char *value,
                      size_t len, struct text *out)
{
	if (from->class == DB_BOOLEAN)
		text_str_add(out, len && strchr("1tTyY", value[0]) ? "1" : "0");
	else if (from->class == DB_BYTES && kind == DB_POSTGRESQL)
		put_unhexed(value + 2, len - 2, out);
	else if (from->class == DB_BITS && kind != DB_POSTGRESQL)
		put_bits(value, len, out);
	else if (from->class == DB_INSTANT)
		text_add(out, value, unzoned(value, len));
	else
		text_add(out, value, len);
}

/* --- to the target ---------------------------------------------------------------------- */

/* Text of any database: PostgreSQL's has no NUL. */
static bool is_utf8(const char *s, size_t len)
{
	return !memchr(s, 0, len) && !u8_check((const uint8_t *)s, len);
}

/* More digits than a double has: SQLite would round a decimal number there. */
static bool is_too_exact(const struct value_type *from, const char *value)
{
	size_t n = 0;

	if (strcmp(from->name, "numeric") != 0 && strcmp(from->name, "decimal") != 0)
		return false;

	for (value += strspn(value, "+-0."); *value && strchr("0123456789.", *value); value++)
		n += *value != '.';
	return n > LITE_DIGITS;
}

static void put_bytes(enum db_kind kind, const char *value, size_t len, struct text *out)
{
	text_str_add(out, kind == DB_POSTGRESQL ? "decode('" : "X'");
	put_hexed(value, len, out);
	text_str_add(out, kind == DB_POSTGRESQL ? "', 'hex')" : "'");
}

static bool is_word(const char *value, const char *letters)
{
	return *value && value[strspn(value, letters)] == '\0';
}

/* Of plain binary digits, a number. */
static void put_number_of_bits(const char *bits, struct text *out)
{
	unsigned long long n = 0;

	for (; *bits; bits++)
		n = n << 1 | (*bits == '1');
	text_addf(out, "%llu", n);
}

static void put_quoted(struct db *db, const char *value, size_t len, struct text *out)
{
	/* A text with NUL ends there in SQLite's SQL. */
	if (db_kind(db) == DB_SQLITE && memchr(value, 0, len)) {
		text_str_add(out, "CAST(");
		put_bytes(DB_SQLITE, value, len, out);
		text_str_add(out, " AS TEXT)");
		return;
	}
	db_quote(db, value, len, out);
}

/* Bits of one database are a number, or b'101', in another. */
static bool put_to_bits(const struct value_way *w, const char *value, size_t len, struct text *out)
{
	if (w->from->class == DB_NUMBER && db_kind(w->target) != DB_POSTGRESQL &&
	    is_word(value, "0123456789"))
		text_add(out, value, len);
	else if (w->from->class != DB_NUMBER && is_word(value, "01"))
		text_addf(out, "%s'%s'", db_kind(w->target) == DB_SQLITE ? "" : "b", value);
	else
		return value_refuse(w->from, w->to, "a value is no bits", w->why);
	return true;
}

static bool put_to_number(const struct value_way *w, const char *value, size_t len,
                          struct text *out)
{
	if (w->from->class == DB_BITS && len > 64)
		return value_refuse(w->from, w->to, "a value has more than 64 bits", w->why);
	if (w->from->class == DB_BITS)
		put_number_of_bits(value, out);
	else if (db_kind(w->target) == DB_SQLITE && is_too_exact(w->from, value))
		return value_refuse(w->from, w->to,
		                    "a number has more digits than a double keeps, take TEXT",
		                    w->why);
	else
		put_quoted(w->target, value, len, out);
	return true;
}

static bool put_to_text(const struct value_way *w, const char *value, size_t len, struct text *out)
{
	if (w->from->class == DB_BYTES && !is_utf8(value, len))
		return value_refuse(w->from, w->to, "its bytes are no text", w->why);
	if (db_kind(w->target) == DB_POSTGRESQL && memchr(value, 0, len))
		return value_refuse(w->from, w->to, "a text has a NUL, which PostgreSQL's have not",
		                    w->why);
	if (w->from->class == DB_BOOLEAN)
		text_str_add(out, *value == '1' ? "'true'" : "'false'");
	else if (w->from->class == DB_INSTANT)
		text_addf(out, "'%s+00:00'", value);
	else
		put_quoted(w->target, value, len, out);
	return true;
}

/* Plain; never NULL. */
static bool put_made(const struct value_way *w, const char *value, size_t len, struct text *out)
{
	struct text made = { 0 };

	switch (w->to->class) {
	case DB_TEXT:
		return put_to_text(w, value, len, out);
	case DB_NUMBER:
		return put_to_number(w, value, len, out);
	case DB_BITS:
		return put_to_bits(w, value, len, out);
	case DB_BOOLEAN:
		text_addf(&made, "%s",
		          w->from->class == DB_BITS && strchr(value, '1') ? "1" : value);
		break;
	case DB_STAMP:
	case DB_INSTANT:
		text_add(&made, value, unzoned(value, len));
		break;
	case DB_BYTES:
		if (w->from->class == DB_UUID)
			put_unhexed(value, len, &made);
		else
			text_add(&made, value, len);
		put_bytes(db_kind(w->target), text_str(&made), made.len, out);
		text_done(&made);
		return true;
	case DB_UUID:
		if (w->from->class == DB_BYTES && len != UUID_BYTES)
			return value_refuse(w->from, w->to, "a uuid has 16 bytes", w->why);
		if (w->from->class == DB_BYTES)
			put_hexed(value, len, &made);
		else
			text_add(&made, value, len);
		break;
	default:
		text_add(&made, value, len);
	}
	put_quoted(w->target, text_str(&made), made.len, out);
	out->is_over = out->is_over || made.is_over;
	text_done(&made);
	return true;
}

bool value_put(const struct value_way *way, const char *value, size_t len, struct text *out)
{
	struct text plain = { 0 };

	if (!value) {
		text_str_add(out, "NULL");
		return true;
	}
	put_plain(way->source, way->from, value, len, &plain);
	bool is_put = put_made(way, text_str(&plain), plain.len, out);

	out->is_over = out->is_over || plain.is_over;
	text_done(&plain);
	return is_put;
}
