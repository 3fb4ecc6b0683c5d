/* Secrets of a channel, for the notifier that tells people by it: all of them at once, with the
 * version of the document that they are of. A peer that keeps to projects is given those of
 * channels for these projects only; what it may not have it is not told to be there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/params_impl.h"
#include "baseserver/model/told.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"

static bool is_among(char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static bool may_have(const struct jval *projects, char *const *may)
{
	if (!may)
		return true;
	JV_EACH(v, projects)
		if (!is_among(may, v->text))
			return false;
	return jv_first(projects) != NULL;
}

static int fill_secret(struct view *v, struct param_question *q, const struct doc *d,
                       const char *key)
{
	const struct jval *s = jv_get(jv_get(doc_json(d), "secrets"), key);
	char *what = mem_fmt("the %s of channel %.100s", key, d->name);
	struct buf about;
	int r = 0;

	buf_init(&about);
	channel_about(d->name, key, &about);
	if (jv_is(s, JV_TEXT))
		r = secret__open(v, q, buf_str(&about), what, s->text, key);
	else if (jv_is(s, JV_OBJECT))
		secret__wish(v, what,
		             &(struct secret_ref){ jv_str(s, "from"), jv_str(s, "path"),
		                                   jv_str(s, "key") },
		             key);
	buf_done(&about);
	free(what);
	return r;
}

int channel__fill(struct view *v, struct param_question *q)
{
	const struct doc *d = docs_find(&v->p->channels, q->channel);
	int r = 0;

	if (!d || !may_have(jv_get(doc_json(d), "projects"), q->may)) {
		snprintf(q->text, sizeof q->text, "there is no channel '%.100s' for this peer",
		         q->channel);
		return E_NOT_FOUND;
	}
	q->version = d->version;
	for (size_t i = 0; channel_secrets[i] && r == 0; i++)
		r = fill_secret(v, q, d, channel_secrets[i]);
	if (r == 0) {
		q->given = mem_grow(q->given, q->n_given + 1, sizeof *q->given);
		q->given[q->n_given++] = mem_fmt("channel:%s", d->name);
	}
	return r;
}
