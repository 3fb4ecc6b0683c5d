/* handle_sessions.h — that sessions ended, for all who end them. */
#ifndef CGI_HANDLE_SESSIONS_H
#define CGI_HANDLE_SESSIONS_H

#include "cgi/http/call.h"

/* `ended` sessions of `user` are no more: the audit gets its row (without a server, the log), the
 * file is written, then `then` goes on with c->out empty. Nothing to tell when none ended; the
 * file is written all the same. Of c->err only what the file says is left to `then`.
 *
 *   thread  HTTP */
int sessions_ended(struct call *c, const char *user, int ended, call_fn then);

#endif
