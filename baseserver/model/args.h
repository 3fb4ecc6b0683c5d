/* args.h — arguments of commands and queries: each read strictly, each refusal says where,
 * what was found and what is allowed. */
#ifndef BASESERVER_ARGS_H
#define BASESERVER_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct jval;

struct refusal {
	int code;
	char text[400], place[160], hint[240];
	char *json; /* the whole body instead, heap, or NULL */
};

/* Returns `code`. `hint` may be NULL. */
__attribute__((format(printf, 5, 6))) int refuse(struct refusal *f, int code, const char *place,
                                                 const char *hint, const char *fmt, ...);
/* E_INVALID: `text` is no name, or word; `why` of name_wrong() or word_wrong(). */
int refuse_name(struct refusal *f, const char *place, const char *text, const char *why);
void refusal_print(const struct refusal *f, struct buf *out); /* {"place", "hint"} */

/* The nearest of NULL-ended names, or NULL when none is near. */
const char *nearest_of(const char *name, const char *const *names);

/* All of these: 0 or E_INVALID. An absent key leaves *ret as it is. `at`: place of `o`. */
int arg_object(const struct jval *o, const char *at, const char *const *keys, struct refusal *f);
/* `unsaid`: keys that are taken, and told to nobody: programs write them, no person. */
int arg_object_of(const struct jval *o, const char *at, const char *const *keys,
                  const char *const *unsaid, struct refusal *f);
int arg_truth(const struct jval *o, const char *at, const char *key, bool *ret, struct refusal *f);
struct arg_range {
	const char *key;
	int64_t min, max; /* both may be given */
};
int arg_number(const struct jval *o, const char *at, struct arg_range of, int64_t *ret,
               struct refusal *f);
int arg_text(const struct jval *o, const char *at, const char *key, size_t max, const char **ret,
             struct refusal *f);
int arg_list(const struct jval *o, const char *at, const char *key, size_t max,
             const struct jval **ret, struct refusal *f);
/* The index in the NULL-ended choices. */
int arg_choice(const struct jval *o, const char *at, const char *key, const char *const *choices,
               int *ret, struct refusal *f);

#endif
