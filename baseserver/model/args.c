/* A client's arguments, and how they are refused.
 *
 * Every arg_*() reads one member of a JSON object: absent, it leaves the result as it was, which
 * is how defaults are said; of another kind, or out of bounds, it fills the refusal and returns
 * its code. A refusal has the place ("args.selection.from"), what was found, and what is allowed
 * or which known word is nearest. Texts are borrowed from the JSON. What arguments mean together
 * is judged by the caller. */
#include "baseserver/model/args.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sched/name.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/near.h"
#include "util/utf8.h"

int refuse(struct refusal *f, int code, const char *place, const char *hint, const char *fmt, ...)
{
	va_list ap;

	CHECK(code < 0);
	f->code = code;
	f->json = NULL;
	snprintf(f->place, sizeof f->place, "%s", place ? place : "");
	snprintf(f->hint, sizeof f->hint, "%s", hint ? hint : "");
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof f->text, fmt, ap);
	va_end(ap);
	utf8_clean(f->text); /* "%.80s" may have cut a character */
	return code;
}

int refuse_name(struct refusal *f, const char *place, const char *text, const char *why)
{
	return refuse(f, E_INVALID, place, "letters, digits, _ . -, a letter or _ first",
	              "%s: '%.*s' is not a name: %s", place, name_shown(text), text, why);
}

void refusal_print(const struct refusal *f, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "place", f->place);
	put_text(out, "hint", f->hint);
	put_close(out, '}');
}

const char *nearest_of(const char *name, const char *const *names)
{
	return near_name(name, names);
}

static void place_of(char ret[160], const char *at, const char *key)
{
	snprintf(ret, 160, "%s.%s", at, key);
}

static void args_join(const char *const *names, char *to, size_t cap)
{
	size_t n = 0;

	to[0] = 0;
	for (; *names && n < cap; names++)
		n += (size_t)snprintf(to + n, cap - n, "%s%s", n ? ", " : "", *names);
}

static bool keys_have(const char *const *keys, const char *key)
{
	while (*keys && strcmp(*keys, key) != 0)
		keys++;
	return *keys;
}

int arg_object(const struct jval *o, const char *at, const char *const *keys, struct refusal *f)
{
	static const char *const none[] = { NULL };

	return arg_object_of(o, at, keys, none, f);
}

int arg_object_of(const struct jval *o, const char *at, const char *const *keys,
                  const char *const *unsaid, struct refusal *f)
{
	char place[160], known[200];

	if (o->kind != JV_OBJECT)
		return refuse(f, E_INVALID, at, NULL, "%s: an object is expected, not %s", at,
		              jv_kind_name(o));
	for (const struct jval *v = o->first; v; v = v->next) {
		if (keys_have(keys, v->key) || keys_have(unsaid, v->key))
			continue;
		const char *near = nearest_of(v->key, keys);
		args_join(keys, known, sizeof known);
		place_of(place, at, v->key);
		if (near)
			return refuse(f, E_INVALID, place, known, "%s: unknown key, is %s meant?",
			              place, near);
		return refuse(f, E_INVALID, place, known, "%s: unknown key; known: %s", place,
		              known);
	}
	return 0;
}

static int args_wrong(const struct jval *v, const char *at, const char *key, const char *wanted,
                      struct refusal *f)
{
	char place[160];

	place_of(place, at, key);
	return refuse(f, E_INVALID, place, wanted, "%s: %s is expected, not %s", place, wanted,
	              jv_kind_name(v));
}

int arg_truth(const struct jval *o, const char *at, const char *key, bool *ret, struct refusal *f)
{
	const struct jval *v = jv_get(o, key);

	if (!v)
		return 0;
	if (v->kind != JV_TRUTH)
		return args_wrong(v, at, key, "true or false", f);
	*ret = v->truth;
	return 0;
}

int arg_number(const struct jval *o, const char *at, struct arg_range of, int64_t *ret,
               struct refusal *f)
{
	const struct jval *v = jv_get(o, of.key);
	char place[160], allowed[64];

	CHECK(of.min <= of.max);
	if (!v)
		return 0;
	if (v->kind != JV_NUMBER)
		return args_wrong(v, at, of.key, "a number", f);
	if (v->number < of.min || v->number > of.max) {
		place_of(place, at, of.key);
		snprintf(allowed, sizeof allowed, "%" PRId64 " to %" PRId64, of.min, of.max);
		return refuse(f, E_INVALID, place, allowed, "%s: %" PRId64 " is not in %s", place,
		              v->number, allowed);
	}
	*ret = v->number;
	return 0;
}

int arg_text(const struct jval *o, const char *at, const char *key, size_t max, const char **ret,
             struct refusal *f)
{
	const struct jval *v = jv_get(o, key);
	char place[160];

	if (!v)
		return 0;
	if (v->kind != JV_TEXT)
		return args_wrong(v, at, key, "text", f);
	if (v->len > max) {
		place_of(place, at, key);
		return refuse(f, E_INVALID, place, NULL, "%s: %zu bytes, at most %zu are allowed",
		              place, v->len, max);
	}
	*ret = v->text;
	return 0;
}

int arg_list(const struct jval *o, const char *at, const char *key, size_t max,
             const struct jval **ret, struct refusal *f)
{
	const struct jval *v = jv_get(o, key);
	char place[160];

	if (!v)
		return 0;
	place_of(place, at, key);
	if (v->kind != JV_LIST)
		return args_wrong(v, at, key, "a list", f);
	if (v->len > max)
		return refuse(f, E_INVALID, place, NULL, "%s: %zu items, at most %zu are allowed",
		              place, v->len, max);
	*ret = v;
	return 0;
}

int arg_choice(const struct jval *o, const char *at, const char *key, const char *const *choices,
               int *ret, struct refusal *f)
{
	const char *text = NULL;
	char place[160], allowed[200];
	int r = arg_text(o, at, key, 100, &text, f);

	if (r < 0 || !text)
		return r;
	for (int i = 0; choices[i]; i++)
		if (strcmp(choices[i], text) == 0) {
			*ret = i;
			return 0;
		}
	place_of(place, at, key);
	args_join(choices, allowed, sizeof allowed);
	return refuse(f, E_INVALID, place, allowed, "%s: '%s' is none of %s", place, text, allowed);
}
