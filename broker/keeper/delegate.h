/* delegate.h — the cgroup (version 2) that a service manager delegates to this program.
 *
 * The jobkeeper is to be alone below it, and becomes another user than the service's: the launcher,
 * who stays the service's user, lends the group to it. Not for use by more than one thread. */
#ifndef KEEPER_DELEGATE_H
#define KEEPER_DELEGATE_H

#include <stdbool.h>
#include <sys/types.h>

enum { DELEGATE_BYTES = 1024 };

/* What is lent, and to which group of users. Empty: nothing. */
struct delegate_lent {
	char dir[2 * DELEGATE_BYTES];
	gid_t gid;
};

/* Where groups of version 2 are mounted, and ours below that ("/" and more), also after the keeper
 * stepped aside in it. False: this machine has none. */
bool delegate_find(char ret_mount[DELEGATE_BYTES], char ret_group[DELEGATE_BYTES]);

/* At the start, before any other process: into a group below the one that the service manager
 * gave this program, where it is alone in that. A group with processes in it hands no controller
 * down.
 *   mode  "auto", "off" or a directory, as --cgroup has it: but for "auto" nothing is done */
void delegate_step_aside(const char *mode);

/* Before becoming a user of that group: it may make groups in ours, and put processes there.
 * Where we may not lend it, ret_lent is empty. */
void delegate_lend(const char *mode, gid_t gid, struct delegate_lent *ret_lent);

/* Once more, if it was taken back: systemd gives the group to the unit's user anew with each
 * command of the unit that it runs, ExecReload= among them. One stat() where it was not. */
void delegate_lend_again(const struct delegate_lent *lent);

#endif
