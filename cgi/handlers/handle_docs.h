/* handle_docs.h — documents that a list and a name show: people, groups, target servers,
 * plugins. */
#ifndef CGI_HANDLE_DOCS_H
#define CGI_HANDLE_DOCS_H

#include "store/store.h"

struct buf;
struct cJSON;
struct call;

struct doc_noun {
	enum store_doc_kind kind;
	const char *list;   /* the member that lists them */
	const char *absent; /* "no such user" */
	bool people;        /* shows what cgi/who/people.h knows: that is read first */
	int (*put)(void *call, const struct store_doc *d); /* one, into call->out. Thread: disk */
};

/* GET of all, and of the one that call->params[0] names. */
int docs_get(struct call *c, const struct doc_noun *n);
int doc_get(struct call *c, const struct doc_noun *n);

/* The document read, never NULL, to be given to json_free(); begins the object with its name. */
struct cJSON *doc_open(struct buf *b, const char *key, const struct store_doc *d);
void doc_close(struct buf *b, const struct store_doc *d, struct cJSON *root);
/* The texts of a list; NULL: none. */
void put_texts(struct buf *b, const char *key, const struct cJSON *list);
/* `projects` of a document into the answer, as far as whoever asks reads them. */
void put_projects(struct call *c, const struct cJSON *projects);

/* handle_told.c: the rules that are documents. */
int rules_list(struct call *c);

/* A command whose arguments may hold a secret: nothing of it stays behind. */
int doc_command(struct call *c, const char *kind, const struct cJSON *args);
/* The command that removes: its one argument `key` is call->params[0]. */
int doc_remove(struct call *c, const char *kind, const char *key);

#endif
