/* verb.h — a command as a row: its options, its words, what it asks, what is shown of the answer.
 *
 * verb.c parses by the rows; online/ask.c asks and shows by them. What a row cannot say is a
 * function of the command's own. README.md has the rules.
 */
#ifndef CLI_VERB_H
#define CLI_VERB_H

#include "admin-console/cli/base/cli.h"
#include "admin-console/cli/base/table.h"

#include <cjson/cJSON.h>

struct asked;
struct online;
struct opt;

/* What becomes of an option's value. `to` is a member of the body; "selection.from": of an object
 * in it. */
enum take {
	TAKE_OWN,    /* the command reads it: given() */
	TAKE_QUERY,  /* a parameter of the path */
	TAKE_TEXT,   /* the last one said counts */
	TAKE_NUMBER, /* as TAKE_TEXT */
	TAKE_TRUE,   /* of an option without a value */
	TAKE_FALSE,
	TAKE_ITEM,  /* one more of a list */
	TAKE_ITEMS, /* the same; '' begins the list, so that it can be empty */
	TAKE_PAIR,  /* NAME=VALUE of an object; '' begins it */
};

/* Of each value, before it is taken: ends the program when it is wrong (argp_error()). */
typedef void opt_check(struct asked *q, const struct opt *o, const char *arg,
                       struct argp_state *state);

struct opt {
	const char *name;
	char letter;      /* 0: none */
	const char *arg;  /* what --help calls the value; NULL: there is none */
	const char *help; /* NULL: it is taken, and not shown */
	enum take take;
	const char *to;
	const char *value; /* when the option is not said; without `arg`: when it is */
	opt_check *check;
	int group; /* of --help */
};

enum { WORDS_NONE = -1, WORDS_ANY = 1 << 20 };

struct verb {
	int (*run)(struct asked *q);
	const struct opt *options; /* ends with a row without a name */
	int least, most;           /* words; most WORDS_NONE: argp refuses them */
	const char *few, *many;    /* said of the wrong number; NULL: the usage */
	void (*check)(struct asked *q, struct argp_state *state); /* of all that was said */

	/* "GET /api/v1/alerts", {} is a word, {/} a slash and a word if there is one. Of what
	 * command_ask() sends: the kind; NULL: the command's name. */
	const char *call;
	const char *words; /* names of the words that follow; "*brokers": all the rest */
	bool sure;         /* --yes is meant */
	int (*prepare)(struct online *o, struct asked *q); /* before the call */
	const char *member;           /* of the answer: what is shown; NULL: all of it */
	const char *none;             /* said of a member without a row; NULL: "no pool" */
	const struct column *columns; /* ... as a table, unless `show` does */
	int (*show)(struct online *o, const struct asked *q, const cJSON *answer);
	/* Of one that reads its command line itself; nothing else of the row counts. */
	int (*run_line)(int argc, char **argv);
};

struct given {
	const struct opt *opt;
	const char *value; /* "" of an option without one */
};

/* A command line, read. */
struct asked {
	struct cli *cli;
	const struct verb *verb;
	struct words words;
	struct given *given; /* options in the order in which they were said */
	size_t n;
	char **kept; /* words that differ from argv's */
	size_t n_kept;
	cJSON *body;
};

/* Ends the program on --help and wrong use. CLI_OK, or CLI_USAGE and a line on stderr. */
int asked_parse(struct asked *q, int argc, char **argv);
void asked_done(struct asked *q);

/* The value of an option by its name, the last said; NULL: not said, and no value without that. */
const char *given(const struct asked *q, const char *name);
/* The same, also of a name that the command has no option of. */
const char *given_if(const struct asked *q, const char *name);
const char *word(const struct asked *q, size_t i); /* NULL: not said */
int usage(const struct cli *cli);                  /* says it; CLI_USAGE */

/* A check: a whole number, of any sign. */
opt_check check_number;
/* Another value than one said before would take its place unseen. */
opt_check check_once;
/* NAME=VALUE (act.c). */
opt_check check_pair;
/* A check of all that was said: for what prints the text of others, as it is. */
void check_no_json(struct asked *q, struct argp_state *state);

/* A member of the body, said again or for the first time. */
void body_text(struct asked *q, const char *name, const char *value);
/* A list of the body, made if it is not there. "a.b": b of the object a. */
cJSON *body_list(struct asked *q, const char *name);

#endif
