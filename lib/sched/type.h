/* type.h — task types: the manifest of each, which declares the parameters of its runner once.
 *
 * From it come the check of a workflow at save, the console's form, `sirdar type show` and the
 * docs. A set is immutable once read; any thread's.
 */
#ifndef SCHED_TYPE_H
#define SCHED_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "sched/code.h"

#define TYPE_PARAMS_MAX  200
#define TYPE_NAMES_MAX   32 /* secrets that one parameter may name: as many as runners take */
#define TYPE_NAMES_APART " ,\t\r\n" /* between the names of several secrets */

struct buf;
struct diags;
struct type_set;
struct yaml_node;

enum type_kind {
#define TYPE_KIND(name, word, text) TYPE_##name,
#include "tbl/type_kind.def"
#undef TYPE_KIND
	TYPE_KINDS
};

/* Texts are borrowed from the set. */
struct type_param {
	const char *name;
	enum type_kind kind;
	bool required;
	bool secret;                /* names of target servers: their passwords are meant */
	const char *value;          /* what the runner takes when it is not given; NULL: nothing */
	const char *help, *help_zh; /* "" for none */
	enum code_kind code;        /* what reads it, where that is no data */
	const struct yaml_node *choices; /* of a choice; else NULL */
	const char *example;             /* "" for none */
	const char *least;               /* of a duration: none is shorter; NULL: any may be */
	const char *most;                /* of a duration: none is longer; NULL: any may be */
};

struct type {
	const char *name, *label, *label_zh, *help, *help_zh;
	bool takes_others; /* parameters that are not declared reach the runner too */
	struct type_param *params;
	size_t n_params;
	const struct yaml_node
		*one_of; /* a list of names, exactly one of which is given; or NULL */
};

struct type_set *type_set_new(void);
void type_set_free(struct type_set *set); /* NULL is fine */
/* Add the manifest in a text; nothing is added on error.
 *
 *   errors  E_INVALID, what is wrong is in d; also a type that is there already
 */
int type_set_read(struct type_set *set, const char *text, size_t bytes, const char *file,
                  struct diags *d);
size_t type_set_count(const struct type_set *set);
const struct type *type_set_at(const struct type_set *set, size_t i);           /* by name */
const struct type *type_set_find(const struct type_set *set, const char *name); /* or NULL */

const struct type_param *type_param_find(const struct type *t, const char *name); /* or NULL */
/* May a parameter have this value? Values with macros may. False: *ret_want is what is wanted,
 * in `room` where it must be put together. */
bool type_value_ok(const struct type_param *p, const struct yaml_node *value, char *room,
                   size_t room_bytes, const char **ret_want);

/* The members of an object (docs/protocol-json.md: `types`), without its braces. */
void type_print_members(const struct type *t, struct buf *out);

#endif
