/* Task types: what their manifests declare, and the runners that brokers have of them. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/sort/registrar.h"
#include "baseserver/sort/registrar_impl.h"
#include "rt/manifests.h"
#include "sched/type.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/diag.h"
#include "util/json_put.h"
#include "util/log.h"

void registrar_set_types(struct registrar *r, const char *dir)
{
	manifests_free(r->types);
	r->types = manifests_new(dir);
	manifests_types(r->types);
	const struct diags *wrong = manifests_wrong(r->types);
	for (size_t i = 0; i < wrong->n; i++)
		log_warn("types.wrong", "file=%s line=%d text=\"%s\"", wrong->items[i].at.file,
		         wrong->items[i].at.line, wrong->items[i].message);
}

struct listing {
	const char **names;
	size_t n, cap;
};

static void types_add(struct listing *all, const char *name)
{
	all->names = mem_room(all->names, &all->cap, all->n + 1, sizeof *all->names);
	all->names[all->n++] = name;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_runner(const struct broker *b, const struct runner *run, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "broker", b->name);
	put_bool(out, "online", b->session != 0);
	put_text(out, "version", run->version);
	put_text(out, "state", runner__state_name(run));
	put_bool(out, "accepts", runner__accepts(b, run));
	put_text(out, "text", run->text);
	put_int(out, "slots", run->slots);
	put_int(out, "running", run->session ? run->held : 0);
	put_close(out, '}');
}

/* Of each broker first who takes work, then former versions that still have jobs. */
static void print_runners(const struct registrar *r, const char *type, struct buf *out)
{
	put_open(out, "brokers", '[');
	for (size_t i = 0; i < 2 * r->n; i++) {
		const struct broker *b = r->brokers[i / 2];

		for (size_t k = 0; k < b->n_runners; k++) {
			const struct runner *run = &b->runners[k];

			if ((run->state == RUNNER_DRAINING) == (i % 2 == 1) &&
			    strcmp(run->type, type) == 0)
				print_runner(b, run, out);
		}
	}
	put_close(out, ']');
}

static void print_type(const struct registrar *r, const struct type_set *set, const char *name,
                       struct buf *out)
{
	const struct type *t = type_set_find(set, name);

	put_open(out, NULL, '{');
	if (t)
		type_print_members(t, out);
	else
		put_text(out, "type", name);
	put_bool(out, "declared", t != NULL);
	print_runners(r, name, out);
	put_close(out, '}');
}

static void print_wrong(const struct diags *d, struct buf *out)
{
	put_open(out, "wrong", '[');
	for (size_t i = 0; i < d->n; i++) {
		const struct diag *x = &d->items[i];
		char *line = mem_fmt("%s:%d:%d: %s", x->at.file, x->at.line, x->at.column,
		                     x->message);

		put_text(out, NULL, line);
		free(line);
	}
	put_close(out, ']');
}

void registrar_print_types(const struct registrar *r, struct buf *out)
{
	struct manifests *own = r->types ? NULL : manifests_new("");
	struct manifests *m = own ? own : r->types;
	const struct type_set *set = manifests_types(m);
	struct listing all = { 0 };

	CHECK(actor_here(r->me));
	for (size_t i = 0; i < type_set_count(set); i++)
		types_add(&all, type_set_at(set, i)->name);
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < r->brokers[i]->n_runners; k++)
			types_add(&all, r->brokers[i]->runners[k].type);
	if (all.n)
		qsort(all.names, all.n, sizeof *all.names, by_name);
	put_open(out, NULL, '{');
	put_open(out, "types", '[');
	for (size_t i = 0; i < all.n; i++)
		if (i == 0 || strcmp(all.names[i], all.names[i - 1]) != 0)
			print_type(r, set, all.names[i], out);
	put_close(out, ']');
	print_wrong(manifests_wrong(m), out);
	put_close(out, '}');
	free(all.names);
	manifests_free(own);
}
