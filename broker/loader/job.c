/* One granted attempt: the grant copied, its parameters, its outputs, its progress, its words.
 *
 * All text of a grant stands in one block of memory, which the job keeps from one attempt to the
 * next. Outputs are counted in pieces and bytes, and what is over is refused, never cut. Text from
 * a plugin or a process is made valid UTF-8 here, before it can reach a frame, and the secrets that
 * the job was told are hidden in it. Where a job is in its life is for its owners to say
 * (loader.h): this file only makes a job free again.
 */
#include "broker/loader/job.h"

#include <keeper.pb-c.h>
#include <pthread.h>
#include <sirdar.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/loader/apart.h"
#include "broker/loader/loader.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/utf8.h"

_Static_assert(offsetof(struct job, pub) == 0, "job_of() turns the plugin's pointer into ours");

/* Which phases may follow each; job_clear() makes it free again. */
static const unsigned phases[] = {
	[JOB_FREE] = 1u << JOB_QUEUED | 1u << JOB_PROCESS, /* granted; adopted */
	[JOB_QUEUED] = 1u << JOB_PROCESS | 1u << JOB_ENDED,
	[JOB_PROCESS] = 1u << JOB_ENDED,
	[JOB_ENDED] = 1u << JOB_ACKED,
	[JOB_ACKED] = 0,
};

void job_move(struct job *j, enum job_phase to)
{
	CHECK(j->phase <= JOB_ACKED);
	CHECK(phases[j->phase] & 1u << to);
	j->phase = to;
}

static size_t bytes_of(const char *s)
{
	return strlen(s) + 1;
}

static char *loader_job_put(char **at, const char *s)
{
	size_t n = bytes_of(s);
	char *to = memcpy(*at, s, n);

	*at += n;
	return to;
}

static void store_reserve(struct job *j, const Sirdar__Job *g)
{
	size_t n = 2 * g->n_params * sizeof(char *) + bytes_of(g->task_name) + bytes_of(g->run_as) +
	           bytes_of(g->timezone) + bytes_of(g->project);

	for (size_t i = 0; i < g->n_params; i++)
		n += bytes_of(g->params[i]->name) + bytes_of(g->params[i]->value);
	if (n > j->store_cap) {
		free(j->store);
		j->store = mem_new(n);
		j->store_cap = n;
	}
}

void job_fill(struct job *j, const Sirdar__Job *g)
{
	CHECK(j->phase == JOB_FREE && j->n_outputs == 0 && !j->start);
	store_reserve(j, g);
	j->params = (const char **)(void *)j->store;
	j->n_params = (uint32_t)g->n_params;
	char *at = j->store + 2 * g->n_params * sizeof(char *);

	j->pub = (struct runner_job){
		.size = sizeof j->pub,
		.token = g->token,
		.run_date = g->run_date,
		.due_us = g->due_us,
		.budget_ms = g->alive_wait_us / US_PER_MS,
		.grace_ms = g->grace_us / US_PER_MS,
		.task_id = g->task_id,
		.part = g->part,
		.generation = g->generation,
		.attempt = g->attempt,
		.task_name = loader_job_put(&at, g->task_name),
		.timezone = loader_job_put(&at, g->timezone),
		.run_as = loader_job_put(&at, g->run_as),
	};
	j->project = loader_job_put(&at, g->project);
	j->keep_on_server_lost = g->server_lost_keep;
	j->created_us = g->created_us;
	j->is_again = g->is_again;
	j->proof = lease_proof_of(g->lease_proof.data, g->lease_proof.len);
	for (size_t i = 0; i < g->n_params; i++) {
		j->params[2 * i] = loader_job_put(&at, g->params[i]->name);
		j->params[2 * i + 1] = loader_job_put(&at, g->params[i]->value);
	}
	CHECK((size_t)(at - j->store) <= j->store_cap);
}

void job_clear(struct job *j)
{
	char *store = j->store;
	size_t cap = j->store_cap;
	struct loader *loader = j->loader;
	uint32_t index = j->index;

	CHECK(!j->is_executing);
	for (uint32_t i = 0; i < j->n_outputs; i++) {
		free(j->outputs[i].name);
		free(j->outputs[i].value);
	}
	free(j->outputs);
	apart_forget(j);
	free(j->progress_text);
	free(j->no_secret);
	lines_done(&j->lines);
	for (int i = 0; i < LOGS; i++) {
		buf_done(&j->logs[i].text);
		buf_done(&j->logs[i].tail);
		mask_stream_done(&j->logs[i].mask);
	}
	mask_free(j->mask);
	free(j->failure);
	memset(j, 0, sizeof *j);
	j->loader = loader;
	j->index = index;
	if (cap > 16384) { /* one large job should not stay for ever */
		free(store);
		return;
	}
	j->store = store;
	j->store_cap = cap;
}

