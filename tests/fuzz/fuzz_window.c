/* Windows and offsets: what parses prints in one spelling that parses as the same, and picks
 * spans that are in order. */
#include <stdlib.h>
#include <string.h>

#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/link.h"
#include "sched/offset.h"
#include "sched/plan.h"
#include "sched/tz.h"
#include "sched/window.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static struct plan *plan_in(const char *name, enum cycle_unit unit)
{
	struct schedule s = { .unit = unit, .step = 1, .tz = tz_utc(), .end = PLAN_NEVER };
	struct plan *p;

	(void)zones_get(name, &s.tz, NULL);
	s.start = s.anchor = TIME_MIN;
	CHECK(plan_new(&s, &p, NULL) == 0);
	return p;
}

static void offsets(const char *text)
{
	struct plan_offset o, again;
	struct buf out;
	int64_t s;

	if (offset_parse(text, &o, NULL) == 0) {
		buf_init(&out);
		offset_print(&o, &out);
		CHECK(offset_parse(buf_str(&out), &again, NULL) == 0);
		CHECK(o.kind == again.kind && o.days == again.days && o.seconds == again.seconds);
		buf_done(&out);
	}
	if (duration_parse(text, &s, NULL) == 0)
		CHECK(s >= 0);
}

static void spans(const struct window_expr *w, int64_t t)
{
	struct plan *parent = plan_in("Europe/Berlin", CU_DAY);
	struct plan *child = plan_in("America/New_York", CU_HOUR);
	struct task_link l = { .kind = LK_WINDOW, .window = w };
	struct link_span got[LINK_SPANS_MAX];
	int n = link_spans(&l, parent, child, t, got);

	CHECK(n <= LINK_SPANS_MAX);
	for (int i = 1; i < n; i++)
		CHECK(got[i - 1].hi <= got[i].lo);
	(void)link_lead(&l, parent, child);
	plan_free(parent);
	plan_free(child);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);
	struct window_expr *w, *again;
	struct buf out, twice;
	int64_t t = 0;

	CHECK(text);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	for (size_t i = 0; i < bytes && i < 5; i++)
		t = t << 8 | data[i];
	offsets(text);
	if (window_parse(text, &w, NULL) == 0) {
		buf_init(&out);
		buf_init(&twice);
		window_print(w, &out);
		CHECK(window_parse(buf_str(&out), &again, NULL) == 0);
		window_print(again, &twice);
		CHECK(strcmp(buf_str(&out), buf_str(&twice)) == 0);
		spans(w, t % TIME_MAX);
		window_free(again);
		window_free(w);
		buf_done(&out);
		buf_done(&twice);
	}
	free(text);
	return 0;
}
