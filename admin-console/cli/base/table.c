/* Aligned columns, by the cells that a terminal gives each character. */
#include "admin-console/cli/base/table.h"

#include "admin-console/cli/base/answer.h"
#include "admin-console/cli/base/cli.h"
#include "admin-console/cli/base/output.h"

#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/screen.h"
#include "util/visible.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

void table_init(struct table *t, const char *titles)
{
	*t = (struct table){ .titles = { titles }, .columns = 1 };
	for (const char *p = titles; (p = strchr(p, '|')); t->columns++) {
		CHECK(t->columns < TABLE_COLUMNS_MAX);
		t->titles[t->columns] = ++p;
	}
}

void table_done(struct table *t)
{
	for (size_t i = 0; i < t->cells_n; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct table){ 0 };
}

/* Escaped here already, so that the columns are as wide as what is seen. */
void table_add(struct table *t, const char *text)
{
	struct buf cell;

	t->cells = mem_room(t->cells, &t->cells_cap, t->cells_n + 1, sizeof *t->cells);
	buf_init(&cell);
	if (text)
		visible_put(text, strlen(text), VISIBLE_LINE, &cell);
	t->cells[t->cells_n++] = mem_str(buf_str(&cell));
	buf_done(&cell);
}

void table_addf(struct table *t, const char *fmt, ...)
{
	char text[1000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	table_add(t, text);
}

static size_t width(const char *text, size_t n)
{
	mbstate_t state = { 0 };
	size_t cells = 0;

	while (n) {
		wchar_t c;
		size_t used = mbrtowc(&c, text, n, &state);
		if (used == 0 || used > n) {
			used = 1;
			c = L'?';
			state = (mbstate_t){ 0 };
		}
		int w = wcwidth(c);
		cells += w > 0 ? (size_t)w : 0;
		text += used;
		n -= used;
	}
	return cells;
}

static void pad(struct buf *out, size_t n)
{
	while (n--)
		buf_putc(out, ' ');
}

/* A cell past the filter of the screen, in its colour; what stands before it is out. */
static void color_cell(struct buf *out, const char *text, size_t n, const char *color)
{
	fwrite(buf_at(out), 1, out->len, stdout);
	buf_clear(out);
	screen_steer(stdout, color);
	fwrite(text, 1, n, stdout);
	screen_steer(stdout, "\033[0m");
}

void colored_print(const char *text, size_t n, const char *color)
{
	bool on = color && color_is_on();

	if (on)
		screen_steer(stdout, color);
	fwrite(text, 1, n, stdout);
	if (on)
		screen_steer(stdout, "\033[0m");
}

struct placed {
	const char *text;
	size_t n, wide;    /* bytes of text; columns that the cell has */
	bool right, last;  /* against the right edge; of its line */
	const char *color; /* NULL: none */
};

static void put_cell(struct buf *out, const struct placed *c)
{
	size_t gap = c->wide - width(c->text, c->n);

	if (c->right)
		pad(out, gap);
	if (c->color)
		color_cell(out, c->text, c->n, c->color);
	else
		buf_put(out, c->text, c->n);
	if (!c->last)
		pad(out, (c->right ? 0 : gap) + 2);
}

/* Do the columns fit below the titles of the page before? Else the wider ones hold from here on. */
static bool fits_below(struct widths *pages, size_t columns, size_t *wide)
{
	bool fits = pages->columns == columns;

	for (size_t c = 0; c < columns && pages->columns; c++) {
		fits = fits && wide[c] <= pages->wide[c];
		if (wide[c] < pages->wide[c])
			wide[c] = pages->wide[c];
	}
	pages->columns = columns;
	memcpy(pages->wide, wide, columns * sizeof *wide);
	return fits;
}

/* `colors`: onto stdout, which then has what was in `out` first. */
static void table_put(const struct table *t, bool colors, struct buf *out)
{
	size_t wide[TABLE_COLUMNS_MAX] = { 0 };

	CHECK(t->cells_n % t->columns == 0);
	for (size_t c = 0; c < t->columns; c++) {
		const char *title = t->titles[c] + (t->titles[c][0] == '>');
		wide[c] = width(title, strcspn(title, "|"));
	}
	for (size_t i = 0; i < t->cells_n; i++) {
		size_t w = width(t->cells[i], strlen(t->cells[i]));
		if (w > wide[i % t->columns])
			wide[i % t->columns] = w;
	}
	bool below = t->pages && fits_below(t->pages, t->columns, wide);
	for (size_t i = below ? t->columns : 0; i < t->cells_n + t->columns; i++) {
		size_t c = i % t->columns;
		bool right = t->titles[c][0] == '>';
		const char *text = i < t->columns ? t->titles[c] + right : t->cells[i - t->columns];
		size_t n = i < t->columns ? strcspn(text, "|") : strlen(text);
		const char *color = colors && i >= t->columns && t->is_state[c]
		                            ? color_of_state(text)
		                            : NULL;
		put_cell(out,
		         &(struct placed){ text, n, wide[c], right, c + 1 == t->columns, color });
		if (c + 1 == t->columns)
			buf_putc(out, '\n');
	}
}

void table_print(const struct table *t, struct buf *out)
{
	table_put(t, false, out);
}

void table_show(struct table *t)
{
	struct buf out;

	buf_init(&out);
	table_put(t, color_is_on(), &out);
	cli_print(&out);
	buf_done(&out);
	table_done(t);
}
