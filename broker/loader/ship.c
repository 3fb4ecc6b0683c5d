/* Logs to the server, by offset: from the keeper's files, or from what a job in this process
 * wrote.
 *
 * A server of this release gets the records of both streams, as they are (job_ships()); an earlier
 * one each stream, read out of the records where the keeper made these. What the keeper of an
 * earlier release wrote goes as the streams that it is. Of each
 * stream one piece is under way, of all streams FLIGHT_BYTES_MAX. The server's
 * acknowledgement says where to go on: it may have more than this loader sent, because a former
 * one did. A refusal that may pass is tried again by the timer; another ends the stream. Here a
 * process's lines are also searched for progress and outputs (lines.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <keeper.pb-c.h>
#include <sirdar.pb-c.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/keeper/client.h"
#include "broker/link/link.h"
#include "broker/loader/loader.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"

/* One piece of a stream is on its way at a time, and this much of all streams. */
#define FLIGHT_BYTES_MAX (4u << 20)
#define CHUNK_BYTES_MAX  (256u << 10)
#define READ_BYTES       65536u
#define CATCH_UP_BYTES   (1u << 20) /* looked at for lines in one turn */

static bool is_ended(const struct job *j)
{
	return j->phase == JOB_ENDED || j->phase == JOB_ACKED;
}

/* --- where the bytes come from ---------------------------------------------------- */

/* Up to what is whole. */
static size_t whole_of(struct job *j, int fd, const uint8_t *p, size_t n)
{
	uint64_t from = j->logs[LOG_RECORDS].acked;

	recorded_take(j, from, p, n);
	/* Else a record is larger than a piece, or much is not looked at yet. */
	uint64_t whole = j->seen.place.at > from ? j->seen.place.at : recorded_whole(fd, from, n);
	return n < whole - from ? n : (size_t)(whole - from);
}

static size_t read_file(struct loader *l, struct job *j, int stream, uint8_t *to, size_t n)
{
	struct job_log *log = &j->logs[stream];
	bool is_within = j->is_recorded && stream != LOG_RECORDS; /* an earlier release's server */
	int fd = loader_open_log(l, j, j->is_recorded ? LOG_RECORDS : stream);
	ssize_t got;

	if (fd < 0)
		return 0;
	if (is_ended(j) && n > log->size - log->acked)
		n = log->size - log->acked;
	if (is_within && log->acked < log->at.place.bytes[stream + 1])
		log->at = (struct logrec_reader){ 0 };
	do {
		got = is_within ? (ssize_t)recorded_read(fd, &log->at, stream, log->acked, to, n)
		                : pread(fd, to, n, (off_t)log->acked);
	} while (got < 0 && errno == EINTR);
	size_t has = got > 0 ? (size_t)got : 0;
	if (stream == LOG_RECORDS && has)
		has = whole_of(j, fd, to, has);
	close(fd);
	return has;
}

/* Of a record that the server has a part of all is kept. */
static size_t text_from(const struct job *j, int stream)
{
	const struct job_log *log = &j->logs[stream];
	uint64_t from = stream == LOG_RECORDS ? log->acked - j->seen.place.at : 0;

	return from < log->text.len ? (size_t)from : log->text.len;
}

static size_t read_text(struct loader *l, struct job *j, int stream, uint8_t *to, size_t n,
                        uint64_t *ret_dropped)
{
	struct job_log *log = &j->logs[stream];

	pthread_mutex_lock(&l->mu);
	if (stream == LOG_RECORDS)
		job_say_lost(j);
	size_t from = text_from(j, stream);
	if (n > log->text.len - from)
		n = log->text.len - from;
	if (n)
		memcpy(to, buf_at(&log->text) + from, n);
	*ret_dropped = log->text.len == 0 ? log->dropped : 0;
	if (*ret_dropped)
		log->dropped = 0;
	pthread_mutex_unlock(&l->mu);
	return n;
}

static bool is_last(struct loader *l, const struct job *j, int stream, size_t n)
{
	const struct job_log *log = &j->logs[stream];
	bool last;

	if (!is_ended(j))
		return false;
	if (j->is_process)
		return log->acked + n >= log->size || n == 0;
	pthread_mutex_lock(&l->mu);
	last = n == log->text.len - text_from(j, stream) && !log->dropped;
	pthread_mutex_unlock(&l->mu);
	return last;
}

