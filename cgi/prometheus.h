/* prometheus.h — numbers as Prometheus reads them (text format 0.0.4). */
#ifndef CGI_PROMETHEUS_H
#define CGI_PROMETHEUS_H

#include <stddef.h>
#include <stdint.h>

struct buf;

/* One number without labels; the name gets its prefix here. */
void prometheus_own(struct buf *out, const char *name, const char *type, const char *help,
                    uint64_t value);
/* The answer of the query `metrics` (docs/protocol-json.md); what is malformed is left out. */
void prometheus_server(struct buf *out, const char *json, size_t n);

#endif
