/* libyaml's events into a tree. Its own document loader is not used: it keeps no positions of
 * keys, follows aliases and takes duplicate keys. */
#include "util/yaml.h"
#include "util/check.h"

#include "util/alloc.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/pile.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct yaml_doc {
	struct pile *pile;
	const struct yaml_node *root;
};

struct reading {
	yaml_parser_t parser;
	yaml_event_t event; /* the one in hand */
	const char *file;
	struct diags *d;
	struct pile *pile; /* of the document being read */
	size_t nodes;
};

struct children {
	const struct yaml_node **keys, **items;
	size_t n, cap;
};

static const struct yaml_node *read_node(struct reading *r, int depth);

static struct place yaml_here(const struct reading *r, yaml_mark_t mark)
{
	return (struct place){ .file = r->file,
		               .line = (int)mark.line + 1,
		               .column = (int)mark.column + 1,
		               .path = "" };
}

/* libyaml's words that say nothing to who wrote the file. */
static const struct {
	const char *problem, *text, *hint;
} yaml_words[] = {
	{ "found character that cannot start any token",
	  "a tab or a character such as @ or ` where a "
	  "value or a key begins",
	  "indent with blanks, never with tabs; put a text that begins so into quotes" },
	{ "found a tab character where an indentation space is expected",
	  "a tab in the indentation", "indent with blanks, never with tabs" },
	{ "mapping values are not allowed in this context", "a `:` where no key may stand",
	  "put a text that holds `: ` into quotes, and look at the indentation above" },
	{ "could not find expected ':'", "a line without `:`, where a key is wanted",
	  "KEY: VALUE; look at quotes and brackets above that are not closed" },
	{ "did not find expected key", "no key where one is wanted",
	  "keys of one map begin in the same column" },
	{ "did not find expected '-' indicator", "an item of a list begins in another column",
	  "items of one list begin in the same column" },
	{ "found unexpected end of stream", "the text ends within quotes", "close the quotes" },
};

static void yaml_problem(const struct reading *r, const char **ret_text, const char **ret_hint)
{
	*ret_text = r->parser.problem ? r->parser.problem : "not YAML";
	*ret_hint = r->parser.context;
	for (size_t i = 0; i < sizeof yaml_words / sizeof yaml_words[0]; i++) {
		if (strcmp(yaml_words[i].problem, *ret_text) != 0)
			continue;
		*ret_text = yaml_words[i].text;
		*ret_hint = yaml_words[i].hint;
		return;
	}
}

static bool yaml_advance(struct reading *r)
{
	yaml_event_delete(&r->event);
	if (yaml_parser_parse(&r->parser, &r->event))
		return true;
	memset(&r->event, 0, sizeof r->event);
	yaml_mark_t mark = r->parser.problem_mark;
	if (r->parser.error == YAML_READER_ERROR) /* it tells the byte only */
		mark = r->parser.mark;
	const char *text, *hint;
	yaml_problem(r, &text, &hint);
	diag_error(r->d, yaml_here(r, mark), "syntax", hint, "%s", text);
	return false;
}

static const void *yaml_refuse(struct reading *r, const char *hint, const char *what)
{
	diag_error(r->d, yaml_here(r, r->event.start_mark), "syntax", hint, "%s", what);
	return NULL;
}

static struct yaml_node *new_node(struct reading *r, enum yaml_kind kind)
{
	if (++r->nodes > YAML_NODES_MAX) {
		diag_error(r->d, yaml_here(r, r->event.start_mark), "too_big", NULL,
		           "more than %d values in one text", YAML_NODES_MAX);
		return NULL;
	}
	struct yaml_node *n = pile_take(r->pile, sizeof *n);
	n->kind = kind;
	n->line = (int)r->event.start_mark.line + 1;
	n->column = (int)r->event.start_mark.column + 1;
	n->text = "";
	return n;
}

