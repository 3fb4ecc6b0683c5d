/* A message in the shape of each type of channel, chosen by the rows of channel.def, with the
 * signature that the provider wants. Each shape has the provider's limit: a message is cut
 * before it is sent, because what is refused for its length would be refused at every try.
 * Whatever a provider reads as a call to everybody is made harmless. Sending is sender.c's
 * affair. */
#include "notifier/payload.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "notifier/mail.h"
#include "notifier/push.h"
#include "sched/when.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_put.h"
#include "util/json_read.h"

typedef void (*print_fn)(const struct payload_ask *a, struct buf *out, const char *subject,
                         const char *text);

/* --- signatures ---------------------------------------------------------------------- */

static void hmac(const char *key, size_t key_n, const char *text, size_t n,
                 unsigned char ret[crypto_auth_hmacsha256_BYTES])
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, (const unsigned char *)key, key_n);
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)text, n);
	crypto_auth_hmacsha256_final(&state, ret);
}

static void put_base64(const unsigned char *bytes, size_t n, struct buf *out)
{
	char text[128];

	sodium_bin2base64(text, sizeof text, bytes, n, sodium_base64_VARIANT_ORIGINAL);
	buf_puts(out, text);
}

/* DingTalk: timestamp and sign go into the address; the key is the secret. */
static void sign_dingtalk(const struct payload_ask *a, struct buf *url)
{
	unsigned char mac[crypto_auth_hmacsha256_BYTES];
	struct buf text, sign;

	buf_init(&text);
	buf_init(&sign);
	buf_printf(&text, "%" PRId64 "\n%s", (int64_t)(a->now_us / US_PER_MS), a->channel->secret);
	hmac(a->channel->secret, strlen(a->channel->secret), buf_str(&text), text.len, mac);
	put_base64(mac, sizeof mac, &sign);
	buf_printf(url, "%ctimestamp=%" PRId64 "&sign=", strchr(a->channel->url, '?') ? '&' : '?',
	           (int64_t)(a->now_us / US_PER_MS));
	for (const char *p = buf_str(&sign); *p; p++) {
		if (*p == '+' || *p == '/' || *p == '=')
			buf_printf(url, "%%%02X", (unsigned)*p);
		else
			buf_putc(url, *p);
	}
	buf_done(&text);
	buf_done(&sign);
}

/* Feishu: the key is "timestamp\nsecret", the text is empty. */
static void sign_feishu(const struct payload_ask *a, struct buf *out)
{
	unsigned char mac[crypto_auth_hmacsha256_BYTES];
	struct buf key, sign;

	buf_init(&key);
	buf_init(&sign);
	buf_printf(&key, "%" PRId64 "\n%s", (int64_t)(a->now_us / US_PER_S), a->channel->secret);
	hmac(buf_str(&key), key.len, "", 0, mac);
	put_base64(mac, sizeof mac, &sign);
	buf_clear(&key);
	buf_printf(&key, "%" PRId64, (int64_t)(a->now_us / US_PER_S));
	put_text(out, "timestamp", buf_str(&key));
	put_text(out, "sign", buf_str(&sign));
	buf_done(&key);
	buf_done(&sign);
}

static void sign_webhook(const struct payload_ask *a, struct buf *body, struct buf *header)
{
	unsigned char mac[crypto_auth_hmacsha256_BYTES];
	char hex[2 * sizeof mac + 1];

	hmac(a->channel->secret, strlen(a->channel->secret), buf_str(body), body->len, mac);
	sodium_bin2hex(hex, sizeof hex, mac, sizeof mac);
	buf_printf(header, "X-Sirdar-Signature: sha256=%s", hex);
}

static void put_message(struct buf *out, const char *key, const char *subject, const char *text)
{
	struct buf all;

	buf_init(&all);
	buf_printf(&all, "%s\n%s", subject, text);
	put_text(out, key, buf_str(&all));
	buf_done(&all);
}

/* --- what a channel takes -------------------------------------------------------------- */

/* Bytes of subject and text together; 0: as much as there is. What a provider refuses for its
 * length it would refuse at every try. */
