/* mail.h — a message as mail: RFC 5322, its text as RFC 2045 to 2047 have it. */
#ifndef NOTIFIER_MAIL_H
#define NOTIFIER_MAIL_H

struct buf;
struct payload_ask;

/* The whole message. Neither addresses nor subject have line ends; the text has no control signs
 * but line ends and tabs. */
void mail_print(const struct payload_ask *a, const char *subject, const char *text,
                struct buf *out);

#endif
