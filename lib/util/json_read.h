/* json_read.h — a client's JSON as a tree, read strictly.
 *
 * UTF-8, no control characters or NUL in strings, no duplicate keys, no lone surrogates,
 * nothing after the value, depth at most JV_DEPTH_MAX, numbers are integers within 2^53.
 */
#ifndef UTIL_JSON_READ_H
#define UTIL_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JV_DEPTH_MAX  16
#define JV_VALUES_MAX 200000
#define JV_KEYS_MAX   64 /* of one object */

struct err;
struct jdoc;

enum jv_kind { JV_NULL, JV_TRUTH, JV_NUMBER, JV_TEXT, JV_LIST, JV_OBJECT };

struct jval {
	enum jv_kind kind;
	const char *key;  /* in an object */
	const char *text; /* JV_TEXT, NUL-terminated */
	size_t len;       /* of text; items of a list or object */
	int64_t number;
	bool truth;
	struct jval *first, *next;
};

/* An empty text is {}.
 *   owns    *ret_doc is the caller's, until jdoc_free()
 *   errors  E_INVALID with line and column */
int jdoc_parse(const char *text, size_t n, struct jdoc **ret_doc, struct err *err);
void jdoc_free(struct jdoc *d); /* NULL is fine */
const struct jval *jdoc_root(const struct jdoc *d);

/* A member; NULL when absent or null. */
const struct jval *jv_get(const struct jval *object, const char *key);
const char *jv_kind_name(const struct jval *v); /* "a number" */

#endif
