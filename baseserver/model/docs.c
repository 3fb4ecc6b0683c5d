/* Stored documents of one kind, by name.
 *
 * An actor loads all of a kind at its start and learns each version that an edit made durable, so
 * docs_ever() answers as the store would. Two rules keep it right: a document is never taken out,
 * only retired, so that its name keeps its number and goes on with its versions; and a number is
 * given to one name only, also when the edit that asked for it comes to nothing. The row of a kind
 * reads the body; one that does not read back is refused and changes nothing here. Who may change
 * a document, and what depends on it, is the commander's business. */
#include "baseserver/model/docs.h"

#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/letters.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/diag.h"
#include "util/json_read.h"

void docs_init(struct docs *ds, const struct doc_kind *kind)
{
	CHECK(kind->kind > 0 && kind->kind < DOC_END);
	*ds = (struct docs){ .kind = kind };
	map_init(&ds->by_name);
}

void docs_done(struct docs *ds)
{
	for (size_t i = 0; i < ds->n; i++) {
		free(ds->items[i].name);
		free(ds->items[i].body);
		if (ds->kind->drop)
			ds->kind->drop(ds->items[i].means);
	}
	free(ds->items);
	map_done(&ds->by_name);
}

struct doc *docs_ever(const struct docs *ds, const char *name)
{
	uint64_t key = map_text(name);
	size_t at = 0;

	for (uint32_t i = map_first(&ds->by_name, key, &at); i != MAP_NONE;
	     i = map_next(&ds->by_name, key, &at)) {
		CHECK(i < ds->n);
		if (strcmp(ds->items[i].name, name) == 0)
			return &ds->items[i];
	}
	return NULL;
}

const struct doc *docs_find(const struct docs *ds, const char *name)
{
	const struct doc *d = docs_ever(ds, name);

	return d && !d->retired ? d : NULL;
}

void docs_nearest(const struct docs *ds, struct nearest *near)
{
	for (size_t i = 0; i < ds->n; i++)
		if (!ds->items[i].retired)
			nearest_try(near, ds->items[i].name);
}

const struct jval *doc_json(const struct doc *d)
{
	return d->means;
}

/* --- learned ---------------------------------------------------------------------------- */

static struct doc *doc_new(struct docs *ds, const char *name)
{
	ds->items = mem_room(ds->items, &ds->cap, ds->n + 1, sizeof *ds->items);
	map_add(&ds->by_name, map_text(name), (uint32_t)ds->n);
	struct doc *made = &ds->items[ds->n++];
	*made = (struct doc){ .name = mem_str(name) };
	return made;
}

int docs_learn(struct docs *ds, const struct store_doc *d, struct err *err)
{
	const struct doc_kind *kind = ds->kind;
	void *means = NULL;

	CHECK(d->kind == kind->kind);
	int r = kind->read ? kind->read(d, &means, err) : 0;
	if (r < 0)
		return r;
	struct doc *at = docs_ever(ds, d->name);
	if (!at)
		at = doc_new(ds, d->name);
	if (kind->drop)
		kind->drop(at->means);
	free(at->body);
	at->means = means;
	at->len = kind->keeps_body ? d->body_len : 0;
	at->body = mem_strn(kind->keeps_body ? d->body : "", at->len);
	at->id = d->id;
	at->version = d->version;
	at->retired = d->retired;
	if (d->id > ds->last_id)
		ds->last_id = d->id;
	return 0;
}

struct doc_loading {
	struct docs *ds;
	struct err *err;
};

static int each_doc(void *ctx, const struct store_doc *d)
{
	const struct doc_loading *ld = ctx;

	return docs_learn(ld->ds, d, ld->err);
}

int docs_load(struct docs *ds, struct store *store, struct err *err)
{
	struct doc_loading ld = { ds, err };

	return store_load_docs(store, ds->kind->kind, each_doc, &ld, err);
}

/* --- changed ---------------------------------------------------------------------------- */

void docs_add(struct edit *e, const struct store_doc *d)
{
	CHECK(d->id > 0 && d->version > 0);
	e->docs = mem_grow(e->docs, e->n_docs + 1, sizeof *e->docs);
	struct store_doc *own = &e->docs[e->n_docs++];
	*own = *d;
	own->name = mem_str(d->name);
	own->body = mem_strn(d->body, d->body_len);
	own->actor = mem_str(d->actor);
}

void docs_change(struct docs *ds, struct edit *e, struct store_doc d)
{
	const struct doc *was = docs_ever(ds, d.name);

	d.kind = ds->kind->kind;
	d.id = was ? was->id : ++ds->last_id;
	d.version = was ? was->version + 1 : 1;
	docs_add(e, &d);
}
