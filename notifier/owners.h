/* owners.h — people and groups, as the store has them: by which ways a task's owner is told. The
 * owner of a task is an address (`ann@example.org`), a person's name, or a group's: then each of
 * its people. One thread. */
#ifndef NOTIFIER_OWNERS_H
#define NOTIFIER_OWNERS_H
#include <stddef.h>

struct channels;
struct devices;
struct err;
struct owners;
struct reader;

struct owners *owners_new(struct reader *reader); /* borrowed */
void owners_free(struct owners *o);               /* NULL is fine */
/* As they are now; cheap when nothing changed. On error the former stay. */
int owners_refresh(struct owners *o, struct err *err);

/* The i-th recipient of what is told to `owner`, to be freed; NULL after the last. Each person's
 * mail, chat and devices, as far as there are channels for them; `owner:NAME` stands for who
 * has none of these: nothing is sent, and its row says why. */
char *owners_recipient(const struct owners *o, const struct channels *c, struct devices *d,
                       const char *owner, int severity, size_t i);

/* Whom `owner:NAME` stands for; NULL: it is another kind of recipient. */
const char *owner_untold(const char *recipient);
/* Why nothing reaches him. Borrowed until the next call. */
const char *owners_refusal(struct owners *o, struct devices *d, const char *name, int severity);

#endif
