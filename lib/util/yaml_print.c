/* Trees as YAML in one spelling, and as JSON. */
#include "util/yaml.h"

#include "util/buf.h"
#include "util/json_put.h"

#include <string.h>

/* Control characters, but for line feeds, and what some readers take for them. */
static bool has_odd_bytes(const char *text)
{
	static const char *const odd[] = { "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf",
		                           "\xef\xbf\xbe", "\xef\xbf\xbf" };

	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if ((*p < 0x20 && *p != '\n') || *p == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0))
			return true;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		if (strstr(text, odd[i]))
			return true;
	return false;
}

/* May it stand without quotes, in block style, and be read as the same text? Careful rather
 * than complete: what is in doubt is quoted. */
static bool is_safe_plain(const char *text)
{
	size_t n = strlen(text);

	if (n == 0 || n > 200 || strchr(" -?:,[]{}#&*!|>'\"%@`=<~", text[0]) ||
	    text[n - 1] == ' ' || text[n - 1] == ':')
		return false;
	if (strcmp(text, "...") == 0 || strstr(text, ": ") || strstr(text, " #"))
		return false;
	return !strchr(text, '\n') && !has_odd_bytes(text);
}

static bool looks_typed(const char *text)
{
	struct yaml_node plain = { .kind = YAML_SCALAR, .is_plain = true, .text = text };
	bool truth;
	int64_t number;

	return yaml_is_null(&plain) || yaml_bool(&plain, &truth) ||
	       yaml_int(&plain, INT64_MIN, INT64_MAX, &number);
}

/* Words that other readers of YAML take for numbers or truths. */
static bool misleads_others(const char *text)
{
	static const char *const words[] = { "yes", "no",  "on",   "off",   "y",    "n",    "Yes",
		                             "No",  "On",  "Off",  "Y",     "N",    "YES",  "NO",
		                             "ON",  "OFF", "True", "False", "TRUE", "FALSE" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	/* 08:00 is a number in base 60 to some; 1.0 and 1e5 are fractions; dates are dates */
	return text[strspn(text, "+-.0123456789")] == '\0' ||
	       text[strspn(text, "0123456789:")] == '\0';
}

void yaml_print_text(const char *text, bool is_plain, struct buf *out)
{
	bool bare = is_safe_plain(text);

	if (bare && (looks_typed(text) || misleads_others(text)))
		bare = is_plain;
	if (!*text && is_plain)
		buf_puts(out, "null");
	else if (bare || (is_plain && strcmp(text, "~") == 0) || (is_plain && looks_typed(text)))
		buf_puts(out, text);
	else
		json_quote(out, text, strlen(text)); /* a JSON string is a YAML one */
}

static void put_indent(struct buf *out, int indent)
{
	for (int i = 0; i < indent; i++)
		buf_putc(out, ' ');
}

/* May a text of several lines be written as such, `|`? */
static bool is_block(const char *text)
{
	size_t n = strlen(text);

	if (!strchr(text, '\n') || text[0] == ' ' || text[0] == '\n' || text[0] == '\t' ||
	    (n > 1 && text[n - 1] == '\n' && text[n - 2] == '\n'))
		return false;
	return !has_odd_bytes(text) && !strstr(text, " \n") && text[n - 1] != ' ';
}

static void print_block(const char *text, int indent, struct buf *out)
{
	size_t n = strlen(text);
	bool ends = text[n - 1] == '\n';

	buf_puts(out, ends ? "|\n" : "|-\n");
	while (*text) {
		size_t line = strcspn(text, "\n");
		if (line) {
			put_indent(out, indent);
			buf_put(out, text, line);
		}
		buf_putc(out, '\n');
		text += line + (text[line] == '\n');
	}
}

static void print_value(const struct yaml_node *n, int indent, struct buf *out);

static void print_map(const struct yaml_node *n, int indent, struct buf *out)
{
	for (size_t i = 0; i < n->n; i++) {
		if (i)
			put_indent(out, indent);
		/* A key is text whatever it looks like; only no text at all needs its quotes. */
		yaml_print_text(n->keys[i]->text, n->keys[i]->is_plain && n->keys[i]->n, out);
		buf_putc(out, ':');
		print_value(n->items[i], indent + 2, out);
	}
}

static void print_list(const struct yaml_node *n, int indent, struct buf *out)
{
	for (size_t i = 0; i < n->n; i++) {
		if (i)
			put_indent(out, indent);
		buf_puts(out, "-");
		const struct yaml_node *item = n->items[i];
		if (item->kind != YAML_SCALAR && item->n > 0) {
			buf_putc(out, ' ');
			yaml_print(item, indent + 2, out);
		} else {
			print_value(item, indent + 2, out);
		}
	}
}

/* After `key:` or `-`. */
static void print_value(const struct yaml_node *n, int indent, struct buf *out)
{
	if (n->kind == YAML_SCALAR) {
		buf_putc(out, ' ');
		yaml_print(n, indent, out);
	} else if (n->n == 0) {
		buf_puts(out, n->kind == YAML_MAP ? " {}\n" : " []\n");
	} else {
		buf_putc(out, '\n');
		put_indent(out, indent);
		yaml_print(n, indent, out);
	}
}

void yaml_print(const struct yaml_node *n, int indent, struct buf *out)
{
	if (n->kind == YAML_SCALAR && indent > 0 && is_block(n->text)) {
		print_block(n->text, indent, out);
	} else if (n->kind == YAML_SCALAR) {
		yaml_print_text(n->text, n->is_plain, out);
		buf_putc(out, '\n');
	} else if (n->n == 0) {
		buf_puts(out, n->kind == YAML_MAP ? "{}\n" : "[]\n");
	} else if (n->kind == YAML_MAP) {
		print_map(n, indent, out);
	} else {
		print_list(n, indent, out);
	}
}

static void add_json(const struct yaml_node *n, const char *key, struct buf *out)
{
	if (n->kind == YAML_SCALAR) {
		if (yaml_is_null(n))
			put_null(out, key);
		else if (n->is_plain && looks_typed(n->text))
			put_raw(out, key, n->text);
		else
			put_text(out, key, n->text);
		return;
	}
	bool is_map = n->kind == YAML_MAP;
	put_open(out, key, is_map ? '{' : '[');
	for (size_t i = 0; i < n->n; i++)
		add_json(n->items[i], is_map ? n->keys[i]->text : NULL, out);
	put_close(out, is_map ? '}' : ']');
}

void yaml_print_json(const struct yaml_node *n, struct buf *out)
{
	add_json(n, NULL, out);
}