static const size_t most_bytes[CH_COUNT] = {
	[CH_DINGTALK] = 18000,  /* of 20000 */
	[CH_WECOM] = 2000,      /* of 2048 */
	[CH_FEISHU] = 18000,    /* of 20 KB with its frame */
	[CH_SLACK] = 7500,      /* of 40000, and `&` becomes five */
	[CH_TELEGRAM] = 4000,   /* of 4096 characters */
	[CH_PAGERDUTY] = 100000 /* of 512 KB */
};
enum { SUBJECT_MOST = 900, DEDUP_MOST = 255 };

/* Slack's own signs; and its `<!channel>`, which calls everybody. */
static void put_slack(struct buf *out, const char *text)
{
	for (; *text; text++)
		if (*text == '&')
			buf_puts(out, "&amp;");
		else if (*text == '<')
			buf_puts(out, "&lt;");
		else if (*text == '>')
			buf_puts(out, "&gt;");
		else
			buf_putc(out, *text);
}

/* --- shapes -------------------------------------------------------------------------- */

static void print_webhook(const struct payload_ask *a, struct buf *out, const char *subject,
                          const char *text)
{
	char when[WHEN_TEXT];
	struct buf one, link;

	put_text(out, "subject", subject);
	put_text(out, "text", text);
	put_open(out, "alerts", '[');
	for (size_t i = 0; i < a->n; i++) {
		buf_init(&one);
		buf_init(&link);
		alert_print(a->alerts[i], &one);
		alert_link(a->alerts[i], a->console_url, &link);
		/* Instants as people read them too; the numbers stay. */
		one.len--;
		put_text(&one, "run_date_text", when_print(a->alerts[i]->run_date, when));
		if (link.len)
			put_text(&one, "link", buf_str(&link));
		put_close(&one, '}');
		put_raw(out, NULL, buf_str(&one));
		buf_done(&one);
		buf_done(&link);
	}
	put_close(out, ']');
}

static void print_text_msgtype(const struct payload_ask *a, struct buf *out, const char *subject,
                               const char *text)
{
	(void)a;
	put_text(out, "msgtype", "text");
	put_open(out, "text", '{');
	put_message(out, "content", subject, text);
	put_close(out, '}');
}

/* `<at user_id="all">` would call everybody, in whatever case it is written. */
static void put_feishu(struct buf *out, const char *subject, const char *text)
{
	struct buf all, plain;

	buf_init(&all);
	buf_init(&plain);
	buf_printf(&all, "%s\n%s", subject, text);
	for (const char *p = buf_str(&all); *p; p++) {
		buf_putc(&plain, *p);
		if (p[0] == '<' && (p[1] == 'a' || p[1] == 'A' || p[1] == '/'))
			buf_putc(&plain, ' ');
	}
	put_text(out, "text", buf_str(&plain));
	buf_done(&all);
	buf_done(&plain);
}

static void print_feishu(const struct payload_ask *a, struct buf *out, const char *subject,
                         const char *text)
{
	if (a->channel->secret[0])
		sign_feishu(a, out);
	put_text(out, "msg_type", "text");
	put_open(out, "content", '{');
	put_feishu(out, subject, text);
	put_close(out, '}');
}

static void print_slack(const struct payload_ask *a, struct buf *out, const char *subject,
                        const char *text)
{
	struct buf all;

	(void)a;
	buf_init(&all);
	buf_putc(&all, '*');
	put_slack(&all, subject);
	buf_puts(&all, "*\n");
	put_slack(&all, text);
	put_text(out, "text", buf_str(&all));
	buf_done(&all);
}

static void print_telegram(const struct payload_ask *a, struct buf *out, const char *subject,
                           const char *text)
{
	put_text(out, "chat_id", a->channel->chat);
	put_message(out, "text", subject, text);
}

static void print_pagerduty(const struct payload_ask *a, struct buf *out, const char *subject,
                            const char *text)
{
	struct buf key;

	buf_init(&key);
	buf_printf(&key, "%s@%" PRId64, a->alerts[0]->task, a->alerts[0]->run_date);
	payload_cut(&key, DEDUP_MOST);
	put_text(out, "routing_key", a->channel->secret);
	put_text(out, "event_action", "trigger");
	put_text(out, "dedup_key", buf_str(&key));
	put_open(out, "payload", '{');
	put_text(out, "summary", subject);
	put_text(out, "source", "sirdar");
	put_text(out, "severity", "error");
	put_open(out, "custom_details", '{');
	put_text(out, "text", text);
	put_close(out, '}');
	put_close(out, '}');
	buf_done(&key);
}

