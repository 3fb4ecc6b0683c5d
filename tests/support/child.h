/* child.h — programs that a test starts, in a directory of its own. */
#ifndef SUPPORT_CHILD_H
#define SUPPORT_CHILD_H

#include <sys/types.h>

struct child {
	pid_t pid;
	int status_fd; /* what it writes to descriptor 3 */
};

/* A fresh directory under $TMPDIR or /tmp; the caller's to free() and dir_remove(). */
char *dir_make(void);
void dir_remove(const char *dir);
/* $B/NAME, the caller's to free(). */
char *build_path(const char *name);
/* Start $B/bin/PROGRAM with the words that follow, up to NULL. Descriptor 3 is a pipe. */
void child_start(struct child *c, const char *program, ...);
/* Signal it (0: do not) and wait for its end: the exit status, or -signal. */
int child_end(struct child *c, int signal);
/* End what a failed test has left behind: at the start of the next. */
void children_clear(void);
/* Read what it has written to descriptor 3 up to a newline or its end. */
void child_line(struct child *c, char *ret_line, size_t cap);

#endif
