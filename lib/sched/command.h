/* command.h — what a word of a command may be: a value of others is data, never the name of a
 * program, and never what a program takes as code (programs.def).
 *
 * Fed with the words of one command from the left, quotes taken off. It helps whoever writes a
 * command; who wants to run values can always do so by a program that is not known here. Pure.
 */
#ifndef SCHED_COMMAND_H
#define SCHED_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* Stands in a word for what only the run knows: values, variables, what commands print. */
#define COMMAND_UNKNOWN '\1'
/* The same without quotes: no word at all, one, or several. */
#define COMMAND_MAYBE '\2'

enum command_place {
	COMMAND_DATA,
	COMMAND_NAME, /* of a program */
	COMMAND_CODE
};

struct command {
	const struct program *program; /* NULL: none yet, or one that takes data */
	bool has_name;                 /* else the next word is it, or what may stand before it */
	bool takes_assignments;
	bool is_made_up; /* its name is known to the run alone */
	bool code_next;  /* the next word is code */
	bool skips_next; /* it belongs to an option */
	bool has_code;   /* what follows is data */
	bool ends_options;
	bool is_anyones; /* a shell among the words of a program that is not known */
	bool by_xargs, in_find, is_boxed;
	bool reads_input; /* as code, though it has words */
	int words;        /* of a program that counts them */
};

void command_begin(struct command *c);
/* May a value stand in the next word, behind these bytes of it? */
enum command_place command_value(const struct command *c, const char *before, size_t n);
void command_word(struct command *c, const char *word, size_t n);
/* After its last word: is its standard input code? */
bool command_reads_code(const struct command *c);
/* Is NAME a variable by which a shell, a loader or an interpreter is told what to run? */
bool command_is_steering(const char *name);

#endif
