/* silences.h — times in which nobody is told of some things, made by command. Reads the store; one
 * thread. */
#ifndef NOTIFIER_SILENCES_H
#define NOTIFIER_SILENCES_H

#include <stdint.h>

struct err;
struct reader;
struct silences;

struct silences *silences_new(struct reader *reader); /* borrowed */
void silences_free(struct silences *s);               /* NULL is fine */
/* As they are now; cheap when none changed. On error the former ones stay. */
int silences_refresh(struct silences *s, struct err *err);
/* Why nobody is told when `word` happened to the subject at `at`, or is told of it now (both wall,
 * seconds); NULL: they are. */
const char *silences_find(const struct silences *s, const char *subject, const char *word,
                          int64_t at, int64_t now);

#endif
