/* apply.h — from documents to one edit of definitions (internal to the commander). */
#ifndef BASESERVER_APPLY_H
#define BASESERVER_APPLY_H

#include <stdint.h>

struct jval;
struct plan;
struct refusal;

/* Where a schedule begins that goes into force at `from`: the first run_date not due before. */
int64_t apply_online_from(const struct plan *plan, int64_t from);

/* The argument `preview` before anything is recorded. errors  E_INVALID */
int apply_preview_check(const struct jval *args, struct refusal *f);

#endif
