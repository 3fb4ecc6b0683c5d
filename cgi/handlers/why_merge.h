/* why_merge.h — causes that are equal over dates, as one. */
#ifndef CGI_WHY_MERGE_H
#define CGI_WHY_MERGE_H

#include <cjson/cJSON.h>

/* Of the roots of a workflow's `why`, in their order; the caller's. Each has `count`, `waits`, and
 * labels and run dates of the first and the last. */
cJSON *why_merged(const cJSON *roots);

#endif
