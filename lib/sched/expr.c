/* Evaluating: the steps one after the other, on a stack that cannot outgrow them. */
#include "sched/expr_impl.h"
#include "util/check.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

size_t expr_bytes(const struct expr *e)
{
	return e->bytes;
}

uint64_t expr_hash(const struct expr *e)
{
	return e->hash;
}

static double truth(bool is)
{
	return is ? 1 : 0;
}

static double both(double a, double b)
{
	if (a == 0 || b == 0)
		return 0;
	return isnan(a) || isnan(b) ? NAN : 1;
}

static double either(double a, double b)
{
	if (a == 1 || b == 1)
		return 1;
	return isnan(a) || isnan(b) ? NAN : 0;
}

static double expr_compare(enum expr_code code, double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	switch (code) {
	case EXPR_LESS:
		return truth(a < b);
	case EXPR_AT_MOST:
		return truth(a <= b);
	case EXPR_MORE:
		return truth(a > b);
	case EXPR_AT_LEAST:
		return truth(a >= b);
	case EXPR_SAME:
		return truth(a == b);
	default:
		return truth(a != b);
	}
}

static double of_numbers(enum expr_code code, double a, double b)
{
	switch (code) {
	case EXPR_ADD:
		return a + b;
	case EXPR_SUBTRACT:
		return a - b;
	case EXPR_MULTIPLY:
		return a * b;
	case EXPR_DIVIDE:
		return b == 0 ? NAN : a / b;
	case EXPR_AND:
		return both(a, b);
	case EXPR_OR:
		return either(a, b);
	default:
		return expr_compare(code, a, b);
	}
}

static bool is_in(const char *text, const char *const *texts)
{
	for (; texts && *texts; texts++)
		if (strcmp(*texts, text) == 0)
			return true;
	return false;
}

static double of_two(enum expr_code code, union expr_value a, union expr_value b)
{
	switch (code) {
	case EXPR_SAME_TEXT:
		return truth(strcmp(a.text, b.text) == 0);
	case EXPR_OTHER_TEXT:
		return truth(strcmp(a.text, b.text) != 0);
	case EXPR_IN:
		return truth(is_in(a.text, b.texts));
	default:
		return of_numbers(code, a.number, b.number);
	}
}

/* What stands on the stack before the step, its top last. */
static union expr_value expr_step(const struct expr *e, const struct expr_op *op,
                                  const union expr_value *values, const union expr_value *top)
{
	switch (op->code) {
	case EXPR_PUT_NUMBER:
		return (union expr_value){ .number = op->number };
	case EXPR_PUT_TEXT:
		return (union expr_value){ .text = (const char *)e + op->at };
	case EXPR_PUT_NAME:
		return values[op->at];
	case EXPR_NEGATE:
		return (union expr_value){ .number = -top[-1].number };
	case EXPR_NOT:
		return (union expr_value){ .number = 1 - top[-1].number };
	case EXPR_PICK:
		if (isnan(top[-3].number))
			return (union expr_value){ .number = NAN };
		return top[-3].number == 1 ? top[-2] : top[-1];
	default:
		return (union expr_value){ .number = of_two(op->code, top[-2], top[-1]) };
	}
}

static size_t takes(enum expr_code code)
{
	if (code <= EXPR_PUT_NAME)
		return 0;
	return code <= EXPR_NOT ? 1 : code == EXPR_PICK ? 3 : 2;
}

double expr_number(const struct expr *e, const union expr_value *values)
{
	union expr_value stack[EXPR_OPS_MAX] = { { .number = NAN } };
	size_t n = 0;

	for (const struct expr_op *op = e->ops; op < e->ops + e->n; op++) {
		CHECK(n >= takes(op->code));
		union expr_value got = expr_step(e, op, values, stack + n);
		n -= takes(op->code);
		CHECK(n < EXPR_OPS_MAX);
		stack[n++] = got;
	}
	CHECK(n == 1);
	return isfinite(stack[0].number) ? stack[0].number : NAN;
}
