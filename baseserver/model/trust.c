/* What the documents of trust say. A retired one says nothing. */
#include "baseserver/model/trust.h"

#include <stdlib.h>
#include <string.h>

#include "baseserver/model/docs.h"
#include "util/alloc.h"
#include "util/json_read.h"

bool trust_of(const struct docs *trusts, const char *name, bool unsaid)
{
	char *project = mem_strn(name, strcspn(name, "/"));
	const struct doc *d = docs_find(trusts, project);

	free(project);
	return d ? jv_true(doc_json(d), "trusted") : unsaid;
}

bool trust_is_unasked(const struct doc *d)
{
	return !d->retired && jv_true(doc_json(d), "trusted") &&
	       strcmp(jv_str(doc_json(d), "by"), "upgrade") == 0;
}
