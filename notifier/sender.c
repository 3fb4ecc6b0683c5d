/* Deliveries under way, in one list: a transfer of libcurl, or a script with its pidfd. All of
 * them end in sender_end(), which tells `done` exactly once, and only from sender_wait(): a
 * delivery that fails at once waits for that, so that the caller is never called back from
 * sender_start(). A script that takes too long is killed. There is no retry here: the outbox
 * knows when to try again. */
#include "notifier/sender.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "notifier/filed.h"
#include "rt/spawn.h"
#include "util/addr.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

enum { ANSWER_BYTES_MAX = 4096, SCRIPTS_MAX = 64 };

struct delivery {
	struct delivery *next;
	void *tag;
	enum channel_type type;
	CURL *easy; /* NULL: a script, or nothing could begin */
	struct curl_slist *headers, *to;
	struct buf url, header, body, answer;
	size_t sent;     /* bytes of `body` read by libcurl */
	int pidfd;       /* of a script, else -1 */
	int64_t end_us;  /* mono: a script is killed then */
	char error[300]; /* CURL's, or what was wrong at once */
	char said[200];  /* of SMTP: the last answer that was no yes */
};

struct sender {
	CURLM *multi;
	const struct sender_ops *ops;
	void *ctx;
	int64_t send_ms;
	struct sender_files files;
	struct delivery *all;
	size_t n;
};

int sender_new(int64_t send_ms, const struct sender_ops *ops, void *ctx, struct sender **ret_sender,
               struct err *err)
{
	struct sender *s = mem_new(sizeof *s);

	s->multi = curl_multi_init();
	s->ops = ops;
	s->ctx = ctx;
	s->send_ms = send_ms;
	if (!s->multi) {
		free(s);
		return err_set(err, E_NOMEM, "libcurl does not start");
	}
	*ret_sender = s;
	return 0;
}

void sender_set_files(struct sender *s, const struct sender_files *files)
{
	s->files = *files;
}

static void delivery_free(struct sender *s, struct delivery *d)
{
	if (d->easy) {
		curl_multi_remove_handle(s->multi, d->easy);
		curl_easy_cleanup(d->easy);
	}
	if (d->pidfd >= 0) {
		syscall(SYS_pidfd_send_signal, d->pidfd, SIGKILL, NULL, 0);
		close(d->pidfd);
	}
	curl_slist_free_all(d->headers);
	curl_slist_free_all(d->to);
	buf_done(&d->url);
	buf_done(&d->header);
	buf_done(&d->body);
	buf_done(&d->answer);
	free(d);
}

void sender_free(struct sender *s)
{
	if (!s)
		return;
	while (s->all) {
		struct delivery *d = s->all;
		s->all = d->next;
		if (s->ops->drop)
			s->ops->drop(d->tag);
		delivery_free(s, d);
	}
	curl_multi_cleanup(s->multi);
	free(s);
}

size_t sender_active(const struct sender *s)
{
	return s->n;
}

void sender_wake(struct sender *s)
{
	curl_multi_wakeup(s->multi);
}

/* --- transfers ----------------------------------------------------------------------- */

static size_t take_answer(char *data, size_t size, size_t n, void *ctx)
{
	struct delivery *d = ctx;
	size_t room = ANSWER_BYTES_MAX - d->answer.len, bytes = size * n;

	buf_put(&d->answer, data, bytes < room ? bytes : room);
	return bytes; /* the rest is of no interest */
}

static size_t give_body(char *to, size_t size, size_t n, void *ctx)
{
	struct delivery *d = ctx;
	size_t left = d->body.len - d->sent, bytes = size * n < left ? size * n : left;

	memcpy(to, buf_at(&d->body) + d->sent, bytes);
	d->sent += bytes;
	return bytes;
}

/* Answers of SMTP come by here: "535 5.7.8 who are you". */
static size_t take_line(char *data, size_t size, size_t n, void *ctx)
{
	struct delivery *d = ctx;
	size_t bytes = size * n, most = sizeof d->said - 1;

	if (bytes > 3 && (data[0] == '4' || data[0] == '5'))
		snprintf(d->said, sizeof d->said, "%.*s", (int)(bytes < most ? bytes : most), data);
	return bytes;
}

