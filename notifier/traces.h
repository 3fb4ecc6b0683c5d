/* traces.h — what ended, as spans to an OpenTelemetry collector (OTLP/HTTP, JSON).
 *
 * An actor on a thread of its own, with its own reader of the store: nobody waits for it, it waits
 * for the collector. What was taken is written down (state_dir/traces); a collector that is away
 * is tried again from there. Farther behind than traces_behind_max, what is oldest is passed over:
 * counted and told in the log.
 */
#ifndef NOTIFIER_TRACES_H
#define NOTIFIER_TRACES_H

struct err;
struct param_notifier;
struct traces;

/* *ret_traces stays NULL when traces_url is empty. `p` is borrowed. */
int traces_start(const struct param_notifier *p, struct traces **ret_traces, struct err *err);
void traces_stop(struct traces *t); /* NULL is fine */

#endif
