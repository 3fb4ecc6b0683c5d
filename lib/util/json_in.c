/* cJSON takes more than JSON is (measured: guides' list), so a text is proved to be strict
 * before cJSON sees it. The check is one pass with a bounded stack. */
#include "util/json_in.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/err.h"

#define INTEGER_MAX 9007199254740991LL

struct key {
	const char *at; /* as written, without quotes */
	size_t n;
};

struct in {
	const char *p, *end, *start;
	size_t values;
	struct key *keys; /* of all open objects, innermost last */
	size_t keys_n, keys_cap;
	struct err *err;
};

static int value_check(struct in *in, int depth);

static int bad(struct in *in, const char *what)
{
	size_t line = 1, column = 1;

	for (const char *p = in->start; p < in->p; p++) {
		column++;
		if (*p == '\n') {
			line++;
			column = 1;
		}
	}
	return err_set(in->err, E_INVALID, "JSON, line %zu column %zu: %s", line, column, what);
}

static void space_skip(struct in *in)
{
	while (in->p < in->end &&
	       (*in->p == ' ' || *in->p == '\t' || *in->p == '\n' || *in->p == '\r'))
		in->p++;
}

static int hex4(struct in *in, unsigned *ret)
{
	unsigned v = 0;

	if (in->end - in->p < 4)
		return bad(in, "unfinished \\u");
	for (int i = 0; i < 4; i++) {
		char c = *in->p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (unsigned)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = v << 4 | (unsigned)((c | 32) - 'a' + 10);
		else
			return bad(in, "\\u wants four hexadecimal digits");
		in->p++;
	}
	*ret = v;
	return 0;
}

/* After the backslash. */
static int escape_check(struct in *in)
{
	unsigned v = 0, low = 0;

	if (in->p >= in->end)
		return bad(in, "unfinished string");
	if (*in->p != 'u') {
		if (*in->p == '\0' || strchr("\"\\/bfnrt", *in->p) == NULL)
			return bad(in, "unknown escape");
		in->p++;
		return 0;
	}
	in->p++;
	if (hex4(in, &v) < 0)
		return E_INVALID;
	if (v == 0)
		return bad(in, "\\u0000 is not allowed");
	if (v >= 0xdc00 && v <= 0xdfff)
		return bad(in, "lone surrogate");
	if (v < 0xd800 || v > 0xdbff)
		return 0;
	if (in->end - in->p < 6 || in->p[0] != '\\' || in->p[1] != 'u')
		return bad(in, "lone surrogate");
	in->p += 2;
	if (hex4(in, &low) < 0)
		return E_INVALID;
	return low >= 0xdc00 && low <= 0xdfff ? 0 : bad(in, "lone surrogate");
}

/* One character of two bytes or more; overlong forms and surrogates are not UTF-8. */
static int utf8_check(struct in *in)
{
	const unsigned char *p = (const unsigned char *)in->p;
	size_t left = (size_t)(in->end - in->p), n;
	unsigned char lo = 0x80, hi = 0xbf;

	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		n = 1;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		n = 2;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		n = 3;
	else
		return bad(in, "not UTF-8");
	if (p[0] == 0xe0)
		lo = 0xa0;
	if (p[0] == 0xed)
		hi = 0x9f;
	if (p[0] == 0xf0)
		lo = 0x90;
	if (p[0] == 0xf4)
		hi = 0x8f;
	if (left < n + 1 || p[1] < lo || p[1] > hi)
		return bad(in, "not UTF-8");
	for (size_t i = 2; i <= n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return bad(in, "not UTF-8");
	in->p += n + 1;
	return 0;
}

static int string_check(struct in *in, struct key *ret)
{
	in->p++;
	ret->at = in->p;
	while (in->p < in->end && *in->p != '"') {
		unsigned char c = (unsigned char)*in->p;
		int r = 0;

		if (c < 0x20)
			return bad(in, "control character in a string");
		if (c == '\\') {
			in->p++;
			r = escape_check(in);
		} else if (c < 0x80) {
			in->p++;
		} else {
			r = utf8_check(in);
		}
		if (r < 0)
			return r;
	}
	if (in->p >= in->end)
		return bad(in, "unfinished string");
	ret->n = (size_t)(in->p - ret->at);
	in->p++;
	return 0;
}

static int number_check(struct in *in)
{
	long long v = 0;
	bool minus = *in->p == '-';

	if (minus)
		in->p++;
	if (in->p >= in->end || *in->p < '0' || *in->p > '9')
		return bad(in, "a value is expected");
	if (*in->p == '0' && in->end - in->p > 1 && in->p[1] >= '0' && in->p[1] <= '9')
		return bad(in, "a number with a leading zero");
	while (in->p < in->end && *in->p >= '0' && *in->p <= '9') {
		v = v * 10 + (*in->p - '0');
		if (v > INTEGER_MAX)
			return bad(in, "a number beyond 2^53; write it as a string");
		in->p++;
	}
	if (in->p < in->end && (*in->p == '.' || *in->p == 'e' || *in->p == 'E'))
		return bad(in, "numbers are integers here");
	return 0;
}

static int word_check(struct in *in, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(in->end - in->p) < n || memcmp(in->p, word, n) != 0)
		return bad(in, "a value is expected");
	in->p += n;
	return 0;
}

