/* Every kind of stored document that an actor keeps by name, a row each. */
#include "baseserver/model/calendars.h"
#include "baseserver/model/docs.h"
#include "baseserver/model/peers.h"
#include "baseserver/model/scopes.h"
#include "store/rows.h"
#include "util/err.h"
#include "util/json_read.h"

/* One that does not read means nothing: what is known of it is its name and its version. */
static int json_read(const struct store_doc *d, void **ret_means, struct err *err)
{
	const struct jval *doc = NULL;

	(void)err;
	jv_parse_args(d->body, d->body_len, &doc, NULL);
	*ret_means = (void *)doc;
	return 0;
}

static void json_drop(void *means)
{
	jv_free(means);
}

/* One that does not read would give others what it keeps from them. */
static int object_read(const struct store_doc *d, void **ret_means, struct err *err)
{
	const struct jval *doc = NULL;

	if (jv_parse_args(d->body, d->body_len, &doc, NULL) == 0 && doc->kind == JV_OBJECT) {
		*ret_means = (void *)doc;
		return 0;
	}
	jv_free(doc);
	return err_set(err, E_CORRUPT, "%s: the body of %s (id %u) does not read back",
	               doc_table(d->kind), d->name, d->id);
}

/* What a person has set for their browsers is nobody else's: only the store keeps it. A pool's size
 * is read when it is asked for. */
#define ROW(kind, ...) [kind] = { kind, __VA_ARGS__ }
const struct doc_kind doc_kinds[DOC_END] = {
	/*   kind          keeps its text, what is read out of it */
	ROW(DOC_CALENDAR, true, calendar_read, calendar_drop), /* its dates */
	ROW(DOC_RUNNER, false, json_read, json_drop),          /* the versions of a plugin */
	ROW(DOC_SERVER, false, object_read, json_drop),
	ROW(DOC_POOL, true, NULL, NULL),
	ROW(DOC_SETTING, true, scope_read, scope_drop), /* parameters */
	ROW(DOC_USER, false, json_read, json_drop),
	ROW(DOC_SILENCE, false, json_read, json_drop),
	ROW(DOC_GROUP, false, json_read, json_drop),
	ROW(DOC_TOKEN, false, json_read, json_drop),
	ROW(DOC_DEVICE, false, json_read, json_drop),
	ROW(DOC_PREFS, false, NULL, NULL),
	ROW(DOC_PEER, false, peer_read, peer_drop),    /* who may greet as what */
	ROW(DOC_TRUST, false, object_read, json_drop), /* is a project trusted */
	ROW(DOC_EXPOSED, false, object_read, json_drop),
	ROW(DOC_FACTOR, false, object_read, json_drop),
	ROW(DOC_SESSION, false, json_read, json_drop),
	ROW(DOC_CHANNEL, false, object_read, json_drop),
	ROW(DOC_ONCALL, false, json_read, json_drop),
	ROW(DOC_RULE, false, json_read, json_drop),
};
