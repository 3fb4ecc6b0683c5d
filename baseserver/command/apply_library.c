/* Libraries among the documents: a change of one is a new version of every document that uses what
 * changed, in the same edit. One that is used does not go. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "baseserver/model/json_read.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_put.h"

enum { USERS_NAMED = 10 };
enum { EXPANDED_BYTES_MAX = 64 << 20 }; /* what an apply itself may carry */

/* --- what is in force -------------------------------------------------------------------- */

static struct workflow *parse(const struct document *d)
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
	const struct document *d;

	for (size_t i = 0; i < a->n_libraries; i++)
		if (strcmp(workflow_name(a->libraries[i]), name) == 0)
			return a->libraries[i];
	d = commander_document(a->c, name);
	struct workflow *wf = d ? parse(d) : NULL;
	if (!wf)
		return NULL;
	a->libraries = mem_grow(a->libraries, a->n_libraries + 1, sizeof *a->libraries);
	return a->libraries[a->n_libraries++] = wf;
}

void apply_libraries_done(struct apply *a)
{
	for (size_t i = 0; i < a->n_libraries; i++)
		workflow_free(a->libraries[i]);
	free(a->libraries);
	free(a->expanded);
}

int apply_resolve(struct apply *a)
{
	return workflow_set_resolve(a->set, in_force, a, &a->diags);
}

/* --- who uses one ------------------------------------------------------------------------ */

static bool in_set(const struct apply *a, const char *name)
{
	for (size_t i = 0; i < workflow_set_count(a->set); i++)
		if (strcmp(workflow_name(workflow_set_at(a->set, i)), name) == 0)
			return true;
	return false;
}

/* A document in force that stays as it is and uses something; the caller's. NULL: it is none. */
static struct workflow *user_in_force(const struct apply *a, const struct document *d)
{
	return d->retired || in_set(a, d->name) || workflow_written(d->body, d->len) == d->len
	               ? NULL
	               : parse(d);
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
	int r = u->n == 0 ? 0
	                  : refuse(a->f, E_CONFLICT, place, "take `use` out of them first",
	                           "%s is used by %s%s", what, buf_str(&u->names),
	                           u->n > USERS_NAMED ? " and more" : "");

	buf_done(&u->names);
	return r;
}

