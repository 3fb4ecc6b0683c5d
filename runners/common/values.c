/* Values in the places that the server left for them. One pass: what a value says is never looked
 * at again. */
#include "runners/common/values.h"

#include <stdlib.h>
#include <string.h>

#define BEGINS "${sirdar_data_"

int values_put(const struct run *r, const char *code, values_quote *quote, void *ctx,
               struct text *out)
{
	const char *at;

	while ((at = strstr(code, BEGINS))) {
		size_t n = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz_0123456789");
		char *name = strndup(at + 2, n), *value = name ? run_param(r, name) : NULL;

		free(name);
		if (!value || at[2 + n] != '}') {
			free(value);
			return run_refuse(r, "there is no value for %.40s", at);
		}
		text_add(out, code, (size_t)(at - code));
		quote(ctx, value, strlen(value), out);
		free(value);
		code = at + 2 + n + 1;
	}
	text_str_add(out, code);
	return out->is_over ? run_refuse(r, "out of memory") : 0;
}
