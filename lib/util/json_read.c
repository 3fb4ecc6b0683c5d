/* JSON read strictly into a tree: one value, no duplicate keys, numbers that are integers below
 * 2^53, UTF-8 without NUL, at most JSON_DEPTH_MAX deep and JSON_VALUES_MAX values. Strings are
 * decoded in place in a copy of the text, which never grows by that; values lie in a pile. The
 * tree is one document's and goes with it. */
#include "util/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/pile.h"
#include "util/utf8.h"

#define NUMBER_MAX 9007199254740991LL

struct jdoc {
	struct jval root; /* first: who has the root has the document */
	char *text;       /* a copy; strings are decoded in place */
	struct pile *values;
	size_t n_values;
};

struct in {
	struct jdoc *doc;
	const char *given; /* what is read, as it came: places are counted in it */
	char *p, *end;
	struct err *err;
};

static int bad(const struct in *in, const char *what)
{
	const char *end = in->given + (in->p - in->doc->text);
	size_t line = 1, column = 1;

	CHECK(in->p <= in->end);
	for (const char *p = in->given; p < end; p++) {
		column = *p == '\n' ? 1 : column + 1;
		line += *p == '\n';
	}
	return err_set(in->err, E_INVALID, "JSON, line %zu column %zu: %s", line, column, what);
}

static void skip_space(struct in *in)
{
	while (in->p < in->end && strchr(" \t\r\n", *in->p) && *in->p)
		in->p++;
}

static int hex4(struct in *in, uint32_t *ret)
{
	uint32_t v = 0;

	if (in->end - in->p < 4)
		return bad(in, "unfinished \\u");
	for (int i = 0; i < 4; i++, in->p++) {
		char c = *in->p, low = (char)(c | 32);
		if (c >= '0' && c <= '9')
			v = v << 4 | (uint32_t)(c - '0');
		else if (low >= 'a' && low <= 'f')
			v = v << 4 | (uint32_t)(low - 'a' + 10);
		else
			return bad(in, "\\u wants four hexadecimal digits");
	}
	*ret = v;
	return 0;
}

static int unicode(struct in *in, char **to)
{
	uint32_t c = 0, low = 0;

	if (hex4(in, &c) < 0)
		return E_INVALID;
	if (c >= 0xd800 && c <= 0xdbff) {
		if (in->end - in->p < 6 || in->p[0] != '\\' || in->p[1] != 'u')
			return bad(in, "lone surrogate");
		in->p += 2;
		if (hex4(in, &low) < 0)
			return E_INVALID;
		if (low < 0xdc00 || low > 0xdfff)
			return bad(in, "lone surrogate");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c >= 0xdc00 && c <= 0xdfff) {
		return bad(in, "lone surrogate");
	}
	if (c == 0)
		return bad(in, "\\u0000 is not allowed");
	CHECK(c < 0x110000);
	*to += utf8_put(*to, c);
	CHECK(*to <= in->p); /* decoding never writes over what is still to be read */
	return 0;
}

static int read_escape(struct in *in, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";

	if (++in->p >= in->end)
		return bad(in, "unfinished string");
	if (*in->p == 'u') {
		in->p++;
		return unicode(in, to);
	}
	const char *at = *in->p ? strchr(from, *in->p) : NULL;
	if (!at)
		return bad(in, "unknown escape");
	*(*to)++ = into[at - from];
	in->p++;
	return 0;
}

static int string(struct in *in, const char **ret, size_t *ret_len)
{
	char *start = ++in->p, *to = start;

	while (in->p < in->end && *in->p != '"') {
		unsigned char c = (unsigned char)*in->p;
		if (c < 0x20)
			return bad(in, "control character in a string");
		if (c == '\\') {
			if (read_escape(in, &to) < 0)
				return E_INVALID;
		} else if (c < 0x80) {
			*to++ = *in->p++;
		} else {
			size_t n = utf8_char((const uint8_t *)in->p, (size_t)(in->end - in->p));
			if (!n)
				return bad(in, "not UTF-8");
			while (n--)
				*to++ = *in->p++;
		}
	}
	if (in->p >= in->end)
		return bad(in, "unfinished string");
	in->p++;
	*ret = start;
	*ret_len = (size_t)(to - start);
	CHECK(to < in->p);
	*to = 0; /* at or before the closing quote */
	return 0;
}

static int json_read_number(struct in *in, struct jval *v)
{
	bool minus = *in->p == '-';

	in->p += minus;
	if (in->p >= in->end || *in->p < '0' || *in->p > '9')
		return bad(in, "a value is expected");
	if (*in->p == '0' && in->end - in->p > 1 && in->p[1] >= '0' && in->p[1] <= '9')
		return bad(in, "a number with a leading zero");
	for (; in->p < in->end && *in->p >= '0' && *in->p <= '9'; in->p++) {
		v->number = v->number * 10 + (*in->p - '0');
		if (v->number > NUMBER_MAX)
			return bad(in, "a number beyond 2^53; write it as a string");
	}
	if (in->p < in->end && (*in->p == '.' || *in->p == 'e' || *in->p == 'E'))
		return bad(in, "numbers are integers here");
	if (minus)
		v->number = -v->number;
	v->kind = JV_NUMBER;
	return 0;
}

static int word(struct in *in, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(in->end - in->p) < n || memcmp(in->p, text, n) != 0)
		return bad(in, "a value is expected");
	in->p += n;
	CHECK(in->p <= in->end);
	return 0;
}

static int json_read_value(struct in *in, int depth, struct jval **ret);

