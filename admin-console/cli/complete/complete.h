/* complete.h — what may come next on a command line that is being typed: `sirdar __complete`.
 *
 * The shells' scripts (script.c) call it at each Tab and offer what it prints. It never says what
 * is wrong, asks nobody at the terminal, and ends after DEADLINE_S whatever the server does.
 */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "admin-console/cli/base/verb.h"

struct buf;

/* argv: zsh|fish WORD... without quotes, or bash LAST WORD... as they were typed. WORD... is what
 * follows `sirdar`, the last one is typed still; LAST is the end of it that bash replaces: bash
 * splits words at = and : too. `all` ends with a row without a name. Returns CLI_OK. */
int complete_print(const struct command *all, int argc, char **argv);

/* --- within the room */

enum { CANDIDATES_MAX = 200 };

struct typing {
	struct cli *cli;    /* what was said of server and token */
	char group[40];     /* the command's first word, or the option's name */
	char command[40];   /* the command's first word */
	const char *before; /* the word of the command before this one, or NULL */
	size_t head;        /* bytes of "--task=" of an option's value in the same word */
	const char *typed;  /* all of the word so far */
	const char *begin;  /* of it what follows the head */
	/* Of bash alone. */
	bool bash;
	char quote;  /* an open one, or 0 */
	size_t kept; /* bytes of `typed` before what bash replaces */
	size_t n;    /* candidates that were printed */
};

/* One more, if it begins as typed; `help` may be NULL. */
void candidate_put(struct typing *t, const char *text, const char *help);
/* Those of a table of words (words.def); false: there is none of this name. */
bool words_put(struct typing *t, const char *argument);
/* Those that the server knows for an argument of this name. */
void names_put(struct typing *t, const char *argument);

/* Appends `typed` without its quotes to out; expands nothing. Returns the quote that is still open,
 * or '\0'. */
char quote_take(const char *typed, struct buf *out);
/* Append text so that bash reads it as this text; `open` as of quote_take(). */
void quote_put(const char *text, char open, struct buf *out);

#endif
