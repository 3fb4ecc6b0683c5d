/* handle_users.h — changing a person, for those handlers that do. */
#ifndef CGI_HANDLE_USERS_H
#define CGI_HANDLE_USERS_H

struct cJSON;
struct call;

/* Sends a command about a user and answers `{}` when every thread knows of it. */
int user_command(struct call *c, const char *kind, const struct cJSON *args,
                 int (*then)(struct call *c));

#endif
