/* Memory that is never NULL: without memory the process ends, with one line and by abort(), so
 * that no caller writes a path that nobody tests. Arrays at least double when they grow. Overflow
 * of n * bytes counts as no memory. */
#include "util/alloc.h"
#include "util/check.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CAP_MIN = 4 };

static _Noreturn void out_of_memory(void)
{
	static const char text[] = "out of memory\n";

	if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
		abort();
	abort();
}

void *mem_new(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *mem_array(size_t n, size_t bytes)
{
	void *p = calloc(n ? n : 1, bytes ? bytes : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *mem_grow(void *p, size_t n, size_t bytes)
{
	void *q = reallocarray(p, n ? n : 1, bytes ? bytes : 1);

	if (!q)
		out_of_memory();
	return q;
}

void *mem_room_more(void *items, size_t *cap, size_t n, size_t bytes)
{
	size_t most = *cap <= SIZE_MAX / 2 ? *cap * 2 : SIZE_MAX;

	CHECK(n > *cap);
	CHECK(bytes > 0);
	if (most < CAP_MIN)
		most = CAP_MIN;
	*cap = n > most ? n : most;
	CHECK(*cap >= n);
	return mem_grow(items, *cap, bytes);
}

char *mem_str(const char *s)
{
	return s ? mem_strn(s, strlen(s)) : NULL;
}

char *mem_strn(const char *s, size_t n)
{
	char *p = mem_new(n + 1);

	memcpy(p, s, n);
	return p;
}

char *mem_fmt(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *p = mem_vfmt(fmt, ap);
	va_end(ap);
	return p;
}

char *mem_vfmt(const char *fmt, va_list ap)
{
	char *p = NULL;

	if (vasprintf(&p, fmt, ap) < 0)
		out_of_memory();
	return p;
}
