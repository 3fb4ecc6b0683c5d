/* near.h — "did you mean": how far apart two names are. */
#ifndef UTIL_NEAR_H
#define UTIL_NEAR_H

#include <stdbool.h>

#define NEAR_LETTERS_MAX 64 /* longer names are near nothing */
#define NEAR_FAR         (2 * NEAR_LETTERS_MAX)

/* Letters to add, drop or change to make b of a; upper and lower case are alike. */
int near_distance(const char *a, const char *b);

/* The nearest of a NULL-terminated list, or NULL when none is near. `known` may be NULL. */
const char *near_name(const char *name, const char *const *known);

/* Is it one of a NULL-terminated list? */
bool near_is_one(const char *name, const char *const *known);

#endif
