/* Manifests of task types: which parameters a type has, of what kind, with which default, and
 * whether a value fits. A set holds them by name. They are read from YAML with everything that is
 * wrong told by its place; a manifest with an error does not enter the set. Files are read by
 * lib/rt/manifests.c. */
#include "sched/type.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/failure.h"
#include "util/json_put.h"
#include "util/pattern.h"
#include "util/pile.h"
#include "util/yaml.h"

struct type_file {
	struct type type; /* first */
	struct yaml_doc *doc;
	struct pile *pile;
};

struct type_set {
	struct type_file **items; /* by name */
	size_t n;
};

static const struct {
	const char *word, *want;
} kinds[TYPE_KINDS] = {
#define TYPE_KIND(name, word, text) { word, text },
#include "tbl/type_kind.def"
#undef TYPE_KIND
};

/* --- reading -------------------------------------------------------------------------------- */

struct reader {
	struct diags *d;
	const char *file;
	char path[160];
};

static struct place type_here(const struct reader *r, const struct yaml_node *n)
{
	return (struct place){ r->file, n->line, n->column, r->path };
}

static void type_wrong(struct reader *r, const struct yaml_node *n, const char *key,
                       const char *want)
{
	diag_error(r->d, type_here(r, n), "wrong_value", NULL, "%s is %s%.80s%s, want %s", key,
	           n->kind == YAML_SCALAR ? "'" : "",
	           n->kind == YAML_SCALAR ? n->text : yaml_kind_name(n),
	           n->kind == YAML_SCALAR ? "'" : "", want);
}

static void check_keys(struct reader *r, const struct yaml_node *map, const char *what,
                       const char *const *known)
{
	for (size_t i = 0; i < map->n; i++) {
		struct nearest near = nearest_to(map->keys[i]->text);
		char hint[NEAREST_HINT_BYTES];
		size_t k = 0;

		while (known[k] && strcmp(known[k], map->keys[i]->text) != 0)
			nearest_try(&near, known[k++]);
		if (!known[k])
			diag_error(r->d, type_here(r, map->keys[i]), "unknown_key",
			           nearest_hint(&near, hint), "%s has no key '%.80s'", what,
			           map->keys[i]->text);
	}
}

static const char *read_text(struct reader *r, const struct yaml_node *map, const char *key,
                             const char *otherwise)
{
	const struct yaml_node *n = yaml_get(map, key);

	if (!n)
		return otherwise;
	if (n->kind == YAML_SCALAR && !yaml_is_null(n))
		return n->text;
	type_wrong(r, n, key, "a text");
	return otherwise;
}

static bool read_truth(struct reader *r, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *n = yaml_get(map, key);
	bool value = false;

	if (n && !yaml_bool(n, &value))
		type_wrong(r, n, key, "true or false");
	return value;
}

/* A text, or {en: TEXT, zh: TEXT}. */
static void read_both(struct reader *r, const struct yaml_node *map, const char *key,
                      const char **ret_en, const char **ret_zh)
{
	static const char *const languages[] = { "en", "zh", NULL };
	const struct yaml_node *n = yaml_get(map, key);

	*ret_en = *ret_zh = "";
	if (!n)
		return;
	if (n->kind == YAML_SCALAR) {
		*ret_en = *ret_zh = n->text;
		return;
	}
	if (n->kind != YAML_MAP) {
		type_wrong(r, n, key, "a text, or {en: TEXT, zh: TEXT}");
		return;
	}
	check_keys(r, n, key, languages);
	*ret_en = read_text(r, n, "en", "");
	*ret_zh = read_text(r, n, "zh", *ret_en);
}

static enum type_kind read_kind(struct reader *r, const struct yaml_node *map)
{
	const char *word = read_text(r, map, "type", "text");

	for (size_t i = 0; i < TYPE_KINDS; i++)
		if (strcmp(kinds[i].word, word) == 0)
			return (enum type_kind)i;
	type_wrong(r, yaml_get(map, "type"), "type",
	           "text, script, integer, number, boolean, duration, choice, list, map or server");
	return TYPE_TEXT;
}

static enum code_kind read_code(struct reader *r, const struct yaml_node *map)
{
	const char *word = read_text(r, map, "code", code_kind_names[CODE_NONE]);

	for (size_t i = 0; i < CODE_KINDS; i++)
		if (strcmp(code_kind_names[i], word) == 0)
			return (enum code_kind)i;
	type_wrong(r, yaml_get(map, "code"), "code", "none, shell, sql or other");
	return CODE_NONE;
}

