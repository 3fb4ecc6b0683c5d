/* The params of tasks by their type's manifest. A value with a macro is taken anywhere: only the
 * run knows it. That a parameter is missing is not told: a project's document may give it. */
#include "sched/schema_impl.h"

#include "sched/type.h"
#include "util/buf.h"
#include "util/json_put.h"
#include "util/yaml.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MACRO "\\$[{\\[]"

static void of_scalar(const struct type_param *p, struct buf *out)
{
	(void)p;
	put_open(out, NULL, '{');
	schema__put_words(out, "type", "string|number|boolean");
	put_close(out, '}');
}

static void put_type_or(struct buf *out, const char *type, const char *regex)
{
	put_open(out, NULL, '{');
	put_text(out, "type", type);
	put_close(out, '}');
	put_open(out, NULL, '{');
	schema__pattern(out, regex);
	put_close(out, '}');
}

static void of_integer(const struct type_param *p, struct buf *out)
{
	(void)p;
	put_type_or(out, "integer", "^[+-]?[0-9]+$");
}

static void of_number(const struct type_param *p, struct buf *out)
{
	(void)p;
	put_type_or(out, "number", "^[+.0-9eE-]+$");
}

static void of_boolean(const struct type_param *p, struct buf *out)
{
	(void)p;
	put_type_or(out, "boolean", "^(true|false)$");
}

static void of_duration(const struct type_param *p, struct buf *out)
{
	(void)p;
	put_open(out, NULL, '{');
	schema__duration(out, true);
	put_close(out, '}');
}

static void of_list(const struct type_param *p, struct buf *out)
{
	(void)p;
	put_type_or(out, "array", "^\\[");
}

static void of_map(const struct type_param *p, struct buf *out)
{
	(void)p;
	put_type_or(out, "object", "^\\{");
}

/* Would YAML read it as something else than a text? */
static bool is_no_text(const char *text)
{
	return strcmp(text, "true") == 0 || strcmp(text, "false") == 0 ||
	       (isdigit((unsigned char)*text) && !text[strspn(text, "0123456789")] &&
	        (text[0] != '0' || !text[1]));
}

static void of_choice(const struct type_param *p, struct buf *out)
{
	put_open(out, NULL, '{');
	put_open(out, "enum", '[');
	for (size_t i = 0; p->choices && i < p->choices->n; i++) {
		put_text(out, NULL, p->choices->items[i]->text);
		if (is_no_text(p->choices->items[i]->text))
			put_raw(out, NULL, p->choices->items[i]->text);
	}
	put_close(out, ']');
	put_close(out, '}');
}

static void (*const kinds[TYPE_KINDS])(const struct type_param *p, struct buf *out) = {
	[TYPE_TEXT] = of_scalar,       [TYPE_SCRIPT] = of_scalar,   [TYPE_INTEGER] = of_integer,
	[TYPE_NUMBER] = of_number,     [TYPE_BOOLEAN] = of_boolean, [TYPE_LIST] = of_list,
	[TYPE_DURATION] = of_duration, [TYPE_CHOICE] = of_choice,   [TYPE_MAP] = of_map,
	[TYPE_SERVER] = of_scalar,
};

static void put_param(struct buf *out, const struct type_param *p)
{
	put_open(out, p->name, '{');
	put_text(out, "description", p->help);
	if (p->value)
		put_text(out, "default", p->value);
	put_open(out, "anyOf", '[');
	kinds[p->kind](p, out);
	put_open(out, NULL, '{');
	schema__pattern(out, MACRO);
	put_close(out, '}');
	put_close(out, ']');
	put_close(out, '}');
}

/* Of `one_of` no two: what is not here may be given by the project. */
static void put_one_of(struct buf *out, const struct yaml_node *names)
{
	put_open(out, "allOf", '[');
	for (size_t i = 0; i < names->n; i++)
		for (size_t k = i + 1; k < names->n; k++) {
			put_open(out, NULL, '{');
			put_open(out, "not", '{');
			put_open(out, "required", '[');
			put_text(out, NULL, names->items[i]->text);
			put_text(out, NULL, names->items[k]->text);
			put_close(out, ']');
			put_close(out, '}');
			put_close(out, '}');
		}
	put_close(out, ']');
}

static const char *def_of(const struct type *t, char ret[WORKFLOW_NAME_MAX + 10])
{
	snprintf(ret, WORKFLOW_NAME_MAX + 10, "params-%s", t->name);
	return ret;
}

static void put_params(struct buf *out, const struct type *t)
{
	char def[WORKFLOW_NAME_MAX + 10];

	put_open(out, def_of(t, def), '{');
	put_text(out, "description", t->help);
	put_text(out, "type", "object");
	put_open(out, "properties", '{');
	for (size_t i = 0; i < t->n_params; i++)
		put_param(out, &t->params[i]);
	put_close(out, '}');
	if (!t->takes_others)
		put_bool(out, "additionalProperties", false);
	if (t->one_of)
		put_one_of(out, t->one_of);
	put_close(out, '}');
}

/* Where `type` says it, `params` are that type's. */
static void put_when(struct buf *out, const struct type *t)
{
	char def[WORKFLOW_NAME_MAX + 10];

	put_open(out, NULL, '{');
	put_open(out, "if", '{');
	schema__put_words(out, "required", "type");
	put_open(out, "properties", '{');
	put_open(out, "type", '{');
	put_text(out, "const", t->name);
	put_close(out, '}');
	put_close(out, '}');
	put_close(out, '}');
	put_open(out, "then", '{');
	put_open(out, "properties", '{');
	schema__put_ref(out, "params", def_of(t, def));
	put_close(out, '}');
	put_close(out, '}');
	put_close(out, '}');
}

/* Those of the manifests, to choose from; a broker may have others. */
static void put_types(struct buf *out, const struct type_set *types, size_t n)
{
	put_open(out, "type", '{');
	put_open(out, "anyOf", '[');
	for (size_t i = 0; i < n; i++) {
		put_open(out, NULL, '{');
		put_text(out, "const", type_set_at(types, i)->name);
		put_text(out, "description", type_set_at(types, i)->help);
		put_close(out, '}');
	}
	schema__put_ref(out, NULL, "word");
	put_close(out, ']');
	put_close(out, '}');
}

void schema__types(const struct type_set *types, struct buf *out)
{
	size_t n = types ? type_set_count(types) : 0;

	put_types(out, types, n);
	for (size_t i = 0; i < n; i++)
		put_params(out, type_set_at(types, i));
	put_open(out, "typed", '{');
	if (n)
		put_open(out, "allOf", '[');
	for (size_t i = 0; i < n; i++)
		put_when(out, type_set_at(types, i));
	if (n)
		put_close(out, ']');
	put_close(out, '}');
}
