/* Silences made by command, as the store has them: those of projects stand in their documents. */
#include "notifier/silences.h"

#include <stdlib.h>
#include <string.h>

#include "store/read.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"

struct silence {
	char *covers, *word, *reason;
	int64_t from, until; /* s */
};

struct silences {
	struct reader *reader;
	struct silence *items;
	size_t n;
	bool is_read;
	uint64_t changes;
};

struct silences *silences_new(struct reader *reader)
{
	struct silences *s = mem_new(sizeof *s);

	s->reader = reader;
	return s;
}

static void silences_clear(struct silences *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->items[i].covers);
		free(s->items[i].word);
		free(s->items[i].reason);
	}
	s->n = 0;
}

void silences_free(struct silences *s)
{
	if (!s)
		return;
	silences_clear(s);
	free(s->items);
	free(s);
}

static int silences_take(void *ctx, const struct store_doc *d)
{
	struct silences *s = ctx;
	const struct jval *json = NULL;

	if (jv_parse(d->body, d->body_len, &json, NULL) < 0)
		return 0;
	s->items = mem_grow(s->items, s->n + 1, sizeof *s->items);
	s->items[s->n++] = (struct silence){ .covers = mem_str(jv_str(json, "covers")),
		                             .word = mem_str(jv_str(json, "kind")),
		                             .reason = mem_str(jv_str(json, "reason")),
		                             .from = jv_int(json, "from", 0),
		                             .until = jv_int(json, "until", 0) };
	jv_free(json);
	return 0;
}

int silences_refresh(struct silences *s, struct err *err)
{
	uint64_t changes = 0;
	int r = read_doc_changes(s->reader, DOC_SILENCE, &changes, err);

	if (r < 0 || (s->is_read && changes == s->changes))
		return r;
	silences_clear(s);
	s->changes = changes;
	r = read_doc_bodies(s->reader, DOC_SILENCE, silences_take, s, err);
	s->is_read = r == 0;
	return r;
}

/* The subject itself, or what begins with it and a slash. */
static bool covers(const struct silence *s, const char *subject)
{
	size_t n = strlen(s->covers);

	return n == 0 ||
	       (strncmp(s->covers, subject, n) == 0 && (subject[n] == '/' || subject[n] == '\0'));
}

const char *silences_find(const struct silences *s, const char *subject, const char *word,
                          int64_t at, int64_t now)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct silence *one = &s->items[i];
		bool is_on = (one->from <= at && at < one->until) ||
		             (one->from <= now && now < one->until);
		if (is_on && covers(one, subject) &&
		    (!one->word[0] || strcmp(one->word, word) == 0))
			return one->reason;
	}
	return NULL;
}
