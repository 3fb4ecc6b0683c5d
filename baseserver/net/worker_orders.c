/* What brokers are told besides jobs. Which version of each type's plugin they run is kept here,
 * told to brokers that greet and when it changes; the end of a quarantine, the level of their logs
 * and a drain are told once. A daemon that does not know an order passes over it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/front.h"
#include "baseserver/net/worker_client.h"
#include "baseserver/net/worker_impl.h"
#include "util/alloc.h"

void plugin_choices_free(struct plugin_choices *p)
{
	for (size_t i = 0; p && i < p->n; i++)
		free(p->items[i].where);
	free(p);
}

/* Lines "b:NAME" and "g:GROUP". */
static bool is_meant(const struct conn *c, const char *where)
{
	for (const char *at = where; *at;) {
		size_t n = strcspn(at, "\n");
		if (at[0] == 'b' && strlen(c->name) == n - 2 && memcmp(at + 2, c->name, n - 2) == 0)
			return true;
		for (size_t i = 0; at[0] == 'g' && c->groups && c->groups[i]; i++)
			if (strlen(c->groups[i]) == n - 2 &&
			    memcmp(at + 2, c->groups[i], n - 2) == 0)
				return true;
		at += n + (at[n] == '\n');
	}
	return !*where;
}

static void orders_tell(struct conn *c, const struct plugin_choices *p)
{
	Sirdar__Orders m = SIRDAR__ORDERS__INIT;

	m.kind = (char *)"plugin";
	m.type = (char *)p->type;
	for (size_t i = 0; i < p->n && !m.text[0]; i++)
		if (is_meant(c, p->items[i].where))
			m.text = (char *)p->items[i].text;
	session_send(c->session, FR_ORDERS, &m, NULL);
}

void worker__tell_plugins(struct conn *c)
{
	for (size_t i = 0; c->role == ROLE_BROKER && i < c->w->n_plugins; i++)
		orders_tell(c, c->w->plugins[i]);
}

struct plugin_letter {
	struct letter letter;
	struct plugin_choices *p;
	uint32_t broker; /* of a release; 0: all */
};

static void orders_discard(struct letter *l)
{
	plugin_choices_free(((struct plugin_letter *)l)->p);
	free(l);
}

static void on_plugin(struct letter *letter, void *self)
{
	struct worker *w = self;
	struct plugin_letter *l = (struct plugin_letter *)letter;
	size_t i = 0;

	while (i < w->n_plugins && strcmp(w->plugins[i]->type, l->p->type) != 0)
		i++;
	if (i == w->n_plugins) {
		w->plugins = mem_grow(w->plugins, w->n_plugins + 1,
		                      sizeof(struct plugin_choices *));
		w->plugins[w->n_plugins++] = NULL;
	}
	plugin_choices_free(w->plugins[i]);
	w->plugins[i] = l->p;
	l->p = NULL;
	for (struct conn *c = w->conns; c; c = c->next)
		if (c->greeted && c->role == ROLE_BROKER)
			orders_tell(c, w->plugins[i]);
	orders_discard(letter);
}

void worker_plugin(struct worker *w, struct plugin_choices *p)
{
	struct plugin_letter *l = mem_new(sizeof *l);

	l->letter = (struct letter){ .deliver = on_plugin, .discard = orders_discard };
	l->p = p;
	if (actor_post_credit(w->me, &l->letter) < 0)
		orders_discard(&l->letter);
}

/* --- the end of a quarantine ---------------------------------------------------------------- */

static void on_release(struct letter *letter, void *self)
{
	struct worker *w = self;
	struct plugin_letter *l = (struct plugin_letter *)letter;
	Sirdar__Orders m = SIRDAR__ORDERS__INIT;

	m.kind = (char *)"enable";
	m.type = l->p->type;
	for (struct conn *c = w->conns; c; c = c->next)
		if (c->greeted && c->role == ROLE_BROKER && (!l->broker || c->broker == l->broker))
			session_send(c->session, FR_ORDERS, &m, NULL);
	orders_discard(letter);
}

void worker_release(struct worker *w, uint32_t broker, const char *type)
{
	struct plugin_letter *l = mem_new(sizeof *l);

	l->letter = (struct letter){ .deliver = on_release, .discard = orders_discard };
	l->p = mem_new(sizeof *l->p);
	l->broker = broker;
	snprintf(l->p->type, sizeof l->p->type, "%s", type);
	if (actor_post_credit(w->me, &l->letter) < 0)
		orders_discard(&l->letter);
}

/* --- the level of a broker's log and of its loaders ---------------------------------------- */

struct level {
	struct letter letter;
	uint32_t broker;
	char text[16], type[64];
};

static void on_level(struct letter *l, void *self)
{
	struct worker *w = self;
	struct level *v = (struct level *)l;

	for (struct conn *c = w->conns; c; c = c->next) {
		Sirdar__Orders m = SIRDAR__ORDERS__INIT;
		if (!c->greeted || c->role == ROLE_CLIENT ||
		    (v->broker && c->broker != v->broker) ||
		    (v->type[0] && (c->role != ROLE_LOADER || strcmp(c->type, v->type) != 0)))
			continue;
		m.kind = (char *)"loglevel";
		m.text = v->text;
		session_send(c->session, FR_ORDERS, &m, NULL);
	}
	free(v);
}

void worker_level(struct worker *w, uint32_t broker, const char *type, const char *level)
{
	struct level *v = mem_new(sizeof *v);

	v->letter = (struct letter){ .deliver = on_level, .discard = letter_free };
	v->broker = broker;
	snprintf(v->type, sizeof v->type, "%s", type);
	snprintf(v->text, sizeof v->text, "%s", level);
	if (actor_post_credit(w->me, &v->letter) < 0)
		free(v);
}

/* --- drain ------------------------------------------------------------------------------ */

struct drain {
	struct letter letter;
	uint32_t broker;
	bool drained;
};

static void on_drain(struct letter *l, void *self)
{
	struct worker *w = self;
	struct drain *d = (struct drain *)l;

	for (struct conn *c = w->conns; c; c = c->next) {
		if (!c->greeted || c->role == ROLE_CLIENT || c->broker != d->broker)
			continue;
		c->drained = d->drained;
		if (c->role == ROLE_LOADER)
			worker__tell_sorter(c, false);
	}
	free(d);
}

void worker_drain(struct worker *w, uint32_t broker, bool drained)
{
	struct drain *d = mem_new(sizeof *d);

	d->letter = (struct letter){ .deliver = on_drain, .discard = letter_free };
	d->broker = broker;
	d->drained = drained;
	if (actor_post_credit(w->me, &d->letter) < 0)
		free(d);
}

void worker__plugins_free(struct worker *w)
{
	for (size_t i = 0; i < w->n_plugins; i++)
		plugin_choices_free(w->plugins[i]);
	free(w->plugins);
}
