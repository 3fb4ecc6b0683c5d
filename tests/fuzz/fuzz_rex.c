/* Expressions and lines of anybody: what is before the first line end is an expression, the rest is
 * a line. It compiles or is refused with words; what it finds twice is the same, and a line in
 * which a part of it stands is found in the whole. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/rex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *end = bytes ? memchr(data, '\n', bytes) : NULL;
	struct err err = { 0 };
	struct rex *r;

	if (!end)
		return 0;
	char *text = mem_strn((const char *)data, (size_t)(end - data));
	size_t n = bytes - (size_t)(end + 1 - data);
	int code = rex_new(text, bytes & 1, &r, &err);
	CHECK(code == 0 || (code == E_INVALID && err.text[0]));
	if (code == 0) {
		bool found = rex_finds(r, end + 1, n);
		CHECK(rex_finds(r, end + 1, n) == found);
		if (found &&
		    !strpbrk(text, "^$")) { /* then what stands around it changes nothing */
			uint8_t *more = mem_new(n + 2);
			memcpy(more + 1, end + 1, n);
			CHECK(rex_finds(r, more, n + 2));
			free(more);
		}
		rex_free(r);
	}
	free(text);
	return 0;
}