bool job_is_running_process(const struct job *j)
{
	return (j->phase == JOB_PROCESS || (j->phase == JOB_QUEUED && j->is_waited)) &&
	       j->is_process && j->stage != STAGE_FINISH && !j->process_over;
}

void start_free(struct start *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->message->n_file; i++) /* may be secrets */
		explicit_bzero(s->message->file[i]->content.data, s->message->file[i]->content.len);
	for (size_t i = 0; i < s->message->n_secret; i++)
		explicit_bzero(s->message->secret[i].data, s->message->secret[i].len);
	sirdar__keeper_start__free_unpacked(s->message, NULL);
	free(s);
}

const char *job_param(const struct job *j, const char *name)
{
	for (uint32_t i = 0; i < j->n_params; i++) {
		if (!strcmp(j->params[2 * i], name))
			return j->params[2 * i + 1];
	}
	return NULL;
}

void job_work_id(const struct job *j, char ret[JOB_WORK_BYTES])
{
	const struct runner_job *p = &j->pub;

	int n = snprintf(ret, JOB_WORK_BYTES, "sirdar-%x-%llx-%x-%llx", p->task_id,
	                 (unsigned long long)p->run_date, (unsigned)p->part,
	                 (unsigned long long)j->created_us);

	CHECK(n > 0 && n < JOB_WORK_BYTES);
}

static struct job_pair *output_find(struct job *j, const char *name)
{
	for (uint32_t i = 0; i < j->n_outputs; i++) {
		if (!strcmp(j->outputs[i].name, name))
			return &j->outputs[i];
	}
	return NULL;
}

void job_hide(struct job *j, const char *value)
{
	j->mask = j->mask ? j->mask : mask_new();
	mask_add(j->mask, value, strlen(value));
}

char *job_masked(const struct job *j, const char *text)
{
	struct buf out;

	buf_init(&out);
	bool has = mask_text(j->mask, text, strlen(text), &out);
	char *own = mem_str(has ? buf_str(&out) : text);
	buf_done(&out);
	return own;
}

static int output_set(struct job *j, const char *name, const char *value)
{
	if (!name || !value || !name[0])
		return RUNNER_E_INVALID;
	struct job_pair *o = output_find(j, name);
	size_t bytes = strlen(name) + strlen(value);
	size_t was = o ? strlen(o->name) + strlen(o->value) : 0;

	CHECK(j->n_outputs <= JOB_OUTPUTS_MAX && was <= j->output_bytes);

	if (strlen(name) > 128 || j->output_bytes - was + bytes > JOB_OUTPUT_BYTES_MAX)
		return RUNNER_E_LIMIT;
	if (!o && j->n_outputs == JOB_OUTPUTS_MAX)
		return RUNNER_E_LIMIT;
	if (!o) {
		j->outputs = mem_grow(j->outputs, j->n_outputs + 1, sizeof *j->outputs);
		o = &j->outputs[j->n_outputs++];
		o->name = mem_str(name);
		utf8_clean(o->name);
	} else {
		free(o->value);
	}
	o->value = mem_str(value);
	utf8_clean(o->value);
	j->output_bytes += strlen(o->name) + strlen(o->value) - was;
	return 0;
}

int job_output(struct job *j, const char *name, const char *value)
{
	if (!value || !j->mask)
		return output_set(j, name, value);
	char *masked = job_masked(j, value);
	int r = output_set(j, name, masked);

	free(masked);
	return r;
}

void job_progress(struct job *j, uint32_t permille, const char *text)
{
	struct loader *l = j->loader;

	atomic_store(&j->progress, (permille > 1000 ? 1000 : permille) + 1);
	if (!text)
		return;
	pthread_mutex_lock(&l->mu);
	char *copy = job_masked(j, text);
	copy[strnlen(copy, RUNNER_TEXT_BYTES - 1)] = '\0';
	utf8_clean(copy);
	free(j->progress_text);
	j->progress_text = copy;
	pthread_mutex_unlock(&l->mu);
}

void result_set_text(struct runner_result *r, const char *text)
{
	size_t n = strcspn(text, "\r\n");

	if (n >= sizeof r->text)
		n = sizeof r->text - 1;
	memmove(r->text, text, n);
	r->text[n] = 0;
	utf8_clean(r->text);
}

static void tail_keep(struct buf *tail, const char *text, size_t len)
{
	if (len > JOB_TAIL_BYTES) {
		text += len - JOB_TAIL_BYTES;
		len = JOB_TAIL_BYTES;
	}
	if (tail->len + len > 2 * JOB_TAIL_BYTES) /* not for each line */
		buf_drop(tail, tail->len - JOB_TAIL_BYTES);
	buf_put(tail, text, len);
}

/* --- its logs ---------------------------------------------------------------------- */

static int64_t now_ms(void)
{
	return clock_wall_us(&clock_machine) / US_PER_MS;
}

