/* alerts.h — what people are told of: raised, mended, acknowledged, and said to the server, which
 * keeps it for all to see. Thread: the main one. */
#ifndef NOTIFIER_ALERTS_H
#define NOTIFIER_ALERTS_H

#include <stdbool.h>
#include <stdint.h>

struct alert;
struct err;
struct instance;
struct notifier;
struct read_event;
struct say;

/* In an outbox's transaction. The same key again is the same alert. *ret_id: for its letters. */
int alerts_raise(struct notifier *n, const char *key, const struct alert *a, int64_t *ret_id,
                 struct err *err);
/* Something happened to an instance: what is mended by it ends. In an outbox's transaction. */
int alerts_look(struct notifier *n, const struct read_event *e, struct err *err);
/* All that are open are looked at: some instance may be gone without an event. As above. */
int alerts_sweep(struct notifier *n, int64_t now_us, struct err *err);
/* By the state of its instance. */
bool alert_is_still_so(const struct alert *a, const struct instance *i);
/* Somebody has seen it; what cannot be read nobody has. */
bool alert_is_acked(struct notifier *n, int64_t id);
/* One batch at a time; *wait_ms gets shorter where it is to be tried again. */
int alerts_say(struct notifier *n, int64_t now_us, int64_t *wait_ms, struct err *err);
void alerts_said(void *notifier, struct say *s); /* of wake.h. Thread: any */

#endif
