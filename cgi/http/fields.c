/* `fields=a,b` of an answer: the finished JSON is read again and members that are not named are
 * taken out, in each item of a list or in the answer itself. It works on any answer and knows
 * no names. A name that no item has is refused, because it is a mistake; in an empty list every
 * name is fine. */
#include "cgi/http/fields.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "util/json_in.h"

static bool is_named(const char *fields, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = fields; *p != '\0'; p += strcspn(p, ","), p += *p == ',')
		if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
	return false;
}

static void object_cut(cJSON *object, const char *fields)
{
	for (cJSON *m = object->child, *next; m; m = next) {
		next = m->next;
		if (!is_named(fields, m->string))
			cJSON_Delete(cJSON_DetachItemViaPointer(object, m));
	}
}

/* The list whose items are meant; NULL: the answer itself. */
static cJSON *list_of(cJSON *root)
{
	cJSON *m, *list = NULL;

	cJSON_ArrayForEach(m, root)
		if (cJSON_IsArray(m) && (strcmp(m->string, "items") == 0 || !root->child->next))
			list = m;
	return list;
}

/* A name that nothing has is a mistake, as far as there is something. */
static int name_check(struct call *c, const cJSON *root, const cJSON *list, const char *name,
                      size_t n)
{
	char text[64] = "";
	bool found = n < sizeof text;
	const cJSON *m;

	if (found)
		memcpy(text, name, n);
	if (found && !list)
		found = cJSON_HasObjectItem(root, text);
	if (found && list && list->child) {
		found = false;
		cJSON_ArrayForEach(m, list)
			found = found || cJSON_GetObjectItemCaseSensitive(m, text);
	}
	if (found)
		return 0;
	return call_fail(c, E_INVALID, "fields", "nothing here has a member '%.*s'",
	                 (int)(n < 60 ? n : 60), name);
}

static int http_fields_cut(struct call *c, cJSON *root, const char *fields)
{
	cJSON *list = list_of(root), *m;
	int r = 0;

	for (const char *p = fields; r == 0 && *p != '\0'; p += strcspn(p, ","), p += *p == ',')
		r = name_check(c, root, list, p, strcspn(p, ","));
	if (r < 0)
		return r;
	if (!list) {
		object_cut(root, fields);
		return 0;
	}
	cJSON_ArrayForEach(m, list)
		if (cJSON_IsObject(m))
			object_cut(m, fields);
	return 0;
}

int fields_cut(struct call *c)
{
	const char *fields = strcmp(c->method, "GET") == 0 ? call_arg(c, "fields") : NULL;
	cJSON *root = NULL;
	char *text;
	int r;

	if (!fields)
		return 0;
	if (fields[0] == '\0')
		return call_fail(c, E_INVALID, "fields", "fields wants names with commas");
	r = json_parse((const char *)buf_at(&c->out), c->out.len, &root, &c->err);
	if (r == 0)
		r = http_fields_cut(c, root, fields);
	if (r == 0) {
		text = cJSON_PrintUnformatted(root);
		buf_clear(&c->out);
		buf_puts(&c->out, text);
		free(text);
	}
	json_free(root);
	return r;
}
