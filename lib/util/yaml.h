/* yaml.h — YAML (and so JSON) read into a small tree that knows where everything stood.
 *
 * The part of the language that means one thing: maps, lists, scalars. Anchors, aliases,
 * tags, merge keys, keys that are no scalars and keys that come twice are refused. A text
 * of several documents gives several trees. Trees are immutable; thread: any, at once.
 */
#ifndef UTIL_YAML_H
#define UTIL_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define YAML_BYTES_MAX     (8 << 20) /* of a text */
#define YAML_DEPTH_MAX     24
#define YAML_NODES_MAX     500000
#define YAML_KEY_BYTES_MAX 160 /* YAML's own limit is 1024 characters, as written with escapes */

struct buf;
struct diags;

enum yaml_kind { YAML_MAP, YAML_LIST, YAML_SCALAR };

struct yaml_node {
	enum yaml_kind kind;
	int line, column; /* from 1 */
	bool is_plain;    /* a scalar without quotes: may be a number, true, false, null */
	const char *text; /* scalar: UTF-8 without NUL; else "" */
	size_t n;         /* scalar: bytes; else how many items or pairs */
	const struct yaml_node *const *keys;  /* map: scalars, in the order written */
	const struct yaml_node *const *items; /* map: values; list: items */
};

struct yaml_doc; /* one document; owns its nodes */

/* Read every document of a text. An empty text has none; an empty document is left out.
 *
 *   file     for people, borrowed while this runs
 *   owns     (*ret_docs)[0..n) are the caller's, until yaml_free(), and so is the array: free()
 *   errors   E_INVALID, what is wrong is in d; nothing is returned then
 */
int yaml_read(const char *text, size_t bytes, const char *file, struct diags *d,
              struct yaml_doc ***ret_docs, size_t *ret_n);
void yaml_free(struct yaml_doc *doc); /* NULL is fine */
const struct yaml_node *yaml_root(const struct yaml_doc *doc);

/* Another text for a scalar of the document; before anybody else sees the tree. */
void yaml_rename(struct yaml_doc *doc, const struct yaml_node *scalar, const char *text);

/* A copy of a node as the last of a map of the document, and what stood there under that key is
 * out; NULL: only out. Before anybody else sees the tree. */
void yaml_graft(struct yaml_doc *doc, const struct yaml_node *map, const char *key,
                const struct yaml_node *value);

/* The value under a key of a map, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);
bool yaml_is(const struct yaml_node *n, const char *text); /* a scalar of that text? */
bool yaml_is_null(const struct yaml_node *n);              /* null, ~ or nothing, without quotes */
const char *yaml_kind_name(const struct yaml_node *n);     /* "a map", "a list", "text" */

/* Strict readers of scalars: false when it is not one, or not in range. */
bool yaml_int(const struct yaml_node *n, int64_t min, int64_t max, int64_t *ret_value);
bool yaml_bool(const struct yaml_node *n, bool *ret_value);
/* `90s 5m 2h30m 1d 1w`, units in falling order, also `ms`; `0` alone is fine. */
bool yaml_duration_us(const struct yaml_node *n, int64_t *ret_us);
bool duration_parse_us(const char *text, int64_t *ret_us);
/* Append the regular expression (ECMA 262) of what the two read. */
void duration_put_pattern(struct buf *out);

/* The same content? Order of keys does not count, nor does style, but "5" is not 5. */
bool yaml_same(const struct yaml_node *a, const struct yaml_node *b);

/* Append a node as YAML in one spelling: block style, `indent` spaces deep, keys in the order
 * they stand. A map or a list begins on the line where it is put. */
void yaml_print(const struct yaml_node *n, int indent, struct buf *out);
/* A scalar on one line, quoted where it must be. */
void yaml_print_text(const char *text, bool is_plain, struct buf *out);
/* Append as JSON: plain numbers, booleans and null as such, the rest as strings. */
void yaml_print_json(const struct yaml_node *n, struct buf *out);

#endif