static void read_choices(struct reader *r, const struct yaml_node *map, struct type_param *p)
{
	const struct yaml_node *n = yaml_get(map, "choices");

	if (!n && p->kind != TYPE_CHOICE)
		return;
	if (!n || p->kind != TYPE_CHOICE) {
		diag_error(r->d, type_here(r, n ? n : map), n ? "conflict" : "missing_key", NULL,
		           "`choices` belongs to `type: choice`, and to that alone");
		return;
	}
	for (size_t i = 0; n->kind == YAML_LIST && i < n->n; i++)
		if (n->items[i]->kind != YAML_SCALAR)
			type_wrong(r, n->items[i], "choices", "texts");
	if (n->kind != YAML_LIST || n->n == 0)
		type_wrong(r, n, "choices", "a list of texts");
	else
		p->choices = n;
}

static void read_param(struct reader *r, const struct type *t, const struct yaml_node *n,
                       struct type_param *p)
{
	static const char *const keys[] = { "name", "type",   "required", "default",
		                            "help", "secret", "choices",  "example",
		                            "code", "min",    "max",      NULL };
	const struct yaml_node *value;
	const char *want;
	char room[200];
	int64_t us;

	CHECK(t->n_params > 0 && p == &t->params[t->n_params - 1]);
	if (n->kind != YAML_MAP) {
		type_wrong(r, n, "a parameter", "a map: name, type, help");
		return;
	}
	check_keys(r, n, "a parameter", keys);
	p->name = read_text(r, n, "name", "");
	if (!word_ok(p->name))
		diag_error(r->d, type_here(r, n), "wrong_name", NULL,
		           "'%.80s' is no name of a parameter", p->name);
	else if (type_param_find(t, p->name) != p)
		diag_error(r->d, type_here(r, n), "twice", NULL, "'%s' is declared twice", p->name);
	p->kind = read_kind(r, n);
	p->required = read_truth(r, n, "required");
	p->secret = read_truth(r, n, "secret");
	p->example = read_text(r, n, "example", "");
	p->code = read_code(r, n);
	p->least = read_text(r, n, "min", NULL);
	if (p->least && (p->kind != TYPE_DURATION || !duration_parse_us(p->least, &us)))
		type_wrong(r, yaml_get(n, "min"), "min", "a duration, of `type: duration` alone");
	p->most = read_text(r, n, "max", NULL);
	if (p->most && (p->kind != TYPE_DURATION || !duration_parse_us(p->most, &us)))
		type_wrong(r, yaml_get(n, "max"), "max", "a duration, of `type: duration` alone");
	read_both(r, n, "help", &p->help, &p->help_zh);
	read_choices(r, n, p);
	value = yaml_get(n, "default");
	p->value = read_text(r, n, "default", NULL);
	if (value && p->required)
		diag_error(r->d, type_here(r, value), "conflict", NULL,
		           "what is required needs no default");
	else if (value && !type_value_ok(p, value, room, sizeof room, &want))
		type_wrong(r, value, "default", want);
}

static void read_params(struct reader *r, struct type_file *f, const struct yaml_node *root)
{
	const struct yaml_node *n = yaml_get(root, "params");

	if (!n)
		return;
	if (n->kind != YAML_LIST || n->n > TYPE_PARAMS_MAX) {
		type_wrong(r, n, "params", "a list of at most 200 parameters");
		return;
	}
	f->type.params = pile_take(f->pile, n->n * sizeof *f->type.params + 1);
	for (size_t i = 0; i < n->n; i++) {
		snprintf(r->path, sizeof r->path, "params[%zu]", i);
		f->type.params[i].name = "";
		f->type.n_params++;
		read_param(r, &f->type, n->items[i], &f->type.params[i]);
	}
	r->path[0] = '\0';
}

static void read_one_of(struct reader *r, struct type *t, const struct yaml_node *root)
{
	const struct yaml_node *n = yaml_get(root, "one_of");

	if (!n)
		return;
	if (n->kind != YAML_LIST || n->n < 2) {
		type_wrong(r, n, "one_of", "a list of two names or more");
		return;
	}
	for (size_t i = 0; i < n->n; i++)
		if (!type_param_find(t, n->items[i]->text))
			type_wrong(r, n->items[i], "one_of",
			           "the name of a parameter declared here");
	t->one_of = n;
}

