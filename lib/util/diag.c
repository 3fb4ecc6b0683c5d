/* What is wrong in a file, in the order it was found, with copies of all texts; the same at the
 * same place is told once. Only DIAGS_MAX are kept, all errors are counted. Also the nearest of
 * known names, for "did you mean". */
#include "util/diag.h"

#include "util/alloc.h"
#include "util/err.h"
#include "util/near.h"
#include "util/pile.h"
#include "util/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_MAX = 1000 };

void diags_init(struct diags *d)
{
	*d = (struct diags){ .pile = pile_new() };
}

void diags_done(struct diags *d)
{
	free(d->items);
	pile_free(d->pile);
	*d = (struct diags){ 0 };
}

/* The same of the same place: a line that many tasks inherit is wrong once. */
static bool is_repeat(const struct diags *d, struct place at, const char *message)
{
	const struct diag *last = d->n ? &d->items[d->n - 1] : NULL;

	return last && at.line && last->at.line == at.line && last->at.column == at.column &&
	       strcmp(last->at.path, at.path ? at.path : "") == 0 &&
	       strcmp(last->at.file, at.file ? at.file : "") == 0 &&
	       strcmp(last->message, message) == 0;
}

/* `what` with copies of its texts. */
static void add_text(struct diags *d, const struct diag *what, const char *message)
{
	const struct place at = what->at;

	if (is_repeat(d, at, message))
		return;
	if (!what->is_warning)
		d->errors++;
	if (d->n == DIAGS_MAX) {
		d->dropped++;
		return;
	}
	d->items = mem_room(d->items, &d->cap, d->n + 1, sizeof *d->items);
	d->items[d->n++] = (struct diag){
		.at = { .file = pile_str(d->pile, at.file ? at.file : ""),
		        .line = at.line,
		        .column = at.column,
		        .path = pile_str(d->pile, at.path ? at.path : "") },
		.code = what->code,
		.message = pile_str(d->pile, message),
		.hint = pile_str(d->pile, what->hint ? what->hint : ""),
		.is_warning = what->is_warning,
	};
}

__attribute__((format(printf, 3, 0))) static void diag_add(struct diags *d, const struct diag *what,
                                                           const char *fmt, va_list ap)
{
	char text[MESSAGE_MAX];

	vsnprintf(text, sizeof text, fmt, ap);
	utf8_clean(text); /* "%.80s" may have cut a character */
	add_text(d, what, text);
}

int diag_error(struct diags *d, struct place at, const char *code, const char *hint,
               const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_add(d, &(struct diag){ .at = at, .code = code, .hint = hint }, fmt, ap);
	va_end(ap);
	return E_INVALID;
}

void diag_warning(struct diags *d, struct place at, const char *code, const char *hint,
                  const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_add(d, &(struct diag){ .at = at, .code = code, .hint = hint, .is_warning = true }, fmt,
	         ap);
	va_end(ap);
}

struct nearest nearest_to(const char *wanted)
{
	return (struct nearest){ .wanted = wanted, .distance = NEAR_FAR };
}

void nearest_try(struct nearest *n, const char *name)
{
	int d = near_rank(n->wanted, name);

	if (d < n->distance) {
		n->distance = d;
		n->name = name;
	}
}

const char *nearest_name(const struct nearest *n)
{
	return n->distance <= near_most(n->wanted) ? n->name : NULL;
}

const char *nearest_hint(const struct nearest *n, char hint[NEAREST_HINT_BYTES])
{
	const char *name = nearest_name(n);

	snprintf(hint, NEAREST_HINT_BYTES, "did you mean '%.200s'?", name ? name : "");
	return name ? hint : NULL;
}
