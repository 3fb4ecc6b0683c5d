/* launcher.h — the one process that may become another user, and what it is asked.
 *
 * It has CAP_SETUID, CAP_SETGID and CAP_KILL, is never root, and by its own filter of system calls
 * cannot become root. It reads no protobuf and asks no name service. Its keeper, which has no
 * rights, names a project; which user that is, the launcher judges by the machine's map. Jobs are
 * born as children of the keeper, which sees their ends itself.
 *
 * A question is one packet of one size, with descriptors; each has one answer, in order.
 */
#ifndef KEEPER_LAUNCHER_H
#define KEEPER_LAUNCHER_H

#include <stdint.h>
#include <sys/types.h>

#include "broker/keeper/delegate.h"

struct err;

/* Strings live as long as the process. */
struct launcher_settings {
	const char *lines_file; /* as job_users_file; "": none */
	const char *uids;       /* as job_uids; "": none */
	const char *uids_file;  /* where numbers are kept: in a directory of the launcher's own */
	const char *places;     /* where each user has its directory; the launcher's own */
	const char *files;      /* where files given to jobs are; the launcher's own */
	uid_t keeper;           /* whose questions are answered */
	const char *state_dir;  /* the keeper's: its jobs have it in their environment */
	struct delegate_lent lent; /* its cgroup, if it has one */
};

#define LAUNCHER_MARK 0x534c4e32u /* changes when a packet does: a keeper may be newer */

enum launcher_what {
	LAUNCHER_BEGIN = 1, /* end what former jobs of its numbers left */
	LAUNCHER_WHO,       /* the user of a project */
	LAUNCHER_START,     /* with descriptors: parcel, null, out, err, those to join */
	LAUNCHER_SIGNAL,    /* with a descriptor of the process */
	LAUNCHER_CLEAN,     /* a job is over: remove its files, end what its user's last one left */
};

/* A launcher of the release before boxes whatever is not 0. */
enum { LAUNCHER_BOX = 1, LAUNCHER_LANDLOCK = 2 };

enum {
	LAUNCHER_LIMITS = 16,
	LAUNCHER_FDS = 8,
	LAUNCHER_PARCEL_MAX = 8 << 20,
	LAUNCHER_FILES_MAX = 256
};

/* The parcel is a file in memory: words, each ended by a zero (cwd, argv, env, paths), then of each
 * file its name, its size (8 bytes) and its bytes. */
struct launcher_ask {
	uint32_t mark, what;
	uint64_t token;
	char project[128], wish[64]; /* wish: whom the task names; "": nobody */
	uint32_t uid;                /* START: whom WHO told; another by now: E_AGAIN */
	uint32_t n_argv, n_env, n_paths, n_files, n_limits;
	uint32_t umask, isolation; /* LAUNCHER_BOX or LAUNCHER_LANDLOCK; 0: none */
	int32_t signal;
	uint64_t parcel_bytes;
	struct {
		uint64_t resource, soft, hard;
	} limits[LAUNCHER_LIMITS];
};

struct launcher_answer {
	uint32_t mark;
	int32_t code; /* 0 or E_* */
	uint64_t token;
	int64_t started_us;
	int32_t pid;
	uint32_t uid;
	char user[64], home[512], shell[128], place[512];
	char text[512]; /* of an error */
};

/* Before it begins, as its user: the capabilities are there, its places are its own and shut.
 * E_MACHINE, with what is wrong. */
int launcher_check(const struct launcher_settings *s, struct err *err);

/* The process; returns when its keeper is gone, and all it started is killed. `fd` is its end of a
 * SOCK_SEQPACKET pair with SO_PASSCRED, its parent the keeper. E_MACHINE: it could not begin. */
int launcher_run(int fd, const struct launcher_settings *s, struct err *err);

/* --- launcher_user.c --- */

struct launcher_user {
	uid_t uid;
	gid_t gid;
	gid_t groups[256];
	size_t groups_n;
	char name[64], home[512], shell[128];
};

/* The user of a project by the map: as whose_find() has it, but with the accounts of /etc/passwd
 * and /etc/group alone.
 *   errors  E_FORBIDDEN the wish goes beyond the map; E_NO_USER the map has nobody for the project;
 *           E_MACHINE it does not read */
int launcher_user(const struct launcher_settings *s, const char *project, const char *wish,
                  struct launcher_user *ret, struct err *err);

/* --- launcher_left.c --- */

/* As an account, without rights: end its processes that jobs of that keeper left. */
void launcher_left_end(const char *state_dir, int rounds);

/* "name" of /etc/passwd or "UID:GID". E_NOT_FOUND. */
int launcher_account(const char *text, uid_t *ret_uid, gid_t *ret_gid, struct err *err);

#endif
