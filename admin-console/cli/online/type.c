/* Task types: what their manifests declare, where they run, and why not. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/ask.h"
#include "util/buf.h"
#include "util/json_in.h"

/* "b1 b2(quarantined)" */
static void brokers_text(const cJSON *type, struct buf *out)
{
	const cJSON *b;

	cJSON_ArrayForEach(b, json_get(type, "brokers")) {
		const char *state = json_true(b, "online") ? text_of(b, "state") : "offline";

		buf_printf(out, "%s%s", out->len ? " " : "", text_of(b, "broker"));
		if (strcmp(state, "ready") != 0)
			buf_printf(out, "(%s)", state);
	}
}

static int list_show(struct online *o, const struct asked *q, const cJSON *root)
{
	struct table t;
	const cJSON *y;

	(void)o;
	(void)q;
	table_init(&t, "Type|Label|>Parameters|Brokers");
	cJSON_ArrayForEach(y, json_get(root, "types")) {
		struct buf where;

		buf_init(&where);
		brokers_text(y, &where);
		table_add(&t, text_of(y, "type"));
		table_add(&t, json_true(y, "declared") ? text_of(json_get(y, "label"), "en")
		                                       : "(no manifest)");
		table_addf(&t, "%d", cJSON_GetArraySize(json_get(y, "params")));
		table_add(&t, buf_str(&where));
		buf_done(&where);
	}
	table_show(&t);
	cJSON_ArrayForEach(y, json_get(root, "wrong"))
		cli_fail(0, "left out: %s", cJSON_GetStringValue(y));
	return CLI_OK;
}

const struct verb verb_type_list = { ask, .call = "GET /api/v1/types", .member = "types",
	                             .show = list_show };

static void names_text(const cJSON *list, const char *between, struct buf *out)
{
	const cJSON *n;

	cJSON_ArrayForEach(n, list)
		buf_printf(out, "%s%s", out->len ? between : "", cJSON_GetStringValue(n));
}

static void print_params(const cJSON *type)
{
	struct table t;
	const cJSON *p;

	table_init(&t, "Parameter|Kind|Default|What");
	cJSON_ArrayForEach(p, json_get(type, "params")) {
		struct buf kind;

		buf_init(&kind);
		names_text(json_get(p, "choices"), "|", &kind);
		table_add(&t, text_of(p, "name"));
		table_add(&t, kind.len ? buf_str(&kind) : text_of(p, "type"));
		table_add(&t, json_true(p, "required") ? "(required)" : text_of(p, "default"));
		table_add(&t, text_of(json_get(p, "help"), "en"));
		buf_done(&kind);
	}
	table_show(&t);
}

static void print_runners(const cJSON *type)
{
	struct table t;
	const cJSON *b;

	table_init(&t, "Broker|Version|State|>Slots|Why");
	cJSON_ArrayForEach(b, json_get(type, "brokers")) {
		table_add(&t, text_of(b, "broker"));
		table_add(&t, text_of(b, "version"));
		table_add(&t, json_true(b, "online") ? text_of(b, "state") : "offline");
		table_add(&t, text_of(b, "slots"));
		table_add(&t, text_of(b, "text"));
	}
	table_show(&t);
}

static int type_show(struct online *o, const struct asked *q, const cJSON *type)
{
	struct buf out, names;

	(void)o;
	(void)q;
	buf_init(&out);
	buf_init(&names);
	buf_printf(&out, "%s: %s", text_of(type, "type"),
	           json_true(type, "declared") ? text_of(json_get(type, "help"), "en")
	                                       : "no manifest: parameters are taken as they are");
	names_text(json_get(type, "one_of"), ", ", &names);
	if (names.len)
		buf_printf(&out, "\nNeeds exactly one of: %s", buf_str(&names));
	if (json_true(type, "others"))
		buf_puts(&out, "\nTakes parameters of other names too");
	cli_print(&out);
	if (cJSON_GetArraySize(json_get(type, "params")))
		print_params(type);
	print_runners(type);
	buf_done(&names);
	buf_done(&out);
	return CLI_OK;
}

/* The server tells of all of them. */
static int type_one(struct asked *q)
{
	struct online o = { 0 };
	cJSON *root = NULL;
	const cJSON *y, *found = NULL;
	int code = online_open(q->cli, &o);

	if (code == CLI_OK)
		code = online_get(&o, "/api/v1/types", &root);
	cJSON_ArrayForEach(y, json_get(root, "types"))
		if (strcmp(text_of(y, "type"), word(q, 0)) == 0)
			found = y;
	if (root && !found)
		code = cli_fail(CLI_NOT_FOUND, "there is no task type '%s'", word(q, 0));
	else if (found)
		code = answer_show(&o, q, found);
	cJSON_Delete(root);
	online_close(&o);
	return code;
}

const struct verb verb_type_show = { type_one, NULL, 1, 1, .show = type_show };
