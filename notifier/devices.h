/* devices.h — browsers that people have alerts pushed to, as the store has them. One thread. */
#ifndef NOTIFIER_DEVICES_H
#define NOTIFIER_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "notifier/webpush.h"

struct devices;
struct err;
struct outbox;
struct reader;

/* Borrowed until the next refresh. */
struct device {
	const char *name, *owner;
	struct webpush_to to;
	uint32_t version;
	int least; /* severity */
	bool zh;
	bool is_gone; /* its service knows it no more; the server is told */
};

struct devices *devices_new(struct reader *reader, struct outbox *outbox); /* both borrowed */
void devices_free(struct devices *d);                                      /* NULL is fine */
/* As they are now, and who is disabled; cheap when nothing changed. On error the former stay. */
int devices_refresh(struct devices *d, struct err *err);

const struct device *devices_at(const struct devices *d, size_t i); /* NULL after the last */
const struct device *devices_find(const struct devices *d, const char *name); /* or NULL */
/* Nothing is pushed to it any more; kept, so that it holds after a restart. */
int devices_drop(struct devices *d, const char *name, uint32_t version, struct err *err);

/* Whether a push of this severity is for this device of his. */
bool device_wants(const struct device *d, const char *person, int severity);
/* Why nothing of this severity is pushed to him; NULL: some device takes it. Borrowed until the
 * next call. */
const char *devices_refusal(struct devices *d, const char *person, int severity);

#endif