/* Without escapes, so that a key is found by its bytes wherever it is looked for. */
static int json_read_key(struct in *in, const struct jval *object, const char **ret)
{
	size_t len = 0;

	skip_space(in);
	if (in->p >= in->end || *in->p != '"')
		return bad(in, "a key in quotes is expected");
	const char *quote = in->p;
	if (string(in, ret, &len) < 0)
		return E_INVALID;
	if (len != (size_t)(in->p - quote) - 2)
		return bad(in, "a key with an escape");
	if (object->len >= JSON_KEYS_MAX)
		return bad(in, "an object with more than 256 keys");
	CHECK(*ret);
	for (const struct jval *v = object->first; v; v = v->next)
		if (strcmp(v->key, *ret) == 0)
			return bad(in, "a key that was there before");
	skip_space(in);
	if (in->p >= in->end || *in->p != ':')
		return bad(in, "':' is expected");
	in->p++;
	return 0;
}

static int members(struct in *in, struct jval *v, char close, int depth)
{
	struct jval **tail = &v->first;

	in->p++;
	skip_space(in);
	if (in->p < in->end && *in->p == close) {
		in->p++;
		return 0;
	}
	for (;;) {
		const char *name = NULL;
		if (close == '}' && json_read_key(in, v, &name) < 0)
			return E_INVALID;
		if (json_read_value(in, depth + 1, tail) < 0)
			return E_INVALID;
		CHECK(*tail);
		(*tail)->key = name;
		tail = &(*tail)->next;
		v->len++;
		skip_space(in);
		if (in->p < in->end && *in->p == ',') {
			in->p++;
			continue;
		}
		if (in->p >= in->end || *in->p != close)
			return bad(in, close == '}' ? "',' or '}' is expected"
			                            : "',' or ']' is expected");
		in->p++;
		return 0;
	}
}

static int json_read_value(struct in *in, int depth, struct jval **ret)
{
	skip_space(in);
	if (in->p >= in->end)
		return bad(in, "a value is expected");
	if (in->doc->n_values++ >= JSON_VALUES_MAX)
		return bad(in, "too many values");
	CHECK(depth <= JSON_DEPTH_MAX);
	struct jval *v = depth ? pile_take(in->doc->values, sizeof *v) : &in->doc->root;
	char c = *in->p;
	int r = 0;
	if ((c == '{' || c == '[') && depth >= JSON_DEPTH_MAX)
		return bad(in, "nested too deep");
	if (c == '{' || c == '[') {
		v->kind = c == '{' ? JV_OBJECT : JV_LIST;
		r = members(in, v, c == '{' ? '}' : ']', depth);
	} else if (c == '"') {
		v->kind = JV_TEXT;
		r = string(in, &v->text, &v->len);
	} else if (c == 't' || c == 'f') {
		v->kind = JV_TRUTH;
		v->truth = c == 't';
		r = word(in, c == 't' ? "true" : "false");
	} else if (c == 'n') {
		r = word(in, "null");
	} else {
		r = json_read_number(in, v);
	}
	*ret = v;
	return r;
}

int jv_parse(const char *text, size_t n, const struct jval **ret_root, struct err *err)
{
	struct jdoc *d = mem_new(sizeof *d);
	struct jval *root = NULL;

	d->text = mem_strn(n ? text : "", n);
	d->values = pile_new();
	struct in in = { d, text, d->text, d->text + n, err };
	int r = json_read_value(&in, 0, &root);
	skip_space(&in);
	if (r == 0 && in.p != in.end)
		r = bad(&in, "something after the value");
	if (r < 0)
		jv_free(&d->root);
	else
		*ret_root = root;
	return r;
}

int jv_parse_args(const char *text, size_t n, const struct jval **ret_root, struct err *err)
{
	return n ? jv_parse(text, n, ret_root, err) : jv_parse("{}", 2, ret_root, err);
}

int json_check(const char *text, size_t n, struct err *err)
{
	const struct jval *root = NULL;
	int r = jv_parse(text, n, &root, err);

	jv_free(root);
	return r;
}

void jv_free(const struct jval *root)
{
	struct jdoc *d = (struct jdoc *)root;

	if (!d)
		return;
	pile_free(d->values);
	free(d->text);
	free(d);
}

const struct jval *jv_get(const struct jval *object, const char *name)
{
	if (!object || object->kind != JV_OBJECT)
		return NULL;
	for (const struct jval *v = object->first; v; v = v->next)
		if (strcmp(v->key, name) == 0)
			return v->kind == JV_NULL ? NULL : v;
	return NULL;
}

const struct jval *jv_first(const struct jval *v)
{
	return v ? v->first : NULL;
}

bool jv_is(const struct jval *v, enum jv_kind kind)
{
	return v && v->kind == kind;
}

const char *jv_text(const struct jval *object, const char *key)
{
	const struct jval *v = jv_get(object, key);

	return jv_is(v, JV_TEXT) ? v->text : NULL;
}

const char *jv_str(const struct jval *object, const char *key)
{
	const char *text = jv_text(object, key);

	return text ? text : "";
}

int64_t jv_int(const struct jval *object, const char *key, int64_t def)
{
	const struct jval *v = jv_get(object, key);

	return jv_is(v, JV_NUMBER) ? v->number : def;
}

bool jv_true(const struct jval *object, const char *key)
{
	const struct jval *v = jv_get(object, key);

	return jv_is(v, JV_TRUTH) && v->truth;
}

bool jv_has(const struct jval *list, const char *text)
{
	JV_EACH(v, list)
		if (v->kind == JV_TEXT && strcmp(v->text, text) == 0)
			return true;
	return false;
}

const char *jv_kind_name(const struct jval *v)
{
	static const char *const names[] = { "null", "true or false", "a number",
		                             "text", "a list",        "an object" };

	CHECK(!v || (size_t)v->kind < sizeof names / sizeof names[0]);
	return v ? names[v->kind] : "nothing";
}
