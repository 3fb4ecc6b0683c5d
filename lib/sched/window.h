/* window.h — a link's window as an expression.
 *
 * (design: SEMANTICS section 2.)
 *
 *   [@day-1d, @day)      a range; [ ] include, ( ) exclude
 *   {@week-3d, @month}   a list: of each instant the run_date whose period holds it
 *   {latest}             the last run_date at or before t
 *
 * A bound is an anchor, `t @minute @hour @day @week @month @year`, and any number of
 * offsets: + or -, a number, and m h (elapsed) or d w M y (local calendar). Immutable
 * once parsed; thread: any.
 */
#ifndef SCHED_WINDOW_H
#define SCHED_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/link.h"

struct buf;
struct err;
struct plan;
struct window_expr;

#define WINDOW_TEXT_MAX    2048
#define WINDOW_OFFSETS_MAX 4 /* offsets of one bound */
#define WINDOW_AMOUNT_MAX  1000000

/* A bound, evaluated: an instant, and what the child's clock shows. */
struct window_point {
	int64_t instant, label;
};

/* One item: a range, or a single point in `lo`. */
struct window_item {
	struct window_point lo, hi;
	bool after_lo; /* lo itself is out */
	bool with_hi;  /* hi itself is in */
};

enum window_form { WF_RANGE, WF_LIST, WF_LATEST };

/* Parse an expression.
 *
 *   owns    *ret_expr is the caller's, until window_free()
 *   errors  E_INVALID with the column; E_LIMIT more than LINK_SPANS_MAX items
 */
int window_parse(const char *text, struct window_expr **ret_expr, struct err *err);
void window_free(struct window_expr *e); /* NULL is fine */
/* Append the expression as window_parse() reads it, in one spelling. */
void window_print(const struct window_expr *e, struct buf *out);

enum window_form window_form(const struct window_expr *e);
size_t window_count(const struct window_expr *e); /* items; a range is one */
/* The i-th item for the child instance at t. */
struct window_item window_eval(const struct window_expr *e, size_t i, const struct plan *child,
                               int64_t t);

#endif
