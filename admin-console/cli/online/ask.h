/* ask.h — what verbs run that are rows: ask by the row, show by the row. */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "admin-console/cli/online/online.h"

int ask(struct asked *q);         /* one call */
int command_ask(struct asked *q); /* a command of the server: `call` is its kind */
int command_ask_as(struct asked *q, const char *kind); /* NULL: as above */
/* One call for each word; a line for each: WORD `done`. */
int ask_each(struct asked *q, const char *done);

/* project.c: whether reading is bound, of an answer of GET /api/v1/server. */
void reading_say(const cJSON *server);
/* target.c: a secret from a file, or asked for, into `to` as `name`; where one is kept outside, of
 * FROM:PATH[#KEY]. */
int secret_put(cJSON *to, const char *name, const char *file, const char *label);
cJSON *secret_ref(const char *arg);
opt_check check_from;

/* --- for those that ask more than once */

int online_get(struct online *o, const char *path, cJSON **ret);
/* A list, `all` of its pages or one; a page's table is printed before the next page is asked for,
 * so that nothing grows with the list; no table without a row. `more` may add to a page's items;
 * ret_any may be NULL. */
int pages_show(struct online *o, const char *path, bool all, const struct column *columns,
               int (*more)(struct online *o, cJSON *items), bool *ret_any);
/* An answer as the verb has it: JSON, table, or its own. */
int answer_show(struct online *o, const struct asked *q, const cJSON *answer);

/* "user set: done, ann"; nothing for programs. */
void done_say(const struct asked *q, const char *what);

#endif
