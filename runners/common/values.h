/* values.h — values that the server bound to code: outputs of other tasks, parameters. Where one is
 * meant the code has ${sirdar_data_N}, and the parameter of that name is the value. The server has
 * judged each place: a value of its own, outside quotes and comments.
 */
#ifndef RUNNERS_VALUES_H
#define RUNNERS_VALUES_H

#include "runners/common/run.h"
#include "runners/common/text.h"

/* Append `code` with each of them as `quote` writes a value. 0, or RUNNER_FAILED: there is none. */
typedef void values_quote(void *ctx, const char *value, size_t len, struct text *out);
int values_put(const struct run *r, const char *code, values_quote *quote, void *ctx,
               struct text *out);

#endif
