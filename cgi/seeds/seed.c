/* What the interfaces of the seeds share: bodies and fields, commands, rows, outputs, errors.
 *
 * A call is checked against the row of its path before anything is read: a field without a row, of
 * another type or out of bounds is refused (cgi/seeds rule 4). Commands go through the functions
 * of handlers/, so that role, right and project are judged as the API judges them (cgi/seeds rule
 * 3). The tables of paths, and the words of an answer, stand with each seed.
 */
#include "cgi/seeds/seed.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_commands.h"
#include "cgi/http/cgi.h"
#include "cgi/server/show.h"
#include "sched/task.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/utf8.h"

#define DEEP_MAX 100000 /* rows that a page number may pass over */

struct seed *seed_of(struct call *c)
{
	return c->extra;
}

const char *seed_setting(const struct param_cgi *p, unsigned flags)
{
	CHECK(flags & RF_SEED);
	if (flags & RF_CHIN)
		return p->chin_project;
	if (flags & RF_JARVIS2)
		return p->jarvis2_project;
	return flags & RF_CRONTAB ? p->crontab_project : p->ects_project;
}

const char *seed_project(const struct call *c)
{
	return seed_setting(&c->cgi->param, c->route->flags);
}

/* --- the body ------------------------------------------------------------------------------ */

static bool is_text(const char *s)
{
	return utf8_is_text((const uint8_t *)s, strlen(s));
}

