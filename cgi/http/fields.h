/* fields.h — `fields=` of an answer: only some members of it, or of each of its items. */
#ifndef CGI_FIELDS_H
#define CGI_FIELDS_H

struct call;

/* Cut c->out down to the members that the argument names; without it nothing changes.
 * E_INVALID: no item has such a member. Thread: HTTP. */
int fields_cut(struct call *c);

#endif