/* A channel of somebody whose rights end at projects: no way into this network. */
static curl_socket_t open_confined(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct delivery *d = ctx;

	(void)purpose;
	if (!addr_is_public(&to->addr)) {
		snprintf(d->said, sizeof d->said,
		         "a channel of projects goes to public addresses only");
		return CURL_SOCKET_BAD;
	}
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static void set_mail(struct delivery *d, const struct channel *ch, const char *who)
{
	char one[320];

	while (*who) {
		size_t n = strcspn(who, ", ");
		if (n > 0 && n < sizeof one) {
			snprintf(one, sizeof one, "%.*s", (int)n, who);
			d->to = curl_slist_append(d->to, one);
		}
		who += n + (who[n] != 0);
	}
	curl_easy_setopt(d->easy, CURLOPT_MAIL_FROM, ch->from);
	curl_easy_setopt(d->easy, CURLOPT_MAIL_RCPT, d->to);
	curl_easy_setopt(d->easy, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(d->easy, CURLOPT_READFUNCTION, give_body);
	curl_easy_setopt(d->easy, CURLOPT_READDATA, d);
	/* A password only over TLS; a relay without one takes what it offers. */
	curl_easy_setopt(d->easy, CURLOPT_USE_SSL,
	                 ch->password[0] && !ch->insecure ? (long)CURLUSESSL_ALL
	                                                  : (long)CURLUSESSL_TRY);
	if (ch->user[0]) {
		curl_easy_setopt(d->easy, CURLOPT_USERNAME, ch->user);
		curl_easy_setopt(d->easy, CURLOPT_PASSWORD, ch->password);
	}
}

/* One a line. */
static void add_headers(struct delivery *d)
{
	char *at = (char *)(uintptr_t)buf_str(&d->header);

	while (*at) {
		size_t n = strcspn(at, "\n");
		bool more = at[n] == '\n';
		at[n] = '\0';
		d->headers = curl_slist_append(d->headers, at);
		at += n + more;
	}
}

static void set_http(struct delivery *d, const struct channel *ch)
{
	if (ch->type != CH_PUSH)
		d->headers = curl_slist_append(d->headers, "Content-Type: application/json");
	d->headers = curl_slist_append(d->headers, "Expect:");
	add_headers(d);
	curl_easy_setopt(d->easy, CURLOPT_HTTPHEADER, d->headers);
	curl_easy_setopt(d->easy, CURLOPT_POST, 1L);
	curl_easy_setopt(d->easy, CURLOPT_POSTFIELDSIZE, (long)d->body.len);
	curl_easy_setopt(d->easy, CURLOPT_POSTFIELDS, (const char *)buf_at(&d->body));
	if (ch->user[0]) {
		curl_easy_setopt(d->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		curl_easy_setopt(d->easy, CURLOPT_USERNAME, ch->user);
		curl_easy_setopt(d->easy, CURLOPT_PASSWORD, ch->password);
	}
}

static void set_trust(struct delivery *d, const struct channel *ch)
{
	if (ch->ca_file && ch->ca_file[0])
		curl_easy_setopt(d->easy, CURLOPT_CAINFO, ch->ca_file);
}

static void transfer_start(struct sender *s, struct delivery *d, const struct payload_ask *ask)
{
	d->easy = curl_easy_init();
	if (!d->easy) {
		snprintf(d->error, sizeof d->error, "libcurl does not start");
		return;
	}
	curl_easy_setopt(d->easy, CURLOPT_URL, buf_str(&d->url));
	curl_easy_setopt(d->easy, CURLOPT_PROTOCOLS_STR, "http,https,smtp,smtps");
	curl_easy_setopt(d->easy, CURLOPT_FOLLOWLOCATION,
	                 0L); /* secrets stay where they were sent */
	curl_easy_setopt(d->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(d->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(d->easy, CURLOPT_TIMEOUT_MS, (long)s->send_ms);
	curl_easy_setopt(d->easy, CURLOPT_ERRORBUFFER, d->error);
	curl_easy_setopt(d->easy, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(d->easy, CURLOPT_WRITEDATA, d);
	curl_easy_setopt(d->easy, CURLOPT_PRIVATE, d);
	set_trust(d, ask->channel);
	if (ask->channel->is_confined) {
		curl_easy_setopt(d->easy, CURLOPT_OPENSOCKETFUNCTION, open_confined);
		curl_easy_setopt(d->easy, CURLOPT_OPENSOCKETDATA, d);
		/* A connection of another channel has not been judged. */
		curl_easy_setopt(d->easy, CURLOPT_FRESH_CONNECT, 1L);
		curl_easy_setopt(d->easy, CURLOPT_FORBID_REUSE, 1L);
	}
	if (d->type == CH_MAIL) {
		curl_easy_setopt(d->easy, CURLOPT_HEADERFUNCTION, take_line);
		curl_easy_setopt(d->easy, CURLOPT_HEADERDATA, d);
	}
	if (d->type == CH_MAIL)
		set_mail(d, ask->channel, ask->who);
	else
		set_http(d, ask->channel);
	curl_multi_add_handle(s->multi, d->easy);
}

/* --- scripts ------------------------------------------------------------------------- */

static void script_start(struct sender *s, struct delivery *d, const char *const *argv)
{
	int in = memfd_create("alert", MFD_CLOEXEC);
	pid_t pid;
	struct err err = { 0 };
	struct spawn run = {
		.path = argv[0], .argv = (char *const *)argv, .in = in, .is_session = true
	};

	if (in < 0 || write(in, buf_at(&d->body), d->body.len) != (ssize_t)d->body.len ||
	    lseek(in, 0, SEEK_SET) < 0)
		snprintf(d->error, sizeof d->error, "no memory for the script's input");
	else if (spawn_run(&run, &pid, &d->pidfd, &err) < 0)
		snprintf(d->error, sizeof d->error, "%.290s", err.text);
	if (in >= 0)
		close(in);
	d->end_us = clock_steady_us() + s->send_ms * US_PER_MS;
}

/* True: it is over, d->error says how if not well. */
static bool script_over(struct delivery *d, int64_t now)
{
	siginfo_t how = { 0 };

	if (waitid(P_PIDFD, (id_t)d->pidfd, &how, WEXITED | WNOHANG) < 0) {
		snprintf(d->error, sizeof d->error, "nobody saw its end");
		return true;
	}
	if (how.si_pid == 0) {
		if (now < d->end_us)
			return false;
		snprintf(d->error, sizeof d->error, "it took too long and was killed");
		syscall(SYS_pidfd_send_signal, d->pidfd, SIGKILL, NULL, 0);
		waitid(P_PIDFD, (id_t)d->pidfd, &how, WEXITED);
		return true;
	}
	if (how.si_code != CLD_EXITED)
		snprintf(d->error, sizeof d->error, "it ended by signal %d", how.si_status);
	else if (how.si_status != 0)
		snprintf(d->error, sizeof d->error, "it ended with status %d", how.si_status);
	return true;
}

/* --- files --------------------------------------------------------------------------- */

static void file_start(const struct sender *s, struct delivery *d, const struct channel *ch)
{
	struct err err = { 0 };

	if (filed_put(s->files.state_dir, ch->name, s->files.bytes_max, buf_at(&d->body),
	              d->body.len, &err) < 0)
		snprintf(d->error, sizeof d->error, "%.290s", err.text);
}

/* --- both ---------------------------------------------------------------------------- */

void sender_start(struct sender *s, const struct payload_ask *ask, void *delivery)
{
	struct delivery *d = mem_new(sizeof *d);

	CHECK(ask->n > 0); /* a message tells something */
	d->tag = delivery;
	d->type = ask->channel->type;
	d->pidfd = -1;
	buf_init(&d->url);
	buf_init(&d->header);
	buf_init(&d->body);
	buf_init(&d->answer);
	payload_print(ask, &d->url, &d->header, &d->body);
	d->next = s->all;
	s->all = d;
	s->n++;
	if (d->type == CH_BELL)
		return; /* the alert stands in the console already */
	if (d->type == CH_FILE)
		file_start(s, d, ask->channel);
	else if (d->type == CH_SCRIPT)
		script_start(s, d, ask->channel->argv);
	else
		transfer_start(s, d, ask);
}

static void sender_end(struct sender *s, struct delivery *d, const char *error, long status)
{
	struct delivery **at = &s->all;

	while (*at && *at != d)
		at = &(*at)->next;
	CHECK(*at == d && s->n > 0); /* it ends once */
	*at = d->next;
	s->n--;
	if (d->pidfd >= 0) { /* seen to its end */
		close(d->pidfd);
		d->pidfd = -1;
	}
	s->ops->done(s->ctx, d->tag, error, (int)status);
	delivery_free(s, d);
}

/* In people's words: who did not want it, who did not answer, who was not there. */
static void failure_text(const struct sender *s, const struct delivery *d, CURLcode code, char *ret,
                         size_t size)
{
	const char *said = d->error[0] ? d->error : curl_easy_strerror(code);
	bool unreached = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST;

	if (code == CURLE_OPERATION_TIMEDOUT)
		snprintf(ret, size, SENDER_TIMED_OUT "after %lld ms: %.200s", (long long)s->send_ms,
		         said);
	else if (d->said[0])
		snprintf(ret, size, SENDER_REFUSED "%.200s", d->said);
	else
		snprintf(ret, size, "%s%.300s", unreached ? SENDER_NO_WAY : "", said);
}

static void transfer_end(struct sender *s, struct delivery *d, CURLcode code)
{
	char why[400];
	long status = 0;

	curl_easy_getinfo(d->easy, CURLINFO_RESPONSE_CODE, &status);
	if (code != CURLE_OK) {
		failure_text(s, d, code, why, sizeof why);
	} else if (d->type != CH_MAIL && (status < 200 || status > 299)) {
		snprintf(why, sizeof why, SENDER_REFUSED "HTTP status %ld: %.100s", status,
		         buf_str(&d->answer));
	} else if (!payload_taken(d->type, buf_str(&d->answer), d->answer.len)) {
		snprintf(why, sizeof why, SENDER_REFUSED "%.200s", buf_str(&d->answer));
	} else {
		sender_end(s, d, NULL, status);
		return;
	}
	for (char *p = why; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	sender_end(s, d, why, status);
}

static void take_ended(struct sender *s)
{
	struct delivery *next;
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(s->multi, &left))) {
		struct delivery *d = NULL;
		CURLcode code = m->data.result;
		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &d);
		CHECK(d && d->easy == m->easy_handle);
		transfer_end(s, d, code);
	}
	for (struct delivery *d = s->all; d; d = next) {
		next = d->next;
		if (d->easy)
			continue;
		if (d->pidfd < 0 || script_over(d, clock_steady_us()))
			sender_end(s, d, d->error[0] ? d->error : NULL, 0);
	}
}

/* Descriptors of scripts, and not longer than the first of them may take. */
static unsigned scripts_put(const struct sender *s, struct curl_waitfd *fds, unsigned n,
                            int64_t *wait_ms)
{
	int64_t now = clock_steady_us();

	for (const struct delivery *d = s->all; d; d = d->next) {
		if (!d->easy && d->pidfd < 0)
			*wait_ms = 0; /* over before it began */
		if (d->pidfd < 0)
			continue;
		if (n <= SCRIPTS_MAX)
			fds[n++] = (struct curl_waitfd){ .fd = d->pidfd,
				                         .events = CURL_WAIT_POLLIN };
		int64_t left = (d->end_us - now) / US_PER_MS + 1;
		*wait_ms = left < *wait_ms ? left : *wait_ms;
	}
	return n;
}

int sender_wait(struct sender *s, int fd, int64_t wait_ms, struct err *err)
{
	struct curl_waitfd fds[SCRIPTS_MAX + 1] = { { .fd = fd, .events = CURL_WAIT_POLLIN } };
	size_t before = s->n;
	int running = 0;
	CURLMcode code = curl_multi_perform(s->multi, &running);

	/* What ends in this call would be told only when some other socket moves. */
	take_ended(s);
	if (s->n < before)
		wait_ms = 0;
	unsigned n = scripts_put(s, fds, 1, &wait_ms);
	if (code == CURLM_OK)
		code = curl_multi_poll(s->multi, fds, n, wait_ms < 0 ? 0 : (int)wait_ms, NULL);
	if (code == CURLM_OK)
		code = curl_multi_perform(s->multi, &running);
	take_ended(s);
	return code == CURLM_OK ? 0 : err_set(err, E_IO, "libcurl: %s", curl_multi_strerror(code));
}
