/* Libraries among the documents: a change of one is a new version of every document that uses what
 * changed, in the same edit. One that is used does not go. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"

enum { USERS_NAMED = 10 };
enum { EXPANDED_BYTES_MAX = 64 << 20 }; /* what an apply itself may carry */

/* --- what is in force -------------------------------------------------------------------- */

static struct workflow *library_parse(const struct doc *d)
{
	struct workflow *wf = NULL;
	struct diags diags;

	diags_init(&diags);
	if (workflow_parse(d->body, d->len, d->name, &diags, &wf) < 0)
		wf = NULL;
	diags_done(&diags);
	return wf;
}

static const struct workflow *in_force(void *ctx, const char *name)
{
	struct apply *a = ctx;
	uint64_t key = map_text(name);
	size_t at = 0;

	for (uint32_t i = map_first(&a->by_library, key, &at); i != MAP_NONE;
	     i = map_next(&a->by_library, key, &at))
		if (strcmp(workflow_name(a->libraries[i]), name) == 0)
			return a->libraries[i];
	const struct doc *d = docs_find(&a->c->documents.all, name);
	struct workflow *wf = d ? library_parse(d) : NULL;
	if (!wf)
		return NULL;
	map_add(&a->by_library, key, (uint32_t)a->n_libraries);
	a->libraries = mem_grow(a->libraries, a->n_libraries + 1, sizeof *a->libraries);
	return a->libraries[a->n_libraries++] = wf;
}

int apply__resolve(struct apply *a)
{
	return workflow_set_resolve(a->set, in_force, a, &a->diags);
}

/* --- who uses one ------------------------------------------------------------------------ */

/* A document in force that stays as it is and uses something; the caller's. NULL: it is none. */
static struct workflow *user_in_force(const struct apply *a, const struct doc *d)
{
	return d->retired || apply__has(a, d->name) || !workflow_stored_uses(d->body, d->len)
	               ? NULL
	               : library_parse(d);
}

struct users {
	struct buf names;
	size_t n;
};

static void add_user(struct users *u, const char *name)
{
	if (u->n++ < USERS_NAMED)
		buf_printf(&u->names, "%s%s", u->n > 1 ? ", " : "", name);
}

static int refuse_users(struct apply *a, struct users *u, const char *place, const char *what)
{
	return u->n == 0 ? 0
	                 : refuse(a->f, E_CONFLICT, place, "take `use` out of them first",
	                          "%s is used by %s%s", what, buf_str(&u->names),
	                          u->n > USERS_NAMED ? " and more" : "");
}

int apply__unused(struct apply *a, const char *name, const char *place)
{
	struct users u = { .n = 0 };

	buf_init(&u.names);
	for (size_t i = 0; i < workflow_set_count(a->set); i++) {
		const struct workflow *wf = workflow_set_at(a->set, i);
		if (workflow_uses(wf, name))
			add_user(&u, workflow_name(wf));
	}
	for (size_t i = 0; i < a->c->documents.all.n; i++) {
		const struct doc *d = &a->c->documents.all.items[i];
		struct workflow *wf = apply__prunes(a, d->name) ? NULL : user_in_force(a, d);
		if (wf && workflow_uses(wf, name))
			add_user(&u, d->name);
		workflow_free(wf);
	}
	int r = refuse_users(a, &u, place, name);
	buf_done(&u.names);
	return r;
}

/* --- how much it becomes ----------------------------------------------------------------- */

static void add_expanded(void *ctx, const struct workflow *library, size_t bytes)
{
	struct apply *a = ctx;
	size_t i = 0;

	while (i < a->n_expanded && a->expanded[i].library != library)
		i++;
	if (i == a->n_expanded) {
		a->expanded = mem_grow(a->expanded, i + 1, sizeof *a->expanded);
		a->expanded[a->n_expanded++] = (struct expanded){ .library = library };
	}
	a->expanded[i].tasks++;
	a->expanded[i].bytes += bytes;
	a->bytes += bytes;
}

static void library_expand(struct apply *a, const struct workflow *wf)
{
	workflow_set_expand(a->set, wf, in_force, add_expanded, a);
}

int apply__expand(struct apply *a)
{
	const struct expanded *most = NULL;

	for (size_t i = 0; i < workflow_set_count(a->set); i++)
		library_expand(a, workflow_set_at(a->set, i));
	for (size_t i = 0; i < a->n_expanded; i++)
		if (!most || a->expanded[i].bytes > most->bytes)
			most = &a->expanded[i];
	if (a->bytes <= EXPANDED_BYTES_MAX || !most)
		return 0;
	return refuse(a->f, E_LIMIT, "args.documents",
	              "a shorter task (a long script as a file of the machines), or a library for "
	              "some of them",
	              "%zu tasks use the library %.300s, each with a copy of what it says: "
	              "together %zu bytes at once; the limit is %d",
	              most->tasks, workflow_name(most->library), a->bytes, EXPANDED_BYTES_MAX);
}

/* --- a change ---------------------------------------------------------------------------- */

/* A library of the documents: who in force would miss what it uses of it. */
struct changed {
	const struct workflow *library;
	char *what;
	struct users users;
};

struct changes {
	struct changed *items;
	size_t n;
};

