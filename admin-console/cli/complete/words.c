/* Values that are words: no server is asked. Of a list a,b the last one is offered, behind the
 * rest. */
#include "admin-console/cli/complete/complete.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

static const char *const state_words[] = {
#define STATE_WORD(name, word) word,
#include "tbl/state_word.def"
#undef STATE_WORD
	NULL,
};
static const char *const target_kinds[] = {
#define TARGET_KIND(kind, family) kind,
#include "tbl/target_kind.def"
#undef TARGET_KIND
	NULL,
};
static const char *const peer_kinds[] = {
#define PEER(NAME, word, what, asserts, text) word,
#include "tbl/peer_kind.def"
#undef PEER
	NULL,
};

static const struct {
	const char *argument, *group;
	const char *const *words;
} tables[] = {
	{ "STATES", "", state_words },
	{ "KIND", "target", target_kinds },
	{ "KIND", "peer", peer_kinds },
};

static const struct {
	const char *argument, *group, *words;
} lists[] = {
#define WORDS(argument, group, words) { argument, group, words },
#include "admin-console/cli/complete/words.def"
#undef WORDS
};

/* What stands before the last comma goes with each. */
static void word_put(struct typing *t, const char *word)
{
	const char *comma = strrchr(t->begin, ',');
	size_t n = comma ? (size_t)(comma - t->begin) + 1 : 0;
	char *text = mem_fmt("%.*s%s", (int)n, t->begin, word);

	candidate_put(t, text, NULL);
	free(text);
}

static bool is_of(const struct typing *t, const char *group)
{
	return !*group || strcmp(group, t->command) == 0;
}

bool words_put(struct typing *t, const char *argument)
{
	bool found = false;

	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		if (strcmp(tables[i].argument, argument) != 0 || !is_of(t, tables[i].group))
			continue;
		for (const char *const *w = tables[i].words; *w; w++)
			if (w == tables[i].words || strcmp(w[0], w[-1]) != 0)
				word_put(t, *w);
		found = true;
	}
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		if (strcmp(lists[i].argument, argument) != 0 || !is_of(t, lists[i].group))
			continue;
		char *copy = mem_str(lists[i].words), *rest = copy;
		for (char *w; (w = strsep(&rest, " "));)
			word_put(t, w);
		free(copy);
		found = true;
	}
	return found;
}