static int seed_hex(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	ch |= 32;
	return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

/* A word of a form, decoded; NULL: broken, with NUL, or not UTF-8. */
static char *form_word(const char *p, size_t n)
{
	char *word = mem_strn(p, n), *to = word;

	for (size_t i = 0; i < n; i++) {
		char ch = p[i] == '+' ? ' ' : p[i];

		if (ch == '%') {
			int high = i + 2 < n ? seed_hex(p[i + 1]) : -1;
			int low = high >= 0 ? seed_hex(p[i + 2]) : -1;

			ch = low >= 0 ? (char)(high << 4 | low) : '\0';
			i += 2;
		}
		if (ch == '\0') {
			free(word);
			return NULL;
		}
		*to++ = ch;
	}
	*to = '\0';
	if (is_text(word))
		return word;
	free(word);
	return NULL;
}

static int form_pair(struct call *c, const char *p, size_t n)
{
	const char *is = memchr(p, '=', n);
	size_t key_n = is ? (size_t)(is - p) : n;
	char *key = form_word(p, key_n);
	char *value = is ? form_word(is + 1, n - key_n - 1) : mem_str("");
	bool bad = !key || !value || key[0] == '\0';
	bool twice = !bad && cJSON_GetObjectItemCaseSensitive(c->json, key);

	if (!bad && !twice)
		cJSON_AddStringToObject(c->json, key, value);
	free(key);
	free(value);
	if (bad)
		return call_fail(c, E_INVALID, "body", "a word of the form does not read");
	return twice ? call_fail(c, E_INVALID, "body", "a field of the form is there twice") : 0;
}

static int form_read(struct call *c)
{
	const char *p = (const char *)buf_at(&c->body), *end = p + c->body.len;
	int r = 0;

	c->json = cJSON_CreateObject();
	for (int fields = 0; r == 0 && p < end; fields++) {
		const char *stop = memchr(p, '&', (size_t)(end - p));
		size_t n = stop ? (size_t)(stop - p) : (size_t)(end - p);

		if (fields == 100)
			return call_fail(c, E_INVALID, "body", "more than 100 fields");
		r = n > 0 ? form_pair(c, p, n) : 0;
		p += n + 1;
	}
	return r;
}

int seed_body(struct call *c)
{
	const char *type = call_header(c, "Content-Type");

	if (c->body.len == 0)
		return 0;
	if (strcmp(c->method, "GET") == 0)
		return call_fail(c, E_INVALID, "body", "no body is wanted here");
	if (call_has_type(type, "application/x-www-form-urlencoded"))
		return form_read(c);
	if (call_has_type(type, "application/json"))
		return call_json(c);
	return call_fail(c, E_INVALID, "Content-Type", "want application/json or a form");
}

/* --- fields -------------------------------------------------------------------------------- */

static cJSON *number_of(const char *text)
{
	size_t n = strspn(text + (*text == '-'), "0123456789");

	if (n == 0 || n > 15 || text[n + (*text == '-')] != '\0')
		return NULL;
	return cJSON_CreateNumber((double)strtoll(text, NULL, 10));
}

static cJSON *take_int(const cJSON *v)
{
	if (cJSON_IsNumber(v))
		return cJSON_CreateNumber(v->valuedouble);
	return cJSON_IsString(v) ? number_of(v->valuestring) : NULL;
}

static cJSON *take_big(const cJSON *v)
{
	char text[24];

	if (cJSON_IsNumber(v)) {
		snprintf(text, sizeof text, "%" PRId64, (int64_t)v->valuedouble);
		return cJSON_CreateString(text);
	}
	if (!cJSON_IsString(v) || strlen(v->valuestring) > 18 || v->valuestring[0] == '\0' ||
	    strspn(v->valuestring, "0123456789") != strlen(v->valuestring))
		return NULL;
	return cJSON_CreateString(v->valuestring);
}

static cJSON *take_truth(const cJSON *v)
{
	static const char *const words[] = { "false", "true", "0", "1" };

	if (cJSON_IsBool(v))
		return cJSON_CreateBool(cJSON_IsTrue(v));
	if (cJSON_IsNumber(v) && (v->valuedouble == 0 || v->valuedouble == 1))
		return cJSON_CreateBool(v->valuedouble == 1);
	for (int i = 0; cJSON_IsString(v) && i < 4; i++)
		if (strcmp(v->valuestring, words[i]) == 0)
			return cJSON_CreateBool(i & 1);
	return NULL;
}

static cJSON *take_text(const cJSON *v)
{
	return cJSON_IsString(v) ? cJSON_CreateString(v->valuestring) : NULL;
}

/* "1,2" */
static bool add_words(cJSON *list, const char *text, cJSON *(*one)(const cJSON *v))
{
	while (*text != '\0') {
		size_t n = strcspn(text, ",");
		char *word = mem_strn(text, n);
		cJSON *as_text = cJSON_CreateString(word), *item = one(as_text);

		cJSON_Delete(as_text);
		free(word);
		if (!item)
			return false;
		cJSON_AddItemToArray(list, item);
		text += n + (text[n] == ',');
	}
	return true;
}

static cJSON *take_list(const cJSON *v, cJSON *(*one)(const cJSON *v))
{
	cJSON *list = cJSON_CreateArray();
	const cJSON *m;
	bool ok = true;

	if (cJSON_IsString(v)) {
		ok = add_words(list, v->valuestring, one);
	} else if (cJSON_IsArray(v)) {
		cJSON_ArrayForEach(m, v) {
			cJSON *item = one(m);

			ok = ok && item;
			cJSON_AddItemToArray(list, item);
		}
	} else {
		cJSON *item = one(v);

		ok = item != NULL;
		cJSON_AddItemToArray(list, item);
	}
	if (ok)
		return list;
	cJSON_Delete(list);
	return NULL;
}

static cJSON *take_ints(const cJSON *v)
{
	return take_list(v, take_int);
}

static cJSON *take_texts(const cJSON *v)
{
	return take_list(v, take_text);
}

static cJSON *take_map(const cJSON *v)
{
	cJSON *map = NULL;
	const cJSON *m;

	if (cJSON_IsString(v))
		(void)json_parse(v->valuestring, strlen(v->valuestring), &map, NULL);
	else if (cJSON_IsObject(v))
		map = cJSON_Duplicate(v, true);
	bool ok = cJSON_IsObject(map);
	if (ok)
		cJSON_ArrayForEach(m, map)
			ok = ok && (cJSON_IsString(m) || cJSON_IsNumber(m) || cJSON_IsBool(m));
	if (ok)
		return map;
	cJSON_Delete(map);
	return NULL;
}

static const struct {
	cJSON *(*take)(const cJSON *v);
	const char *want;
} types[] = {
	[SEED_INT] = { take_int, "a number" },
	[SEED_BIG] = { take_big, "a number" },
	[SEED_TRUTH] = { take_truth, "true or false" },
	[SEED_TEXT] = { take_text, "a text" },
	[SEED_INTS] = { take_ints, "a list of numbers" },
	[SEED_TEXTS] = { take_texts, "a list of texts" },
	[SEED_MAP] = { take_map, "a map of names to texts or numbers" },
};

static int bounds_check(struct call *c, const struct seed_field *f, const cJSON *v)
{
	if (f->lo == 0 && f->hi == 0)
		return 0;
	if (cJSON_IsNumber(v) && (v->valuedouble < (double)f->lo || v->valuedouble > (double)f->hi))
		return call_fail(c, E_INVALID, f->name, "%s is %.0f, want %" PRId64 " to %" PRId64,
		                 f->name, v->valuedouble, f->lo, f->hi);
	if (cJSON_IsString(v) &&
	    ((int64_t)strlen(v->valuestring) < f->lo || (int64_t)strlen(v->valuestring) > f->hi))
		return call_fail(c, E_INVALID, f->name,
		                 "%s has %zu bytes, want %" PRId64 " to %" PRId64, f->name,
		                 strlen(v->valuestring), f->lo, f->hi);
	return 0;
}

static const struct seed_field *field_of(const struct seed_row *row, const char *name)
{
	const struct seed_field *f = row->fields;

	while (f->name && strcmp(f->name, name) != 0)
		f++;
	return f->name ? f : NULL;
}

int seed_bounds(struct call *c, const struct seed_row *row, const char *name, const cJSON *v)
{
	const struct seed_field *f = field_of(row, name);

	return f ? bounds_check(c, f, v) : 0;
}

/* user__id is user_id: the document that was printed has both. */
static void spelling(const char *given, bool underscores, char ret[64])
{
	size_t n = 0;

	for (; *given != '\0' && n + 1 < 64; given++)
		if (!underscores || *given != '_' || n == 0 || ret[n - 1] != '_')
			ret[n++] = *given;
	ret[n] = '\0';
}

static int field_take(struct call *c, const struct seed_row *row, cJSON *to, const char *given,
                      bool underscores, const cJSON *v)
{
	char name[64];
	const struct seed_field *f;
	cJSON *item;

	spelling(given, underscores, name);
	f = field_of(row, name);
	if (!f)
		return call_fail(c, E_INVALID, "body", "there is no field '%.60s' here", given);
	if (cJSON_GetObjectItemCaseSensitive(to, name))
		return call_fail(c, E_INVALID, name, "%s is there twice", name);
	if (cJSON_IsNull(v))
		return 0;
	item = types[f->type].take(v);
	if (!item)
		return call_fail(c, E_INVALID, name, "%s wants %s", name, types[f->type].want);
	cJSON_AddItemToObject(to, name, item);
	return bounds_check(c, f, item);
}

struct arguments {
	struct call *c;
	const struct seed_row *row;
	cJSON *to;
	bool underscores;
	int code;
};

static enum MHD_Result argument_take(void *ctx, enum MHD_ValueKind kind, const char *key,
                                     const char *value)
{
	struct arguments *a = ctx;
	cJSON *v = cJSON_CreateString(value ? value : "");

	(void)kind;
	if (is_text(v->valuestring) && is_text(key))
		a->code = field_take(a->c, a->row, a->to, key, a->underscores, v);
	else
		a->code = call_fail(a->c, E_INVALID, "query", "an argument is not UTF-8");
	cJSON_Delete(v);
	return a->code == 0 ? MHD_YES : MHD_NO;
}

static int fields_take(struct call *c, const struct seed_row *row, bool underscores)
{
	cJSON *to = cJSON_CreateObject();
	struct arguments a = { c, row, to, underscores, 0 };
	const cJSON *m;

	MHD_get_connection_values(c->conn, MHD_GET_ARGUMENT_KIND, argument_take, &a);
	cJSON_ArrayForEach(m, c->json)
		if (a.code == 0)
			a.code = field_take(c, row, to, m->string, underscores, m);
	cJSON_Delete(c->json);
	c->json = to;
	for (size_t i = 0; i < SEED_FIELDS_MAX && row->fields[i].name && a.code == 0; i++) {
		const struct seed_field *f = &row->fields[i];
		if (f->is_needed && !json_get(to, f->name))
			a.code = call_fail(c, E_INVALID, f->name, "%s is missing", f->name);
	}
	return a.code;
}

int seed_begin(struct call *c, const struct seed_row *rows, size_t n, bool underscores)
{
	struct seed *s = c->extra = mem_new(sizeof *s);

	for (size_t i = 0; i < n && !s->row; i++)
		if (strcmp(rows[i].path, c->route->path) == 0)
			s->row = &rows[i];
	CHECK(s->row); /* each seed's routes have their rows */
	return fields_take(c, s->row, underscores);
}

int seed_plain(struct call *c)
{
	static const char *const none[] = { NULL };

	c->extra = mem_new(sizeof(struct seed));
	return call_args_only(c, none);
}

int seed_go(struct call *c)
{
	const struct seed_row *row = seed_of(c)->row;

	if (!row->work)
		return row->then(c);
	c->then = row->then;
	return call_read(c, row->work);
}

int seed_take(void *ctx, const struct store_doc *d)
{
	struct seed *s = ctx;

	s->found = !d->retired;
	snprintf(s->name, sizeof s->name, "%s", d->name);
	return 0;
}

int seed_page(struct call *c, int64_t *ret_skip, int64_t *ret_take)
{
	const cJSON *page = json_get(c->json, "page"), *size = json_get(c->json, "page_size");
	int64_t number = json_int(c->json, "page", 1);

	if (!page || !size)
		return call_fail(c, E_INVALID, !page ? "page" : "page_size", "%s is missing",
		                 !page ? "page" : "page_size");
	*ret_take = json_int(c->json, "page_size", 1);
	*ret_skip = (number - 1) * *ret_take;
	if (*ret_skip > DEEP_MAX)
		return call_fail(c, E_INVALID, "page",
		                 "page %" PRId64 " is too far, at most %d rows", number, DEEP_MAX);
	return 0;
}

/* --- times ------------------------------------------------------------------------------- */

void seed_time(int64_t us, char ret[WHEN_TEXT])
{
	ret[0] = '\0';
	if (us == 0)
		return;
	when_print(us / US_PER_S, ret);
	ret[10] = ' ';
	ret[19] = '\0';
}

void seed_ip(const char *address, char ret[80])
{
	const char *from = address ? address : "", *colon = strrchr(from, ':');
	size_t n = colon ? (size_t)(colon - from) : strlen(from);

	if (n >= 2 && from[0] == '[' && from[n - 1] == ']') {
		from++;
		n -= 2;
	}
	snprintf(ret, 80, "%.*s", (int)n, from);
}

/* --- commands -------------------------------------------------------------------------------- */

int seed_ask(struct call *c, const char *kind, cJSON *args, call_fn then)
{
	int r;

	buf_clear(&c->out);
	c->then = then;
	r = command_ask(c, kind, args);
	cJSON_Delete(args);
	return r;
}

int seed_command_on(struct call *c, const char *kind, const char *key, const char *name,
                    call_fn then)
{
	cJSON *args = cJSON_CreateObject(), *names = cJSON_CreateArray();

	cJSON_AddItemToArray(names, cJSON_CreateString(name));
	if (strcmp(key, "tasks") == 0)
		cJSON_AddItemToObject(cJSON_AddObjectToObject(args, "selection"), key, names);
	else
		cJSON_AddItemToObject(args, key, names);
	return seed_ask(c, kind, args, then);
}

int seed_kill(struct call *c, call_fn then)
{
	const struct seed *s = seed_of(c);
	cJSON *args = cJSON_CreateObject(), *list = cJSON_CreateArray();

	for (size_t i = 0; i < s->n; i++) {
		char id[ID_TEXT_MAX];
		cJSON *one = cJSON_CreateObject();

		key_text(s->rows[i].key, id);
		cJSON_AddStringToObject(one, "id", id);
		cJSON_AddItemToArray(list, one);
	}
	cJSON_AddItemToObject(cJSON_AddObjectToObject(args, "selection"), "instances", list);
	return seed_ask(c, "kill", args, then);
}

int seed_apply(struct call *c, cJSON *doc, const char *from, call_fn then)
{
	cJSON *args = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(args, "documents");
	cJSON *one = cJSON_CreateObject();
	char *text = cJSON_PrintUnformatted(doc);

	cJSON_AddStringToObject(one, "name", seed_project(c));
	cJSON_AddStringToObject(one, "text", text);
	cJSON_AddItemToArray(list, one);
	if (from)
		cJSON_AddStringToObject(args, "from", from);
	cJSON_Delete(doc);
	free(text);
	return seed_ask(c, "apply", args, then);
}

/* --- rows ------------------------------------------------------------------------------------ */

static int task_take(void *ctx, const struct store_task *t)
{
	struct seed *s = ctx;

	s->id = t->id;
	s->workflow = t->workflow_id;
	s->found = t->state != TS_RETIRED;
	s->leaves = t->state == TS_DETACHED;
	snprintf(s->name, sizeof s->name, "%s", t->name);
	snprintf(s->owner, sizeof s->owner, "%s", t->owner ? t->owner : "");
	return 0;
}

int seed_task(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);
	char name[NAMES_MAX];
	int code;

	snprintf(name, sizeof name, "%s", s->name);
	code = read_task(r, name[0] != '\0' ? name : NULL, s->id, task_take, s, &c->err);
	if (code == E_NOT_FOUND || (code == 0 && !s->found))
		return call_fail(c, E_NOT_FOUND, "task", "there is no such task");
	return code;
}

