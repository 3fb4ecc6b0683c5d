/* States of instances: names on the wire, words for people. What is printed is taken back: a name
 * as it is written wins over a word, so that scripts with "Failed" mean what they did. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "admin-console/cli/base/answer.h"
#include "admin-console/cli/base/table.h"
#include "util/alloc.h"
#include "util/buf.h"

static const char *const names[] = {
#define STATE(name, shown, number, final, slot) shown,
#include "tbl/state.def"
#undef STATE
};
/* In the same order. */
static const char *const words[] = {
#define STATE_WORD(name, word) word,
#include "tbl/state_word.def"
#undef STATE_WORD
};
enum { STATES = sizeof names / sizeof *names };
_Static_assert(STATES == sizeof words / sizeof *words, "each state has a word");

const char *word_of_state(const char *name)
{
	for (size_t i = 0; i < STATES; i++)
		if (strcmp(names[i], name) == 0)
			return words[i];
	return name;
}

const char *color_of_state(const char *word)
{
	static const struct {
		const char *word, *color;
	} colors[] = {
		{ "succeeded", "\033[32m" }, { "failed", "\033[31m" },  { "killed", "\033[31m" },
		{ "hanged", "\033[31m" },    { "running", "\033[34m" }, { "retrying", "\033[33m" },
		{ "killing", "\033[33m" },   { "skipped", "\033[2m" },
	};

	for (size_t i = 0; i < sizeof colors / sizeof *colors; i++)
		if (strcmp(colors[i].word, word) == 0)
			return colors[i].color;
	return NULL;
}

const char *state_in(const cJSON *o, const char *key)
{
	return word_of_state(text_of(o, key));
}

void cell_state_word(const cJSON *item, const char *key, struct buf *out)
{
	buf_puts(out, state_in(item, key));
}

static bool is_name(const char *text)
{
	return word_of_state(text) != text;
}

/* Names of one word: "killing" is of two. */
static void word_put(const char *text, struct buf *out)
{
	bool found = false;

	for (size_t i = 0; i < STATES && !is_name(text); i++) {
		if (strcasecmp(words[i], text) != 0)
			continue;
		buf_printf(out, "%s%s", out->len ? "," : "", names[i]);
		found = true;
	}
	if (!found)
		buf_printf(out, "%s%s", out->len ? "," : "", text);
}

/* "waiting, queued, ...": each once, but for `test`, of which no list has one. */
static const char *all_words(void)
{
	static char all[200];
	size_t n = 0;

	for (size_t i = 1; i < STATES; i++)
		if (strcmp(words[i], words[i - 1]) != 0)
			n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", n ? ", " : "",
			                      words[i]);
	return all;
}

const char *states_wrong(const char *text, const char **ret_all)
{
	static char wrong[40];

	*ret_all = all_words();
	for (size_t n; text && *text; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		bool known = false;
		for (size_t i = 0; i < STATES && !known; i++)
			known = (strlen(words[i]) == n && strncasecmp(words[i], text, n) == 0) ||
			        (strlen(names[i]) == n && strncasecmp(names[i], text, n) == 0);
		if (known || n == 0)
			continue;
		snprintf(wrong, sizeof wrong, "%.*s", (int)n, text);
		return wrong;
	}
	return NULL;
}

char *states_named(const char *text)
{
	struct buf out;

	if (!text)
		return NULL;
	buf_init(&out);
	while (*text) {
		size_t n = strcspn(text, ",");
		char *one = mem_strn(text, n);
		word_put(one, &out);
		free(one);
		text += n + (text[n] == ',');
	}
	char *ret = mem_str(buf_str(&out));
	buf_done(&out);
	return ret;
}
