/* batch.h — what every batch must be, whoever stores it. */
#ifndef STORE_BATCH_H
#define STORE_BATCH_H

struct err;
struct store_batch;

/* from_status of an event that made its instance. */
#define STORE_STATUS_NONE (-2)

/* Refuse what no store may hold: states that are none, numbers above INT64_MAX, a range
 * of numbers that its events do not fit. The same for every implementation. E_INVALID. */
int batch_check(const struct store_batch *b, struct err *err);

#endif