/* A list, one entry an alert. */
static void print_alertmanager(const struct payload_ask *a, struct buf *out, const char *subject)
{
	char when[WHEN_TEXT];
	struct buf link;

	put_open(out, NULL, '[');
	for (size_t i = 0; i < a->n; i++) {
		buf_init(&link);
		alert_link(a->alerts[i], a->console_url, &link);
		put_open(out, NULL, '{');
		put_open(out, "labels", '{');
		put_text(out, "alertname", "SirdarTask");
		put_text(out, "event", happening_word(a->alerts[i]->what));
		put_text(out, "task", a->alerts[i]->task);
		put_text(out, "run_date", when_print(a->alerts[i]->run_date, when));
		put_close(out, '}');
		put_open(out, "annotations", '{');
		put_text(out, "summary", subject);
		put_text(out, "label", a->alerts[i]->label);
		put_text(out, "reason", a->alerts[i]->reason);
		put_close(out, '}');
		put_text(out, "startsAt", when_print(a->alerts[i]->at_us / US_PER_S, when));
		if (link.len)
			put_text(out, "generatorURL", buf_str(&link));
		put_close(out, '}');
		buf_done(&link);
	}
	put_close(out, ']');
}

/* Mail and Alertmanager are no JSON objects; print_body() has them. Pushes are sealed: push.c. */
#define print_push         NULL
#define print_mail         NULL
#define print_alertmanager NULL
static const struct {
	print_fn print;
	const char *code; /* the member of the answer that must be 0; NULL: none */
} shapes[] = {
#define any                                               NULL
#define errcode                                           "errcode"
#define code                                              "code"
#define CHANNEL(name, text, needs, payload, answer, made) { print_##payload, answer },
#include "tbl/channel.def"
#undef CHANNEL
#undef any
#undef errcode
#undef code
};
#undef print_push
#undef print_mail
#undef print_alertmanager

static void print_body(const struct payload_ask *a, const char *subject, const char *text,
                       struct buf *out)
{

	if (a->channel->type == CH_MAIL) {
		mail_print(a, subject, text, out);
		return;
	}
	if (a->channel->type == CH_ALERTMANAGER) {
		print_alertmanager(a, out, subject);
		return;
	}
	put_open(out, NULL, '{');
	shapes[a->channel->type].print(a, out, subject, text);
	put_close(out, '}');
}

void payload_print(const struct payload_ask *ask, struct buf *ret_url, struct buf *ret_header,
                   struct buf *ret_body)
{
	const char *language = ask->channel->language;
	int zh = language[0] ? language[0] == 'z' : ask->zh;
	struct buf subject, text;

	if (ask->channel->type == CH_PUSH) {
		push_print(ask, ret_url, ret_header, ret_body);
		return;
	}
	buf_init(&subject);
	buf_init(&text);
	message_subject(ask->alerts, ask->n, zh, &subject);
	message_text(ask->alerts, ask->n, zh, ask->console_url, &text);
	payload_clean(&subject, false);
	payload_clean(&text, true);
	payload_cut(&subject, SUBJECT_MOST);
	CHECK(subject.len <= SUBJECT_MOST);
	if (most_bytes[ask->channel->type])
		payload_cut(&text, most_bytes[ask->channel->type] - subject.len - 1);
	print_body(ask, buf_str(&subject), buf_str(&text), ret_body);
	buf_puts(ret_url, ask->channel->url);
	if (ask->channel->secret[0] && ask->channel->type == CH_DINGTALK)
		sign_dingtalk(ask, ret_url);
	if (ask->channel->secret[0] && ask->channel->type == CH_WEBHOOK)
		sign_webhook(ask, ret_body, ret_header);
	buf_done(&subject);
	buf_done(&text);
}

bool payload_taken(enum channel_type type, const char *answer, size_t n)
{
	const char *code = shapes[type].code;
	const struct jval *root = NULL;
	bool taken;

	if (!code)
		return true;
	if (jv_parse(answer, n, &root, NULL) < 0)
		return false;
	taken = jv_int(root, code, -1) == 0;
	jv_free(root);
	return taken;
}
