/* turned.h — who was turned away at the door since this server began to lead: in memory only.
 *
 * A peer that was never let in has no document and no row; without this only the logs would say
 * that it was here, and why it is not in. One row for each name and address; the one that was not
 * seen for longest goes where there are too many, so strangers cost no more than these rows.
 * Thread: any.
 */
#ifndef BASESERVER_TURNED_H
#define BASESERVER_TURNED_H

#include <stdint.h>

enum { TURNED_MAX = 64, TURNED_TEXT = 400 };

struct turned_row {
	char name[64]; /* as it called itself; "": the handshake ended before it had a name */
	char address[64];
	char why[TURNED_TEXT];
	int code;                  /* of err.def */
	uint64_t times;            /* that it came */
	int64_t first_us, last_us; /* wall; last_us 0: a free place */
};

struct turned;
struct turned *turned_new(void);
void turned_free(struct turned *t); /* NULL is fine */

/* `peer` is ADDRESS:PORT. Texts are copied, cut where they are long. t NULL: nothing. */
void turned_note(struct turned *t, const char *name, const char *peer, int code, const char *why,
                 int64_t now_us);
/* It was let in: what was said of that name and address is over. */
void turned_over(struct turned *t, const char *name, const char *peer);
/* A copy of all, the latest first. Returns how many. t NULL: none */
int turned_copy(struct turned *t, struct turned_row ret[TURNED_MAX]);

#endif
