/* chin.h — the steps of chin's paths; the table of them is in chin.c.
 *
 * A path has up to two steps. The first, named _work, runs on a thread that reads the store and
 * collects what is needed; the second runs on the HTTP thread, sends the server a command where the
 * path changes something, and answers. It writes the answer's `data` to c->details. A step
 * that fails leaves the error in c->err and is the last; chin_done() makes chin's own form of it.
 */
#ifndef CGI_SEEDS_CHIN_H
#define CGI_SEEDS_CHIN_H

#include "cgi/seeds/seed.h"

#define CHIN_ROOT 0 /* user_id of admin, who has no document */

/* chin_answer.c
 * {"status": "SUCCEED", "info", "data": c->details} */
int chin_answer(struct call *c, const char *info);
int chin_done(struct call *c); /* the same without words, or the error */
/* Is the task the caller's own, or is he root? E_FORBIDDEN */
int chin_owns(struct call *c);
/* The user_id of a user's name, -1: there is none. */
int64_t chin_user_id(struct reader *r, const char *name);

int chin_task_new_work(struct call *c, struct reader *r);
int chin_task_new(struct call *c);
int chin_task_delete_work(struct call *c, struct reader *r);
int chin_task_delete(struct call *c);
int chin_task_modify_work(struct call *c, struct reader *r);
int chin_task_query_work(struct call *c, struct reader *r);

int chin_log_query_work(struct call *c, struct reader *r);
int chin_log_query(struct call *c);
int chin_action_query_work(struct call *c, struct reader *r);

int chin_user_new(struct call *c);
int chin_user_target_work(struct call *c, struct reader *r);
int chin_user_delete(struct call *c);
int chin_user_modify(struct call *c);
int chin_user_query_work(struct call *c, struct reader *r);
int chin_login_work(struct call *c, struct reader *r);
int chin_login(struct call *c);
int chin_logout(struct call *c);

int chin_machine_delete_work(struct call *c, struct reader *r);
int chin_machine_delete(struct call *c);
int chin_machine_query(struct call *c);

#endif
