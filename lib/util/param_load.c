/* Settings from YAML: one mapping of names to scalars or lists of scalars. Nothing else of the
 * language is needed here, so nothing else is taken: no nesting, no aliases, no second document. */
#include "util/check.h"
#include "util/param_impl.h"

#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { FILE_BYTES_MAX = 1 << 20 };

struct reading {
	const struct param_table *table;
	void *p;
	const char *path;
	bool *seen; /* by row */
	yaml_parser_t parser;
	yaml_event_t event; /* the one in hand */
	struct err *err;
};

static const char *load_place(const struct reading *r, char text[static 300])
{
	snprintf(text, 300, "%.250s:%zu:%zu", r->path, r->event.start_mark.line + 1,
	         r->event.start_mark.column + 1);
	return text;
}

/* On to the next event. The one in hand is freed. */
static int load_next(struct reading *r)
{
	yaml_event_delete(&r->event);
	if (yaml_parser_parse(&r->parser, &r->event))
		return 0;
	memset(&r->event, 0, sizeof r->event);
	return err_set(r->err, E_INVALID, "%s (%.200s:%zu:%zu)",
	               r->parser.problem ? r->parser.problem : "not YAML", r->path,
	               r->parser.problem_mark.line + 1, r->parser.problem_mark.column + 1);
}

static int load_refuse(const struct reading *r, const char *name, const char *want)
{
	char at[300];

	return err_set(r->err, E_INVALID, "%s%swant %s (%.200s)", name ? name : "",
	               name ? ": " : "", want, load_place(r, at));
}

static const char *scalar(const struct reading *r)
{
	return (const char *)r->event.data.scalar.value;
}

/* A NUL inside would hide what follows it. */
static bool is_scalar(const struct reading *r)
{
	return r->event.type == YAML_SCALAR_EVENT &&
	       strlen(scalar(r)) == r->event.data.scalar.length;
}

/* From the start of a sequence to its end. */
static int read_list(struct reading *r, const struct param_row *row)
{
	struct param_list l = { 0 };
	char at[300];
	int code;

	load_place(r, at);
	while ((code = load_next(r)) == 0 && is_scalar(r)) {
		l.items = mem_grow(l.items, l.n + 1, sizeof *l.items);
		l.items[l.n++] = mem_str(scalar(r));
	}
	if (code == 0 && r->event.type != YAML_SEQUENCE_END_EVENT)
		code = load_refuse(r, row->name, "a list of plain items");
	if (code == 0)
		return param__assign_list(row, r->p, &l, at, r->err);
	for (size_t i = 0; i < l.n; i++)
		free(l.items[i]);
	free(l.items);
	return code;
}

/* The event in hand is a name; read it and its value. */
static int read_setting(struct reading *r)
{
	char at[300];

	if (!is_scalar(r))
		return load_refuse(r, NULL, "the name of a setting");
	const struct param_row *row = param__find(r->table, scalar(r), load_place(r, at), r->err);
	if (!row)
		return E_INVALID;
	CHECK((size_t)(row - r->table->rows) < r->table->rows_n);
	if (r->seen[row - r->table->rows])
		return err_set(r->err, E_INVALID, "%s is set twice (%.200s)", row->name, at);
	r->seen[row - r->table->rows] = true;

	int code = load_next(r);
	if (code < 0)
		return code;
	if (row->type == PARAM_LIST && r->event.type == YAML_SEQUENCE_START_EVENT)
		return read_list(r, row);
	if (!is_scalar(r))
		return load_refuse(r, row->name, row->type == PARAM_LIST ? "a list" : "one value");
	return param__assign(row, r->p, scalar(r), load_place(r, at), r->err);
}

static int read_document(struct reading *r)
{
	int code = load_next(r);

	if (code == 0)
		code = load_next(r); /* past the start of the stream */
	if (code < 0 || r->event.type == YAML_STREAM_END_EVENT)
		return code; /* empty: all defaults */
	code = load_next(r);
	if (code == 0 && r->event.type == YAML_SCALAR_EVENT && !*scalar(r))
		return 0; /* only comments */
	if (code == 0 && r->event.type != YAML_MAPPING_START_EVENT)
		code = load_refuse(r, NULL, "`name: value` lines");
	while (code == 0 && (code = load_next(r)) == 0 && r->event.type != YAML_MAPPING_END_EVENT)
		code = read_setting(r);
	if (code == 0)
		code = load_next(r);
	if (code == 0)
		code = load_next(r); /* past the end of the document */
	if (code == 0 && r->event.type != YAML_STREAM_END_EVENT)
		code = load_refuse(r, NULL, "one document only");
	return code;
}

int param_load(const struct param_table *t, void *p, const char *path, struct err *err)
{
	struct reading r = { .table = t, .p = p, .path = path, .err = err };
	struct buf text;
	int code;

	buf_init(&text);
	code = fs_read_trusted(path, FILE_BYTES_MAX, &text, err);
	if (code < 0)
		goto out;
	if (!yaml_parser_initialize(&r.parser)) {
		code = err_set(err, E_NOMEM, "%.200s", path);
		goto out;
	}
	r.seen = mem_array(t->rows_n, sizeof *r.seen);
	yaml_parser_set_input_string(&r.parser, buf_at(&text), text.len);
	code = read_document(&r);
	yaml_event_delete(&r.event);
	yaml_parser_delete(&r.parser);
	free(r.seen);
out:
	buf_done(&text);
	return code;
}
