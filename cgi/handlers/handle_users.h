/* handle_users.h — changing a person, for those handlers that do. */
#ifndef CGI_HANDLE_USERS_H
#define CGI_HANDLE_USERS_H

struct cJSON;
struct call;
struct outsider;
struct reader;

/* Sends a command about a user and answers `{}` when every thread knows of it. */
int user_command(struct call *c, const char *kind, const struct cJSON *args,
                 int (*then)(struct call *c));
/* Signs in somebody for whom a directory or a provider vouches (cgi/who/outsider.h): tells the
 * server if he is new or changed, then runs `then` with the call as that user's. E_AGAIN,
 * E_FORBIDDEN */
int outsider_enter(struct call *c, const struct outsider *o, int (*then)(struct call *c));

/* Work of call_read(): people, groups and tokens as the store has them now. */
int people_work(struct call *c, struct reader *r);
/* Work of call_hash(): a sign-in does not fail with the disk, it ends with a restart then. */
int sessions_work(struct call *c, struct reader *r);
/* What went well is answered with `{}`. */
int answered_empty(struct call *c);

#endif
