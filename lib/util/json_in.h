/* json_in.h — JSON from outside, read strictly.
 *
 * RFC 8259 and nothing beside it: UTF-8, no control characters or \u0000 in strings, no
 * duplicate keys, no lone surrogates, nothing after the value, depth at most JSON_DEPTH_MAX,
 * numbers that are integers within 2^53 either way (so that a double holds them exactly).
 * The tree is cJSON's: free it with cJSON_Delete(), look up with json_get().
 */
#ifndef UTIL_JSON_IN_H
#define UTIL_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX  16
#define JSON_VALUES_MAX 200000 /* values in one text: bounds the tree's memory */

struct cJSON;
struct err;

/* Check only. errors  E_INVALID with line and column of what is wrong */
int json_check(const char *text, size_t n, struct err *err);

/* errors  E_INVALID, E_NOMEM */
int json_parse(const char *text, size_t n, struct cJSON **ret_root, struct err *err);

/* The member of an object, NULL if absent or null. Case counts. */
const struct cJSON *json_get(const struct cJSON *object, const char *key);
const char *json_text(const struct cJSON *object, const char *key); /* NULL: absent or no string */
/* The integer of a member; `def` if absent or no number. */
int64_t json_int(const struct cJSON *object, const char *key, int64_t def);
bool json_true(const struct cJSON *object, const char *key);
void json_free(struct cJSON *root); /* NULL is fine */

#endif
