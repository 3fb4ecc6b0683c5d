/* gate.h — between who reads some projects only (cgi/who/sight.h) and the server, which knows all.
 *
 * * A question passes by its row in gate.def; one that has none is refused. Of an answer it goes
 * through what the row keeps: items of others are taken out of lists, and what others have to do
 * with one's own (a parent, a cause) stays as a closed box without a name. Thread: HTTP, but
 * gate_work on one that reads. */
#ifndef CGI_GATE_H
#define CGI_GATE_H

struct call;
struct reader;

/* struct cgi's may_ask, shown and may_log. */
int gate_may_ask(struct call *c, int (**ret_work)(struct call *c, struct reader *r));
void gate_shown(struct call *c);
int gate_may_log(struct call *c);

/* Work: the instance that the path of the call's route names, of a task that is seen. */
int gate_instance(struct call *c, struct reader *r);

#endif
