/* What a name is looked up in first, where what was found goes, and how that is answered. */
#include <stdlib.h>

#include "baseserver/model/job.h"
#include "baseserver/model/params_impl.h"
#include "baseserver/model/vault.h"
#include "sched/task.h"
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

void params__answer(struct param_question *q)
{
	q->letter.deliver = q->answered;
	if (actor_post_credit(q->reply_to, &q->letter) < 0)
		param_question_free(q);
}

void param_question_clear(struct param_question *q)
{
	for (size_t i = 0; i < q->n; i++) {
		free(q->values[i].name);
		vault_forget(q->values[i].value); /* may be a secret */
	}
	for (size_t i = 0; i < q->n_given; i++)
		free(q->given[i]);
	q->n = q->n_given = 0;
}

void param_question_free(struct param_question *q)
{
	for (char **n = q->names; n && *n; n++)
		free(*n);
	free(q->names);
	param_question_clear(q);
	free(q->values);
	free(q->given);
	for (char **n = q->may; n && *n; n++)
		free(*n);
	free(q->may);
	free(q->channel);
	free(q->target);
	free(q->project);
	task_unref(q->def);
	free(q);
}
