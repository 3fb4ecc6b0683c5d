/* Macros: no text falls, and what has none stays as it is. */
#include <stdlib.h>
#include <string.h>

#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/macro.h"
#include "sched/plan.h"
#include "sched/tz.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const char *const known[] = { "a", "b", "c.d", NULL };

static bool is_known(void *ctx, const char *name)
{
	(void)ctx;
	for (int i = 0; known[i]; i++)
		if (strcmp(known[i], name) == 0)
			return true;
	return false;
}

static const char *lookup(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "a") == 0 ? "${b}$[yyyy]" : strcmp(name, "b") == 0 ? "x" : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct schedule s = { .unit = CU_DAY, .step = 1, .tz = tz_utc(), .end = PLAN_NEVER };
	struct plan *p;
	struct buf out;
	char *text = malloc(bytes + 1);

	CHECK(text);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	(void)zones_get("Europe/Berlin", &s.tz, NULL);
	if (bytes && data[0] & 1)
		s.unit = CU_HOUR;
	CHECK(plan_new(&s, &p, NULL) == 0);
	struct macro_scope scope = { p, plan_next(p, INT64_C(1774656000)), lookup, known, NULL };
	buf_init(&out);
	(void)macro_check(text, is_known, known, NULL, NULL);
	int r = macro_expand(text, &scope, &out, NULL);
	if (!macro_has(text))
		CHECK(r == 0 && strcmp(buf_str(&out), text) == 0);
	buf_done(&out);
	plan_free(p);
	free(text);
	return 0;
}
