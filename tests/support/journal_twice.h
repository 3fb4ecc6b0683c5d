/* journal_twice.h — is a commit the same after it went through its record? */
#ifndef TESTS_SUPPORT_JOURNAL_TWICE_H
#define TESTS_SUPPORT_JOURNAL_TWICE_H

#include "store/store.h"

/* NULL: the batches say the same; else what differs. Images may stand in another order, and
 * transitions that are no events are not looked at. */
const char *journal_differs(const struct store_batch *a, const struct store_batch *b);
/* Pack, read back, compare, pack again: the same bytes. NULL: so it is; else what is wrong,
 * borrowed until the next call. */
const char *journal_twice(const struct store_batch *b);

#endif
