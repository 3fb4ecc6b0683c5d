/* list.h — what the lists of the API share: limit, cursor, order, and the frame of an answer. */
#ifndef CGI_LIST_H
#define CGI_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/when.h"
#include "store/read.h"

struct call;

struct list {
	struct read_page page;
	struct read_answer answer;
	char cursor[READ_CURSOR_MAX];
};

/* Read limit, cursor and order from the query string; def: rows without a limit. */
int list_args(struct call *c, struct list *ret, int64_t def);
/* {"items":[ ... ],"cursor":...,"number":"..."} in c->out. */
void list_begin(struct call *c);
void list_end(struct call *c, const struct list *l);

/* "Running,Failed" as bits. E_INVALID names the unknown one. */
int states_read(struct call *c, const char *name, uint32_t *ret_states);
/* An instant argument. *ret is kept when the argument is absent. */
int instant_arg(struct call *c, const char *name, int64_t *ret);

/* The arguments `from` and `to`: both ends are meant. */
struct span {
	struct when from, to;
	bool has_from, has_to;
};
/* E_INVALID: nothing can lie between them. */
int span_args(struct call *c, struct span *ret);
/* Does it mean other instants in another zone? */
bool span_is_local(const struct span *s);
/* Its instants [*ret_from, *ret_to) in a zone; 0 and 0: any. */
void span_in(const struct span *s, const struct tz *tz, int64_t *ret_from, int64_t *ret_to);
/* {id} of the path as a key. */
int key_param(struct call *c, struct inst_key *ret);
/* E_NOT_FOUND: the store has no such instance. Keeps the error where its task has no name. */
int key_absent(struct call *c, struct inst_key key);

#endif
