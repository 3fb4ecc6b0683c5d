/* What a name is looked up in first, and where what was found goes. */
#include "baseserver/model/job.h"
#include "baseserver/model/params_impl.h"
#include "util/alloc.h"
#include "util/json_read.h"

const char *view__over(const struct view *v, const char *name)
{
	const char *value = jv_text(v->over, name);

	return value ? value : jv_text(v->own, name);
}

void view__add(struct param_question *q, const char *name, const char *value)
{
	q->values = mem_grow(q->values, q->n + 1, sizeof *q->values);
	q->values[q->n].name = mem_str(name);
	q->values[q->n++].value = mem_str(value);
}
