/* rex_impl.h — the program that rex_parse.c makes of an expression and rex.c runs. */
#ifndef UTIL_REX_IMPL_H
#define UTIL_REX_IMPL_H

#include <stddef.h>
#include <stdint.h>

struct err;

enum rex_op { REX_SET, REX_SPLIT, REX_JUMP, REX_BEGIN, REX_END, REX_MATCH };

enum { REX_CODE_MAX = 2000 };

/* `to`, `also`: relative to this one, so that code can be moved and copied. */
struct rex_code {
	uint8_t op;
	int32_t to, also;
	uint32_t set[8]; /* REX_SET: bits by byte */
};

struct rex_program {
	struct rex_code *code;
	size_t n, cap;
};

/* E_INVALID. The caller frees p->code in any case. */
int rex__parse(const char *text, int folds, struct rex_program *p, struct err *err);

static inline int rex__has(const uint32_t set[8], unsigned byte)
{
	return (int)(set[byte / 32] >> (byte % 32) & 1u);
}

#endif
