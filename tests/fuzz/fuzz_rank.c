/* Expressions: what is read is bounded, evaluates to a number or to NaN whatever is known, the same
 * each time and from a copy; what is refused has a place within the text, and says why. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sched/rank.h"
#include "util/check.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void evaluate(const struct expr *e)
{
	static const char *const groups[] = { "etl", "\xe6\x95\xb0", NULL };
	static const struct rank_load silent, told = { true, 250, 1500, 500, 8, 1000000 };
	struct rank_broker known = { "etl-1", groups, &told, 3 }, not = { "", NULL, &silent, -1 };
	struct expr *copy = malloc(expr_bytes(e));
	struct rank a = rank_of(e, &known), b = rank_of(e, &not );

	CHECK(copy);
	memcpy(copy, e, expr_bytes(e));
	struct rank again = rank_of(copy, &known);
	CHECK(isnan(a.value) ? isnan(again.value) : isfinite(a.value) && a.value == again.value);
	CHECK(rank_before(&a, &b) != rank_before(&b, &a));
	CHECK(!rank_before(&a, &a));
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);
	struct expr_wrong wrong = { 0 };
	struct expr *e;

	CHECK(text);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	if (rank_read(text, &e, &wrong) == 0) {
		CHECK(strlen(text) < EXPR_BYTES_MAX && expr_bytes(e) < 4096);
		evaluate(e);
		free(e);
	} else {
		CHECK(wrong.at >= 1 && wrong.at <= strlen(text) + 1);
		CHECK(wrong.text[0] && wrong.hint[0]);
	}
	free(text);
	return 0;
}