/* Read by the broker (loader/guest.c); here they are only judged. */
static void check_errors(struct reader *r, const struct yaml_node *root)
{
	static const char *const keys[] = { "match", "class", NULL };
	const struct yaml_node *list = yaml_get(root, "errors");

	if (list && list->kind != YAML_LIST) {
		type_wrong(r, list, "errors", "a list of patterns");
		return;
	}
	for (size_t i = 0; list && i < list->n; i++) {
		const struct yaml_node *n = list->items[i], *match = n, *class = NULL;
		if (n->kind == YAML_MAP) {
			check_keys(r, n, "a pattern of errors", keys);
			match = yaml_get(n, "match");
			class = yaml_get(n, "class");
		}
		if (!match || match->kind != YAML_SCALAR || !pattern_ok(match->text))
			type_wrong(r, n, "errors", "a text to look for, or {match, class}");
		if (class && (class->kind != YAML_SCALAR || failure_from_name(class->text) < 0))
			type_wrong(r, class, "class", "user, data, resource, target or machine");
	}
}

static void read_root(struct reader *r, struct type_file *f, const struct yaml_node *root)
{
	static const char *const keys[] = { "type",    "label",  "help",   "others",
		                            "one_of",  "params", "runner", "guest",
		                            "version", "files",  "errors", NULL };
	struct type *t = &f->type;

	t->name = "";
	if (root->kind != YAML_MAP) {
		type_wrong(r, root, "a manifest", "a map: type, label, help, params");
		return;
	}
	check_keys(r, root, "a manifest", keys);
	t->name = read_text(r, root, "type", "");
	if (!word_ok(t->name))
		diag_error(r->d, type_here(r, root), "wrong_name", "type: shell",
		           "'%.80s' is no name of a task type", t->name);
	read_both(r, root, "label", &t->label, &t->label_zh);
	read_both(r, root, "help", &t->help, &t->help_zh);
	t->takes_others = read_truth(r, root, "others");
	read_params(r, f, root);
	read_one_of(r, t, root);
	check_errors(r, root);
}

static void file_free(struct type_file *f)
{
	yaml_free(f->doc);
	pile_free(f->pile);
	free(f);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct type_file *const *)a)->type.name,
	              (*(struct type_file *const *)b)->type.name);
}

static int add_doc(struct type_set *set, struct yaml_doc *doc, const char *file, struct diags *d)
{
	struct reader r = { .d = d, .file = file };
	struct type_file *f = mem_new(sizeof *f);
	size_t errors = d->errors;

	f->doc = doc;
	f->pile = pile_new();
	read_root(&r, f, yaml_root(doc));
	if (d->errors == errors && type_set_find(set, f->type.name))
		diag_error(d, type_here(&r, yaml_root(doc)), "twice", NULL,
		           "the task type '%s' has a manifest already", f->type.name);
	if (d->errors != errors) {
		file_free(f);
		return E_INVALID;
	}
	set->items = mem_grow(set->items, set->n + 1, sizeof *set->items);
	set->items[set->n++] = f;
	qsort(set->items, set->n, sizeof *set->items, by_name);
	return 0;
}

int type_set_read(struct type_set *set, const char *text, size_t bytes, const char *file,
                  struct diags *d)
{
	struct yaml_doc **docs = NULL;
	size_t n = 0;
	int r = yaml_read(text, bytes, file, d, &docs, &n);

	if (r < 0)
		return r;
	if (n == 1) {
		r = add_doc(set, docs[0], file, d);
	} else {
		r = diag_error(d, (struct place){ file, 1, 1, "" }, "wrong_value", NULL,
		               "%zu documents, want one manifest", n);
		for (size_t i = 0; i < n; i++)
			yaml_free(docs[i]);
	}
	free(docs);
	return r;
}

/* --- sets ----------------------------------------------------------------------------------- */

struct type_set *type_set_new(void)
{
	return mem_new(sizeof(struct type_set));
}

void type_set_free(struct type_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n; i++)
		file_free(set->items[i]);
	free(set->items);
	free(set);
}

size_t type_set_count(const struct type_set *set)
{
	return set->n;
}

const struct type *type_set_at(const struct type_set *set, size_t i)
{
	return &set->items[i]->type;
}

const struct type *type_set_find(const struct type_set *set, const char *name)
{
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->items[i]->type.name, name) == 0)
			return &set->items[i]->type;
	return NULL;
}

const struct type_param *type_param_find(const struct type *t, const char *name)
{
	for (size_t i = 0; i < t->n_params; i++)
		if (strcmp(t->params[i].name, name) == 0)
			return &t->params[i];
	return NULL;
}

/* --- values --------------------------------------------------------------------------------- */