struct seed_log seed_log_of(const struct instance *i)
{
	return (struct seed_log){ .key = i->key,
		                  .broker = i->broker,
		                  .generation = i->generation,
		                  .attempt = i->attempt,
		                  .exit_code = i->exit_code,
		                  .state = i->state,
		                  .reason = i->reason,
		                  .begun_us = i->started_us,
		                  .ended_us = i->ended_us,
		                  .changed_us = i->ended_us ? i->ended_us : i->started_us };
}

struct instances {
	struct seed *s;
	bool begun; /* only those that have */
	int64_t skip;
	size_t take;
};

static int instance_take(void *ctx, const struct instance *row)
{
	struct instances *t = ctx;
	const struct instance i = instance_now(row);

	if (t->begun && i.started_us == 0)
		return 0;
	if (t->s->n == t->take || (t->skip > 0 && t->skip-- > 0))
		return 0;
	t->s->rows[t->s->n++] = seed_log_of(&i);
	return 0;
}

static int instances_read(struct call *c, struct reader *r, uint32_t states, struct instances *t)
{
	struct seed *s = seed_of(c);
	struct read_filter f = { .tasks = &s->id, .n_tasks = s->id != 0, .states = states };
	struct read_answer at = { 0 };
	int code;

	s->n = 0;
	do {
		struct read_page page = { .limit = READ_ROWS_MAX,
			                  .cursor = at.cursor,
			                  .descending = true,
			                  .answer = &at };

		code = read_instances(r, &f, &page, instance_take, t, &c->err);
	} while (code == 0 && s->n < t->take && at.cursor[0] != '\0');
	return code;
}

