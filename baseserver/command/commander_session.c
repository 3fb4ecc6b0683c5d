/* Sessions of people: each person has one document, of which the store keeps the newest version.
 * A sign-in adds a session to the document. Ending a session, or changing the person's credentials,
 * removes it. Each change also removes sessions that have expired, so a document never holds more
 * than SESSIONS_EACH_MAX and needs no cleaner. */
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/command/people.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { SESSIONS_EACH_MAX = 20, SESSIONS_ENDED_MAX = 100000, TEXT_MAX = 200, ISSUER_MAX = 1000 };

/* --- arguments ---------------------------------------------------------------------------- */

static int parse_user(struct order *o, struct refusal *f)
{
	int r = arg_text(o->args, "args", "user", PERSON_NAME - 1, &o->user, f);

	if (r == 0 && (!o->user || !person_name_ok(o->user)))
		return refuse(f, E_INVALID, "args.user", "letters, digits, . _ @ -",
		              "args.user: a person's name is expected");
	return r;
}

int session_begin_parse(struct order *o, struct refusal *f)
{
	static const char *const texts[] = { "session", "hash", "via", "address", "agent", "face" };
	const char *issuer = NULL;
	int64_t at = 0;
	int r = parse_user(o, f);

	for (size_t i = 0; i < sizeof texts / sizeof texts[0] && r == 0; i++) {
		const char *text = NULL;

		r = arg_text(o->args, "args", texts[i], TEXT_MAX, &text, f);
	}
	if (r == 0)
		r = arg_text(o->args, "args", "issuer", ISSUER_MAX, &issuer, f);
	/* After a restart the record has it no more: nobody was given that session. */
	if (r == 0 && strlen(jv_str(o->args, "hash")) != CREDENTIAL_HEX - 1)
		r = refuse(f, E_INVALID, "args.hash", "sign in again",
		           "args.hash: the hash is not kept with a command");
	if (r == 0)
		r = arg_number(o->args, "args", (struct arg_range){ "since", 0, UINT32_MAX }, &at,
		               f);
	if (r == 0)
		r = arg_number(o->args, "args", (struct arg_range){ "factor", 0, UINT32_MAX }, &at,
		               f);
	return r < 0 ? r
	             : arg_number(o->args, "args",
	                          (struct arg_range){ "expires", 0, INT64_MAX / US_PER_S }, &at, f);
}

int session_end_parse(struct order *o, struct refusal *f)
{
	const struct jval *ids = NULL;
	int64_t sessions = 0;
	int r = parse_user(o, f);

	if (r == 0)
		r = arg_number(o->args, "args",
		               (struct arg_range){ "sessions", 1, SESSIONS_ENDED_MAX }, &sessions,
		               f);
	return r < 0 ? r : arg_list(o->args, "args", "ids", SESSIONS_ENDED_MAX, &ids, f);
}

/* --- documents ---------------------------------------------------------------------------- */

static const struct jval *list_of(const struct commander *c, const char *user)
{
	const struct doc *d = docs_find(&c->docs[DOC_SESSION], user);

	return d ? jv_get(doc_json(d), "sessions") : NULL;
}

static bool lasts(const struct commander *c, const struct cmd *cmd, const struct jval *s,
                  const char *user)
{
	return session_lasts(s, c->docs, user, cmd->o.now_us);
}

static void sessions_open(struct buf *out)
{
	buf_init(out);
	put_open(out, NULL, '{');
	put_open(out, "sessions", '[');
}

static void sessions_put(struct commander *c, const struct cmd *cmd, const char *user,
                         struct buf *out)
{
	put_close(out, ']');
	put_close(out, '}');
	stored__change(
		c, cmd, cmd->edit,
		&(struct store_doc){ .kind = DOC_SESSION, .name = user, .body = buf_str(out) });
	buf_done(out);
}

/* He has SESSIONS_EACH_MAX: the oldest goes, which is the first. */
int session__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	static const char *const kept[] = { "hash",  "via",    "address", "agent", "expires",
		                            "since", "factor", "face",    "issuer" };
	const struct jval *list = list_of(c, cmd->o.user), *args = cmd->o.args;
	struct buf out;
	size_t n = 0;

	(void)f;
	JV_EACH(s, list)
		n += lasts(c, cmd, s, cmd->o.user);
	sessions_open(&out);
	JV_EACH(s, list)
		if (lasts(c, cmd, s, cmd->o.user) && n-- < SESSIONS_EACH_MAX)
			person_print(&out, NULL, s, false);
	put_open(&out, NULL, '{');
	put_text(&out, "id", jv_str(args, "session"));
	put_int(&out, "begun", cmd->o.now_us / US_PER_S);
	for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
		if (jv_get(args, kept[i]))
			person_print(&out, kept[i], jv_get(args, kept[i]), false);
	put_close(&out, '}');
	cmd->edit = mem_new(sizeof *cmd->edit);
	sessions_put(c, cmd, cmd->o.user, &out);
	return 0;
}

int session__end(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct jval *list = list_of(c, cmd->o.user), *ids = jv_get(cmd->o.args, "ids");
	struct buf out;

	(void)f;
	cmd->edit = mem_new(sizeof *cmd->edit);
	if (!list || !ids)
		return 0; /* of the face alone: recorded, and nothing besides */
	sessions_open(&out);
	JV_EACH(s, list)
		if (lasts(c, cmd, s, cmd->o.user) && !jv_has(ids, jv_str(s, "id")))
			person_print(&out, NULL, s, false);
	sessions_put(c, cmd, cmd->o.user, &out);
	return 0;
}

static void print_renewed(struct buf *out, const struct jval *s, const char *key, int64_t value)
{
	put_open(out, NULL, '{');
	for (const struct jval *v = s->first; v; v = v->next)
		if (strcmp(v->key, key) == 0)
			put_int(out, key, value);
		else
			person_print(out, v->key, v, false);
	put_close(out, '}');
}

void sessions__renew(struct commander *c, struct cmd *cmd, const char *key, int64_t value)
{
	const struct jval *list = list_of(c, cmd->o.user);
	bool own = strcmp(cmd->actor, cmd->o.user) == 0 && cmd->session[0];
	struct buf out;

	if (!list)
		return;
	sessions_open(&out);
	JV_EACH(s, list)
		if (own && strcmp(jv_str(s, "id"), cmd->session) == 0)
			print_renewed(&out, s, key, value);
	sessions_put(c, cmd, cmd->o.user, &out);
}
