/* shell_impl.h — the walk over a script (shell.c) and its heredocs. For lib/sched/shell*.c only. */
#ifndef SCHED_SHELL_IMPL_H
#define SCHED_SHELL_IMPL_H

#include "sched/command.h"
#include "sched/shell.h"

enum { DEPTH_MAX = 100, HEREDOCS_MAX = 8, DELIMITER_MAX = 80, WORD_MAX = 400 };

enum kind { COMMANDS, CASE, QUOTES, BRACE, ARITH };

struct frame {
	enum kind kind;
	char close; /* of COMMANDS and ARITH; 0: the end of the script */
	int depth;  /* of ARITH: parentheses open */
	/* of COMMANDS and CASE */
	enum { SUBJECT, WANT_IN, PATTERN, BODY } part; /* of a CASE */
	bool in_word, is_plain; /* plain: no quotes and nothing to replace in it */
	bool keyword, command;  /* what the next word may be */
	bool redirects;         /* the next word is a file's name */
	bool is_list;           /* of an array: no commands */
	bool after_for;
	bool condition, numbers; /* in [[ ]]; it compares numbers */
	size_t condition_hole;   /* the first in it */
	enum { PLAIN, NAMES, TEST } program;
	bool evaluates; /* the words to come */
	size_t word_at, word_hole;
	struct command said;
	size_t pipe_hole;           /* the first in what comes to this command by pipes */
	size_t command_hole;        /* the first in the command itself */
	size_t read_hole, read_end; /* those in the word behind < or <<< */
	bool is_piped, is_read;     /* a pipe stands before; < does */
	int groups;                 /* { and loops that are open */
	size_t group_hole;          /* the first in what comes to them by pipes, and in them */
};

struct reading {
	const char *text;
	size_t n, at;
	const size_t *holes;
	size_t n_holes, hole; /* hole: the next one */
	enum shell_place *places;
	struct frame frames[DEPTH_MAX];
	size_t depth;
	struct {
		char delimiter[DELIMITER_MAX];
		bool strips, quoted;
	} heredocs[HEREDOCS_MAX];
	size_t n_heredocs;
	bool is_lost;
};

bool reading__is_hole(const struct reading *x, size_t at);
char reading__byte(const struct reading *x, size_t ahead);
void reading__fill(struct reading *x, enum shell_place place);
/* Every hole before `end` is of that place. */
void reading__fill_until(struct reading *x, size_t end, enum shell_place place);
/* << was read: what ends it. */
void shell__take_delimiter(struct reading *x);
/* A line break was read: what the heredocs hold. */
void shell__skip_heredocs(struct reading *x);

#endif
