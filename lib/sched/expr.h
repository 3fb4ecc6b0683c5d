/* expr.h — expressions that people write over names which we give: read and judged once, evaluated
 * often.
 *
 * The syntax is a strict subset of CEL's (Common Expression Language): numbers, texts in quotes,
 * names, ( ), ? :, || &&, < <= > >= == != in, + - * /, ! and unary -. Types are judged when it is
 * read, so that evaluating cannot fail: it takes each of at most EXPR_OPS_MAX steps once, without a
 * loop, a jump or memory. Numbers are of one kind, as in JSON: 1 / 2 is 0.5.
 *
 * What is not known is NaN and stays so: through arithmetic and comparisons, also when divided by
 * 0; && and || know what one side alone decides, `? :` what the side that is taken says.
 *
 * Immutable, in one piece that may be copied as bytes; thread: any.
 */
#ifndef SCHED_EXPR_H
#define SCHED_EXPR_H

#include <stddef.h>
#include <stdint.h>

enum {
	EXPR_BYTES_MAX = 500, /* of the text */
	EXPR_OPS_MAX = 64,
	EXPR_DEEP_MAX = 32 /* of ( ) and ? : in each other */
};

enum expr_type { EXPR_NUMBER, EXPR_BOOL, EXPR_TEXT, EXPR_TEXTS };

struct expr_name {
	const char *name;
	enum expr_type type;
};

/* What a name stands for, in the order of the names. EXPR_BOOL: 0 or 1, as a number. */
union expr_value {
	double number;
	const char *text;
	const char *const *texts; /* NULL-ended, or NULL */
};

struct expr_wrong {
	size_t at; /* character, from 1 */
	char text[200], hint[300];
};

struct expr;

/* Read an expression that is a number.
 *
 *   owns    *ret_expr: free()
 *   errors  E_INVALID, and what is wrong in *ret_wrong
 */
int expr_read(const char *text, const struct expr_name *names, size_t n, struct expr **ret_expr,
              struct expr_wrong *ret_wrong);
size_t expr_bytes(const struct expr *e);
uint64_t expr_hash(const struct expr *e); /* of what it does; never 0 */
/* NaN: it is not known. */
double expr_number(const struct expr *e, const union expr_value *values);

#endif
