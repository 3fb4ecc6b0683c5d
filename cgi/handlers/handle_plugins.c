/* Versions of runner plugins, as registered; what runs where is in `types` and `brokers`. */
#include <cjson/cJSON.h>

#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "util/json_in.h"
#include "util/json_put.h"

static void put_version(struct buf *b, const cJSON *v)
{
	const cJSON *abi = json_get(v, "abi");

	put_open(b, NULL, '{');
	put_text(b, "version", json_text(v, "version"));
	put_int(b, "abi", cJSON_IsNumber(abi) ? (int64_t)abi->valuedouble : 1);
	put_text(b, "sha256", json_text(v, "sha256"));
	put_texts(b, "brokers", json_get(v, "brokers"));
	put_texts(b, "groups", json_get(v, "groups"));
	put_close(b, '}');
}

static int plugin_put(void *ctx, const struct store_doc *d)
{
	struct buf *b = &((struct call *)ctx)->out;
	cJSON *root = doc_open(b, "type", d);
	const cJSON *v;

	put_text(b, "enabled", json_text(root, "enabled"));
	put_text(b, "former", json_text(root, "former"));
	put_bool(b, "drained", json_true(root, "drained"));
	put_open(b, "versions", '[');
	cJSON_ArrayForEach(v, json_get(root, "versions"))
		put_version(b, v);
	put_close(b, ']');
	doc_close(b, d, root);
	return 0;
}

int plugins_get(struct call *c)
{
	static const struct doc_noun noun = { DOC_RUNNER, "plugins", "no such plugin", false,
		                              plugin_put };

	return docs_get(c, &noun);
}
