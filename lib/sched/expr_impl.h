/* expr_impl.h — an expression as steps on a stack. For expr.c and expr_read.c only. */
#ifndef SCHED_EXPR_IMPL_H
#define SCHED_EXPR_IMPL_H

#include <stdint.h>

#include "sched/expr.h"

enum expr_code {
	EXPR_PUT_NUMBER,
	EXPR_PUT_TEXT,
	EXPR_PUT_NAME,
	EXPR_NEGATE,
	EXPR_NOT,
	EXPR_PICK,
	/* of two */
	EXPR_ADD,
	EXPR_SUBTRACT,
	EXPR_MULTIPLY,
	EXPR_DIVIDE,
	EXPR_LESS,
	EXPR_AT_MOST,
	EXPR_MORE,
	EXPR_AT_LEAST,
	EXPR_SAME,
	EXPR_OTHER,
	EXPR_AND,
	EXPR_OR,
	EXPR_SAME_TEXT,
	EXPR_OTHER_TEXT,
	EXPR_IN
};

struct expr_op {
	enum expr_code code;
	uint32_t at;   /* the name, or where the text is, in bytes from the expression */
	double number; /* of EXPR_PUT_NUMBER */
};

struct expr {
	size_t bytes, n;
	uint64_t hash;
	struct expr_op ops[]; /* and the texts */
};

#endif
