#include "notifier/life.h"

#include <stdbool.h>
#include <string.h>

#include "util/err.h"
#include "util/json_read.h"

/* The first word is the id of the store. */
static bool is_same_store(const char *a, const char *b)
{
	size_t n = strcspn(a, " ");

	return n == strcspn(b, " ") && strncmp(a, b, n) == 0;
}

static int take_loss(void *ctx, const struct read_action *a)
{
	const struct jval *detail = NULL;
	int64_t *number = ctx;

	if (jv_parse(a->detail, strlen(a->detail), &detail, NULL) == 0)
		*number = jv_int(detail, "number", -1);
	jv_free(detail);
	return 0;
}

/* What happened after the loss was accepted is news, also when we were away meanwhile. */
static int begin_of(struct reader *r, uint64_t *cursor, struct err *err)
{
	struct read_page last = { .limit = 1, .descending = true };
	int64_t number = -1;
	int code = read_actions(r, &(struct read_actions_by){ NULL, "accept-loss" }, &last,
	                        take_loss, &number, err);

	if (code == 0 && number >= 0 && (uint64_t)number < *cursor)
		*cursor = (uint64_t)number;
	return code;
}

int life_look(struct reader *r, const char *was, char now[READ_LIFE_MAX], uint64_t *cursor,
              struct err *err)
{
	uint64_t number = 0;
	int code = read_life(r, now, &number, err);
	bool is_other = was[0] && strcmp(was, now) != 0;

	if (code < 0)
		return code;
	if (is_other && !is_same_store(was, now))
		*cursor = number; /* nobody is told of the past of another */
	else if (is_other)
		code = begin_of(r, cursor, err);
	if (code < 0)
		return code;
	is_other |= *cursor > number;
	*cursor = *cursor > number ? number : *cursor;
	return is_other;
}
