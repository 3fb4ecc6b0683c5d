#include "notifier/payload.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "notifier/mail.h"
#include "notifier/push.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/json.h"
#include "util/json_in.h"

typedef void (*print_fn)(const struct payload_ask *a, struct json_out *j, const char *subject,
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
static void sign_feishu(const struct payload_ask *a, struct json_out *j)
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
	json_field_text(j, "timestamp", buf_str(&key));
	json_field_text(j, "sign", buf_str(&sign));
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

static void put_message(struct json_out *j, const char *key, const char *subject, const char *text)
{
	struct buf all;

	buf_init(&all);
	buf_printf(&all, "%s\n%s", subject, text);
	json_field_text(j, key, buf_str(&all));
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

void payload_cut(struct buf *b, size_t most)
{
	size_t n = most > 3 ? most - 3 : 0;

	if (b->len <= most)
		return;
	while (n > 0 && (buf_str(b)[n] & 0xc0) == 0x80)
		n--;
	b->len = n;
	buf_puts(b, "...");
}

/* Letters are lines of text: what a job printed, or a machine calls itself, may hold anything. */
void payload_clean(struct buf *b, bool lines)
{
	unsigned char *at = (unsigned char *)(uintptr_t)buf_at(b);

	for (size_t i = 0; i < b->len; i++)
		if ((at[i] < 0x20 && !(lines && (at[i] == '\n' || at[i] == '\t'))) || at[i] == 0x7f)
			at[i] = ' ';
}

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

static void print_webhook(const struct payload_ask *a, struct json_out *j, const char *subject,
                          const char *text)
{
	struct buf one, when;

	json_field_text(j, "subject", subject);
	json_field_text(j, "text", text);
	json_add_key(j, "alerts");
	json_open_array(j);
	for (size_t i = 0; i < a->n; i++) {
		buf_init(&one);
		buf_init(&when);
		time_print(a->alerts[i]->run_date, &when);
		alert_print(a->alerts[i], &one);
		/* Instants as people read them too; the numbers stay. */
		one.len--;
		buf_printf(&one, ",\"run_date_text\":\"%s\"}", buf_str(&when));
		json_add_raw(j, buf_str(&one));
		buf_done(&one);
		buf_done(&when);
	}
	json_close_array(j);
}

static void print_text_msgtype(const struct payload_ask *a, struct json_out *j, const char *subject,
                               const char *text)
{
	(void)a;
	json_field_text(j, "msgtype", "text");
	json_add_key(j, "text");
	json_open_object(j);
	put_message(j, "content", subject, text);
	json_close_object(j);
}

/* `<at user_id="all">` would call everybody. */
static void put_feishu(struct json_out *j, const char *subject, const char *text)
{
	struct buf all, plain;

	buf_init(&all);
	buf_init(&plain);
	buf_printf(&all, "%s\n%s", subject, text);
	for (const char *p = buf_str(&all); *p; p++) {
		buf_putc(&plain, *p);
		if (p[0] == '<' && (p[1] == 'a' || p[1] == '/'))
			buf_putc(&plain, ' ');
	}
	json_field_text(j, "text", buf_str(&plain));
	buf_done(&all);
	buf_done(&plain);
}

static void print_feishu(const struct payload_ask *a, struct json_out *j, const char *subject,
                         const char *text)
{
	if (a->channel->secret[0])
		sign_feishu(a, j);
	json_field_text(j, "msg_type", "text");
	json_add_key(j, "content");
	json_open_object(j);
	put_feishu(j, subject, text);
	json_close_object(j);
}

static void print_slack(const struct payload_ask *a, struct json_out *j, const char *subject,
                        const char *text)
{
	struct buf all;

	(void)a;
	buf_init(&all);
	buf_putc(&all, '*');
	put_slack(&all, subject);
	buf_puts(&all, "*\n");
	put_slack(&all, text);
	json_field_text(j, "text", buf_str(&all));
	buf_done(&all);
}

static void print_telegram(const struct payload_ask *a, struct json_out *j, const char *subject,
                           const char *text)
{
	json_field_text(j, "chat_id", a->channel->chat);
	put_message(j, "text", subject, text);
}

static void print_pagerduty(const struct payload_ask *a, struct json_out *j, const char *subject,
                            const char *text)
{
	struct buf key;

	buf_init(&key);
	buf_printf(&key, "%s@%" PRId64, a->alerts[0]->task, a->alerts[0]->run_date);
	payload_cut(&key, DEDUP_MOST);
	json_field_text(j, "routing_key", a->channel->secret);
	json_field_text(j, "event_action", "trigger");
	json_field_text(j, "dedup_key", buf_str(&key));
	json_add_key(j, "payload");
	json_open_object(j);
	json_field_text(j, "summary", subject);
	json_field_text(j, "source", "sirdar");
	json_field_text(j, "severity", "error");
	json_add_key(j, "custom_details");
	json_open_object(j);
	json_field_text(j, "text", text);
	json_close_object(j);
	json_close_object(j);
	buf_done(&key);
}

/* A list, one entry an alert. */
static void print_alertmanager(const struct payload_ask *a, struct buf *out, const char *subject)
{
	struct json_out j;
	struct buf when;

	json_out_start(&j, out);
	json_open_array(&j);
	for (size_t i = 0; i < a->n; i++) {
		buf_init(&when);
		time_print(a->alerts[i]->run_date, &when);
		json_open_object(&j);
		json_add_key(&j, "labels");
		json_open_object(&j);
		json_field_text(&j, "alertname", "SirdarTask");
		json_field_text(&j, "event", happening_word(a->alerts[i]->what));
		json_field_text(&j, "task", a->alerts[i]->task);
		json_field_text(&j, "run_date", buf_str(&when));
		json_close_object(&j);
		json_add_key(&j, "annotations");
		json_open_object(&j);
		json_field_text(&j, "summary", subject);
		json_field_text(&j, "reason", a->alerts[i]->reason);
		json_close_object(&j);
		buf_clear(&when);
		time_print(a->alerts[i]->at_us / US_PER_S, &when);
		json_field_text(&j, "startsAt", buf_str(&when));
		json_close_object(&j);
		buf_done(&when);
	}
	json_close_array(&j);
	json_out_end(&j);
}

/* Mail and Alertmanager are no JSON objects; print_body() has them. Pushes are sealed: push.c. */
#define print_push         NULL
#define print_mail         NULL
#define print_alertmanager NULL
static const struct {
	print_fn print;
	const char *code; /* the member of the answer that must be 0; NULL: none */
} shapes[] = {
#define any                                         NULL
#define errcode                                     "errcode"
#define code                                        "code"
#define CHANNEL(name, text, needs, payload, answer) { print_##payload, answer },
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
	struct json_out j;

	if (a->channel->type == CH_MAIL) {
		mail_print(a, subject, text, out);
		return;
	}
	if (a->channel->type == CH_ALERTMANAGER) {
		print_alertmanager(a, out, subject);
		return;
	}
	json_out_start(&j, out);
	json_open_object(&j);
	shapes[a->channel->type].print(a, &j, subject, text);
	json_close_object(&j);
	json_out_end(&j);
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
	struct cJSON *root = NULL;
	bool taken;

	if (!code)
		return true;
	if (json_parse(answer, n, &root, NULL) < 0)
		return false;
	taken = json_int(root, code, -1) == 0;
	json_free(root);
	return taken;
}