#define BIT(state) (1u << (state))

int seed_begun(struct call *c, struct reader *r, int64_t skip, int64_t take)
{
	struct instances t = { seed_of(c), true, skip, (size_t)take };

	return instances_read(c, r, ~(BIT(ST_READY) | BIT(ST_DEPEND) | BIT(ST_SKIPPED)), &t);
}

int seed_unfinished(struct call *c, struct reader *r)
{
	struct instances t = { seed_of(c), false, 0, SEED_ROWS_MAX };
	uint32_t states = 0;

	for (enum state st = ST_NONE + 1; st < ST_COUNT; st++)
		states |= state_final(st) ? 0 : BIT(st);
	return instances_read(c, r, states, &t);
}

/* --- outputs --------------------------------------------------------------------------------- */

#define TAIL ((uint32_t)65536) /* bytes of each stream */

static int output_came(struct call *c);

/* One stream of one row at a time: s->at counts them, standard output before errors. */
static int output_next(struct call *c)
{
	struct seed *s = seed_of(c);
	const struct seed_log *l = &s->rows[s->at / 2];

	if (s->at / 2 == s->n)
		return s->rows_done(c);
	if (s->at % 2 == 0) {
		s->row_begin(c, l);
		buf_clear(&c->out);
	}
	s->log = (struct log_ask){ .key = l->key,
		                   .generation = l->generation,
		                   .attempt = l->attempt,
		                   .stream = (uint32_t)(s->at % 2) + 1,
		                   .bytes_max = TAIL,
		                   .offset = UINT64_MAX - TAIL + 1 };
	c->then = output_came;
	return call_log(c);
}

