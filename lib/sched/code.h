/* code.h — values of others in parameters that are code: a shell's script, SQL.
 *
 * Outputs of parents, inputs and parameters (whoever starts a run may give others) never become a
 * part of the code. Each is bound to a name of its own beside it, and a reference to that name
 * stands in the code; where that cannot be, the code is refused. Dates are ours and stay text.
 * Pure.
 */
#ifndef SCHED_CODE_H
#define SCHED_CODE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct macro_scope;

/* Of a parameter, by its type's manifest (`code: shell`). */
enum code_kind {
	CODE_NONE, /* it is data itself */
	CODE_SHELL,
	CODE_SQL,
	CODE_OTHER, /* of a language that nobody here knows: takes no values */
	CODE_KINDS
};
extern const char *const code_kind_names[CODE_KINDS];

/* Parameters of a job whose names begin so are values bound to its code. */
#define CODE_VALUE "sirdar_data_"

/* Is every value in a place that fits?
 *
 *   errors  E_INVALID: which is not, with line and column; *ret_hint (room of CODE_HINT_BYTES):
 *           what to write instead. macro_check() tells every other fault of macros. */
#define CODE_HINT_BYTES 300
int code_check(enum code_kind kind, const char *text, struct err *err, char *ret_hint);
/* The same of a command that no shell reads: a program and its words. */
int code_check_words(const char *const *words, size_t n, struct err *err, char *ret_hint);
/* Does it take values at all? */
bool code_takes(const char *text);

/* Who keeps the values of a code: told each name with its value, `bind` answers the number N of
 * CODE_VALUE N, by which the code finds it. */
struct code_binder {
	unsigned (*bind)(void *ctx, const char *name, const char *value);
	void *ctx;
};

/* Append the code with its dates replaced and its values bound.
 *
 *   errors  as macro_expand(), as code_check() */
int code_expand(enum code_kind kind, const char *text, const struct macro_scope *scope,
                const struct code_binder *to, struct buf *out, struct err *err);
/* A text whose values may hold no line of their own: a directory, a URL, lines of NAME=value.
 *
 *   errors  as macro_expand(); E_INVALID: a value has a line break or another control character */
int code_expand_line(const char *text, const struct macro_scope *scope, struct buf *out,
                     struct err *err);
/* A list or a map as JSON, whose texts are of that kind: values get the escapes of JSON, or are
 * bound. Their places were judged when it was saved. */
int code_expand_json(enum code_kind kind, const char *json, const struct macro_scope *scope,
                     const struct code_binder *to, struct buf *out, struct err *err);

#endif
