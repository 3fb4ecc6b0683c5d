/* Causes of a workflow that differ by nothing but their date are one cause: how often, the first
 * and the last. Who asks why a workflow stands still wants the three things to mend, not the same
 * one for each day. */
#include "cgi/handlers/why_merge.h"

#include <string.h>

#include "util/check.h"
#include "util/json_in.h"

static bool same_text(const cJSON *a, const cJSON *b, const char *key)
{
	const char *x = json_text(a, key), *y = json_text(b, key);

	return x && y ? strcmp(x, y) == 0 : x == y;
}

/* What is said of a failure is part of the cause; times and ids are not. */
static bool same_cause(const cJSON *a, const cJSON *b)
{
	const cJSON *fa = json_get(a, "failure"), *fb = json_get(b, "failure");

	if (!same_text(a, b, "task") || !same_text(a, b, "kind"))
		return false;
	/* Of one that was not asked the first of its task speaks. */
	if (json_text(b, "code") && (!same_text(a, b, "code") || !same_text(a, b, "line")))
		return false;
	return same_text(fa, fb, "exit") && same_text(fa, fb, "line");
}

static void member_take(cJSON *cause, const char *key, const cJSON *from, const char *member)
{
	const cJSON *value = json_get(from, member);

	cJSON_DeleteItemFromObjectCaseSensitive(cause, key);
	if (value)
		cJSON_AddItemToObject(cause, key, cJSON_Duplicate(value, true));
}

static void cause_begin(cJSON *list, const cJSON *root)
{
	static const char *const kept[] = { "task",  "kind",  "code",    "line",    "opens",
		                            "state", "ended", "failure", "waiting", "foreign" };
	cJSON *cause = cJSON_CreateObject();

	for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
		member_take(cause, kept[i], root, kept[i]);
	member_take(cause, "first_label", root, "label");
	member_take(cause, "first_run_date", root, "run_date");
	member_take(cause, "last_label", root, "label");
	member_take(cause, "last_run_date", root, "run_date");
	cJSON_AddNumberToObject(cause, "count", 1);
	cJSON_AddNumberToObject(cause, "waits", (double)json_int(root, "waits", 0));
	cJSON_AddItemToArray(list, cause);
}

static void number_add(cJSON *cause, const char *key, int64_t n)
{
	cJSON *value = cJSON_GetObjectItemCaseSensitive(cause, key);

	CHECK(value); /* cause_begin() gave it to each */
	cJSON_SetNumberValue(value, value->valuedouble + (double)n);
}

static bool is_named(const cJSON *list, const cJSON *one)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, list)
		if (json_text(e, "id") && same_text(e, one, "id"))
			return true;
	return false;
}

/* Who waits for several dates waits once; beyond those that are named nobody knows. */
static void waiting_join(cJSON *cause, const cJSON *root)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(cause, "waiting");
	int64_t waits = json_int(root, "waits", 0);
	const cJSON *e;

	cJSON_ArrayForEach(e, json_get(root, "waiting")) {
		if (is_named(list, e))
			waits--;
		else if (list)
			cJSON_AddItemToArray(list, cJSON_Duplicate(e, true));
	}
	number_add(cause, "waits", waits > 0 ? waits : 0);
}

/* Instants in UTC sort as text does. */
static void cause_join(cJSON *cause, const cJSON *root)
{
	const char *at = json_text(root, "run_date"), *first = json_text(cause, "first_run_date"),
		   *last = json_text(cause, "last_run_date");

	if (at && first && strcmp(at, first) < 0) {
		member_take(cause, "first_label", root, "label");
		member_take(cause, "first_run_date", root, "run_date");
	}
	if (at && last && strcmp(at, last) > 0) {
		member_take(cause, "last_label", root, "label");
		member_take(cause, "last_run_date", root, "run_date");
		member_take(cause, "ended", root, "ended");
	}
	number_add(cause, "count", 1);
	waiting_join(cause, root);
}

cJSON *why_merged(const cJSON *roots)
{
	cJSON *list = cJSON_CreateArray();
	const cJSON *root;

	cJSON_ArrayForEach(root, roots) {
		cJSON *cause = list->child;
		while (cause && !same_cause(cause, root))
			cause = cause->next;
		if (cause)
			cause_join(cause, root);
		else
			cause_begin(list, root);
	}
	return list;
}
