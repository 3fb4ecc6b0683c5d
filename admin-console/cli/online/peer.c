/* Peers: the owners of keys, what they are and may be; listed, shown, set, revoked. */
#include "admin-console/cli/online/ask.h"
#include "util/json_in.h"

static const struct opt options[] = {
	{ "kind", 0, "KIND", "broker, face, notifier or client", TAKE_TEXT, "kind" },
	{ "group", 0, "GROUP", "a broker's groups end here; again for more, '' for any", TAKE_ITEMS,
	  "groups" },
	{ "type", 't', "TYPE", "its task types; again for more, '' for any", TAKE_ITEMS, "types" },
	{ "project", 'p', "PROJECT", "a face or client changes these; again for more, '' for any",
	  TAKE_ITEMS, "projects" },
	{ "expires", 0, "T", "from then on it is not let in: an instant, or never", TAKE_TEXT,
	  "expires" },
	{ "state", 0, "active", "let in again what was revoked", TAKE_TEXT, "state" },
	{ "message", 'm', "TEXT", "why, kept with the command", TAKE_TEXT, "message" },
	{ 0 },
};

static const struct opt revoke_options[] = {
	{ "message", 'm', "TEXT", "why, kept with the command", TAKE_TEXT, "message" },
	{ 0 },
};

static const struct column columns[] = {
	{ "Peer", "peer" },
	{ "Kind", "kind" },
	{ "Said by", "by" },
	{ "State", "state" },
	{ "Groups", "groups", cell_list_all },
	{ "Types", "types", cell_list_all },
	{ "Projects", "projects", cell_list_all },
	{ "Expires", "expires", cell_time },
	{ 0 },
};

static int peer_show(struct online *o, const struct asked *q, const cJSON *peer)
{
	cJSON *list = cJSON_CreateArray();

	(void)o;
	cJSON_AddItemToArray(list, cJSON_Duplicate(peer, true));
	rows_show(q->verb->columns, list);
	cJSON_Delete(list);
	return CLI_OK;
}

static int peer_revoke(struct asked *q)
{
	return ask_each(q, "revoked");
}

const struct verb verb_peer_list = { ask, .most = WORDS_NONE, .call = "GET /api/v1/peers",
	                             .member = "peers", .columns = columns };
const struct verb verb_peer_show = {
	ask, NULL, 1, 1, .call = "GET /api/v1/peers/{}", .columns = columns, .show = peer_show
};
const struct verb verb_peer_set = {
	ask, options, 1, 1, .call = "POST /api/v1/peers", .words = "peer"
};
const struct verb verb_peer_revoke = { peer_revoke, revoke_options, 1, 100,
	                               .call = "POST /api/v1/peers/{}/revoke" };
