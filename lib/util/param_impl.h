/* param_impl.h — what the files of param share; nobody else includes it. */
#ifndef UTIL_PARAM_IMPL_H
#define UTIL_PARAM_IMPL_H

#include "util/param.h"

bool param__is_number(const struct param_row *row);
const void *param__field_const(const struct param_row *row, const void *p);

/* The row of a name, or NULL and an error that names the nearest. `place` for people. */
const struct param_row *param__find(const struct param_table *t, const char *name,
                                    const char *place, struct err *err);
int param__assign(const struct param_row *row, void *p, const char *text, const char *place,
                  struct err *err);
/* Owns: takes the items, also on error. */
int param__assign_list(const struct param_row *row, void *p, struct param_list *taken,
                       const char *place, struct err *err);

#endif
