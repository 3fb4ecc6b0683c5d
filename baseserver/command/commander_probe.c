/* server-test: a broker tries to connect to a target server, as a job of a project would there. The
 * project says who may ask, whether the target is for it, and which brokers may try. The workers
 * find one (baseserver/net/worker_probe.c); how it went is a member of the answer, `test`. One at a
 * time of each target and of each person; after PROBE_GRACE_MS nobody waits for it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/model/probe.h"
#include "baseserver/model/trust.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

static int parse_name(struct order *o, const char *key, const char **ret, struct refusal *f)
{
	int r = arg_text(o->args, "args", key, WORKFLOW_NAME_MAX, ret, f);
	char why[NAME_WHY_BYTES], at[40];

	snprintf(at, sizeof at, "args.%s", key);
	return r == 0 && *ret && word_wrong(*ret, why) ? refuse_name(f, at, *ret, why) : r;
}

int probe_parse(struct order *o, struct refusal *f)
{
	const char *other = NULL;
	int r = parse_name(o, "server", &o->server, f);

	if (r == 0 && !o->server)
		return refuse(f, E_INVALID, "args.server", "sirdar target list",
		              "args.server: is missing");
	if (r == 0)
		r = parse_name(o, "project", &o->pool, f);
	if (r == 0)
		r = parse_name(o, "broker", &other, f);
	return r == 0 ? parse_name(o, "group", &other, f) : r;
}

/* The task type whose runner can connect to that kind; "": there is none. */
static const char *type_for(const char *kind)
{
	static const char *const types[][2] = {
#define TARGET_KIND(name, type) { name, type },
#include "tbl/target_kind.def"
#undef TARGET_KIND
	};

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (strcmp(types[i][0], kind) == 0)
			return types[i][1];
	return "";
}

/* For which: the one that is said, or the only one it could be; "": of a target for all. */
static const char *project_of(const struct cmd *cmd, const struct doc *t)
{
	const struct jval *in = cmd->o.within, *list = jv_get(doc_json(t), "projects");

	if (cmd->o.pool)
		return cmd->o.pool;
	if (in && in->len == 1)
		return in->first->text;
	if (jv_is(list, JV_LIST) && list->len == 1 && list->first->kind == JV_TEXT &&
	    !jv_has(list, "*"))
		return list->first->text;
	return "";
}

static int judge_alone(const struct commander *c, const struct cmd *cmd, struct refusal *f)
{
	for (size_t i = 0; i < c->n_cmds; i++) {
		const struct cmd *other = c->cmds[i];
		bool same = false;

		if (other == cmd || other->kind != cmd->kind || !other->waits_since_us ||
		    other->phase == PH_OVER)
			continue;
		same = strcmp(other->o.server, cmd->o.server) == 0;
		if (same || strcmp(other->actor, cmd->actor) == 0)
			return refuse(f, E_LIMIT, "args.server", "try again in some seconds",
			              same ? "target server %.100s is being tested already"
			                   : "one of your tests, of target server %.100s, is not "
			                     "over yet",
			              other->o.server);
	}
	return 0;
}

static int judge_target(const struct commander *c, const struct cmd *cmd, const struct doc *t,
                        struct refusal *f)
{
	const char *kind = jv_str(doc_json(t), "kind"), *project = project_of(cmd, t);

	if (!target_allows(t, project))
		return refuse(f, project[0] ? E_FORBIDDEN : E_INVALID, "args.project", "--project",
		              project[0] ? "target server %.100s is not for project %.100s"
		                         : "target server %.100s is for some projects: which one "
		                           "is missing%s",
		              t->name, project);
	if (!type_for(kind)[0])
		return refuse(f, E_UNSUPPORTED, "args.server",
		              "mysql, mariadb, postgresql, sqlite, http",
		              "target server %.100s is of kind %.40s: nothing here can try to "
		              "connect to one",
		              t->name, kind);
	if (!c->front || !c->front->probe)
		return refuse(f, E_UNSUPPORTED, "args.server", NULL, "there are no brokers here");
	return judge_alone(c, cmd, f);
}

/* --- how it went ----------------------------------------------------------------------- */

static void tell(struct commander *c, struct cmd *cmd, const struct probe *p)
{
	struct buf out;

	buf_init(&out);
	put_open(&out, "test", '{');
	put_text(&out, "outcome", probe_outcome_name(p->outcome));
	put_text(&out, "text", p->text);
	put_text(&out, "broker", p->by[0] ? p->by : NULL);
	put_int(&out, "took_ms", p->took_us / US_PER_MS);
	put_close(&out, '}');
	cmd->changes = mem_str(buf_str(&out));
	buf_done(&out);
	cmd__over(c, cmd, CS_DONE, "");
}

static void probe_answered(struct letter *l, void *self)
{
	struct commander *c = self;
	struct probe *p = (struct probe *)l;
	struct cmd *cmd = commander__find(c, p->id);

	commander_fold(c);
	if (cmd && cmd->kind == CK_SERVER_TEST && cmd->phase == PH_OTHER)
		tell(c, cmd, p);
	probe_free(p);
}

static int wait_on(struct commander *c, struct cmd *cmd)
{
	int64_t end_us = cmd->waits_since_us + PROBE_GRACE_MS * US_PER_MS;
	struct probe late = { .outcome = PROBE_GONE, .text = "no broker answered in time" };

	if (actor_mono_us(c->me) < end_us) {
		commander_alarm(c, end_us);
		return 1;
	}
	tell(c, cmd, &late);
	return 1;
}

static const char *said(const struct cmd *cmd, const char *key)
{
	return jv_text(cmd->o.args, key);
}

int probe_act(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct doc *t = docs_find(&c->docs[DOC_SERVER], cmd->o.server);

	if (cmd->waits_since_us)
		return wait_on(c, cmd);
	if (!t)
		return stored__missing(DOC_SERVER, cmd->o.server, f);
	int r = judge_target(c, cmd, t, f);
	if (r < 0)
		return r;
	const char *project = project_of(cmd, t);
	struct probe *p = mem_new(sizeof *p);
	p->reply_to = c->me;
	p->answered = probe_answered;
	p->workers = c->front->workers;
	p->n_workers = c->front->n_workers;
	p->id = cmd->id;
	p->target = mem_str(t->name);
	p->project = mem_str(project);
	p->type = mem_str(type_for(jv_str(doc_json(t), "kind")));
	p->broker = said(cmd, "broker") ? mem_str(said(cmd, "broker")) : NULL;
	p->group = said(cmd, "group") ? mem_str(said(cmd, "group")) : NULL;
	p->is_trusted = !project[0] ||
	                trust_of(&c->docs[DOC_TRUST], project, !c->front->asks_trust);
	cmd->waits_since_us = actor_mono_us(c->me);
	c->front->probe(p->workers[0], p);
	return wait_on(c, cmd);
}
