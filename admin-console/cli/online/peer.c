/* Peers: the owners of keys, what they are and may be; listed, shown, set, revoked.
 *
 * Letting a peer in, or a revoked one in again, shows the key first and asks: what is let in is
 * the key that was shown, never another one that came meanwhile. The code of an invite is printed
 * whatever becomes of the rest, because nobody can see it a second time. */
#include "admin-console/cli/online/ask.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/json_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt options[] = {
	{ "kind", 0, "KIND", "broker, face, notifier or client", TAKE_TEXT, "kind" },
	{ "group", 0, "GROUP", "a broker's groups end here; again for more, '' for any", TAKE_ITEMS,
	  "groups" },
	{ "type", 't', "TYPE", "its task types; again for more, '' for any", TAKE_ITEMS, "types" },
	{ "project", 'p', "PROJECT",
	  "a broker is given their jobs, a face or client changes them; again for more, '' for any",
	  TAKE_ITEMS, "projects" },
	{ "expires", 0, "T", "from then on it is not let in: an instant, or never", TAKE_TEXT,
	  "expires" },
	{ "asserts", 0, "WHOM",
	  "whom unknown to the server a face speaks for: admin, people, directory, nobody",
	  TAKE_TEXT, "asserts" },
	{ "state", 0, "active", "let in again what was revoked, with its former key", TAKE_TEXT,
	  "state" },
	{ "fingerprint", 0, "KEY", "of that key, as its machine shows it", TAKE_TEXT,
	  "fingerprint" },
	{ "message", 'm', "TEXT", "why, kept with the command", TAKE_TEXT, "message" },
	{ "yes", 'y', NULL, "even if no face is let in after it", TAKE_TRUE, "last_face" },
	{ 0 },
};

static const struct opt invite_options[] = {
	{ "kind", 0, "KIND", "broker, face, notifier or client", TAKE_TEXT, "kind" },
	{ "group", 0, "GROUP", "a broker's groups end here; again for more", TAKE_ITEMS, "groups" },
	{ "type", 't', "TYPE", "its task types; again for more", TAKE_ITEMS, "types" },
	{ "project", 'p', "PROJECT",
	  "a broker is given their jobs, a face or client changes them; again for more", TAKE_ITEMS,
	  "projects" },
	{ "expires", 0, "T", "from then on it is not let in: an instant, or never", TAKE_TEXT,
	  "expires" },
	{ "message", 'm', "TEXT", "why, kept with the command", TAKE_TEXT, "message" },
	{ 0 },
};

static const struct opt approve_options[] = {
	{ "fingerprint", 0, "KEY", "only if it is this one, as its machine shows it", TAKE_TEXT,
	  "fingerprint" },
	{ "yes", 'y', NULL, "whichever key waits, unseen" },
	{ "message", 'm', "TEXT", "why, kept with the command", TAKE_TEXT, "message" },
	{ 0 },
};

static const struct opt revoke_options[] = {
	{ "message", 'm', "TEXT", "why, kept with the command", TAKE_TEXT, "message" },
	{ "yes", 'y', NULL, "even if no face is let in after it", TAKE_TRUE, "last_face" },
	{ 0 },
};

/* A document outlives its time. */
static void cell_state(const cJSON *peer, const char *key, struct buf *out)
{
	struct when w;
	int64_t now = clock_wall_us(&clock_machine) / US_PER_S;
	bool is_over = when_parse(text_of(peer, "expires"), now, &w) && w.at <= now;

	buf_puts(out, is_over && strcmp(text_of(peer, key), "active") == 0 ? "expired"
	                                                                   : text_of(peer, key));
}

