/* json_read.h — JSON from outside as a tree, read strictly.
 *
 * RFC 8259 and nothing beside it: UTF-8, no control characters or \u0000 in strings, no
 * duplicate keys and no escapes in them, no lone surrogates, nothing after the value, depth at
 * most JSON_DEPTH_MAX, numbers that are integers within 2^53 either way (so that a double holds
 * them exactly). The same as a tree of cJSON, for those that change it: util/json_in.h.
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

/*   owns    *ret_root is the caller's, with all that it borrows, until jv_free()
 *   errors  E_INVALID with line and column */
int jv_parse(const char *text, size_t n, const struct jval **ret_root, struct err *err);
/* As jv_parse(), but an empty text is {}. */
int jv_parse_args(const char *text, size_t n, const struct jval **ret_root, struct err *err);
void jv_free(const struct jval *root); /* NULL is fine */

/* Check only. errors  as jv_parse() */
int json_check(const char *text, size_t n, struct err *err);

/* A member; NULL when absent or null. Case counts. An object may be NULL, or none, for all here. */
const struct jval *jv_get(const struct jval *object, const char *key);
const char *jv_text(const struct jval *object, const char *key); /* NULL: absent or no text */
const char *jv_str(const struct jval *object, const char *key);  /* "": absent or no text */
/* The number of a member; `def` if absent or no number. */
int64_t jv_int(const struct jval *object, const char *key, int64_t def);
bool jv_true(const struct jval *object, const char *key);
bool jv_is(const struct jval *v, enum jv_kind kind); /* NULL is of no kind */
/* Is there such a text in a list? */
bool jv_has(const struct jval *list, const char *text);
const char *jv_kind_name(const struct jval *v); /* "a number" */

/* The items of a list, the members of an object; of anything else, and of NULL, none. */
const struct jval *jv_first(const struct jval *v);
#define JV_EACH(v, of) for (const struct jval *v = jv_first(of); v; v = v->next)

#endif
