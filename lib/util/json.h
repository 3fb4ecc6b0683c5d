/* json.h — JSON written straight into a buffer, with bookkeeping that stops a bug.
 *
 * Reading is util/json_in. Values inside an object are preceded by json_add_key(). Bytes that
 * are not UTF-8, and NUL, come out as U+FFFD.
 */
#ifndef UTIL_JSON_H
#define UTIL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_OUT_DEPTH_MAX 64

struct buf;

struct json_out {
	struct buf *out;
	int depth;
	bool is_object[JSON_OUT_DEPTH_MAX], has_items[JSON_OUT_DEPTH_MAX], keyed;
};

void json_out_start(struct json_out *j, struct buf *out);
void json_out_end(const struct json_out *j); /* everything closed? CHECKs */

void json_open_object(struct json_out *j);
void json_close_object(struct json_out *j);
void json_open_array(struct json_out *j);
void json_close_array(struct json_out *j);
void json_add_key(struct json_out *j, const char *key);

void json_add_text(struct json_out *j, const char *text); /* NULL: null */
void json_add_textn(struct json_out *j, const char *text, size_t bytes);
void json_add_number(struct json_out *j, int64_t value);
void json_add_truth(struct json_out *j, bool value);
void json_add_null(struct json_out *j);
void json_add_raw(struct json_out *j, const char *json); /* one value, already JSON */

/* key and value */
void json_field_text(struct json_out *j, const char *key, const char *text);
void json_field_number(struct json_out *j, const char *key, int64_t value);
void json_field_truth(struct json_out *j, const char *key, bool value);

/* A string in quotes, alone. */
void json_quote(struct buf *out, const char *text, size_t bytes);

#endif
