/* Who asks: cookies and tokens as they come, and as the seeds have them, in body or query. */
#include "tests/fuzz/face.h"

static void header_send(const char *name, const uint8_t *data, size_t bytes)
{
	struct buf b;

	buf_init(&b);
	buf_printf(&b, "%s: ", name);
	for (size_t i = 0; i < bytes; i++)
		if (data[i] != '\r' && data[i] != '\n' && data[i] != '\0')
			buf_put(&b, data + i, 1);
	buf_puts(&b, "\r\n");
	fuzz_request("GET", "/api/v1/session", 15, buf_str(&b), NULL, "", 0);
	fuzz_request("POST", "/api/v1/logout", 14, buf_str(&b), NULL, "", 0);
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const char *const names[] = { "Cookie", "Authorization", "X-CSRF-Token", "Origin" };
	struct buf b;

	if (bytes < 1)
		return 0;
	(void)fuzz_face();
	if (data[0] % 6 < 4) {
		header_send(names[data[0] % 6], data + 1, bytes - 1);
		return 0;
	}
	buf_init(&b);
	if (data[0] % 6 == 4) {
		buf_puts(&b, "{\"user_id\":0,\"page\":1,\"page_size\":1,\"token\":");
		buf_put(&b, data + 1, bytes - 1);
		buf_puts(&b, "}");
		fuzz_request("POST", "/api/user/query", 15, "", "application/json", buf_at(&b),
		             b.len);
	} else {
		buf_puts(&b, "/api/job/status?job_id=1&app_name=app&app_key=");
		buf_put(&b, data + 1, bytes - 1);
		fuzz_request("GET", buf_at(&b), b.len, "", NULL, "", 0);
	}
	buf_done(&b);
	return 0;
}
