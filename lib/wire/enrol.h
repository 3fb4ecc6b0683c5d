/* enrol.h — a program makes known its own public key: the first under the code of an invite, the
 * next one under the key that it has.
 *
 * A code is ID-SECRET: 12 and 32 hexadecimal digits. The secret, as text, is the key that both ends
 * of the session have, so that each of them proves to the other that it knows it.
 */
#ifndef WIRE_ENROL_H
#define WIRE_ENROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/peer.h"
#include "wire/keys.h"
#include "wire/pair.h"
#include "wire/session.h"

struct buf;
struct err;

#define INVITE_PREFIX "invite:" /* of its session's identity; no peer's name has a ':' */
enum { INVITE_ID_TEXT = 12 + 1, INVITE_CODE_TEXT = 12 + 1 + 2 * 16 + 1 };
_Static_assert(INVITE_CODE_TEXT - INVITE_ID_TEXT - 1 == KEY_BYTES, "a secret's text is a key");

/* The two halves. False: not a code. */
bool enrol_code_parse(const char *code, char ret_id[INVITE_ID_TEXT], uint8_t ret_key[KEY_BYTES]);
/* What is signed of a key, by it and by the one before it: in this session, for this peer. */
void enrol_text(const uint8_t proof[SESSION_PROOF_BYTES], const char *name,
                const uint8_t key[PAIR_BYTES], struct buf *out);

struct enrol_settings {
	const char *name;     /* of the peer */
	const char *key_file; /* where its pair is kept from now on */
	char *const *servers; /* address:port, tried in turn */
	size_t n_servers;
	const char *state_dir; /* the daemon's: whose user it is, where root does it */
	bool reloads;          /* a SIGHUP has it greet by its next key; else the next connection */
	enum peer_kind kind;   /* the program's: a code for another kind is not spent */
};

/* Draw a pair, have the server keep the public half, write both to key_file. Blocks.
 *
 *   ret_key  the public half: who approves of it compares it
 *   errors   E_INVALID no code, E_EXISTS key_file has a pair, E_AUTH no server knows the code,
 *            E_FORBIDDEN it is another peer's, or for another kind of program;
 *            of the file and of the network */
int enrol_first(const struct enrol_settings *set, const char *code, uint8_t ret_key[PAIR_BYTES],
                struct err *err);
/* The pair in key_file is followed by a new one; both count until the new one is first used, 24
 * hours at most. errors  E_NOT_FOUND key_file has no pair; as above */
int enrol_next(const struct enrol_settings *set, uint8_t ret_key[PAIR_BYTES], struct err *err);

/* The words that a program of a peer takes for them. */
#define ENROL_USES "enrol CODE [--server HOST:PORT] | rotate-key [--server HOST:PORT]"
/* Those words, `words` NULL-ended: done, and said what people have to do next. An exit status. */
int enrol_main(const struct enrol_settings *set, const char *program, char *const *words);

#endif
