/* Channels, on-call lists and rules that are documents of the server: listed from the store, made,
 * changed and removed by command. What is secret comes in and never goes out. Where a secret is
 * kept outside only an administrator may say: the server judges it too, and here for whom the
 * server does not know. */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_commands.h"
#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/role.h"
#include "rt/zones.h"
#include "sched/duty.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"

/* Its arguments may hold a secret: nothing of it stays behind. */
static int told_command(struct call *c, const char *kind, const cJSON *args)
{
	char *text = command_args(c, kind, args);
	int r = call_command(c, kind, text, false, c->request_id);

	sodium_memzero(text, strlen(text));
	free(text);
	return r;
}

static int told_remove(struct call *c, const char *kind, const char *key)
{
	cJSON *args = cJSON_CreateObject();
	int r;

	cJSON_AddStringToObject(args, key, c->params[0]);
	r = told_command(c, kind, args);
	cJSON_Delete(args);
	return r;
}

/* --- channels ------------------------------------------------------------------------ */

int channels_post(struct call *c)
{
	static const char *const keys[] = { "channel",  "kind",     "url",      "sender",
		                            "user",     "password", "secret",   "chat",
		                            "language", "insecure", "projects", NULL };
	static const char *const secrets[] = { "url", "password", "secret" };

	if (call_members_only(c, keys) < 0)
		return c->err.code;
	for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
		if (cJSON_IsObject(json_get(c->json, secrets[i])) && c->role < ROLE_ADMIN)
			return call_fail(c, E_FORBIDDEN, secrets[i],
			                 "only an administrator says where a secret is kept "
			                 "outside");
	return told_command(c, "channel-set", c->json);
}

int channel_delete(struct call *c)
{
	return told_remove(c, "channel-remove", "channel");
}

/* --- on-call lists ------------------------------------------------------------------- */

/* Whose turn it is, and until when; all of them when nobody takes turns. */
static void put_now(struct buf *b, const cJSON *root)
{
	const cJSON *people = json_get(root, "people");
	const char *every = json_text(root, "every"), *zone = json_text(root, "zone");
	struct duty_plan plan = { .every = DUTY_DAY, .people = (size_t)cJSON_GetArraySize(people) };
	struct when from = { 0 };
	int64_t until = 0;
	bool turns = every && strcmp(every, "all") != 0 && plan.people > 0 &&
	             when_parse(json_text(root, "start"), WHEN_NO_NOW, &from) &&
	             zones_get(zone ? zone : "UTC", &plan.tz, NULL) == 0;

	if (!turns) {
		put_texts(b, "now", people);
		put_null(b, "until");
		return;
	}
	if (strcmp(every, "week") == 0)
		plan.every = DUTY_WEEK;
	plan.from = from.label;
	size_t i = duty_turn(&plan, clock_wall_us(&clock_machine) / US_PER_S, &until);
	put_open(b, "now", '[');
	put_text(b, NULL, cJSON_GetArrayItem(people, (int)i)->valuestring);
	put_close(b, ']');
	put_time(b, "until", until);
}

static int oncall_put(void *ctx, const struct store_doc *d)
{
	struct buf *b = &((struct call *)ctx)->out;
	cJSON *root = doc_open(b, "name", d);

	put_texts(b, "people", json_get(root, "people"));
	put_text(b, "every", json_text(root, "every"));
	put_text(b, "start", json_text(root, "start"));
	put_text(b, "zone", json_text(root, "zone"));
	put_projects(ctx, json_get(root, "projects"));
	put_now(b, root);
	doc_close(b, d, root);
	return 0;
}

static const struct doc_noun lists = { DOC_ONCALL, "lists", "no such on-call list", false,
	                               oncall_put };

int oncall_get(struct call *c)
{
	return docs_get(c, &lists);
}

int oncall_post(struct call *c)
{
	static const char *const keys[] = { "oncall", "people",   "every", "start",
		                            "zone",   "projects", NULL };

	return call_members_only(c, keys) < 0 ? c->err.code
	                                      : told_command(c, "oncall-set", c->json);
}

int oncall_delete(struct call *c)
{
	return told_remove(c, "oncall-remove", "oncall");
}

/* --- rules ----------------------------------------------------------------------------- */

static int rule_put(void *ctx, const struct store_doc *d)
{
	struct buf *b = &((struct call *)ctx)->out;
	cJSON *root = doc_open(b, "name", d);

	put_texts(b, "when", json_get(root, "when"));
	put_texts(b, "to", json_get(root, "to"));
	put_text(b, "covers", json_text(root, "covers"));
	put_text(b, "after", json_text(root, "after"));
	doc_close(b, d, root);
	return 0;
}

static const struct doc_noun rules = { DOC_RULE, "rules", "no such rule", false, rule_put };

int rules_list(struct call *c)
{
	return docs_get(c, &rules);
}

int rules_post(struct call *c)
{
	static const char *const keys[] = { "rule",     "when", "to",    "project",
		                            "workflow", "task", "after", NULL };

	return call_members_only(c, keys) < 0 ? c->err.code : told_command(c, "rule-set", c->json);
}

int rule_delete(struct call *c)
{
	return told_remove(c, "rule-remove", "rule");
}