static const struct yaml_node *read_scalar(struct reading *r)
{
	const char *value = (const char *)r->event.data.scalar.value;
	size_t length = r->event.data.scalar.length;

	if (memchr(value, 0, length))
		return yaml_refuse(r, NULL, "a text cannot hold the character \\0");
	struct yaml_node *n = new_node(r, YAML_SCALAR);
	if (!n)
		return NULL;
	n->is_plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	n->text = pile_strn(r->pile, value, length);
	n->n = length;
	return n;
}

static int by_key(const void *a, const void *b)
{
	const struct yaml_node *x = *(const struct yaml_node *const *)a;
	const struct yaml_node *y = *(const struct yaml_node *const *)b;
	int order = strcmp(x->text, y->text);

	if (order == 0)
		order = (x->line > y->line) - (x->line < y->line);
	return order ? order : (x->column > y->column) - (x->column < y->column);
}

/* No key twice. Sorted, so that a large map is no more work than it is long. */
static bool keys_differ(struct reading *r, const struct yaml_node *map)
{
	const struct yaml_node **sorted;
	bool differ = true;

	CHECK(map->kind == YAML_MAP);
	if (map->n < 2)
		return true;
	sorted = mem_array(map->n, sizeof *sorted);
	memcpy(sorted, map->keys, map->n * sizeof *sorted);
	qsort(sorted, map->n, sizeof *sorted, by_key);
	for (size_t i = 1; i < map->n; i++) {
		if (strcmp(sorted[i]->text, sorted[i - 1]->text) != 0)
			continue;
		struct place at = { .file = r->file,
			            .line = sorted[i]->line,
			            .column = sorted[i]->column,
			            .path = "" };
		diag_error(r->d, at, "duplicate_key", NULL,
		           "'%.60s' stands here a second time; first in line %d", sorted[i]->text,
		           sorted[i - 1]->line);
		differ = false;
	}
	free(sorted);
	return differ;
}

static void add_child(struct children *c, const struct yaml_node *key, const struct yaml_node *item)
{
	size_t cap = c->cap;
	c->keys = mem_room(c->keys, &cap, c->n + 1, sizeof *c->keys);
	c->items = mem_room(c->items, &c->cap, c->n + 1, sizeof *c->items);
	CHECK(cap == c->cap && c->n < cap); /* both lists grow together */
	c->keys[c->n] = key;
	c->items[c->n++] = item;
}

/* The event in hand is a key. */
static const struct yaml_node *read_key(struct reading *r)
{
	if (r->event.type == YAML_SCALAR_EVENT &&
	    r->event.data.scalar.length > YAML_KEY_BYTES_MAX) {
		diag_error(r->d, yaml_here(r, r->event.start_mark), "too_big", NULL,
		           "a key of more than %d bytes", YAML_KEY_BYTES_MAX);
		return NULL;
	}
	if (r->event.type != YAML_SCALAR_EVENT)
		return yaml_refuse(r, NULL, "a key must be a plain word");
	const struct yaml_node *key = read_node(r, 0);
	if (key && key->is_plain && strcmp(key->text, "<<") == 0) {
		struct place at = { .file = r->file, .line = key->line, .column = key->column };
		diag_error(r->d, at, "syntax", "write the keys out, or use `defaults:`",
		           "merge keys are not part of this language");
		return NULL;
	}
	return key;
}

static bool read_children(struct reading *r, bool is_map, int depth, struct children *c)
{
	yaml_event_type_t last = is_map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;

	while (yaml_advance(r)) {
		const struct yaml_node *key = NULL;
		if (r->event.type == last)
			return true;
		if (is_map && (!(key = read_key(r)) || !yaml_advance(r)))
			return false;
		const struct yaml_node *item = read_node(r, depth);
		if (!item)
			return false;
		add_child(c, key, item);
	}
	return false;
}

static const struct yaml_node *const *yaml_keep(struct reading *r, const struct yaml_node **from,
                                                size_t n)
{
	const struct yaml_node **to = pile_take(r->pile, n * sizeof *to + 1);

	if (n)
		memcpy(to, from, n * sizeof *to);
	return to;
}

