/* One shape for documents that have a list and a name (struct doc_noun): read from the store on
 * a thread that reads, printed by the noun, never kept. Changes go to the server as commands; their
 * arguments may hold a secret and are wiped after they were sent. What was removed is answered
 * as absent, not as it was. */
#include "cgi/handlers/handle_docs.h"

#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/who/people.h"
#include "cgi/who/sight.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"

static const char *const no_args[] = { NULL };

void put_texts(struct buf *b, const char *key, const cJSON *list)
{
	const cJSON *v;

	put_open(b, key, '[');
	cJSON_ArrayForEach(v, list)
		if (cJSON_IsString(v))
			put_text(b, NULL, v->valuestring);
	put_close(b, ']');
}

void put_projects(struct call *c, const cJSON *projects)
{
	const cJSON *v;

	put_open(&c->out, "projects", '[');
	cJSON_ArrayForEach(v, projects)
		if (cJSON_IsString(v) &&
		    (strcmp(v->valuestring, "*") == 0 || sight_covers(c->sight, v->valuestring)))
			put_text(&c->out, NULL, v->valuestring);
	put_close(&c->out, ']');
}

cJSON *doc_open(struct buf *b, const char *key, const struct store_doc *d)
{
	cJSON *root = NULL;

	if (json_parse(d->body, d->body_len, &root, NULL) < 0)
		root = cJSON_CreateObject();
	put_open(b, NULL, '{');
	put_text(b, key, d->name);
	return root;
}

void doc_close(struct buf *b, const struct store_doc *d, cJSON *root)
{
	put_int(b, "version", d->version);
	put_time_us(b, "changed", d->at_us);
	put_text(b, "changed_by", d->actor);
	put_close(b, '}');
	json_free(root);
}

static int docs_work(struct call *c, struct reader *r)
{
	int code = c->noun->people ? people_refresh(c->cgi->people, r, &c->err) : 0;

	put_open(&c->out, NULL, '{');
	put_open(&c->out, c->noun->list, '[');
	if (code == 0)
		code = read_doc_bodies(r, c->noun->kind, c->noun->put, c, &c->err);
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	return code;
}

int docs_get(struct call *c, const struct doc_noun *n)
{
	c->noun = n;
	return call_args_only(c, no_args) < 0 ? c->err.code : call_read(c, docs_work);
}

static int one_put(void *ctx, const struct store_doc *d)
{
	struct call *c = ctx;

	return d->retired ? err_set(&c->err, E_NOT_FOUND, "%s", c->noun->absent)
	                  : c->noun->put(ctx, d);
}

static int doc_work(struct call *c, struct reader *r)
{
	int code = c->noun->people ? people_refresh(c->cgi->people, r, &c->err) : 0;

	return code < 0 ? code
	                : read_doc(r, &(struct read_which){ c->noun->kind, .name = c->params[0] },
	                           one_put, c, &c->err);
}

int doc_get(struct call *c, const struct doc_noun *n)
{
	c->noun = n;
	return call_args_only(c, no_args) < 0 ? c->err.code : call_read(c, doc_work);
}

int doc_command(struct call *c, const char *kind, const cJSON *args)
{
	char *text = cJSON_PrintUnformatted(args);
	int r = call_command(c, kind, text, false, c->request_id);

	sodium_memzero(text, strlen(text));
	free(text);
	return r;
}

int doc_remove(struct call *c, const char *kind, const char *key)
{
	cJSON *args = cJSON_CreateObject();
	int r;

	cJSON_AddStringToObject(args, key, c->params[0]);
	r = doc_command(c, kind, args);
	cJSON_Delete(args);
	return r;
}
