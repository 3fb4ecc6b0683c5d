/* message.h — the lines of plugins-sdk/FOREIGN.md: what a guest says, read and checked, and the
 * making of what it is told. Pure: no input or output, no clock, no lock.
 */
#ifndef FOREIGN_MESSAGE_H
#define FOREIGN_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#define FOREIGN_PROTOCOL       1
#define FOREIGN_LINE_BYTES_MAX (1u << 20) /* of a guest */
#define FOREIGN_WHY_BYTES      200
#define FOREIGN_JOBS_MAX       1024 /* at a time in one process */

enum message_op {
#define OP(name, word, needs, may) OP_##name,
#include "message.def"
#undef OP
	OPS
};

/* What a line said; texts are NULL and numbers 0 where it said nothing, but for the defaults
 * of message.def. */
struct message {
	enum message_op op;
	struct cJSON *tree; /* owns the texts */
#define INTEGER(name, bit, min, max, otherwise) int64_t name;
#define TEXT(name, bit, choices)                const char *name;
#define TRUTH(name, bit, otherwise)             int name;
#include "message.def"
#undef INTEGER
#undef TEXT
#undef TRUTH
};

/* Read one line, without its newline.
 *
 *   owns    *ret's tree is the caller's: message_done(), also after an error
 *   errors  -1: ret_why names the place, what was found, what is allowed
 */
int message_read(const char *line, size_t len, struct message *ret,
                 char ret_why[FOREIGN_WHY_BYTES]);
void message_done(struct message *m);

/* A verdict's word as a RUNNER_* number; NULL is "code". It was checked by message_read(). */
uint32_t message_verdict(const char *word);

/* A text that grows; zeroed is empty. Without memory nothing is added and `is_short` is set. */
struct text {
	char *at;
	size_t len, cap;
	int is_short;
};

void text_put(struct text *t, const char *bytes, size_t len);
void text_word(struct text *t, const char *word);                     /* as it is */
void text_json(struct text *t, const char *value);                    /* as a JSON string */
void text_field(struct text *t, const char *name, const char *value); /* ,"name":"value" */
void text_number(struct text *t, const char *name, int64_t value);    /* ,"name":value */
void text_drop(struct text *t, size_t len);                           /* from its beginning */
void text_done(struct text *t);                                       /* wiped, then freed */

#endif