static const struct yaml_node *read_collection(struct reading *r, bool is_map, int depth)
{
	struct children c = { 0 };
	struct yaml_node *n = new_node(r, is_map ? YAML_MAP : YAML_LIST);
	bool good = false;

	CHECK(depth <= YAML_DEPTH_MAX);
	if (!n)
		return NULL;
	if (depth >= YAML_DEPTH_MAX) {
		diag_error(r->d, yaml_here(r, r->event.start_mark), "too_deep", NULL,
		           "nested more than %d deep", YAML_DEPTH_MAX);
		return NULL;
	}
	good = read_children(r, is_map, depth + 1, &c);
	if (good) {
		n->n = c.n;
		n->keys = is_map ? yaml_keep(r, c.keys, c.n) : NULL;
		n->items = yaml_keep(r, c.items, c.n);
		good = !is_map || keys_differ(r, n);
	}
	free(c.keys);
	free(c.items);
	return good ? n : NULL;
}

/* Whatever begins with the event in hand. */
static const struct yaml_node *read_node(struct reading *r, int depth)
{
	const yaml_event_t *e = &r->event;

	switch (e->type) {
	case YAML_SCALAR_EVENT:
		if (e->data.scalar.anchor || e->data.scalar.tag)
			break;
		return read_scalar(r);
	case YAML_SEQUENCE_START_EVENT:
		if (e->data.sequence_start.anchor || e->data.sequence_start.tag)
			break;
		return read_collection(r, false, depth);
	case YAML_MAPPING_START_EVENT:
		if (e->data.mapping_start.anchor || e->data.mapping_start.tag)
			break;
		return read_collection(r, true, depth);
	case YAML_ALIAS_EVENT:
		break;
	default:
		return yaml_refuse(r, NULL, "a value is missing");
	}
	return yaml_refuse(r, "write the value out",
	                   "anchors, aliases and tags are not part of this language");
}

/* The event in hand starts a document. NULL and no error: it was empty. */
static struct yaml_doc *read_document(struct reading *r, bool *ret_good)
{
	struct yaml_doc *doc = mem_new(sizeof *doc);

	r->pile = doc->pile = pile_new();
	doc->root = yaml_advance(r) ? read_node(r, 0) : NULL;
	*ret_good = doc->root && yaml_advance(r);
	if (*ret_good && !yaml_is_null(doc->root))
		return doc;
	yaml_free(doc);
	return NULL;
}

static bool read_stream(struct reading *r, struct yaml_doc ***docs, size_t *n)
{
	if (!yaml_advance(r))
		return false;
	while (yaml_advance(r)) {
		bool good;
		if (r->event.type == YAML_STREAM_END_EVENT)
			return true;
		struct yaml_doc *doc = read_document(r, &good);
		if (doc) {
			*docs = mem_grow(*docs, *n + 1, sizeof **docs);
			(*docs)[(*n)++] = doc;
		}
		if (!good)
			return false;
	}
	return false;
}

/* JSON writes characters beyond the first plane as two halves, "\ud83d\ude00", which libyaml
 * does not take. Where a text is JSON by its first character they become \U0001f600. */
static char *join_surrogates(const char *text, size_t bytes, size_t *ret_bytes)
{
	size_t i = strspn(text, " \t\r\n"), n = 0;
	char *out;

	if (text[i] != '{' && text[i] != '[')
		return NULL;
	out = mem_array(bytes + 1, 1);
	for (i = 0; i < bytes;) {
		unsigned high, low;
		int used = 0;
		if (text[i] == '\\' && bytes - i >= 12 && text[i + 1] == 'u' &&
		    /* NOLINTNEXTLINE(cert-err34-c): four digits each */
		    sscanf(text + i, "\\u%4x\\u%4x%n", &high, &low, &used) == 2 && used == 12 &&
		    high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
			unsigned c = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
			n += (size_t)snprintf(out + n, 11, "\\U%08x", c);
			i += 12;
			continue;
		}
		if (text[i] == '\\' && i + 1 < bytes)
			out[n++] = text[i++];
		out[n++] = text[i++];
	}
	CHECK(n <= bytes && i == bytes);
	*ret_bytes = n;
	return out;
}

