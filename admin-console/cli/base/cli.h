/* cli.h — what every command of `sirdar` shares: options, output, exit codes.
 *
 * A command is a row of commands.def and a verb (verb.h), which returns one of enum cli_exit.
 * Single-threaded.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct buf;
struct tz;
struct when;
struct when_span;

/* Scripts rely on these; README.md says what they mean. */
enum cli_exit {
	CLI_OK = 0,
	CLI_REFUSED = 1, /* errors in a file, or the server said no */
	CLI_USAGE = 2,
	CLI_UNREACHABLE = 3, /* no answer from the server */
	CLI_NOT_FOUND = 4,
	CLI_DENIED = 5,   /* not signed in, or not allowed */
	CLI_TIMEOUT = 6,  /* gave up waiting */
	CLI_FAILED = 7,   /* done in part, or what was waited for ended badly */
	CLI_LET_GO = 130, /* Ctrl-C while it waited: the work goes on */
};

struct asked;
struct command;

/* One run of the program. */
struct cli {
	const struct command *command; /* the row that was asked for */
	bool json;                     /* what is printed is data: base/output.h turns it */
	const char *server;            /* --server URL, or NULL */
	const char *token_file;        /* --token-file FILE, or NULL */
	const struct asked *asked;     /* the command line, read (verb.h); NULL: not yet */
};

struct verb;

struct command {
	const char *name; /* "cron next": one word or two */
	const struct verb *verb;
	const char *args, *help;
};

/* Options that all commands have. */
extern const struct argp_option cli_options[];

/* The command that words begin with, two words before one; NULL: none. `all` ends with a row
 * without a name. */
const struct command *command_find(const struct command *all, int n, const char *const *words,
                                   int *ret_words);

/* Parse a command's own options and words. Ends the program on --help and wrong use.
 *
 *   own    options and parser of the command; its state->input is `input`
 *   argv   argv[0] is the command's name
 */
void cli_parse(struct cli *cli, const struct argp *own, int argc, char **argv, void *input);

/* One line on stderr, "sirdar: ..."; returns `code`, so that it can be returned. */
__attribute__((format(printf, 2, 3))) int cli_fail(int code, const char *fmt, ...);

/* One line of text for people, line ends in it escaped: nobody's name makes two of it. */
__attribute__((format(printf, 2, 3))) void cli_line(FILE *to, const char *fmt, ...);

/* Write a finished buffer to stdout, with a line end. Returns CLI_OK, or CLI_REFUSED when
 * that failed. */
int cli_print(struct buf *out);

/* Words collected by a parser. */
struct words {
	char **items; /* borrowed from argv; the array is owned */
	size_t n, cap;
};

void words_add(struct words *w, char *word);
void words_done(struct words *w);

/* Without an echo from the terminal, else a line of standard input. False: nothing came. */
bool password_ask(const char *what, char *ret, size_t size);

/* The time zone by name, or NULL and a line on stderr. */
const struct tz *cli_zone(const char *name);

/* Dates as people write them (sched/when.h): one, or A..B; of date_read() one. False, and a line
 * on stderr: they are none. */
bool dates_read(const char *text, struct when_span *ret);
bool date_read(const char *text, struct when *ret);

#endif
