/* A provider's token and its set of keys: byte 0 says how many of the next are the set. */
#include <cjson/cJSON.h>
#include <stdint.h>

#include "openid/jwt.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/json_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const struct jwt_want want = { "https://id.example", "sirdar", "n-1", 1772323200,
		                              60 };
	struct cJSON *keys = NULL, *claims = NULL;
	size_t n = bytes ? data[0] : 0;
	struct buf token;

	if (bytes < 1 || n > bytes - 1)
		return 0;
	if (json_parse((const char *)data + 1, n, &keys, NULL) < 0)
		keys = NULL;
	buf_init(&token);
	buf_put(&token, data + 1 + n, bytes - 1 - n);
	CHECK((jwt_check(buf_str(&token), keys, &want, &claims, NULL) == 0) == (claims != NULL));
	buf_done(&token);
	json_free(claims);
	json_free(keys);
	return 0;
}
