/* meters.h — figures as families of samples, in the JSON of the query `metrics`. */
#ifndef BASESERVER_METERS_H
#define BASESERVER_METERS_H

#include <stdint.h>

struct buf;
struct timing;

enum meter {
#define METRIC(NAME, name, type, unit, help) M_##NAME,
#include "tbl/metric.def"
#undef METRIC
	METER_COUNT
};

/* A family: open, samples, close. Labels: pairs of name and value, ended by NULL. */
void meter_open(struct buf *out, enum meter m);
void meter_close(struct buf *out);
void meter_put(struct buf *out, int64_t value, const char *const *labels);
/* A histogram's; `step` 2: each second class is a bucket, 1: all. */
void meter_timing(struct buf *out, const struct timing *t, int step, const char *const *labels);
/* A family of one sample without labels. */
void meter_one(struct buf *out, enum meter m, int64_t value);

#endif
