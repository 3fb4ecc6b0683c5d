/* table.h — tables for people: columns as wide as they must be, in display cells. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct buf;

enum { TABLE_COLUMNS_MAX = 16 };

/* How wide the columns of a list are so far. */
struct widths {
	size_t columns, wide[TABLE_COLUMNS_MAX];
};

struct table {
	const char *titles[TABLE_COLUMNS_MAX];
	size_t columns;
	char **cells;                     /* row by row */
	bool is_state[TABLE_COLUMNS_MAX]; /* columns of words of states: they may have colours */
	size_t cells_n, cells_cap;
	struct widths *pages; /* of a list that comes in pages; NULL: this is all */
};

/* `titles` separated by |; a title that begins with > is right-aligned. */
void table_init(struct table *t, const char *titles);
void table_done(struct table *t);
void table_add(struct table *t, const char *text); /* the next cell; copied; NULL is "" */
__attribute__((format(printf, 2, 3))) void table_addf(struct table *t, const char *fmt, ...);
void table_print(const struct table *t, struct buf *out);
void table_show(struct table *t); /* to the person, and done with */

/* A cell of an item of an answer: append its text. */
typedef void cell_fn(const cJSON *item, const char *key, struct buf *out);

/* A column; the last has no title. */
struct column {
	const char *title; /* as of table_init() */
	const char *key;   /* of the item; "a.b": of the object a in it */
	cell_fn *put;      /* NULL: the member as text */
	bool wide;         /* with --output wide only */
};

cell_fn cell_time, cell_label;
cell_fn cell_state_word; /* of an instance: "queued" */
cell_fn cell_permille;   /* "62 %" */
cell_fn cell_list;       /* its texts: "a, b" */
cell_fn cell_list_all;   /* the same; "all" where there is no list */

/* Items as rows, to the person. */
void rows_show(const struct column *columns, const cJSON *items);
/* The next page of the same list: without a header while its cells fit below that of the page
 * before. `pages`: {0} at first. */
void rows_more(const struct column *columns, const cJSON *items, struct widths *pages);
/* `n` bytes of a text in a colour, where stdout has them; NULL: as they are. */
void colored_print(const char *text, size_t n, const char *color);
struct cli;
/* `words`, or "no pool", on stderr, for a list without a row: its header alone looks like a
 * fault. */
void none_say(const struct cli *cli, const char *words);

#endif
