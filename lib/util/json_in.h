/* json_in.h — JSON from outside as a tree of cJSON's, for those that change it.
 *
 * What util/json_read.h refuses is refused, with its words. Look up with json_get().
 */
#ifndef UTIL_JSON_IN_H
#define UTIL_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct err;

/* errors  E_INVALID with line and column of what is wrong, E_NOMEM */
int json_parse(const char *text, size_t n, struct cJSON **ret_root, struct err *err);

/* The member of an object, NULL if absent or null. Case counts. */
const struct cJSON *json_get(const struct cJSON *object, const char *key);
const char *json_text(const struct cJSON *object, const char *key); /* NULL: absent or no string */
/* The integer of a member; `def` if absent or no number. */
int64_t json_int(const struct cJSON *object, const char *key, int64_t def);
bool json_true(const struct cJSON *object, const char *key);
void json_free(struct cJSON *root); /* NULL is fine */

#endif
