/* launch_private.h — what launch*.c share; nobody else includes it. */
#ifndef KEEPER_LAUNCH_PRIVATE_H
#define KEEPER_LAUNCH_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "broker/keeper/launch.h"

#define LAUNCH_TMP "tmp" /* in the user's place: TMPDIR */

struct launch_limit {
	int resource;
	struct {
		uint64_t soft, hard; /* as prlimit64 takes it */
	} value;
};

struct launch_file {
	char *name;
	uint8_t *data;
	size_t bytes;
};

struct launch {
	char **argv, **env, **paths; /* paths: where argv[0] may be, in order */
	char *cwd, *user, *files_at;
	char *place; /* the user's own, below `places`; NULL: none */
	bool is_other_user;
	/* By the launcher: our parent's child, which makes its place and files as its own user. */
	bool is_lent;
	char *project, *wish; /* by which the launcher finds the user; NULL: it does not */
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t groups_n;
	mode_t umask;
	bool no_new_privs, own_cwd, is_landlocked;
	/* In a box (box.h): as that program of ours, with the words of it; NULL: in none. */
	char *box_program, **box_words;
	struct launch_limit *limits;
	size_t limits_n;
	struct launch_file *files;
	size_t files_n;
};

#endif
