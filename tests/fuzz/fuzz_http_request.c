/* Bytes to the HTTP face, from the request line on; `@` in the place of a token is one. */
#include "tests/fuzz/face.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct fuzz_face *f = fuzz_face();
	struct buf b;

	if (bytes == 0)
		return 0;
	buf_init(&b);
	for (size_t i = 0; i < bytes; i++) {
		if (data[i] == '@' && i > 7 && memcmp(data + i - 7, "Bearer ", 7) == 0)
			buf_puts(&b, f->token);
		else
			buf_put(&b, data + i, 1);
	}
	fuzz_send(buf_at(&b), b.len);
	buf_done(&b);
	return 0;
}