/* Text all of which one of the C library's readers takes. */
static bool is_number(const char *text, bool whole)
{
	char *end = NULL;

	if (!*text || strspn(text, "+-.0123456789eE") != strlen(text))
		return false;
	errno = 0;
	if (whole)
		strtoll(text, &end, 10);
	else
		strtod(text, &end);
	return errno == 0 && !*end;
}

static bool is_choice(const struct yaml_node *choices, const char *text)
{
	for (size_t i = 0; choices && i < choices->n; i++)
		if (strcmp(choices->items[i]->text, text) == 0)
			return true;
	return false;
}

static void list_choices(const struct yaml_node *choices, char *room, size_t bytes)
{
	size_t at = 0;

	for (size_t i = 0; i < choices->n && at + 1 < bytes; i++)
		at += (size_t)snprintf(room + at, bytes - at, "%s%s",
		                       i == 0               ? ""
		                       : i + 1 < choices->n ? ", "
		                                            : " or ",
		                       choices->items[i]->text);
}

static bool scalar_ok(const struct type_param *p, const char *text)
{
	int64_t us, least, most;

	switch (p->kind) {
	case TYPE_INTEGER:
	case TYPE_NUMBER:
		return is_number(text, p->kind == TYPE_INTEGER);
	case TYPE_BOOLEAN:
		return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
	case TYPE_DURATION:
		return duration_parse_us(text, &us) &&
		       (!p->least || !duration_parse_us(p->least, &least) || us >= least) &&
		       (!p->most || !duration_parse_us(p->most, &most) || us <= most);
	case TYPE_CHOICE:
		return is_choice(p->choices, text);
	case TYPE_LIST: /* as JSON */
		return text[0] == '[';
	case TYPE_MAP:
		return text[0] == '{';
	default:
		return true;
	}
}

static bool has_macro(const char *text)
{
	return strstr(text, "${") || strstr(text, "$[");
}

bool type_value_ok(const struct type_param *p, const struct yaml_node *value, char *room,
                   size_t room_bytes, const char **ret_want)
{
	if (value->kind == YAML_SCALAR
	            ? has_macro(value->text) || scalar_ok(p, value->text)
	            : p->kind == (value->kind == YAML_LIST ? TYPE_LIST : TYPE_MAP))
		return true;
	*ret_want = kinds[p->kind].want;
	if (p->kind == TYPE_CHOICE && p->choices) {
		list_choices(p->choices, room, room_bytes);
		*ret_want = room;
	}
	if (p->least || p->most) {
		snprintf(room, room_bytes, "%s%s%.20s%s%.20s", kinds[p->kind].want,
		         p->least ? ", at least " : "", p->least ? p->least : "",
		         p->most ? ", at most " : "", p->most ? p->most : "");
		*ret_want = room;
	}
	return false;
}

/* --- as JSON -------------------------------------------------------------------------------- */

static void both_print(struct buf *out, const char *key, const char *en, const char *zh)
{
	put_open(out, key, '{');
	put_text(out, "en", en);
	put_text(out, "zh", zh);
	put_close(out, '}');
}

static void texts_print(struct buf *out, const char *key, const struct yaml_node *list)
{
	put_open(out, key, '[');
	for (size_t i = 0; list && i < list->n; i++)
		put_text(out, NULL, list->items[i]->text);
	put_close(out, ']');
}

static void param_print(struct buf *out, const struct type_param *p)
{
	put_open(out, NULL, '{');
	put_text(out, "name", p->name);
	put_text(out, "type", kinds[p->kind].word);
	put_bool(out, "required", p->required);
	put_bool(out, "secret", p->secret);
	put_text(out, "default", p->value);
	texts_print(out, "choices", p->choices);
	both_print(out, "help", p->help, p->help_zh);
	put_text(out, "example", p->example);
	if (p->least)
		put_text(out, "min", p->least);
	if (p->most)
		put_text(out, "max", p->most);
	put_close(out, '}');
}

void type_print_members(const struct type *t, struct buf *out)
{
	struct buf all;

	buf_init(&all);
	put_open(&all, NULL, '{');
	put_text(&all, "type", t->name);
	both_print(&all, "label", t->label, t->label_zh);
	both_print(&all, "help", t->help, t->help_zh);
	put_bool(&all, "others", t->takes_others);
	texts_print(&all, "one_of", t->one_of);
	put_open(&all, "params", '[');
	for (size_t i = 0; i < t->n_params; i++)
		param_print(&all, &t->params[i]);
	put_close(&all, ']');
	put_close(&all, '}');
	buf_put(out, buf_at(&all) + 1, all.len - 2);
	buf_done(&all);
}
