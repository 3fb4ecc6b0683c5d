/* check.h — stop at once on a bug. Stays on in release builds. */
#ifndef UTIL_CHECK_H
#define UTIL_CHECK_H

_Noreturn void check_failed(const char *file, int line, const char *what);

/* For what cannot happen unless this program is wrong. Never for input, never
 * for a full disk: those are errors, and errors are returned. */
#define CHECK(cond) ((cond) ? (void)0 : check_failed(__FILE__, __LINE__, #cond))

#endif
