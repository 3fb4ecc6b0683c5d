/* handle_users.h — changing a person, for those handlers that do. */
#ifndef CGI_HANDLE_USERS_H
#define CGI_HANDLE_USERS_H

struct cJSON;
struct call;
struct outsider;

/* Sends a command about a user and answers `{}` when every thread knows of it. */
int user_command(struct call *c, const char *kind, const struct cJSON *args,
                 int (*then)(struct call *c));
/* Signs in somebody for whom a directory or a provider vouches (cgi/who/outsider.h): tells the
 * server if he is new or changed, then runs `then` with the call as that user's. E_AGAIN,
 * E_FORBIDDEN */
int outsider_enter(struct call *c, const struct outsider *o, int (*then)(struct call *c));

#endif
