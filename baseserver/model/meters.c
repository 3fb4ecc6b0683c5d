/* Figures of the server as JSON, a row of metric.def each.
 *
 * meter_open(), any number of samples with their labels, meter_close(): the row says name, type,
 * unit and help, so no caller writes one. Buckets of a histogram are cumulative, and `step` leaves
 * classes out. Nothing is counted here: callers bring the numbers. */
#include "baseserver/model/meters.h"

#include "util/buf.h"
#include "util/check.h"
#include "util/json_put.h"
#include "util/timing.h"

static const struct {
	const char *name, *type, *unit, *help;
} table[METER_COUNT] = {
#define COUNTER                              "counter"
#define GAUGE                                "gauge"
#define HISTOGRAM                            "histogram"
#define ONE                                  ""
#define US                                   "us"
#define MS                                   "ms"
#define PERMILLE                             "permille"
#define METRIC(NAME, name, type, unit, help) [M_##NAME] = { name, type, unit, help },
#include "tbl/metric.def"
#undef METRIC
};

void meter_open(struct buf *out, enum meter m)
{
	CHECK(m < METER_COUNT);
	put_open(out, NULL, '{');
	put_text(out, "name", table[m].name);
	put_text(out, "type", table[m].type);
	if (table[m].unit[0])
		put_text(out, "unit", table[m].unit);
	put_text(out, "help", table[m].help);
	put_open(out, "samples", '[');
}

void meter_close(struct buf *out)
{
	put_close(out, ']');
	put_close(out, '}');
}

static void sample_open(struct buf *out, const char *const *labels)
{
	put_open(out, NULL, '{');
	put_open(out, "labels", '{');
	for (; labels && *labels; labels += 2)
		put_text(out, labels[0], labels[1]);
	put_close(out, '}');
}

void meter_put(struct buf *out, int64_t value, const char *const *labels)
{
	sample_open(out, labels);
	put_int(out, "value", value);
	put_close(out, '}');
}

void meter_timing(struct buf *out, const struct timing *t, int step, const char *const *labels)
{
	struct timing_view v;
	uint64_t n = 0;

	CHECK(step > 0);
	timing_read(t, &v);
	sample_open(out, labels);
	put_open(out, "buckets", '[');
	for (int i = 0; i < TIMING_CLASSES - 1; i++) {
		n += v.counts[i];
		if (i % step)
			continue;
		put_open(out, NULL, '[');
		put_int(out, NULL, timing_limit_us(i));
		put_int(out, NULL, (int64_t)n);
		put_close(out, ']');
	}
	put_close(out, ']');
	put_int(out, "count", (int64_t)v.n);
	put_int(out, "sum", (int64_t)v.sum_us);
	put_close(out, '}');
}

void meter_one(struct buf *out, enum meter m, int64_t value)
{
	meter_open(out, m);
	meter_put(out, value, NULL);
	meter_close(out);
}
