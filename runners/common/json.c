/* JSON of strangers: parsed with long whole numbers kept as text, so that no digit is lost; a
 * value found by a path or pointer; a sentence like "status = ok" judged against it. What is not
 * there is no error here but an answer. */
#include "runners/common/json.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/text.h"

#define NAME_BYTES   256
#define FOUND_SHOW   80
#define EXACT_DIGITS 15 /* of any whole number in a double */

/* The length of a string of JSON, its quotes too. */
static size_t string_length(const char *p, const char *end)
{
	const char *at = p + 1;

	while (at < end && *at != '"')
		at += *at == '\\' && at + 1 < end ? 2 : 1;
	return (size_t)((at < end ? at + 1 : end) - p);
}

struct cJSON *json_parse(const char *text, size_t len)
{
	static const char number[] = "+-.0123456789eE";
	struct text safe = { 0 };
	const char *end = text + len;

	while (text < end) {
		size_t n = 1;
		bool is_long = false;

		if (*text == '"') {
			n = string_length(text, end);
		} else if (*text == '-' || (*text >= '0' && *text <= '9')) {
			while (text + n < end && strchr(number, text[n]) && text[n])
				n++;
			is_long = n > EXACT_DIGITS && !memchr(text, '.', n) &&
			          !memchr(text, 'e', n) && !memchr(text, 'E', n);
		}
		text_add(&safe, "\"", is_long);
		text_add(&safe, text, n);
		text_add(&safe, "\"", is_long);
		text += n;
	}
	cJSON *root = safe.is_over
	                      ? NULL
	                      : cJSON_ParseWithLengthOpts(text_str(&safe), safe.len + 1, NULL, 1);

	text_done(&safe);
	return root;
}

static const cJSON *json_step(const cJSON *at, const char *name)
{
	char *end;

	if (cJSON_IsObject(at))
		return cJSON_GetObjectItemCaseSensitive(at, name);
	if (!cJSON_IsArray(at) || name[0] < '0' || name[0] > '9')
		return NULL;
	long i = strtol(name, &end, 10);

	return *end || i > 1000000 ? NULL : cJSON_GetArrayItem(at, (int)i);
}

/* One segment of a pointer, `~1` being a slash and `~0` a tilde. */
static const char *pointer_segment(const char *p, char *ret_name)
{
	size_t n = 0;

	for (p++; *p && *p != '/'; p++) {
		char c = *p;

		if (c == '~' && (p[1] == '0' || p[1] == '1'))
			c = *++p == '0' ? '~' : '/';
		if (n < NAME_BYTES - 1)
			ret_name[n++] = c;
	}
	ret_name[n] = 0;
	return p;
}

static const char *path_segment(const char *p, char *ret_name)
{
	size_t n;

	if (*p == '[') {
		n = strcspn(++p, "]");
	} else {
		p += *p == '.';
		n = strcspn(p, ".[");
	}
	size_t take = n < NAME_BYTES - 1 ? n : NAME_BYTES - 1;

	memcpy(ret_name, p, take);
	ret_name[take] = 0;
	p += n;
	return *p == ']' ? p + 1 : p;
}

const struct cJSON *json_at(const struct cJSON *root, const char *path)
{
	char name[NAME_BYTES];
	const bool is_pointer = path[0] == '/';

	if (path[0] == '$')
		path++;
	while (root && *path) {
		path = is_pointer ? pointer_segment(path, name) : path_segment(path, name);
		root = json_step(root, name);
	}
	return root;
}

void json_text(const struct cJSON *value, struct text *ret_text)
{
	if (cJSON_IsString(value)) {
		text_str_add(ret_text, value->valuestring);
		return;
	}
	char *made = cJSON_PrintUnformatted(value);

	if (made)
		text_str_add(ret_text, made);
	cJSON_free(made);
}

struct sentence {
	char path[NAME_BYTES];
	char op[3];
	const char *want;
};

static bool read_sentence(const char *text, struct sentence *ret)
{
	text += strspn(text, " \t");
	size_t n = strcspn(text, "=!<>");
	const char *op = text + n;

	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	if (n == 0 || n >= sizeof ret->path)
		return false;
	memcpy(ret->path, text, n);
	ret->path[n] = 0;
	size_t len = strspn(op, "=!<>");

	if (len > 2 || (len == 1 && *op == '!'))
		return false;
	memcpy(ret->op, op, len);
	ret->op[len] = 0;
	if (!strcmp(ret->op, "=="))
		ret->op[1] = 0;
	ret->want = op + len + strspn(op + len, " \t");
	return true;
}

static bool as_number(const char *text, double *ret)
{
	char *end;

	*ret = strtod(text, &end);
	return end != text && !*end;
}

/* Numbers as numbers, whatever they are written like. */
static bool compares(const char *op, const char *found, const char *want)
{
	double a, b;
	const bool are_numbers = as_number(found, &a) && as_number(want, &b);
	const bool is_same = are_numbers ? a == b : !strcmp(found, want);

	if (op[0] == '=' || op[0] == '!')
		return is_same == (op[0] == '=');
	if (!are_numbers)
		return false;
	return (op[1] && is_same) || (op[0] == '<' ? a < b : a > b);
}

bool json_compares(const char *found, const char *sentence)
{
	size_t skip = strspn(sentence, " \t"), len = strspn(sentence + skip, "=!<>");
	char op[3] = "=";

	if (len > 2 || (len == 1 && sentence[skip] == '!'))
		return false;
	if (len)
		snprintf(op, sizeof op, "%.*s", (int)len, sentence + skip);
	if (!strcmp(op, "=="))
		op[1] = 0;
	sentence += skip + len;
	sentence += strspn(sentence, " \t");
	return compares(op, found, sentence);
}

bool json_holds(const struct cJSON *root, const char *sentence, char *ret_why, size_t why_bytes)
{
	struct sentence s;
	struct text found = { 0 };

	ret_why[0] = 0;
	if (!read_sentence(sentence, &s)) {
		snprintf(ret_why, why_bytes,
		         "'%.80s' is not PATH or PATH OP VALUE (= != < <= > >=)", sentence);
		return false;
	}
	const cJSON *at = json_at(root, s.path);

	if (!at) {
		snprintf(ret_why, why_bytes, "there is no %.80s", s.path);
		return false;
	}
	json_text(at, &found);
	bool is = !s.op[0] || compares(s.op, text_str(&found), s.want);

	if (!is)
		snprintf(ret_why, why_bytes, "%.80s is '%.*s', want %s '%.60s'", s.path, FOUND_SHOW,
		         text_str(&found), s.op, s.want);
	text_done(&found);
	return is;
}
