/* JSON is YAML, so a command's JSON is read as YAML and printed as that, or its items' names are.
 * One choice for the program's one command line. A name is what other commands take back: an id
 * that is a text (of an instance), else the name, else the first column of the command's table,
 * else the cause, the task or what stands first. */
#include "admin-console/cli/base/output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/diag.h"
#include "util/yaml.h"

const char *const output_words[] = { "table", "wide", "json", "yaml", "name", NULL };
const char *const color_words[] = { "auto", "always", "never", NULL };
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

static enum output output;
static enum color color;
static const char *named_by;

static int place_of(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

bool output_set(const char *word, enum output *ret)
{
	int i = place_of(output_words, word);

	if (i >= 0)
		*ret = output = (enum output)i;
	return i >= 0;
}

bool color_set(const char *word)
{
	int i = place_of(color_words, word);

	if (i >= 0)
		color = (enum color)i;
	return i >= 0;
}

bool output_is(enum output is)
{
	return output == is;
}

void output_named_by(const char *key)
{
	named_by = key;
}

bool color_is_on(void)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

	if (color != COLOR_AUTO)
		return color == COLOR_ALWAYS;
	return isatty(STDOUT_FILENO) && !(none && *none) && !(term && strcmp(term, "dumb") == 0);
}

/* --- names ----------------------------------------------------------------------------------- */

static const struct yaml_node *scalar_of(const struct yaml_node *item, const char *key)
{
	const struct yaml_node *n = key ? yaml_get(item, key) : NULL;

	return n && n->kind == YAML_SCALAR && !yaml_is_null(n) ? n : NULL;
}

static void name_put(const struct yaml_node *item, struct buf *out)
{
	const struct yaml_node *n = item;

	if (item->kind == YAML_MAP) {
		n = scalar_of(item, "id");
		n = n && !n->is_plain ? n : scalar_of(item, "name");
		n = n ? n : scalar_of(item, named_by);
		n = n ? n : scalar_of(item, "cause");
		n = n ? n : scalar_of(item, "task");
		n = n || !item->n ? n : item->items[0];
	}
	if (n && n->kind == YAML_SCALAR)
		buf_printf(out, "%s\n", n->text);
}

/* Of a list its items; of an object that has no name of its own those of its first list. */
static void names_put(const struct yaml_node *root, struct buf *out)
{
	size_t before = out->len;

	if (root->kind != YAML_LIST)
		name_put(root, out);
	for (size_t i = 0; root->kind == YAML_LIST && i < root->n; i++)
		name_put(root->items[i], out);
	for (size_t i = 0; root->kind == YAML_MAP && out->len == before && i < root->n; i++)
		if (root->items[i]->kind == YAML_LIST)
			names_put(root->items[i], out);
}

bool output_turn(struct buf *json, char why[OUTPUT_WHY_BYTES])
{
	struct yaml_doc **docs = NULL;
	struct diags d;
	size_t n = 0;

	if (output != OUTPUT_YAML && output != OUTPUT_NAME)
		return true;
	diags_init(&d);
	bool read = yaml_read(buf_str(json), json->len, "the answer", &d, &docs, &n) == 0;
	if (!read)
		snprintf(why, OUTPUT_WHY_BYTES, "--output %s: %s; --output json has it",
		         output_words[output], d.n ? d.items[0].message : "it does not read");
	buf_clear(json);
	for (size_t i = 0; i < n; i++) {
		if (output == OUTPUT_YAML)
			yaml_print(yaml_root(docs[i]), 0, json);
		else
			names_put(yaml_root(docs[i]), json);
		yaml_free(docs[i]);
	}
	free(docs);
	diags_done(&d);
	return read;
}
