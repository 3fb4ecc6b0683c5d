/* channels.h — the administrator's list of ways to tell somebody, read from a file.
 *
 *   channels:
 *     mail:   {type: mail, url: "smtp://relay.example.org:25", from: sirdar@example.org}
 *     oncall: {type: webhook, url: "https://example.org/hook", secret: shared}
 *   owners: failed
 *   nodes: ["webhook:oncall"]
 *   oncall:
 *     dw: {people: ["mail:a@example.org", "webhook:oncall"], from: "2026-03-02T09:00:00Z"}
 *
 * A recipient in a document is `TYPE:WHO`: for mail an address (or several, with commas), sent
 * through the channel named `mail`; for the others the name of a channel of that type;
 * oncall:NAME is who is on call when it is sent; push:PERSON goes to each of a person's devices,
 * through the channel named `push`.
 * Thread: the main one.
 */
#ifndef NOTIFIER_CHANNELS_H
#define NOTIFIER_CHANNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct channels;
struct err;
struct jval;
struct stored;

enum channel_type {
#define CHANNEL(name, text, needs, payload, answer, made) CH_##name,
#include "tbl/channel.def"
#undef CHANNEL
	CH_COUNT
};

enum owners_when { OWNERS_NEVER, OWNERS_FAILED, OWNERS_DONE };

enum channel_made { CHANNEL_FILED, CHANNEL_STORED, CHANNEL_BUILT };

/* In `lacks`: its secrets are on their way. Compared by address. */
extern const char CHANNEL_PENDING[];

/* Texts are "" when the file, or the document, says nothing. */
struct channel {
	enum channel_type type;
	const char *name, *url, *from, *user, *password, *secret, *chat, *language;
	const char *ca_file;      /* whose certificates are trusted; "": the system's */
	const char *key_file;     /* of push: whose signature; "": one of our own */
	const char *const *argv;  /* NULL-terminated; NULL: none */
	const char *const *hosts; /* of push: where it may go; NULL: as push.c says */
	bool insecure;            /* mail without TLS, http: allowed off loopback */
	enum channel_made made;
	bool is_confined;            /* of a document: to public addresses only */
	const struct jval *projects; /* of a document: whose rules may use it; NULL: all */
	const char *lacks; /* of a document: why nothing can be sent by it; NULL: it can */
};

/* errors  E_INVALID naming file, line, key and what is allowed; E_FORBIDDEN readable by others;
 *         E_NOT_FOUND */
int channels_read(const char *path, struct channels **ret_channels, struct err *err);
struct channels *channels_none(void);   /* without a file */
void channels_free(struct channels *c); /* NULL is fine */
/* Channels that are documents stand behind those of the file; borrowed. */
void channels_use(struct channels *c, const struct stored *s);
/* Of the file, documents, and what is built in. One of a name that an earlier one has is hidden. */
size_t channels_count(const struct channels *c);
const struct channel *channels_at(const struct channels *c, size_t i); /* NULL after the last */
size_t channels_place(const struct channels *c, const struct channel *one); /* its i */
/* The first of a type; NULL: there is none. */
const struct channel *channels_of_type(const struct channels *c, enum channel_type type);
/* Recipients are people, or addresses: there is one channel of the type. */
bool channel_is_personal(enum channel_type type);
enum owners_when channels_owners(const struct channels *c); /* is a task's owner told */

/* The i-th who is told of nodes that come and go; NULL after the last. */
const char *channels_node_recipient(const struct channels *c, size_t i);

/* The i-th who is told of `word` of machines and the server (NULL: any); NULL after the last. */
const char *channels_system_recipient(const struct channels *c, const char *word, size_t i);

/* The channel that serves `recipient`, and to whom: *ret_who is inside `recipient`, or "".
 *
 *   errors  E_NOT_FOUND with what is missing, as one sentence */
int channels_find(const struct channels *c, const char *recipient, int64_t now_us,
                  const struct channel **ret_channel, const char **ret_who, struct err *err);

const char *channel_type_name(enum channel_type type);
/* Keys that one must have, with blanks between. */
const char *channel_type_needs(enum channel_type type);
bool channel_type_of(const char *name, enum channel_type *ret);
/* May what happens to a task of that project (NULL: to machines) be told by it? */
bool channel_is_for(const struct channel *c, const char *project);

/* The file's lists of `oncall`, for people to look at: the i-th; false after the last. */
bool channels_list_at(const struct channels *c, size_t i, const char **ret_name,
                      const char **ret_now, int64_t now_us);

#endif
