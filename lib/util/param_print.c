/* Settings shown to people: --print-config as a file that can be read back, and the tables of
 * docs/settings.md. Both come from the rows alone, so that neither can say something else than
 * what is parsed. */
#include "util/check.h"
#include "util/param_impl.h"

#include <inttypes.h>

static const char *when_text(const struct param_row *row)
{
	return row->when == PARAM_RELOAD ? "on reload (SIGHUP)" : "on restart";
}

static const char *type_text(const struct param_row *row)
{
	static const char *const texts[] = {
		[PARAM_INT] = "number",
		[PARAM_BOOL] = "true or false",
		[PARAM_DURATION_MS] = "duration (number of ms, or 90s 5m 2h30m 1d)",
		[PARAM_SIZE] = "size (number of bytes, or 64K 10MiB 1G)",
		[PARAM_TEXT] = "text",
		[PARAM_PATH] = "path",
		[PARAM_SECRET_FILE] = "path of a file that only its owner may read",
		[PARAM_LIST] = "list",
	};
	CHECK((size_t)row->type < sizeof texts / sizeof texts[0]);
	return texts[row->type];
}

static void print_quoted(const char *s, FILE *out)
{
	putc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', out);
		putc(*s, out);
	}
	putc('"', out);
}

static void print_list(const struct param_list *l, FILE *out)
{
	putc('[', out);
	for (size_t i = 0; i < l->n; i++) {
		if (i)
			fputs(", ", out);
		print_quoted(l->items[i], out);
	}
	putc(']', out);
}

static void print_value(const struct param_row *row, const void *p, FILE *out)
{
	const void *f = param__field_const(row, p);

	CHECK(row->name);
	if (param__is_number(row))
		fprintf(out, "%" PRId64, *(const int64_t *)f);
	else if (row->type == PARAM_BOOL)
		fputs(*(const bool *)f ? "true" : "false", out);
	else if (row->type == PARAM_LIST)
		print_list(f, out);
	else
		print_quoted(*(char *const *)f, out);
}

static void print_default(const struct param_row *row, FILE *out)
{
	if (param__is_number(row))
		fprintf(out, "%" PRId64, row->number);
	else if (row->type == PARAM_BOOL)
		fputs(row->number ? "true" : "false", out);
	else if (row->text[0])
		fputs(row->text, out);
	else
		fputs("empty", out);
}

static void print_range(const struct param_row *row, FILE *out)
{
	if (param__is_number(row))
		fprintf(out, "%" PRId64 "..%" PRId64 " %s", row->min, row->max, row->unit);
	else if (row->type == PARAM_BOOL)
		fputs("true or false", out);
	else
		fprintf(out, "%s%s%" PRId64 "..%" PRId64 " %s", row->unit, row->unit[0] ? ", " : "",
		        row->min, row->max, row->type == PARAM_LIST ? "items" : "bytes");
}

void param_print(const struct param_table *t, const void *p, FILE *out)
{
	fprintf(out, "# Settings of %s. Durations also as 90s 5m 2h30m 1d, sizes as 64K 10MiB.\n",
	        t->daemon);
	for (size_t i = 0; i < t->rows_n; i++) {
		const struct param_row *row = &t->rows[i];
		if (!row->name) {
			fprintf(out, "\n# --- %s\n", row->help);
			continue;
		}
		fprintf(out, "\n# %s.\n# ", row->help);
		print_range(row, out);
		fputs("; default ", out);
		print_default(row, out);
		fprintf(out, "; takes effect %s\n%s: ", when_text(row), row->name);
		print_value(row, p, out);
		putc('\n', out);
	}
}

/* A cell may not end its own row. */
static void print_cell(const char *s, FILE *out)
{
	for (; *s; s++) {
		if (*s == '|')
			putc('\\', out);
		putc(*s, out);
	}
}

static void manual_row(const struct param_row *row, FILE *out)
{
	CHECK(row->name);
	fprintf(out, "| `%s` | ", row->name);
	print_cell(row->help, out);
	fprintf(out, ". %c%s | `", type_text(row)[0] & ~0x20, type_text(row) + 1);
	print_default(row, out);
	fputs("` | ", out);
	if (param__is_number(row))
		print_range(row, out);
	else
		print_cell(row->unit, out);
	fprintf(out, " | %s |\n", row->when == PARAM_RELOAD ? "reload" : "restart");
}

void param_manual(const struct param_table *t, FILE *out)
{
	fprintf(out, "\n## %s\n", t->daemon);
	for (size_t i = 0; i < t->rows_n; i++) {
		const struct param_row *row = &t->rows[i];
		if (!row->name)
			fprintf(out,
			        "\n### %s\n\n"
			        "| setting | what it is for | default | range or form | takes "
			        "effect |\n"
			        "|---|---|---|---|---|\n",
			        row->help);
		else
			manual_row(row, out);
	}
}
