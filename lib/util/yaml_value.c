/* What a scalar means, and whether two trees mean the same. */
#include "util/yaml.h"

#include "util/buf.h"

#include <string.h>

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
	if (map->kind != YAML_MAP)
		return NULL;
	for (size_t i = 0; i < map->n; i++)
		if (strcmp(map->keys[i]->text, key) == 0)
			return map->items[i];
	return NULL;
}

bool yaml_is(const struct yaml_node *n, const char *text)
{
	return n->kind == YAML_SCALAR && strcmp(n->text, text) == 0;
}

bool yaml_is_null(const struct yaml_node *n)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

	for (size_t i = 0; n->is_plain && i < sizeof nulls / sizeof *nulls; i++)
		if (yaml_is(n, nulls[i]))
			return true;
	return false;
}

const char *yaml_kind_name(const struct yaml_node *n)
{
	static const char *const names[] = { "a map", "a list", "text" };

	return yaml_is_null(n) ? "nothing" : names[n->kind];
}

/* A whole text as a number: an optional minus, digits. */
static bool parse_int(const char *text, int64_t *ret)
{
	const char *digits = text + (*text == '-');
	int64_t value = 0;

	if (!*digits || (digits[0] == '0' && digits[1]) ||
	    strspn(digits, "0123456789") != strlen(digits))
		return false;
	for (; *digits; digits++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, *digits - '0', &value)) /* below zero: all fit */
			return false;
	if (*text != '-' && value == INT64_MIN)
		return false;
	*ret = *text == '-' ? value : -value;
	return true;
}

bool yaml_int(const struct yaml_node *n, int64_t min, int64_t max, int64_t *ret_value)
{
	int64_t value;

	if (n->kind != YAML_SCALAR || !n->is_plain || !parse_int(n->text, &value) || value < min ||
	    value > max)
		return false;
	*ret_value = value;
	return true;
}

bool yaml_bool(const struct yaml_node *n, bool *ret_value)
{
	if (!n->is_plain || (!yaml_is(n, "true") && !yaml_is(n, "false")))
		return false;
	*ret_value = n->text[0] == 't';
	return true;
}

static const struct {
	const char *name;
	int64_t us;
} units[] = { { "w", 604800000000 }, { "d", 86400000000 }, { "h", 3600000000 },
	      { "m", 60000000 },     { "s", 1000000 },     { "ms", 1000 } };

enum { DURATION_DIGITS_MAX = 12 };

void duration_put_pattern(struct buf *out)
{
	buf_puts(out, "^(0|(?=.)");
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		buf_printf(out, "([0-9]{1,%d}%s)?", DURATION_DIGITS_MAX, units[i].name);
	buf_puts(out, ")$");
}

bool duration_parse_us(const char *text, int64_t *ret_us)
{
	int64_t sum = 0;
	size_t unit = 0;

	if (strcmp(text, "0") == 0) {
		*ret_us = 0;
		return true;
	}
	if (!*text)
		return false;
	while (*text) {
		size_t digits = strspn(text, "0123456789"), letters;
		int64_t count = 0;
		if (digits == 0 || digits > DURATION_DIGITS_MAX)
			return false;
		for (size_t i = 0; i < digits; i++)
			count = count * 10 + (text[i] - '0');
		text += digits;
		letters = strspn(text, "abcdefghijklmnopqrstuvwxyz");
		while (unit < sizeof units / sizeof *units &&
		       (strlen(units[unit].name) != letters ||
		        strncmp(units[unit].name, text, letters) != 0))
			unit++;
		if (unit == sizeof units / sizeof *units)
			return false;
		if (__builtin_mul_overflow(count, units[unit].us, &count) ||
		    __builtin_add_overflow(sum, count, &sum))
			return false;
		text += letters;
		unit++;
	}
	*ret_us = sum;
	return true;
}

bool yaml_duration_us(const struct yaml_node *n, int64_t *ret_us)
{
	return n->kind == YAML_SCALAR && duration_parse_us(n->text, ret_us);
}

/* Would the text, without quotes, be something else than text? */
static bool has_type(const char *text)
{
	struct yaml_node plain = { .kind = YAML_SCALAR, .is_plain = true, .text = text };
	bool truth;
	int64_t number;

	return yaml_is_null(&plain) || yaml_bool(&plain, &truth) || parse_int(text, &number);
}

static bool same_map(const struct yaml_node *a, const struct yaml_node *b)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct yaml_node *other = NULL;
		/* As a rule the keys stand in the same order. */
		if (strcmp(a->keys[i]->text, b->keys[i]->text) == 0)
			other = b->items[i];
		else
			other = yaml_get(b, a->keys[i]->text);
		if (!other || !yaml_same(a->items[i], other))
			return false;
	}
	return true;
}

bool yaml_same(const struct yaml_node *a, const struct yaml_node *b)
{
	if (yaml_is_null(a) || yaml_is_null(b))
		return yaml_is_null(a) && yaml_is_null(b);
	if (a->kind != b->kind || a->n != b->n)
		return false;
	if (a->kind == YAML_SCALAR)
		return strcmp(a->text, b->text) == 0 &&
		       (a->is_plain == b->is_plain || !has_type(a->text));
	if (a->kind == YAML_MAP)
		return same_map(a, b);
	for (size_t i = 0; i < a->n; i++)
		if (!yaml_same(a->items[i], b->items[i]))
			return false;
	return true;
}
