/* prometheus.h — numbers as Prometheus reads them (text format 0.0.4). Names, types, units and
 * words are those of schema/tbl/metric.def; the prefix sirdar_ is put here. */
#ifndef CGI_PROMETHEUS_H
#define CGI_PROMETHEUS_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct timing;

enum metric {
#define METRIC(NAME, name, type, unit, help) METRIC_##NAME,
#include "tbl/metric.def"
#undef METRIC
	METRIC_COUNT
};

/* A family: its head, then its samples. Labels: pairs of name and value, ended by NULL; or NULL. */
void prometheus_head(struct buf *out, enum metric m);
void prometheus_put(struct buf *out, enum metric m, const char *const *labels, int64_t value);
/* A histogram's; `step` 2: each second class is a bucket, 1: all. */
void prometheus_timing(struct buf *out, enum metric m, const char *const *labels,
                       const struct timing *t, int step);
/* A family of one sample without labels. */
void prometheus_one(struct buf *out, enum metric m, int64_t value);
/* The answer of the query `metrics` (docs/protocol-json.md); what is malformed is left out. */
void prometheus_server(struct buf *out, const char *json, size_t n);

#endif
