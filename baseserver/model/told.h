/* told.h — documents of who is told: the secrets of a channel, and what each is sealed for. */
#ifndef BASESERVER_TOLD_H
#define BASESERVER_TOLD_H

struct buf;

enum { CHANNEL_SECRETS = 3 };

/* Members that are sealed or kept outside: url, password, secret; NULL-terminated. */
extern const char *const channel_secrets[CHANNEL_SECRETS + 1];

/* What a secret of a channel is sealed for, appended: opened as another's it is nothing. */
void channel_about(const char *name, const char *secret, struct buf *out);

#endif
