/* docs.h — stored documents of one kind, by name.
 *
 * A document has a name, a number that is its name's for good, and versions; the newest counts. One
 * that is retired stays listed: a name that comes back goes on with its number and its versions.
 * What differs from kind to kind is a row of doc_kinds: whether its text is kept, and what is read
 * out of it. Plain data of one actor.
 */
#ifndef BASESERVER_DOCS_H
#define BASESERVER_DOCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"
#include "util/map.h"

struct edit;
struct err;
struct jval;
struct nearest;

struct doc {
	char *name;
	char *body; /* as stored; "" of a kind that does not keep it */
	size_t len;
	uint32_t id, version;
	bool retired;
	void *means; /* what its kind reads out of the body; NULL: nothing */
};

struct doc_kind {
	enum store_doc_kind kind;
	bool keeps_body;
	/* NULL: nothing is read out of it.
	 *   owns    *ret_means is the document's, until drop()
	 *   errors  E_CORRUPT the body does not read back */
	int (*read)(const struct store_doc *d, void **ret_means, struct err *err);
	void (*drop)(void *means); /* NULL is fine */
};

extern const struct doc_kind doc_kinds[DOC_END]; /* by enum store_doc_kind */

struct docs {
	const struct doc_kind *kind;
	struct doc *items; /* none ever goes: borrowed ones stay until the next is learned */
	size_t n, cap;
	struct map by_name;
	uint32_t last_id; /* the largest */
};

void docs_init(struct docs *ds, const struct doc_kind *kind);
void docs_done(struct docs *ds);
/* The newest version of each. errors  those of the store, E_CORRUPT */
int docs_load(struct docs *ds, struct store *store, struct err *err);
/* One as it is stored now; copied. errors  E_CORRUPT, and it is as it was */
int docs_learn(struct docs *ds, const struct store_doc *d, struct err *err);

/* NULL: none ever was. */
struct doc *docs_ever(const struct docs *ds, const char *name);
/* NULL: none is in force. */
const struct doc *docs_find(const struct docs *ds, const char *name);
/* Names in force, tried against what was asked for. */
void docs_nearest(const struct docs *ds, struct nearest *near);
/* Of a kind that is JSON: its root; NULL when it does not read. */
const struct jval *doc_json(const struct doc *d);

/* The next version of d->name joins the edit; texts are copied. Its number is the name's, or a new
 * one, which nothing else gets even when the edit fails. */
void docs_change(struct docs *ds, struct edit *e, struct store_doc d);
/* The same of one whose number and version are known. */
void docs_add(struct edit *e, const struct store_doc *d);

#endif