int yaml_read(const char *text, size_t bytes, const char *file, struct diags *d,
              struct yaml_doc ***ret_docs, size_t *ret_n)
{
	struct reading r = { .file = file, .d = d };
	struct place whole = { .file = file, .path = "" };
	struct yaml_doc **docs = NULL;
	char *copy, *joined;
	size_t n = 0;

	if (bytes > YAML_BYTES_MAX)
		return diag_error(d, whole, "too_big", NULL, "%zu bytes, at most %d", bytes,
		                  YAML_BYTES_MAX);
	if (!yaml_parser_initialize(&r.parser))
		return diag_error(d, whole, "syntax", NULL, "out of memory");
	copy = mem_strn(text, bytes); /* a NUL at the end, for the look at JSON */
	joined = join_surrogates(copy, bytes, &bytes);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)(joined ? joined : copy),
	                             bytes);
	bool good = read_stream(&r, &docs, &n);
	yaml_event_delete(&r.event);
	yaml_parser_delete(&r.parser);
	free(joined);
	free(copy);
	if (good) {
		*ret_docs = docs;
		*ret_n = n;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		yaml_free(docs[i]);
	free(docs);
	return E_INVALID;
}

void yaml_free(struct yaml_doc *doc)
{
	if (!doc)
		return;
	pile_free(doc->pile);
	free(doc);
}

void yaml_rename(struct yaml_doc *doc, const struct yaml_node *scalar, const char *text)
{
	struct yaml_node *n = (struct yaml_node *)(uintptr_t)scalar;

	CHECK(scalar->kind == YAML_SCALAR);
	n->text = pile_str(doc->pile, text);
	n->n = strlen(text);
}

static const struct yaml_node *copy_node(struct pile *pile, const struct yaml_node *n)
{
	struct yaml_node *own = pile_take(pile, sizeof *own);
	bool is_map = n->kind == YAML_MAP;

	*own = *n;
	if (n->kind == YAML_SCALAR) {
		own->text = pile_strn(pile, n->text, n->n);
		return own;
	}
	const struct yaml_node **items = pile_take(pile, n->n * sizeof *items + 1);
	const struct yaml_node **keys = is_map ? pile_take(pile, n->n * sizeof *keys + 1) : NULL;
	for (size_t i = 0; i < n->n; i++) {
		items[i] = copy_node(pile, n->items[i]);
		if (is_map)
			keys[i] = copy_node(pile, n->keys[i]);
	}
	own->items = items;
	own->keys = keys;
	return own;
}

void yaml_graft(struct yaml_doc *doc, const struct yaml_node *map, const char *key,
                const struct yaml_node *value)
{
	struct yaml_node *m = (struct yaml_node *)(uintptr_t)map;
	const struct yaml_node **keys = pile_take(doc->pile, (m->n + 1) * sizeof *keys);
	const struct yaml_node **items = pile_take(doc->pile, (m->n + 1) * sizeof *items);
	size_t n = 0;

	CHECK(map->kind == YAML_MAP);
	for (size_t i = 0; i < m->n; i++) {
		if (strcmp(m->keys[i]->text, key) == 0)
			continue;
		keys[n] = m->keys[i];
		items[n++] = m->items[i];
	}
	if (value) {
		const struct yaml_node word = {
			.kind = YAML_SCALAR, .is_plain = true, .text = key, .n = strlen(key)
		};
		keys[n] = copy_node(doc->pile, &word);
		items[n++] = copy_node(doc->pile, value);
	}
	m->keys = keys;
	m->items = items;
	m->n = n;
}

const struct yaml_node *yaml_root(const struct yaml_doc *doc)
{
	return doc->root;
}
