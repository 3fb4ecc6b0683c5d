/* shell.h — where in a shell script the values of others may stand.
 *
 * A value that a script takes from outside is given to it as a variable. What is to be written in
 * the value's place depends on where that is: nothing but quotes around it where it stands bare,
 * nothing where it is in double quotes. Elsewhere (single quotes, heredocs, arithmetic, what is
 * evaluated once more) no text is right, so it is refused. Pure. The reader knows what sh, dash and
 * bash have in common and what bash has besides; what it cannot be sure of is SHELL_LOST.
 */
#ifndef SCHED_SHELL_H
#define SCHED_SHELL_H

#include <stdbool.h>
#include <stddef.h>

enum shell_place {
	SHELL_BARE,    /* a word, or part of one */
	SHELL_QUOTED,  /* in double quotes */
	SHELL_COMMENT, /* nobody reads it */
	SHELL_SINGLE,  /* from here on it is refused */
	SHELL_HEREDOC,
	SHELL_BACKTICK,
	SHELL_ARITH,   /* numbers, and indexes of arrays: bash runs what stands in their brackets */
	SHELL_BRACE,   /* in ${...} of the shell */
	SHELL_ESCAPED, /* behind a backslash or a dollar sign */
	SHELL_EVAL,    /* a word that a program runs as code: eval, sh -c, ssh, awk */
	SHELL_PROGRAM, /* where the name of a program stands */
	SHELL_PIPED,   /* comes to a shell, or the like, on its standard input */
	SHELL_LOST,
	SHELL_WHOLE /* of code.c: there is nothing else, it would be the name of a command */
};

static inline bool shell_place_fits(enum shell_place p)
{
	return p <= SHELL_COMMENT;
}

/* Judge the places of one byte each in a script: `holes`, rising, n of them. A letter stands at
 * each. */
void shell_places(const char *text, size_t bytes, const size_t *holes, size_t n,
                  enum shell_place *ret_places);

/* Is a script without a `#!` line, or one for a shell of that kind? */
bool shell_is_script(const char *text);

#endif
