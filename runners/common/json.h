/* json.h — places in a JSON document, and sentences about them. */
#ifndef RUNNERS_JSON_H
#define RUNNERS_JSON_H

#include <stdbool.h>
#include <stddef.h>

struct cJSON;
struct text;

/* A document; NULL: it is none. Whole numbers that a double cannot hold become strings: an id stays
 * what it was. The caller's: cJSON_Delete(). */
struct cJSON *json_parse(const char *text, size_t len);

/* The value at a JSON pointer (`/a/0/b`, RFC 6901) or a path (`a[0].b`, `$.a`); NULL: none. */
const struct cJSON *json_at(const struct cJSON *root, const char *path);

/* A value as text: a string as it is, anything else as JSON. */
void json_text(const struct cJSON *value, struct text *ret_text);

/* Is a sentence true: `PATH` (there is one), or `PATH OP VALUE` with an OP of = != < <= > >=.
 * The last four compare numbers. False: *ret_why has what was found; `why_bytes` > 0. */
bool json_holds(const struct cJSON *root, const char *sentence, char *ret_why, size_t why_bytes);

/* `OP VALUE`, with an OP as above; VALUE alone is equality. */
bool json_compares(const char *found, const char *sentence);

#endif
