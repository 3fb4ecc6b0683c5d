/* One message as bytes for a relay. The printer takes no chance with the relay: a subject or
 * text beyond ASCII is encoded, lines are folded, and each address has a line of its own. The
 * id comes from the outbox and is the same at each try, so that a mail program can tell a
 * second copy. Addresses and subject were cleaned of line ends before, so that nobody adds a
 * header. */
#include "notifier/mail.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "notifier/payload.h"
#include "sched/civil.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"

/* LINE_MOST: of 998. An encoded word's line has 76 letters, "Subject: " among them; so has one
 * of base64. */
enum { LINE_MOST = 900, FOLD_AT = 76, WORD_BYTES = 39, BASE64_BYTES = 57, ONE_BYTES = 128 };

static void put_base64(const char *bytes, size_t n, struct buf *out)
{
	char text[ONE_BYTES];

	CHECK(n <= BASE64_BYTES); /* a line of it */
	sodium_bin2base64(text, sizeof text, (const unsigned char *)bytes, n,
	                  sodium_base64_VARIANT_ORIGINAL);
	buf_puts(out, text);
}

/* "Sun, 01 Mar 2026 00:00:00 +0000" */
static void put_date(int64_t now_us, struct buf *out)
{
	static const char days[] = "ThuFriSatSunMonTueWed"; /* from 1970-01-01 on */
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int64_t now = floor_div(now_us, US_PER_S), day = floor_div(now, DAY_S);
	int64_t of = floor_mod(now, DAY_S);
	struct civil c = civil_of_day(day);

	buf_printf(out, "Date: %.3s, %02d %.3s %04" PRId64 " %02d:%02d:%02d +0000\r\n",
	           days + 3 * floor_mod(day, 7), (int)c.day, months + 3 * (c.month - 1), c.year,
	           (int)(of / 3600), (int)(of / 60 % 60), (int)(of % 60));
}

/* The right side is the sender's domain: nobody else makes ids of it. */
static void put_message_id(const struct payload_ask *a, struct buf *out)
{
	const char *at = strrchr(a->channel->from, '@');
	const char *domain = at && at[1] ? at + 1 : "localhost";

	if (a->id && a->id[0])
		buf_printf(out, "Message-ID: <%s@%.*s>\r\n", a->id, (int)strcspn(domain, "> "),
		           domain);
}

/* One address a line, however many there are. */
static void put_to(const char *who, struct buf *out)
{
	bool first = true;

	buf_puts(out, "To: ");
	while (*who) {
		size_t n = strcspn(who, ", ");

		if (n > 0)
			buf_printf(out, "%s%.*s", first ? "" : ",\r\n ", (int)n, who);
		first = first && n == 0;
		who += n + (who[n] != 0);
	}
	buf_puts(out, "\r\n");
}

/* Printable ASCII that fits a line and no reader takes for encoded words stands as it is. */
static bool is_plain(const char *subject)
{
	size_t n = strlen(subject);

	for (size_t i = 0; i < n; i++)
		if (subject[i] < ' ' || subject[i] > '~')
			return false;
	return n > 0 && n <= LINE_MOST && subject[0] != ' ' && subject[n - 1] != ' ' &&
	       !strstr(subject, "  ") && !strstr(subject, "=?");
}

/* Folded at blanks; a longer word has a line of its own. */
static void put_folded(const char *text, size_t line, struct buf *out)
{
	for (size_t n; *text; text += n, line += n) {
		n = 1 + strcspn(text + 1, " ");
		if (*text == ' ' && line + n > FOLD_AT) {
			buf_puts(out, "\r\n");
			line = 0;
		}
		buf_put(out, text, n);
	}
	buf_puts(out, "\r\n");
}

/* Encoded words (RFC 2047) where it must be; a character must not be torn. */
static void put_subject(const char *subject, struct buf *out)
{
	buf_puts(out, "Subject: ");
	if (is_plain(subject)) {
		put_folded(subject, strlen("Subject: "), out);
		return;
	}
	for (size_t at = 0, n = strlen(subject); at < n;) {
		size_t len = n - at < WORD_BYTES ? n - at : WORD_BYTES;
		while (at + len < n && ((unsigned char)subject[at + len] & 0xc0) == 0x80)
			len--;
		buf_puts(out, at ? "\r\n =?UTF-8?B?" : "=?UTF-8?B?");
		put_base64(subject + at, len, out);
		buf_puts(out, "?=");
		at += len;
	}
	buf_puts(out, "\r\n");
}

static void put_lines(const char *text, struct buf *out)
{
	for (size_t line = 0; *text; text++) {
		bool is_whole = (*text & 0xc0) != 0x80;
		if (line >= LINE_MOST && is_whole && *text != '\n') {
			buf_puts(out, "\r\n");
			line = 0;
		}
		if (*text == '\n')
			buf_putc(out, '\r');
		buf_putc(out, *text);
		line = *text == '\n' ? 0 : line + 1;
	}
}

static bool is_ascii(const char *text)
{
	while (*text && !(*text & 0x80))
		text++;
	return *text == '\0';
}

/* Not every relay takes eight bits: what is more than ASCII goes in base64. */
static void put_text(const char *text, struct buf *out)
{
	bool ascii = is_ascii(text);
	struct buf lines;

	buf_printf(out, "Content-Transfer-Encoding: %s\r\n\r\n", ascii ? "7bit" : "base64");
	if (ascii) {
		put_lines(text, out);
		return;
	}
	buf_init(&lines);
	put_lines(text, &lines);
	for (size_t at = 0; at < lines.len; at += BASE64_BYTES) {
		size_t left = lines.len - at;

		put_base64(buf_str(&lines) + at, left < BASE64_BYTES ? left : BASE64_BYTES, out);
		buf_puts(out, "\r\n");
	}
	buf_done(&lines);
}

void mail_print(const struct payload_ask *a, const char *subject, const char *text, struct buf *out)
{
	put_date(a->now_us, out);
	put_message_id(a, out);
	buf_printf(out, "From: %s\r\n", a->channel->from);
	put_to(a->who, out);
	put_subject(subject, out);
	buf_puts(out, "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
	              "Auto-Submitted: auto-generated\r\nX-Auto-Response-Suppress: All\r\n");
	put_text(text, out);
}
