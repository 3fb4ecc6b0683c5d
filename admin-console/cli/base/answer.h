/* answer.h — members of the server's answers, as people read them. Never NULL. */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Numbers as text, borrowed until the 16th call after. */
const char *text_of(const cJSON *o, const char *key);
/* "1 task", "3 tasks"; borrowed until the 4th call after. */
const char *counted(size_t n, const char *one);
const char *plural_of(const cJSON *o, const char *key, const char *one);
long long number_of(const cJSON *o, const char *key);
/* "2026-03-01T02:30:00.5Z" as "2026-03-01 02:30:00"; borrowed until the 8th call after. */
const char *time_of(const cJSON *o, const char *key);
/* A run date in UTC with its Z: commands read it so whatever zone the task is in. */
const char *date_of(const cJSON *o, const char *key);
/* The name of an instance for people: its label, of an older server its run_date. */
const char *label_in(const cJSON *o);
/* A state's name as people say it ("queued"); what is none stays. */
const char *word_of_state(const char *name);
/* The colour of a word of a state, to be steered by; NULL: none. */
const char *color_of_state(const char *word);
const char *state_in(const cJSON *o, const char *key);
/* "queued,failed" as names of states; what is no word stays as it is. Owned. */
char *states_named(const char *words);
/* A word that is no state among those of a list, or NULL; *ret_all are those there are. */
const char *states_wrong(const char *words, const char **ret_all);
/* A mistake in a document, in the one form of all commands: FILE:LINE:COLUMN: message (place);
 * hint. */
struct mistake {
	const char *file, *path, *message, *hint; /* path, hint: "" for none */
	long long line, column;
	bool is_warning;
};
void mistake_say(FILE *to, const struct mistake *m);

int print_json(const cJSON *root);

#endif