/* A log that is not kept any more is no output. */
static int output_came(struct call *c)
{
	struct seed *s = seed_of(c);

	if (c->err.code < 0 && c->err.code != E_NOT_FOUND)
		return c->err.code;
	c->err = (struct err){ 0 };
	c->place[0] = '\0';
	if (s->at % 2 == 1) {
		put_bytes(&c->details, "output", buf_at(&c->out), c->out.len);
		put_close(&c->details, '}');
	}
	s->at++;
	return output_next(c);
}

int seed_outputs(struct call *c, void (*row_begin)(struct call *c, const struct seed_log *l),
                 bool has_output, call_fn done)
{
	struct seed *s = seed_of(c);

	if (c->err.code < 0)
		return c->err.code;
	s->row_begin = row_begin;
	s->rows_done = done;
	if (has_output)
		return output_next(c);
	for (size_t i = 0; i < s->n; i++) {
		row_begin(c, &s->rows[i]);
		put_close(&c->details, '}');
	}
	return done(c);
}

/* --- errors ---------------------------------------------------------------------------------- */

/* jarvis2 has a word for refusal in three of its answers. */
static bool jarvis2_error(struct call *c)
{
	struct buf *b = &c->out;
	const char *path = c->route->path;
	bool submits = strcmp(path, "/api/job/submit") == 0;

	put_open(b, NULL, '{');
	if (strcmp(path, "/api/worker/status") == 0) {
		put_text(b, "ip", json_text(c->json, "ip"));
		put_int(b, "port", json_int(c->json, "port", 0));
	} else {
		put_int(b, "job_id", submits ? -1 : json_int(c->json, "job_id", -1));
	}
	put_bool(b, submits ? "accept" : "success", false);
	if (submits)
		put_text(b, "message", c->err.text);
	put_close(b, '}');
	return true;
}

bool seed_error(struct call *c, int *ret_status)
{
	struct buf *b = &c->out;
	unsigned flags = c->route->flags;

	if ((flags & RF_ECTS) || ((flags & RF_JARVIS2) && strcmp(c->route->method, "GET") == 0))
		return false;
	if (c->extra && !err_retryable(c->err.code))
		*ret_status =
			MHD_HTTP_OK; /* the refusal is in the answer, as these seeds have it */
	if (flags & RF_JARVIS2)
		return jarvis2_error(c);
	put_open(b, NULL, '{');
	if (flags & RF_CHIN) {
		put_text(b, "status", "FAILED");
		put_text(b, "info", c->err.text);
	} else {
		put_int(b, "errno", -1);
		put_text(b, "msg", c->err.text);
		put_null(b, "data");
	}
	put_close(b, '}');
	return true;
}
