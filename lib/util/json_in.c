/* cJSON takes more than JSON is (measured: guides' list), so a text is proved to be strict
 * before cJSON sees it. */
#include "util/json_in.h"

#include <cjson/cJSON.h>

#include "util/err.h"
#include "util/json_read.h"

int json_parse(const char *text, size_t n, struct cJSON **ret_root, struct err *err)
{
	struct cJSON *root;
	int r = json_check(text, n, err);

	if (r < 0)
		return r;
	root = cJSON_ParseWithLength(text, n);
	if (!root)
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
