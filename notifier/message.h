/* message.h — what happened, in words: one line and a few lines more, in English or Chinese. */
#ifndef NOTIFIER_MESSAGE_H
#define NOTIFIER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum happening {
#define ALERT(name, word, severity, lasts, en, zh) HP_##name,
#include "tbl/alert.def"
#undef ALERT
	HP_COUNT
};

/* Why it failed, in one glance (lib/util/failure.h); NULL or "": nothing is known of it. */
struct alert_failure {
	const char *class, *exit, *line;
};

/* One alert. Other texts are never NULL. */
struct alert {
	enum happening what;
	const char *task;   /* project/workflow/task */
	const char *title;  /* of the task; "" */
	const char *reason; /* of reason.def, in words; "" */
	const char *note;
	const char *label; /* of the instance; "": of no task, or a letter of an earlier release */
	struct alert_failure failure;
	int64_t run_date; /* s, UTC */
	int64_t at_us;    /* wall */
	uint64_t number;  /* of the transition; 0: none (late, a test) */
	uint32_t task_id; /* 0: of no task */
	uint32_t generation, attempt;
	int32_t exit_code;
	int64_t after_us; /* told only when it is still so that long after; 0: at once */
};

const char *happening_word(enum happening h); /* "failed": the word of `when:` */
int happening_severity(enum happening h);     /* 0 notice, 1 warning, 2 critical */
bool happening_lasts(enum happening h);       /* until what it is of is mended */
int happening_from_word(const char *word);    /* -1: none */

/* JSON of one alert, kept until it is delivered; and back. Texts of the second are borrowed
 * from `json`'s tree, which the caller frees with jv_free(). */
struct jval;
void alert_print(const struct alert *a, struct buf *out);
int alert_read(const struct jval *json, struct alert *ret);

/* `zh`: Chinese. `url`: the console's address, "" for no link. */
void message_subject(const struct alert *const *alerts, size_t n, int zh, struct buf *out);
void message_text(const struct alert *const *alerts, size_t n, int zh, const char *url,
                  struct buf *out);

/* Where the console shows the very attempt; "": it has no address. */
void alert_link(const struct alert *a, const char *url, struct buf *out);

#endif
