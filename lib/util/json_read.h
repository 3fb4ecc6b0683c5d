/* json_read.h — JSON from outside as a tree, read strictly.
 *
 * RFC 8259 and nothing beside it: UTF-8, no control characters or \u0000 in strings, no
 * duplicate keys and no escapes in them, no lone surrogates, nothing after the value, depth at
 * most JSON_DEPTH_MAX, numbers that are integers within 2^53 either way (so that a double holds
 * them exactly). The same as a tree of cJSON: util/json_in.h.
 */
#ifndef UTIL_JSON_READ_H
#define UTIL_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX  16
#define JSON_VALUES_MAX 200000 /* values in one text: bounds the tree's memory */
#define JSON_KEYS_MAX   256    /* of one object: each is compared with those before it */

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

/* Check only; an empty text is no JSON. errors  as jdoc_parse() */
int json_check(const char *text, size_t n, struct err *err);

/* A member; NULL when absent or null. */
const struct jval *jv_get(const struct jval *object, const char *key);
const char *jv_kind_name(const struct jval *v); /* "a number" */

#endif