static struct changes list_libraries(const struct apply *a, size_t n)
{
	struct changes all = { mem_array(n + 1, sizeof *all.items), 0 };

	for (size_t i = 0; i < n; i++) {
		const struct workflow *wf = workflow_set_at(a->set, i);
		if (!workflow_is_library(wf))
			continue;
		all.items[all.n] = (struct changed){ .library = wf };
		buf_init(&all.items[all.n++].users.names);
	}
	return all;
}

static void changes_done(struct changes *all)
{
	for (size_t i = 0; i < all->n; i++) {
		free(all->items[i].what);
		buf_done(&all->items[i].users.names);
	}
	free(all->items);
}

static void find_lacks(struct changed *l, const struct workflow *wf, const struct doc *d)
{
	const char *lacks = workflow_lacks(wf, l->library);

	if (lacks && !l->what)
		l->what = mem_str(lacks);
	if (lacks && strcmp(lacks, l->what) == 0)
		add_user(&l->users, d->name);
}

/* Each document in force is read once, however many libraries change. */
static void find_all_lacks(const struct apply *a, struct changes *all)
{
	for (size_t i = 0; i < a->c->documents.all.n && all->n; i++) {
		const struct doc *d = &a->c->documents.all.items[i];
		struct workflow *wf = name_is_test(d->name) ? NULL : user_in_force(a, d);
		for (size_t k = 0; wf && k < all->n; k++)
			find_lacks(&all->items[k], wf, d);
		workflow_free(wf);
	}
}

/* Does it use what one of the libraries says anew? */
static bool is_outdated(const struct changes *all, const struct workflow *wf)
{
	for (size_t i = 0; wf && i < all->n; i++)
		if (workflow_outdated(wf, all->items[i].library))
			return true;
	return false;
}

static void count_user(struct apply *a, const struct workflow *wf, const struct doc *d)
{
	a->bytes += workflow_written(d->body, d->len);
	library_expand(a, wf);
}

static void read_user(struct apply *a, const struct workflow *wf, const struct doc *d)
{
	(void)wf;
	workflow_set_read(a->set, d->body, d->len, d->name, &a->diags);
}

static void each_user(struct apply *a, const struct changes *all,
                      void (*each)(struct apply *a, const struct workflow *wf, const struct doc *d))
{
	for (size_t i = 0; i < a->c->documents.all.n && all->n; i++) {
		const struct doc *d = &a->c->documents.all.items[i];
		struct workflow *wf = name_is_test(d->name) ? NULL : user_in_force(a, d);
		if (is_outdated(all, wf))
			each(a, wf, d);
		workflow_free(wf);
	}
}

/* Does the document take the place of a library in force? */
static bool replaces_library(const struct apply *a, const struct workflow *wf)
{
	const struct doc *was = docs_find(&a->c->documents.all, workflow_name(wf));

	return was && workflow_stored_library(was->body, was->len);
}

/* The first document of the set that takes something away from who uses it. */
static int check_users(struct apply *a, struct changes *all, size_t n)
{
	int r = 0;

	find_all_lacks(a, all);
	for (size_t i = 0, k = 0; i < n && r == 0; i++) {
		const struct workflow *wf = workflow_set_at(a->set, i);
		if (workflow_is_library(wf)) {
			struct changed *l = &all->items[k++];
			r = refuse_users(a, &l->users, "args.documents", l->what);
		} else if (replaces_library(a, wf)) {
			r = apply__unused(a, workflow_name(wf), "args.documents");
		}
	}
	return r;
}

int apply__users(struct apply *a)
{
	size_t n = workflow_set_count(a->set);
	struct changes all = list_libraries(a, n);
	int r = check_users(a, &all, n);

	if (r == 0)
		each_user(a, &all, count_user);
	if (r == 0)
		r = apply__expand(a);
	a->sliced = a->sliced || (a->bytes >= ARGS_BRIEF_FROM && a->cmd->tries == 0);
	if (r == 0)
		each_user(a, &all, read_user);
	changes_done(&all);
	return r < 0 || !a->diags.errors ? r : apply__refuse_diags(a);
}

/* --- retiring ---------------------------------------------------------------------------- */

static int retire_library(struct apply *a, const char *name)
{
	const char *place = "args.retire_libraries";
	const struct doc *d = docs_find(&a->c->documents.all, name);
	bool is = d && workflow_stored_library(d->body, d->len);

	if (!is || apply__has(a, name))
		return refuse(a->f, d ? E_CONFLICT : E_NOT_FOUND, place, NULL,
		              !d                    ? "there is no library '%.400s'"
		              : apply__has(a, name) ? "%.400s is among the documents"
		                                    : "%.400s is no library",
		              name);
	int r = apply__unused(a, name, place);
	if (r < 0)
		return r;
	apply__change_begin(a, "library", name, "retire", d->version + 1);
	apply__change_end(a, "retire", "", NULL, NULL);
	apply__retire_doc(a, d);
	return 0;
}

int apply__retire_libraries(struct apply *a)
{
	const struct jval *gone = a->cmd->o.retired_libraries;
	int r = 0;

	for (const struct jval *v = jv_first(gone); v && r == 0; v = v->next)
		r = retire_library(a, v->text);
	return r;
}
