/* near.h — "did you mean": how far apart two names are. */
#ifndef UTIL_NEAR_H
#define UTIL_NEAR_H

#include <stdbool.h>

#define NEAR_LETTERS_MAX 64 /* longer names are near nothing */
#define NEAR_FAR         (2 * NEAR_LETTERS_MAX)

/* Letters to add, drop, change, or swap with their neighbour to make b of a; upper and lower case
 * are alike. */
int near_distance(const char *a, const char *b);

/* The same; a name of which `a` is the begin is as near as one slip: prio, priority. */
int near_rank(const char *a, const char *name);
/* So far apart at most are a name and one that may be meant. */
int near_most(const char *name);

/* The nearest of a NULL-terminated list, or NULL when none is near. `known` may be NULL. */
const char *near_name(const char *name, const char *const *known);

/* Is it one of a NULL-terminated list? */
bool near_is_one(const char *name, const char *const *known);

#endif