/* --- sending ---------------------------------------------------------------------- */

static bool send_chunk(struct loader *l, struct job *j, int stream, Sirdar__LogChunk *m)
{
	struct job_log *log = &j->logs[stream];

	CHECK(!log->in_flight && !log->is_over && j->is_shipping);
	CHECK(m->data.len <= CHUNK_BYTES_MAX);
	m->token = j->pub.token;
	m->task_id = j->pub.task_id;
	m->run_date = j->pub.run_date;
	m->part = j->pub.part;
	m->generation = j->pub.generation;
	m->attempt = j->pub.attempt;
	m->lease_proof = LEASE_PROOF_PUT(&j->proof);
	m->stream = (uint32_t)stream + 1;
	m->offset = log->acked;
	if (link_send(l->link, FR_LOG_CHUNK, m, NULL) < 0)
		return false;
	log->in_flight = true;
	log->end_in_flight = m->end;
	log->sent = m->data.len;
	l->log_flight += m->data.len;
	return true;
}

static size_t chunk_bytes(const struct loader *l)
{
	int64_t n = l->settings->output_chunk_bytes;

	return n < CHUNK_BYTES_MAX ? (size_t)n : CHUNK_BYTES_MAX;
}

static void ship_stream(struct loader *l, struct job *j, int stream)
{
	struct job_log *log = &j->logs[stream];
	Sirdar__LogChunk m = SIRDAR__LOG_CHUNK__INIT;

	if (!job_ships(j, stream) || log->in_flight || log->is_over || !l->link ||
	    !link_is_up(l->link) || l->log_flight >= FLIGHT_BYTES_MAX)
		return;
	if (j->is_process && is_ended(j) && log->size == 0 && log->acked == 0) {
		log->is_over = true; /* there never was any: not even a file */
		return;
	}
	if (!l->chunk)
		l->chunk = mem_new(CHUNK_BYTES_MAX);
	m.data.data = l->chunk;
	m.data.len = j->is_process ? read_file(l, j, stream, l->chunk, chunk_bytes(l))
	                           : read_text(l, j, stream, l->chunk, chunk_bytes(l), &m.dropped);
	if (j->is_process && !j->is_recorded && stream == LOG_OUT)
		lines_take(j, log->acked, m.data.data, m.data.len);
	m.end = is_last(l, j, stream, m.data.len);
	if (m.end && m.data.len == 0 && m.dropped == 0 && log->acked == 0)
		log->is_over = true; /* there never was any */
	else if (m.data.len || m.dropped || m.end)
		send_chunk(l, j, stream, &m);
}

static void ship_streams(struct loader *l, struct job *j)
{
	if (!j->is_process && job_ships(j, LOG_RECORDS) && !atomic_load(&l->takes_records)) {
		pthread_mutex_lock(&l->mu);
		job_say_streams(j);
		pthread_mutex_unlock(&l->mu);
	}
	for (int i = 0; i < LOGS; i++)
		ship_stream(l, j, i);
}

void loader_ship(struct loader *l, struct job *j)
{
	CHECK(j->phase != JOB_FREE);
	if (!j->is_process && j->phase == JOB_ENDED && !atomic_load(&j->has_logged)) {
		for (int i = 0; i < LOGS; i++) /* the quick way of most */
			j->logs[i].is_over = true;
		return;
	}
	if (!j->is_shipping) {
		j->is_shipping = true;
		j->ship_next = l->shipping;
		l->shipping = j;
	}
	if (!ev_is_active(&l->ship_timer))
		ev_timer_again(l->loop, &l->ship_timer);
	/* A running process is looked after by the timer: its output comes in pieces. */
	if (!is_ended(j) && j->is_process)
		return;
	ship_streams(l, j);
}

void loader_ship_texts(struct loader *l)
{
	struct job *j, *next;

	if (!atomic_exchange(&l->has_logs, false))
		return;
	pthread_mutex_lock(&l->mu);
	j = l->texts;
	l->texts = NULL;
	pthread_mutex_unlock(&l->mu);
	for (; j; j = next) {
		/* From here on its thread may put it into the list again. */
		pthread_mutex_lock(&l->mu);
		next = j->text_next;
		j->has_text = false;
		pthread_mutex_unlock(&l->mu);
		/* A process's output is its log. A thread that the runner left may log late. */
		if (!j->is_process && j->phase != JOB_FREE)
			loader_ship(l, j);
	}
}

