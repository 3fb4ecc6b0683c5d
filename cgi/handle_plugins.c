/* Versions of runner plugins, as registered; what runs where is in `types` and `brokers`. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/call.h"
#include "cgi/route.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"

static void put_names(struct buf *b, const char *key, const cJSON *list)
{
	const cJSON *v;

	put_open(b, key, '[');
	cJSON_ArrayForEach(v, list)
	{
		if (cJSON_IsString(v))
			put_text(b, NULL, v->valuestring);
	}
	put_close(b, ']');
}

static void put_version(struct buf *b, const cJSON *v)
{
	const cJSON *abi = json_get(v, "abi");

	put_open(b, NULL, '{');
	put_text(b, "version", json_text(v, "version"));
	put_int(b, "abi", cJSON_IsNumber(abi) ? (int64_t)abi->valuedouble : 1);
	put_text(b, "sha256", json_text(v, "sha256"));
	put_names(b, "brokers", json_get(v, "brokers"));
	put_names(b, "groups", json_get(v, "groups"));
	put_close(b, '}');
}

static int plugin_put(void *ctx, const struct store_doc *d)
{
	struct buf *b = &((struct call *)ctx)->out;
	cJSON *root = NULL;
	const cJSON *v;

	if (json_parse(d->body, d->body_len, &root, NULL) < 0)
		root = cJSON_CreateObject();
	put_open(b, NULL, '{');
	put_text(b, "type", d->name);
	put_text(b, "enabled", json_text(root, "enabled"));
	put_text(b, "former", json_text(root, "former"));
	put_bool(b, "drained", json_true(root, "drained"));
	put_open(b, "versions", '[');
	cJSON_ArrayForEach(v, json_get(root, "versions"))
	{
		put_version(b, v);
	}
	put_close(b, ']');
	put_int(b, "version", d->version);
	put_time_us(b, "changed", d->at_us);
	put_text(b, "changed_by", d->actor);
	put_close(b, '}');
	json_free(root);
	return 0;
}

static int list_work(struct call *c, struct reader *r)
{
	int code;

	put_open(&c->out, NULL, '{');
	put_open(&c->out, "plugins", '[');
	code = read_doc_bodies(r, DOC_RUNNER, plugin_put, c, &c->err);
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	return code;
}

int plugins_get(struct call *c)
{
	static const char *const none[] = { NULL };

	return call_args_only(c, none) < 0 ? c->err.code : call_read(c, list_work);
}
