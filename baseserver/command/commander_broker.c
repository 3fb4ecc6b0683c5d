/* Kinds that act on brokers: drains, the end of a plugin's quarantine, how much daemons write.
 * A drain goes to the registrar's thread first, which knows the names: all of them are there,
 * or nothing is changed. Back on this thread every worker is told, for any of them may hold the
 * broker's session. The command is over when the workers were told, not when brokers have done
 * it. */
#include <stdio.h>
#include <stdlib.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/sort/registrar.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"
#include "util/log.h"

/* --- arguments ---------------------------------------------------------------------------- */

static int order_parse_brokers(struct order *o, bool needed, struct refusal *f)
{
	int r = arg_list(o->args, "args", "brokers", 1000, &o->brokers, f);

	if (r < 0)
		return r;
	if (needed && (!o->brokers || o->brokers->len == 0))
		return refuse(f, E_INVALID, "args.brokers", "for example [\"etl-1\"]",
		              "args.brokers: names of brokers are expected");
	for (const struct jval *v = o->brokers ? o->brokers->first : NULL; v; v = v->next)
		if (v->kind != JV_TEXT || v->len == 0 || v->len > 63)
			return refuse(f, E_INVALID, "args.brokers", NULL,
			              "args.brokers: a broker's name is expected, not %s",
			              jv_kind_name(v));
	return 0;
}

int brokers_parse(struct order *o, struct refusal *f)
{
	return order_parse_brokers(o, true, f);
}

int broker_types_parse(struct order *o, struct refusal *f)
{
	int r = order_parse_brokers(o, false, f);

	return r < 0 ? r : order__parse_plugin(o, f);
}

static const char *const levels[] = { "error", "warn", "info", "debug", NULL };

int level_parse(struct order *o, struct refusal *f)
{
	if (!jv_get(o->args, "level"))
		return refuse(f, E_INVALID, "args.level", "error, warn, info, debug",
		              "args.level: is missing");
	int r = arg_choice(o->args, "args", "level", levels, &o->level, f);

	if (r == 0)
		r = order_parse_brokers(o, false, f);
	return r == 0 && jv_get(o->args, "type") ? order__parse_plugin(o, f) : r;
}

/* --- to the registrar and back --------------------------------------------------------------- */

struct drain {
	struct letter letter;
	struct commander *c;
	uint64_t command;
	bool drained;
	const char *level; /* instead of a drain; static */
	char type[64];     /* of a level: its loaders alone; without one: a release of it */
	char missing[64];
	size_t n;
	struct {
		char name[64];
		uint32_t id;
	} b[];
};

static void tell_worker(const struct commander *c, const struct drain *d, uint32_t broker,
                        struct worker *w)
{
	if (!d->level && d->type[0] && c->front->release)
		c->front->release(w, broker, d->type);
	else if (d->level && c->front->level)
		c->front->level(w, broker, d->type, d->level);
	else if (!d->type[0] && !d->level && c->front->drain)
		c->front->drain(w, broker, d->drained);
}

static void broker_drained(struct letter *l, void *self)
{
	struct commander *c = self;
	struct drain *d = (struct drain *)l;
	struct cmd *cmd = commander__find(c, d->command);
	struct refusal f;

	for (size_t i = 0; i < d->n && !d->missing[0]; i++)
		for (size_t k = 0; k < c->front->n_workers; k++)
			tell_worker(c, d, d->b[i].id, c->front->workers[k]);
	if (cmd && d->missing[0]) {
		refuse(&f, E_NOT_FOUND, "args.brokers", NULL, "args.brokers: no broker '%s'",
		       d->missing);
		cmd__fail(c, cmd, &f);
	} else if (cmd) {
		cmd__over(c, cmd, CS_DONE, "");
	}
	free(d);
}

/* On the registrar's thread: all of them are known, or none is changed. */
static void drain_at_registrar(struct letter *l, void *self)
{
	struct drain *d = (struct drain *)l;

	for (size_t i = 0; i < d->n && !d->missing[0]; i++)
		if (!registrar_find(self, d->b[i].name, &d->b[i].id))
			snprintf(d->missing, sizeof d->missing, "%s", d->b[i].name);
	for (size_t i = 0; i < d->n && !d->missing[0] && !d->level && !d->type[0]; i++)
		registrar_drain(self, d->b[i].id, d->drained);
	l->deliver = broker_drained;
	if (actor_post_credit(d->c->me, l) < 0)
		free(d);
}

/* Asks the registrar; broker_drained() ends the command. level: NULL: none is set */
static int ask_registrar(struct commander *c, struct cmd *cmd, bool drained, const char *level,
                         struct refusal *f)
{
	const struct jval *list = cmd->o.brokers;

	if (!c->front || !c->front->registrar)
		return refuse(f, E_UNSUPPORTED, "args.brokers", NULL, "there are no brokers here");
	struct drain *d = mem_new(sizeof *d + list->len * sizeof d->b[0]);
	d->c = c;
	d->command = cmd->id;
	d->drained = drained;
	d->level = level;
	if (cmd->o.type)
		snprintf(d->type, sizeof d->type, "%s", cmd->o.type);
	for (const struct jval *v = list->first; v; v = v->next)
		snprintf(d->b[d->n++].name, sizeof d->b[0].name, "%s", v->text);
	d->letter = (struct letter){ .deliver = drain_at_registrar, .discard = letter_free };
	int r = actor_post(registrar_actor(c->front->registrar), &d->letter);
	if (r < 0) {
		free(d);
		return refuse(f, r, "", NULL, "%s", err_text(r));
	}
	cmd->edit_posted = true; /* under way */
	return 0;
}

static bool names_brokers(const struct cmd *cmd)
{
	return cmd->o.brokers && cmd->o.brokers->len;
}

int drain_act(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	return ask_registrar(c, cmd, true, NULL, f);
}

int undrain_act(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	return ask_registrar(c, cmd, false, NULL, f);
}

int release_act(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	if (names_brokers(cmd))
		return ask_registrar(c, cmd, false, NULL, f);
	for (size_t k = 0; c->front && c->front->release && k < c->front->n_workers; k++)
		c->front->release(c->front->workers[k], 0, cmd->o.type);
	return 0;
}

int level_act(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const char *level = levels[cmd->o.level];

	if (names_brokers(cmd))
		return ask_registrar(c, cmd, false, level, f);
	if (!cmd->o.type)
		log_level_set((enum log_level)cmd->o.level);
	for (size_t k = 0; cmd->o.type && c->front && c->front->level && k < c->front->n_workers;
	     k++)
		c->front->level(c->front->workers[k], 0, cmd->o.type, level);
	return 0;
}
