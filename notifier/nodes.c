/* Nodes of etcd's registry that came, went or changed: each version that the server recorded is one
 * thing to tell those whom the channels file names. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/alerts.h"
#include "notifier/channels.h"
#include "notifier/message.h"
#include "notifier/notifier.h"
#include "notifier/outbox.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_read.h"

enum { VERSIONS_MAX = 100 }; /* told of one node in a round; the next one goes on */

struct seen {
	struct {
		uint32_t id, version;
		int64_t at_us;
	} items[READ_ROWS_MAX];
	size_t n;
};

static int each_node(void *ctx, const struct store_doc *d)
{
	struct seen *s = ctx;

	s->items[s->n].id = d->id;
	s->items[s->n].version = d->version;
	s->items[s->n++].at_us = d->at_us;
	return 0;
}

/* One version of a node. */
struct node_state {
	const struct jval *json; /* NULL: that version is not kept */
	int64_t at_us;
};

static int take_state(void *ctx, const struct store_doc *d)
{
	struct node_state *s = ctx;

	s->at_us = d->at_us;
	if (jv_parse(d->body, d->body_len, &s->json, NULL) < 0)
		s->json = NULL;
	return 0;
}

static int state_read(struct notifier *n, uint32_t id, uint32_t version, struct node_state *ret,
                      struct err *err)
{
	int r;

	*ret = (struct node_state){ NULL, 0 };
	if (version == 0)
		return 0;
	r = read_doc(n->reader, &(struct read_which){ DOC_NODE, .id = id, .version = version },
	             take_state, ret, err);
	return r == E_NOT_FOUND ? 0 : r;
}

static bool is_there(const struct node_state *s)
{
	return s->json && strcmp(jv_str(s->json, "status"), "offline") != 0;
}

static int nodes_put(struct notifier *n, const struct alert *a, uint32_t id, uint32_t version,
                     struct err *err)
{
	char *what = mem_fmt("node:%" PRIu32 ":%" PRIu32, id, version);
	const char *recipient;
	int64_t alert = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && (recipient = channels_node_recipient(n->channels, i)); i++) {
		char *key = mem_fmt("%s:%s", what, recipient);
		r = alerts_raise(n, what, a, &alert, err);
		if (r == 0)
			r = news_put(n, &(struct notice){ key, alert, a, recipient, 0 }, err);
		free(key);
	}
	free(what);
	return r;
}

static int nodes_tell(struct notifier *n, uint32_t id, uint32_t version,
                      const struct node_state *was, const struct node_state *now, struct err *err)
{
	char *task = mem_fmt("%s %s", jv_str(now->json, "mode"), jv_str(now->json, "name"));
	char *note = mem_fmt("%s at %s", jv_str(now->json, "status"), jv_str(now->json, "host"));
	struct alert a = { .what = !is_there(now)  ? HP_LEFT
		                   : is_there(was) ? HP_CHANGED
		                                   : HP_JOINED,
		           .task = task,
		           .title = "",
		           .reason = "",
		           .note = note,
		           .label = "",
		           .run_date = now->at_us / US_PER_S,
		           .at_us = now->at_us };
	int r = nodes_put(n, &a, id, version, err);

	free(task);
	free(note);
	return r;
}

/* From the version told last on, one after the other. */
static int nodes_follow(struct notifier *n, uint32_t id, uint32_t told, uint32_t newest,
                        struct err *err)
{
	uint32_t end = newest - told > VERSIONS_MAX ? told + VERSIONS_MAX : newest;
	struct node_state was, now;
	int r = state_read(n, id, told, &was, err);

	for (uint32_t v = told + 1; r == 0 && v <= end; v++) {
		r = state_read(n, id, v, &now, err);
		if (r == 0 && now.json)
			r = nodes_tell(n, id, v, &was, &now, err);
		jv_free(was.json);
		was = now;
	}
	jv_free(was.json);
	return r == 0 ? outbox_put_node(n->outbox, id, end, err) : r;
}

static int take_page(struct notifier *n, const struct seen *s, struct err *err)
{
	int r = outbox_begin(n->outbox, err);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		int64_t told = 0;
		r = outbox_node(n->outbox, s->items[i].id, &told, err);
		/* Never heard of: what was before we began is nobody's news. */
		if (r == 0 && told < 0 && s->items[i].at_us < n->began_us)
			r = outbox_put_node(n->outbox, s->items[i].id, s->items[i].version, err);
		else if (r == 0 && told < (int64_t)s->items[i].version)
			r = nodes_follow(n, s->items[i].id, told < 0 ? 0 : (uint32_t)told,
			                 s->items[i].version, err);
	}
	return outbox_end(n->outbox, r, err);
}

int news_nodes(struct notifier *n, struct err *err)
{
	struct seen *s = mem_new(sizeof *s);
	struct read_answer answer = { 0 };
	struct read_page page = { .limit = READ_ROWS_MAX, .answer = &answer };
	int r;

	do {
		s->n = 0;
		r = read_docs(n->reader, &(struct read_docs_of){ DOC_NODE, true }, &page, each_node,
		              s, err);
		if (r == 0 && s->n > 0)
			r = take_page(n, s, err);
		page.cursor = answer.cursor;
	} while (r == 0 && answer.cursor[0]);
	free(s);
	return r;
}
