/* Bodies, JSON or a form, to every path that takes one. Byte 0 chooses the path. */
#include "cgi/handlers/route.h"
#include "tests/fuzz/face.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct fuzz_face *f = fuzz_face();
	const struct routes *all = f->cgi.routes;
	const struct route *takes[100];
	char headers[200];
	size_t n = 0;

	for (size_t i = 0; i < all->n && n < 100; i++)
		if (strcmp(all->items[i].method, "GET") != 0 &&
		    (all->items[i].flags & (RF_BODY | RF_SEED)) &&
		    !strstr(all->items[i].path, "login")) /* 25 ms each, and then refused */
			takes[n++] = &all->items[i];
	if (bytes < 2)
		return 0;
	snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", f->token);
	const struct route *r = takes[data[0] % n];
	fuzz_request(r->method, r->path, strlen(r->path), headers,
	             data[1] == '&' ? "application/x-www-form-urlencoded" : "application/json",
	             data + 1 + (data[1] == '&'), bytes - 1 - (data[1] == '&'));
	return 0;
}
