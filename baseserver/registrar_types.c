/* Task types: what their manifests declare, and the runners that brokers have of them. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/json_write.h"
#include "baseserver/registrar.h"
#include "baseserver/registrar_impl.h"
#include "rt/manifests.h"
#include "sched/type.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/diag.h"

void registrar_set_types(struct registrar *r, const char *dir)
{
	manifests_free(r->types);
	r->types = manifests_new(dir);
}

struct listing {
	const char **names;
	size_t n, cap;
};

static void add(struct listing *all, const char *name)
{
	if (all->n == all->cap) {
		all->cap = all->cap ? all->cap * 2 : 32;
		all->names = mem_grow(all->names, all->cap, sizeof *all->names);
	}
	all->names[all->n++] = name;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_runners(const struct registrar *r, const char *type, struct buf *out)
{
	jw_list(out, "brokers");
	for (size_t i = 0; i < r->n; i++) {
		const struct broker *b = r->brokers[i];

		for (size_t k = 0; k < b->n_runners; k++) {
			const struct runner *run = &b->runners[k];

			if (strcmp(run->type, type) != 0)
				continue;
			jw_object(out, NULL);
			jw_text(out, "broker", b->name);
			jw_truth(out, "online", b->session != 0);
			jw_text(out, "version", run->version);
			jw_text(out, "state", runner_state_name(run));
			jw_text(out, "text", run->text);
			jw_number(out, "slots", run->slots);
			jw_end_object(out);
		}
	}
	jw_end_list(out);
}

static void print_type(const struct registrar *r, const struct type_set *set, const char *name,
                       struct buf *out)
{
	const struct type *t = type_set_find(set, name);

	jw_object(out, NULL);
	if (t)
		type_print_members(t, out);
	else
		jw_text(out, "type", name);
	jw_truth(out, "declared", t != NULL);
	print_runners(r, name, out);
	jw_end_object(out);
}

static void print_wrong(const struct diags *d, struct buf *out)
{
	jw_list(out, "wrong");
	for (size_t i = 0; i < d->n; i++) {
		const struct diag *x = &d->items[i];
		char *line = mem_fmt("%s:%d:%d: %s", x->at.file, x->at.line, x->at.column,
		                     x->message);

		jw_text(out, NULL, line);
		free(line);
	}
	jw_end_list(out);
}

void registrar_print_types(const struct registrar *r, struct buf *out)
{
	struct manifests *own = r->types ? NULL : manifests_new("");
	struct manifests *m = own ? own : r->types;
	const struct type_set *set = manifests_types(m);
	struct listing all = { 0 };

	for (size_t i = 0; i < type_set_count(set); i++)
		add(&all, type_set_at(set, i)->name);
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < r->brokers[i]->n_runners; k++)
			add(&all, r->brokers[i]->runners[k].type);
	if (all.n)
		qsort(all.names, all.n, sizeof *all.names, by_name);
	jw_object(out, NULL);
	jw_list(out, "types");
	for (size_t i = 0; i < all.n; i++)
		if (i == 0 || strcmp(all.names[i], all.names[i - 1]) != 0)
			print_type(r, set, all.names[i], out);
	jw_end_list(out);
	print_wrong(manifests_wrong(m), out);
	jw_end_object(out);
	free(all.names);
	manifests_free(own);
}