static void read_lines(struct loader *l, struct job *j, uint64_t most)
{
	uint64_t to = j->lines.at + most;
	int fd = loader_open_log(l, j, 0);
	ssize_t n = 1;

	if (fd < 0)
		return;
	uint8_t *text = mem_new(READ_BYTES);
	while (n > 0 && j->lines.at < to) {
		uint64_t want = to - j->lines.at < READ_BYTES ? to - j->lines.at : READ_BYTES;
		n = pread(fd, text, (size_t)want, (off_t)j->lines.at);
		if (n > 0)
			lines_take(j, j->lines.at, text, (size_t)n);
	}
	free(text);
	close(fd);
}

/* What a former loader shipped, this one has not looked at; nor what goes as streams of records. */
static void catch_up(struct loader *l, struct job *j)
{
	if (!j->is_recorded && j->lines.at < j->logs[LOG_OUT].acked)
		read_lines(l, j, CATCH_UP_BYTES);
	if (j->is_recorded &&
	    (!job_ships(j, LOG_RECORDS) || j->seen.place.at < j->logs[LOG_RECORDS].acked))
		recorded_look(l, j, CATCH_UP_BYTES);
}

static void on_ship_timer(struct ev_loop *loop, ev_timer *w, int events)
{
	struct loader *l = w->data;
	struct job *next;

	(void)events;
	if (!l->shipping) {
		ev_timer_stop(loop, w);
		return;
	}
	for (struct job *j = l->shipping; j; j = next) {
		next = j->ship_next;
		CHECK(j->is_shipping && j->phase != JOB_FREE);
		if (j->is_process && j->phase == JOB_PROCESS)
			catch_up(l, j);
		ship_streams(l, j);
		loader_job_settled(l, j);
	}
}

void loader_ship_init(struct loader *l)
{
	ev_init(&l->ship_timer, on_ship_timer);
	l->ship_timer.repeat = (double)l->settings->output_flush_ms / 1000.0;
	l->ship_timer.data = l;
}

void loader_ship_again(struct loader *l)
{
	l->log_flight = 0;
	for (struct job *j = l->shipping; j; j = j->ship_next)
		for (int i = 0; i < LOGS; i++)
			j->logs[i].in_flight = false;
}

/* --- acknowledgements ------------------------------------------------------------- */

static void log_acked(struct loader *l, struct job *j, struct job_log *log, uint64_t offset)
{
	if (!j->is_process) {
		uint64_t n = offset > log->acked ? offset - log->acked : 0;

		pthread_mutex_lock(&l->mu);
		if (log == &j->logs[LOG_RECORDS])
			job_said_records(j, offset);
		else
			buf_drop(&log->text, n < log->text.len ? n : log->text.len);
		pthread_mutex_unlock(&l->mu);
	}
	/* The server may have more than this loader knows: a former one sent it. */
	if (log->end_in_flight && offset >= log->acked + log->sent)
		log->is_over = true;
	log->acked = offset;
	if (j->is_process && is_ended(j) && offset > log->size)
		log->is_over = true;
}

int loader_take_log_ack(struct loader *l, const Sirdar__LogAck *m)
{
	struct job *j = loader_job_find(l, m->token);

	if (!j || m->stream < 1 || m->stream > LOGS)
		return 0;
	struct job_log *log = &j->logs[m->stream - 1];

	if (!log->in_flight)
		return 0;
	CHECK(l->log_flight >= log->sent);
	log->in_flight = false;
	l->log_flight -= log->sent;
	if (m->code < 0 && err_retryable(m->code))
		return 0; /* the timer sends it again */
	if (m->code < 0) {
		log_warn("loader.log_refused", "token=%llx code=%s", (unsigned long long)m->token,
		         err_name(m->code));
		log->is_over = true;
	} else {
		log_acked(l, j, log, m->offset);
	}
	ship_stream(l, j, (int)m->stream - 1);
	loader_job_settled(l, j);
	return 0;
}

/* --- outputs of processes --------------------------------------------------------- */

void loader_read_outputs(struct loader *l, struct job *j)
{
	if (j->is_recorded)
		recorded_look(l, j, j->logs[LOG_RECORDS].size);
	else if (j->logs[0].size > j->lines.at)
		read_lines(l, j, j->logs[0].size - j->lines.at);
	lines_end(j);
}
