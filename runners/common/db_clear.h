/* db_clear.h — a password is told to nobody who has not proved by TLS to be the server.
 *
 * Whoever answers at a server's address may ask for the password itself. Where it cannot be known
 * who that is, only answers to a challenge are given.
 */
#ifndef RUNNERS_DB_CLEAR_H
#define RUNNERS_DB_CLEAR_H

#include <postgresql/libpq-fe.h>
#include <stdbool.h>

#include "runners/common/db_impl.h"

/* Does nobody vouch for the other end? A local socket is the machine's. */
bool db_clear_is_wanted(const struct db_where *w);
/* Record that it was asked for in that way; answers the code. */
int db_clear_refuse(struct db *db, const char *way);

/* What libpq sends while it connects, watched: it has no such rule before version 16. */
struct db_clear {
	PGconn *conn; /* NULL: not watched */
	FILE *trace;
	char line[64];
	size_t n;
	int fd, real, pair[2]; /* while a message is held back: libpq's, a copy of its socket */
	bool is_heard, is_asked, is_bound;
};

/* The sslmode and the channel_binding that make its messages unmistakable; *ret_binding may be
 * NULL. */
void db_clear_modes(const struct db_where *w, const char **ret_mode, const char **ret_binding);
/* After PQconnectStart; -1: no memory. Ends with db_clear_end(). */
int db_clear_begin(struct db_clear *c, PGconn *conn, bool is_bound);
/* After each PQconnectPoll: false when the password was asked for, and not sent. */
bool db_clear_passes(struct db_clear *c);
void db_clear_end(struct db_clear *c); /* before PQfinish; again is fine */

#endif
