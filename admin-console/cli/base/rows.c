/* Tables whose columns are rows: one line of a table of struct column for each. */
#include "admin-console/cli/base/table.h"

#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/base/answer.h"
#include "admin-console/cli/base/cli.h"
#include "admin-console/cli/base/output.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/json_in.h"

void cell_time(const cJSON *item, const char *key, struct buf *out)
{
	buf_puts(out, time_of(item, key));
}

void cell_label(const cJSON *item, const char *key, struct buf *out)
{
	(void)key;
	buf_puts(out, label_in(item));
}

void cell_permille(const cJSON *item, const char *key, struct buf *out)
{
	if (json_get(item, key))
		buf_printf(out, "%lld %%", number_of(item, key) / 10);
}

void cell_list(const cJSON *item, const char *key, struct buf *out)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, json_get(item, key))
		buf_printf(out, "%s%s", out->len ? ", " : "", v->valuestring);
}

void cell_list_all(const cJSON *item, const char *key, struct buf *out)
{
	if (cJSON_IsArray(json_get(item, key)))
		cell_list(item, key, out);
	else
		buf_puts(out, "all");
}

static void cell_put(const cJSON *item, const struct column *c, struct buf *out)
{
	const char *dot = c->key ? strchr(c->key, '.') : NULL;

	if (c->put) {
		c->put(item, c->key, out);
	} else if (dot) {
		char *outer = mem_strn(c->key, (size_t)(dot - c->key));
		buf_puts(out, text_of(json_get(item, outer), dot + 1));
		free(outer);
	} else {
		buf_puts(out, text_of(item, c->key));
	}
}

void none_say(const struct cli *cli, const char *words)
{
	const char *name = cli->command->name;

	if (!cli->json && words)
		cli_fail(0, "%s", words);
	else if (!cli->json)
		cli_fail(0, "no %.*s", (int)strcspn(name, " "), name);
}

static bool is_shown(const struct column *c)
{
	return !c->wide || output_is(OUTPUT_WIDE);
}

void rows_show(const struct column *columns, const cJSON *items)
{
	struct widths alone = { 0 };

	rows_more(columns, items, &alone);
}

void rows_more(const struct column *columns, const cJSON *items, struct widths *pages)
{
	struct table t = { .pages = pages };
	const cJSON *item;
	struct buf cell;

	for (const struct column *c = columns; c->title; c++) {
		CHECK(t.columns < TABLE_COLUMNS_MAX);
		t.is_state[t.columns] = c->put == cell_state_word;
		if (is_shown(c))
			t.titles[t.columns++] = c->title;
	}
	buf_init(&cell);
	cJSON_ArrayForEach(item, items)
		for (const struct column *c = columns; c->title; c++) {
			if (!is_shown(c))
				continue;
			buf_clear(&cell);
			cell_put(item, c, &cell);
			table_add(&t, buf_str(&cell));
		}
	buf_done(&cell);
	table_show(&t);
}