static const struct column columns[] = {
	{ "Peer", "peer" },
	{ "Kind", "kind" },
	{ "Said by", "by" },
	{ "State", "state", cell_state },
	{ "Groups", "groups", cell_list_all },
	{ "Types", "types", cell_list_all },
	{ "Projects", "projects", cell_list_all },
	{ "Asserts", "asserts" },
	{ "Expires", "expires", cell_time },
	{ "Public key", "fingerprint" },
	{ "Waits for approval", "waits" },
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

static void set_check(struct asked *q, struct argp_state *state)
{
	bool any = false;

	for (size_t i = 0; i < q->n; i++)
		any |= strcmp(q->given[i].opt->name, "message") != 0 &&
		       strcmp(q->given[i].opt->name, "yes") != 0;
	if (!any)
		argp_error(state, "what of it? --kind, --group, --type, --project, --expires, "
		                  "--state");
}

static int set_show(struct online *o, const struct asked *q, const cJSON *answer)
{
	(void)o;
	(void)answer;
	printf("%s set\n", word(q, 0));
	return CLI_OK;
}

static int peer_revoke(struct asked *q)
{
	return ask_each(q, "revoked");
}

/* The program of a peer of that kind; NULL: none of ours. */
static const char *program_of(const char *kind)
{
	return strcmp(kind, "broker") == 0     ? "taskbroker"
	       : strcmp(kind, "face") == 0     ? "sirdar-cgi"
	       : strcmp(kind, "notifier") == 0 ? "sirdar-notifier"
	                                       : NULL;
}

/* Nobody sees it again: whatever becomes of the rest, it is printed. */
static int invite_show(struct online *o, const struct asked *q, const cJSON *answer)
{
	const char *name = text_of(answer, "peer"), *program = NULL;
	cJSON *peer = NULL;

	(void)q;
	printf("%s\n", text_of(answer, "code"));
	fflush(stdout);
	char *path = mem_fmt("/api/v1/peers/%s", name);
	if (online_get(o, path, &peer) == CLI_OK)
		program = program_of(text_of(peer, "kind"));
	free(path);
	fprintf(stderr, "a code for %s, for an hour and one use%s%s%s\n", name,
	        program ? "; on its machine: " : "", program ? program : "",
	        program ? " -c FILE enrol CODE" : "");
	cJSON_Delete(peer);
	return CLI_OK;
}

const struct verb verb_peer_invite = {
	ask, invite_options, 1, 1, .call = "POST /api/v1/peers/{}/invite", .show = invite_show
};
/* What is let in is the key that was shown, never another that came meanwhile. */
static int key_ask(struct asked *q, const char *key, const char *without)
{
	char line[16] = "";

	if (!isatty(STDIN_FILENO))
		return cli_fail(CLI_REFUSED,
		                "nothing was changed: --fingerprint KEY, as its "
		                "machine shows it%s",
		                without);
	fprintf(stderr, "Let it in? [y/N] ");
	if (!fgets(line, sizeof line, stdin) || (line[0] != 'y' && line[0] != 'Y'))
		return cli_fail(CLI_REFUSED, "nothing was changed");
	body_text(q, "fingerprint", key);
	return CLI_OK;
}

static int approve_begin(struct online *o, struct asked *q)
{
	cJSON *peer = NULL;

	if (given(q, "fingerprint"))
		return CLI_OK;
	char *path = mem_fmt("/api/v1/peers/%s", word(q, 0));
	int code = online_get(o, path, &peer);
	const char *waits = text_of(peer, "waits");
	free(path);
	if (code == CLI_OK && waits[0] && given(q, "yes")) {
		body_text(q, "fingerprint", waits);
	} else if (code == CLI_OK && waits[0]) {
		fprintf(stderr,
		        "%s (%s) waits with the key\n  %s\nas its machine has to have shown it\n",
		        word(q, 0), text_of(peer, "kind"), waits);
		code = key_ask(q, waits, ", or --yes");
	}
	cJSON_Delete(peer);
	return code;
}

/* A revoked key may be in strange hands: it is shown before it counts again. */
static int set_begin(struct online *o, struct asked *q)
{
	cJSON *peer = NULL;

	if (!given(q, "state") || given(q, "fingerprint"))
		return CLI_OK;
	char *path = mem_fmt("/api/v1/peers/%s", word(q, 0));
	int code = online_get(o, path, &peer);
	const char *key = text_of(peer, "fingerprint");
	free(path);
	if (code == CLI_OK && key[0] && strcmp(text_of(peer, "state"), "revoked") == 0) {
		fprintf(stderr,
		        "%s was revoked; let in again would be its former key\n  %s\na new one is "
		        "safer: sirdar peer invite %s\n",
		        word(q, 0), key, word(q, 0));
		code = key_ask(q, key, "");
	}
	cJSON_Delete(peer);
	return code;
}

static int approve_show(struct online *o, const struct asked *q, const cJSON *answer)
{
	(void)o;
	(void)answer;
	printf("%s is let in with its key\n", word(q, 0));
	return CLI_OK;
}

const struct verb verb_peer_approve = { ask,
	                                approve_options,
	                                1,
	                                1,
	                                .call = "POST /api/v1/peers/{}/approve",
	                                .prepare = approve_begin,
	                                .show = approve_show };
static const struct column refused_columns[] = {
	{ "Turned away", "peer" },     { "From", "address" }, { "Times", "times" },
	{ "Last", "last", cell_time }, { "Why", "why" },      { 0 },
};

/* Below the peers: who was here and was not let in, which no document may tell of. */
static int peers_show(struct online *o, const struct asked *q, const cJSON *answer)
{
	const cJSON *refused = json_get(answer, "refused");

	(void)o;
	rows_show(q->verb->columns, json_get(answer, "peers"));
	if (cJSON_GetArraySize(refused) > 0) {
		putchar('\n');
		rows_show(refused_columns, refused);
	}
	return CLI_OK;
}

const struct verb verb_peer_list = { ask, .most = WORDS_NONE, .call = "GET /api/v1/peers",
	                             .columns = columns, .show = peers_show };
const struct verb verb_peer_show = {
	ask, NULL, 1, 1, .call = "GET /api/v1/peers/{}", .columns = columns, .show = peer_show
};
static const struct column exposed_columns[] = {
	{ "Target server", "server" },
	{ "First given", "first", cell_time },
	{ "Last given", "last", cell_time },
	{ 0 },
};
const struct verb verb_peer_exposed = { ask,
	                                NULL,
	                                1,
	                                1,
	                                .call = "GET /api/v1/peers/{}/exposed",
	                                .member = "secrets",
	                                .none = "nothing was given to it",
	                                .columns = exposed_columns };
const struct verb verb_peer_set = { ask,
	                            options,
	                            1,
	                            1,
	                            .call = "POST /api/v1/peers",
	                            .words = "peer",
	                            .check = set_check,
	                            .prepare = set_begin,
	                            .show = set_show };
const struct verb verb_peer_revoke = { peer_revoke, revoke_options, 1, 100,
	                               .call = "POST /api/v1/peers/{}/revoke" };