/* Keys are compared as written, after refusing escapes in them: "\u0061" cannot hide "a". */
static int key_check(struct in *in, size_t first)
{
	struct key k;

	if (in->p >= in->end || *in->p != '"')
		return bad(in, "a key in quotes is expected");
	if (string_check(in, &k) < 0)
		return E_INVALID;
	if (memchr(k.at, '\\', k.n) != NULL)
		return bad(in, "a key with an escape");
	if (in->keys_n - first >= 256)
		return bad(in, "an object with more than 256 keys");
	for (size_t i = first; i < in->keys_n; i++)
		if (in->keys[i].n == k.n && memcmp(in->keys[i].at, k.at, k.n) == 0)
			return bad(in, "a key that was there before");
	if (in->keys_n == in->keys_cap) {
		in->keys_cap = in->keys_cap ? in->keys_cap * 2 : 32;
		in->keys = mem_grow(in->keys, in->keys_cap, sizeof(*in->keys));
	}
	in->keys[in->keys_n++] = k;
	space_skip(in);
	if (in->p >= in->end || *in->p != ':')
		return bad(in, "':' is expected");
	in->p++;
	return 0;
}

static int members_check(struct in *in, char close, int depth)
{
	size_t first = in->keys_n;

	in->p++;
	space_skip(in);
	if (in->p < in->end && *in->p == close) {
		in->p++;
		return 0;
	}
	for (;;) {
		space_skip(in);
		if (close == '}' && key_check(in, first) < 0)
			return E_INVALID;
		if (value_check(in, depth + 1) < 0)
			return E_INVALID;
		space_skip(in);
		if (in->p < in->end && *in->p == ',') {
			in->p++;
			continue;
		}
		if (in->p >= in->end || *in->p != close)
			return bad(in, close == '}' ? "',' or '}' is expected"
			                            : "',' or ']' is expected");
		in->p++;
		in->keys_n = first;
		return 0;
	}
}

static int value_check(struct in *in, int depth)
{
	struct key ignored;

	space_skip(in);
	if (in->p >= in->end)
		return bad(in, "a value is expected");
	if (++in->values > JSON_VALUES_MAX)
		return bad(in, "too many values");
	switch (*in->p) {
	case '{':
	case '[':
		if (depth >= JSON_DEPTH_MAX)
			return bad(in, "nested too deep");
		return members_check(in, *in->p == '{' ? '}' : ']', depth);
	case '"':
		return string_check(in, &ignored);
	case 't':
		return word_check(in, "true");
	case 'f':
		return word_check(in, "false");
	case 'n':
		return word_check(in, "null");
	default:
		return number_check(in);
	}
}

int json_check(const char *text, size_t n, struct err *err)
{
	struct in in = { .p = text, .end = text + n, .start = text, .err = err };
	int r = value_check(&in, 0);

	if (r == 0) {
		space_skip(&in);
		if (in.p != in.end)
			r = bad(&in, "something after the value");
	}
	free(in.keys);
	return r;
}

int json_parse(const char *text, size_t n, struct cJSON **ret_root, struct err *err)
{
	struct cJSON *root;
	int r = json_check(text, n, err);

	if (r < 0)
		return r;
	root = cJSON_ParseWithLength(text, n);
	if (root == NULL)
		return err_set(err, E_NOMEM, "JSON: no memory for it");
	*ret_root = root;
	return 0;
}

const struct cJSON *json_get(const struct cJSON *object, const char *key)
{
	const struct cJSON *v = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNull(v) ? NULL : v;
}

const char *json_text(const struct cJSON *object, const char *key)
{
	return cJSON_GetStringValue(json_get(object, key));
}

int64_t json_int(const struct cJSON *object, const char *key, int64_t def)
{
	const struct cJSON *v = json_get(object, key);

	return cJSON_IsNumber(v) ? (int64_t)v->valuedouble : def;
}

bool json_true(const struct cJSON *object, const char *key)
{
	return cJSON_IsTrue(json_get(object, key));
}

void json_free(struct cJSON *root)
{
	cJSON_Delete(root);
}