int apply_unused(struct apply *a, const char *name, const char *place)
{
	struct users u = { .n = 0 };

	buf_init(&u.names);
	for (size_t i = 0; i < workflow_set_count(a->set); i++) {
		const struct workflow *wf = workflow_set_at(a->set, i);
		if (workflow_uses(wf, name))
			add_user(&u, workflow_name(wf));
	}
	for (size_t i = 0; i < a->c->n_documents; i++) {
		const struct document *d = &a->c->documents[i];
		struct workflow *wf = apply_prunes(a, d->name) ? NULL : user_in_force(a, d);
		if (wf && workflow_uses(wf, name))
			add_user(&u, d->name);
		workflow_free(wf);
	}
	return refuse_users(a, &u, place, name);
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

static void expand(struct apply *a, const struct workflow *wf)
{
	workflow_set_expand(a->set, wf, in_force, add_expanded, a);
}

int apply_expand(struct apply *a)
{
	const struct expanded *most = NULL;

	for (size_t i = 0; i < workflow_set_count(a->set); i++)
		expand(a, workflow_set_at(a->set, i));
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

/* Who would miss what it uses. */
static int check_lacks(struct apply *a, const struct workflow *library)
{
	struct users u = { .n = 0 };
	char *what = NULL;

	buf_init(&u.names);
	for (size_t i = 0; i < a->c->n_documents; i++) {
		const struct document *d = &a->c->documents[i];
		struct workflow *wf = user_in_force(a, d);
		const char *lacks = wf ? workflow_lacks(wf, library) : NULL;
		if (lacks && !what)
			what = mem_str(lacks);
		if (lacks && strcmp(lacks, what) == 0)
			add_user(&u, d->name);
		workflow_free(wf);
	}
	int r = refuse_users(a, &u, "args.documents", what ? what : "");
	free(what);
	return r;
}

/* Does it use what one of the first n documents of the set says anew? */
static bool is_outdated(const struct apply *a, const struct workflow *wf, size_t n)
{
	for (size_t i = 0; wf && i < n; i++) {
		const struct workflow *library = workflow_set_at(a->set, i);
		if (workflow_is_library(library) && workflow_outdated(wf, library))
			return true;
	}
	return false;
}

static void count_user(struct apply *a, const struct workflow *wf, const struct document *d)
{
	a->bytes += workflow_written(d->body, d->len);
	expand(a, wf);
}

static void read_user(struct apply *a, const struct workflow *wf, const struct document *d)
{
	(void)wf;
	workflow_set_read(a->set, d->body, d->len, d->name, &a->diags);
}

static void each_user(struct apply *a, size_t n,
                      void (*each)(struct apply *a, const struct workflow *wf,
                                   const struct document *d))
{
	for (size_t i = 0; i < a->c->n_documents; i++) {
		const struct document *d = &a->c->documents[i];
		struct workflow *wf = user_in_force(a, d);
		if (is_outdated(a, wf, n))
			each(a, wf, d);
		workflow_free(wf);
	}
}

/* Does the document take the place of a library in force? */
static bool replaces_library(struct apply *a, const struct workflow *wf)
{
	const struct workflow *was = workflow_is_library(wf) ? NULL
	                                                     : in_force(a, workflow_name(wf));

	return was && workflow_is_library(was);
}

static bool has_library(const struct apply *a)
{
	for (size_t i = 0; i < workflow_set_count(a->set); i++)
		if (workflow_is_library(workflow_set_at(a->set, i)))
			return true;
	return false;
}

int apply_users(struct apply *a)
{
	size_t n = workflow_set_count(a->set);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct workflow *wf = workflow_set_at(a->set, i);
		if (workflow_is_library(wf))
			r = check_lacks(a, wf);
		else if (replaces_library(a, wf))
			r = apply_unused(a, workflow_name(wf), "args.documents");
	}
	if (r == 0 && has_library(a))
		each_user(a, n, count_user);
	if (r == 0)
		r = apply_expand(a);
	a->sliced = a->sliced || (a->bytes >= ARGS_BRIEF_FROM && a->cmd->tries == 0);
	if (r == 0 && has_library(a))
		each_user(a, n, read_user);
	return r < 0 || !a->diags.errors ? r : apply_refuse_diags(a);
}

/* --- retiring ---------------------------------------------------------------------------- */

static int retire_library(struct apply *a, const char *name)
{
	const char *place = "args.retire_libraries";
	const struct document *d = commander_document(a->c, name);
	const struct workflow *was = d ? in_force(a, name) : NULL;

	if (!was || !workflow_is_library(was) || in_set(a, name))
		return refuse(a->f, was ? E_CONFLICT : E_NOT_FOUND, place, NULL,
		              !was              ? "there is no library '%.400s'"
		              : in_set(a, name) ? "%.400s is among the documents"
		                                : "%.400s is no library",
		              name);
	int r = apply_unused(a, name, place);
	if (r < 0)
		return r;
	apply_change_begin(a, "library", name, "retire", d->version + 1);
	apply_change_end(a, "retire", "", NULL, NULL);
	apply_add_doc(a, &(struct store_doc){ .kind = DOC_WORKFLOW,
	                                      .id = d->id,
	                                      .version = d->version + 1,
	                                      .retired = true,
	                                      .name = d->name,
	                                      .body = d->body,
	                                      .body_len = d->len });
	return 0;
}

int apply_retire_libraries(struct apply *a)
{
	const struct jval *gone = a->cmd->o.retired_libraries;
	int r = 0;

	for (const struct jval *v = gone ? gone->first : NULL; v && r == 0; v = v->next)
		r = retire_library(a, v->text);
	return r;
}