static void begin_say(struct job *j)
{
	char *text = mem_fmt("attempt %u, on a thread of %s\n", j->pub.attempt, j->loader->name);

	logrec_put(&j->place, LOGREC_OURS, now_ms(), text, strlen(text),
	           &j->logs[LOG_RECORDS].text);
	free(text);
}

/* What came after a loss stays lost until the text before it has gone. */
static void text_keep(struct job *j, int log, const void *text, size_t len)
{
	bool is_recorded = j->says == SAYS_RECORDS;
	struct job_log *to = &j->logs[is_recorded ? LOG_RECORDS : log];
	size_t room = to->text.len < JOB_LOG_BYTES_MAX ? JOB_LOG_BYTES_MAX - to->text.len : 0;

	tail_keep(&j->logs[log].tail, text, len);
	if (to->dropped || len > room) {
		j->lost_ms = to->dropped ? j->lost_ms : now_ms();
		to->dropped += len;
	} else if (is_recorded) {
		logrec_put(&j->place, log == LOG_ERR ? LOGREC_ERR : LOGREC_OUT, now_ms(), text, len,
		           &to->text);
	} else {
		buf_put(&to->text, text, len);
	}
}

void job_say_lost(struct job *j)
{
	struct job_log *log = &j->logs[LOG_RECORDS];
	char *text;

	if (!log->dropped || log->text.len)
		return;
	text = mem_fmt("%llu bytes were dropped: the server took what was before them too late\n",
	               (unsigned long long)log->dropped);
	logrec_put(&j->place, LOGREC_OURS, j->lost_ms, text, strlen(text), &log->text);
	free(text);
	log->dropped = 0;
}

void job_say_streams(struct job *j)
{
	struct job_log *log = &j->logs[LOG_RECORDS];
	struct logrec_reader *r = &j->seen;
	struct logrec rec;
	size_t used = 0, k;

	if (j->says != SAYS_RECORDS)
		return;
	while ((k = logrec_next(r, buf_at(&log->text) + used, log->text.len - used, &rec)) > 0) {
		if (rec.stream == LOGREC_OUT || rec.stream == LOGREC_ERR)
			buf_put(&j->logs[rec.stream - 1].text, rec.data, rec.n);
		used += k;
	}
	j->logs[LOG_OUT].dropped = log->dropped;
	log->dropped = 0;
	buf_clear(&log->text);
	j->says = SAYS_STREAMS;
}

void job_said_records(struct job *j, uint64_t acked)
{
	struct buf *text = &j->logs[LOG_RECORDS].text;
	struct logrec_reader was = j->seen;
	struct logrec rec;
	size_t used = 0, k;

	while ((k = logrec_next(&j->seen, buf_at(text) + used, text->len - used, &rec)) > 0 &&
	       j->seen.place.at <= acked) {
		used += k;
		was = j->seen;
	}
	j->seen = was; /* a record that it has a part of is still ours */
	buf_drop(text, used);
}

/* With its secrets hidden. `text` NULL: there is no more. */
static void text_masked(struct job *j, int log, const char *text, size_t len)
{
	struct buf masked;

	buf_init(&masked);
	if (text)
		mask_take(j->mask, &j->logs[log].mask, text, len, &masked);
	else
		mask_end(j->mask, &j->logs[log].mask, &masked);
	if (masked.len)
		text_keep(j, log, buf_at(&masked), masked.len);
	buf_done(&masked);
}

void job_say(struct job *j, int log, const char *text, size_t len)
{
	CHECK(log == LOG_OUT || log == LOG_ERR);
	if (j->says == SAYS_NOTHING && !atomic_load(&j->loader->takes_records)) {
		j->says = SAYS_STREAMS;
	} else if (j->says == SAYS_NOTHING) {
		j->says = SAYS_RECORDS;
		begin_say(j);
	}
	if (j->mask)
		text_masked(j, log, text, len);
	else
		text_keep(j, log, text, len);
}

bool job_ships(const struct job *j, int log)
{
	bool has_records = j->is_process ? j->is_recorded && atomic_load(&j->loader->takes_records)
	                                 : j->says == SAYS_RECORDS;

	return (log == LOG_RECORDS) == has_records;
}

bool job_is_shipped(const struct job *j)
{
	for (int i = 0; i < LOGS; i++)
		if (job_ships(j, i) && !j->logs[i].is_over)
			return false;
	return true;
}

void job_said(struct job *j)
{
	if (!j->mask) /* most are told none, and no thread is in it any more */
		return;
	pthread_mutex_lock(&j->loader->mu);
	text_masked(j, LOG_OUT, NULL, 0);
	text_masked(j, LOG_ERR, NULL, 0);
	char *text = job_masked(j, j->result.text);
	pthread_mutex_unlock(&j->loader->mu);
	result_set_text(&j->result, text);
	free(text);
}
