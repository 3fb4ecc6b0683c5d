/* admin.h — the server's own socket: admin.sock in its state directory, for who has the machine.
 *
 * Through it the first peers come in and what locked everybody out is set right, without a key that
 * somebody carried and without a face. Frames as of a client (COMMAND, QUERY, ANSWER), plain; who
 * may connect is judged by the kernel's word on the caller (SO_PEERCRED): root and the server's own
 * user. One request a connection, of the few kinds below; they are ordinary commands, whose actor
 * is "USER (socket)".
 */
#ifndef BASESERVER_ADMIN_H
#define BASESERVER_ADMIN_H

#include <stdbool.h>

struct admin;
struct buf;
struct commander;
struct err;
struct ledger;
struct thread;

#define ADMIN_SOCKET "admin.sock"

struct admin_settings {
	const char *state_dir;       /* borrowed */
	struct commander *commander; /* NULL: this server stands by */
	struct ledger *ledger;
	const char *leader; /* of a standby: who leads, "" nobody; borrowed, of the same thread */
};

/* A socket that cannot be made is told in the log, and keeps no server from its work. */
struct admin *admin_new(struct thread *th, const struct admin_settings *set);
void admin_free(struct admin *a); /* its thread is stopped; NULL is fine */

/* Who administers this installation? Where nothing was ever committed (is_new) `admin` is made, and
 * the password stands in a file (first.h); where others administered it so far, the log says how
 * the server gets him. Before any thread runs. */
void admin_first(struct admin *a, bool is_new);
/* Somebody changed what lets `admin` in: the file is removed. Thread: any. */
void admin_first_over(struct admin *a);

/* --- the other end: what is typed on the machine ------------------------------------------- */

#define ADMIN_USES "admin COMMAND"
/* `baseserver -c FILE admin WORD...`; words NULL-ended, after `admin`. An exit status. */
int admin_main(const char *state_dir, char *const *words);

/* One request to the server of that directory. Blocks, ADMIN_ANSWER_MS at most.
 *   is_query  of `kind`, else a command
 *   errors    E_CLOSED no server is there, E_FORBIDDEN, E_TIMEOUT; what it answers */
int admin_ask(const char *state_dir, bool is_query, const char *kind, const struct buf *args,
              struct buf *ret_body, struct err *err);

enum { ADMIN_ANSWER_MS = 60000 };

/* The socket's path below a directory that may be long: by a descriptor, which is to be closed.
 *   errors  E_NOT_FOUND, E_FORBIDDEN, E_IO */
enum { ADMIN_PATH_BYTES = 64 };
int admin_path(const char *state_dir, char ret[ADMIN_PATH_BYTES], int *ret_fd, struct err *err);

#endif
