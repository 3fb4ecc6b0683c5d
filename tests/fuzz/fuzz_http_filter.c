/* Arguments of lists and logs. Byte 0 chooses the path. */
#include "tests/fuzz/face.h"

static const char *const paths[] = {
	"/api/v1/instances?", "/api/v1/tasks?",
	"/api/v1/audit?",     "/api/v1/commands?",
	"/api/v1/stats?",     "/api/v1/instances/1.1772323200/log?",
	"/api/v1/resolve?",   "/api/v1/statistics/p?",
	"/api/v1/runs/p/w?",  "/api/v1/progress?",
	"/api/v1/forecast?",  "/api/v1/instances/",
	"/job/log?",          "/api/log?",
	"/api/v1/workflows/",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct fuzz_face *f = fuzz_face();
	char headers[200];
	struct buf b;

	if (bytes < 1)
		return 0;
	snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\nAccept-Encoding: gzip\r\n",
	         f->token);
	buf_init(&b);
	buf_puts(&b, paths[data[0] % (sizeof paths / sizeof paths[0])]);
	for (size_t i = 1; i < bytes; i++)
		if (data[i] > 0x20)
			buf_put(&b, data + i, 1);
	if (!memmem(buf_at(&b), b.len, "follow", 6)) /* a stream does not end */
		fuzz_request("GET", buf_at(&b), b.len, headers, NULL, "", 0);
	buf_done(&b);
	return 0;
}
