/* soundness.h — may a server lead on this store? Looked at before it takes the lease.
 */
#ifndef BASESERVER_SOUNDNESS_H
#define BASESERVER_SOUNDNESS_H

struct err;
struct site;
struct store;

/* Nothing is written to the store.
 *
 *   errors  E_DAMAGED it does not hold together; E_LOST it had more, of which somebody knows;
 *           E_STRANGER another store was here. Each ends the process: see soundness_exit(). */
int soundness_check(const struct site *site, struct store *s, struct err *err);

/* The exit code that these errors have for their own; 0: it is none of them. */
int soundness_exit(int code);
/* What people may do then, a line for standard error; NULL as above. */
const char *soundness_advice(int code);

/* Found while it led: the next start looks at all of the store before it leads. */
void soundness_note_damage(const struct site *site, const char *text);

#endif
