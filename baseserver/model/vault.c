/* Secrets at rest, sealed with a key of the installation's key file.
 *
 * A sealed secret is text: "v1:KEY:" and, in base64, nonce, ciphertext and tag; what it is for
 * (`about`) is authenticated with it, so one secret does not open as another's. The first key of
 * the file seals, any key opens: that is how keys are changed. The file is looked at before each
 * use and read again when it is another; a file that does not parse refuses the use and the keys
 * stay as they were. Memory that held keys or texts is wiped before it is freed. */
#include "baseserver/model/vault.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"

#define KEY_BYTES   crypto_aead_xchacha20poly1305_ietf_KEYBYTES
#define NONCE_BYTES crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES   crypto_aead_xchacha20poly1305_ietf_ABYTES
#define BASE64      sodium_base64_VARIANT_ORIGINAL
#define FORM        "v1:" /* of what is sealed: v1:KEY:BASE64(nonce, ciphertext, tag) */
#define FORM_BYTES  (sizeof FORM - 1)

enum { NAME_BYTES_MAX = 32, KEYS_MAX = 64, FILE_BYTES_MAX = 64 * 1024 };

struct key {
	char name[NAME_BYTES_MAX + 1];
	unsigned char bytes[KEY_BYTES];
};

struct vault {
	char *path;
	struct stat seen; /* the file that the keys are from */
	struct key *keys; /* in the file's order */
	size_t n;
};

struct vault *vault_new(const char *path)
{
	struct vault *v = mem_new(sizeof *v);

	CHECK(sodium_init() >= 0);
	v->path = mem_str(path ? path : "");
	return v;
}

static void keys_wipe(struct key *keys, size_t n)
{
	if (keys)
		sodium_memzero(keys, n * sizeof *keys);
	free(keys);
}

void vault_free(struct vault *v)
{
	if (!v)
		return;
	keys_wipe(v->keys, v->n);
	free(v->path);
	free(v);
}

bool vault_is_set(const struct vault *v)
{
	return v->path[0] != '\0';
}

void vault_forget(char *text)
{
	if (text)
		sodium_memzero(text, strlen(text));
	free(text);
}

/* --- keys ---------------------------------------------------------------------------------- */

static bool key_parse(const char *line, size_t bytes, struct key *ret)
{
	const char *colon = memchr(line, ':', bytes);
	size_t name = colon ? (size_t)(colon - line) : 0, got = 0;

	if (!colon || name > NAME_BYTES_MAX || bytes - name - 1 != 2 * KEY_BYTES)
		return false;
	memcpy(ret->name, line, name);
	ret->name[name] = 0;
	return fs_name_ok(ret->name, NAME_BYTES_MAX) &&
	       sodium_hex2bin(ret->bytes, KEY_BYTES, colon + 1, 2 * KEY_BYTES, NULL, &got, NULL) ==
	               0 &&
	       got == KEY_BYTES;
}

static const struct key *key_find(const struct key *keys, size_t n, const char *name, size_t bytes)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(keys[i].name) == bytes && memcmp(keys[i].name, name, bytes) == 0)
			return &keys[i];
	return NULL;
}

static int keys_parse(const struct vault *v, struct buf *text, struct key *keys, size_t *ret_n,
                      struct err *err)
{
	const char *line = buf_str(text), *end = line + text->len, *next;
	size_t n = 0, nth = 1;

	for (; line < end; line = next + 1, nth++) {
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next : end;
		if (line == next || *line == '#')
			continue;
		if (n == KEYS_MAX || !key_parse(line, (size_t)(next - line), &keys[n]))
			return err_set(err, E_INVALID, "%.150s:%zu: not `name:64 hex digits`",
			               v->path, nth);
		if (key_find(keys, n, keys[n].name, strlen(keys[n].name)))
			return err_set(err, E_INVALID, "%.150s:%zu: two keys %s", v->path, nth,
			               keys[n].name);
		n++;
	}
	if (n == 0)
		return err_set(err, E_INVALID, "%.150s: no key in it", v->path);
	*ret_n = n;
	return 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_mode == b->st_mode && a->st_uid == b->st_uid;
}

/* The keys as the file has them now. */
static int refresh(struct vault *v, struct err *err)
{
	struct key *keys;
	struct stat now;
	struct buf text;
	size_t n = 0;

	if (!v->path[0])
		return err_set(err, E_FORBIDDEN,
		               "the server keeps no secrets: secrets_key_file is not set");
	if (stat(v->path, &now) < 0)
		return err_set(err, E_FORBIDDEN, "secrets_key_file %.150s: cannot be read",
		               v->path);
	if (v->keys && is_same(&now, &v->seen))
		return 0;
	buf_init(&text);
	keys = mem_array(KEYS_MAX, sizeof *keys);
	int r = fs_read_secret(v->path, FILE_BYTES_MAX, &text, err);
	if (r == 0)
		r = keys_parse(v, &text, keys, &n, err);
	if (text.len)
		sodium_memzero((char *)buf_at(&text), text.len);
	buf_done(&text);
	if (r < 0) {
		keys_wipe(keys, KEYS_MAX);
		return r;
	}
	keys_wipe(v->keys, v->n ? KEYS_MAX : 0);
	CHECK(n > 0 && n <= KEYS_MAX); /* vault_seal() takes the first */
	v->keys = keys;
	v->n = n;
	v->seen = now;
	return 0;
}

/* --- secrets ------------------------------------------------------------------------------- */

int vault_seal(struct vault *v, const char *about, const char *text, char **ret_sealed,
               struct err *err)
{
	size_t n = strlen(text), bytes = NONCE_BYTES + n + TAG_BYTES;
	unsigned char *box;
	char *words;
	int r = refresh(v, err);

	if (r < 0)
		return r;
	box = mem_new(bytes);
	randombytes_buf(box, NONCE_BYTES);
	crypto_aead_xchacha20poly1305_ietf_encrypt(
		box + NONCE_BYTES, NULL, (const unsigned char *)text, n,
		(const unsigned char *)about, strlen(about), NULL, box, v->keys[0].bytes);
	words = mem_new(sodium_base64_encoded_len(bytes, BASE64));
	sodium_bin2base64(words, sodium_base64_encoded_len(bytes, BASE64), box, bytes, BASE64);
	*ret_sealed = mem_fmt(FORM "%s:%s", v->keys[0].name, words);
	free(words);
	free(box);
	return 0;
}

/* "v1:KEY:" of what is sealed, and what comes after. NULL: it is none. */
static const char *key_name(const char *sealed, size_t *ret_bytes)
{
	const char *name = sealed + FORM_BYTES,
		   *colon = strncmp(sealed, FORM, FORM_BYTES) == 0 ? strchr(name, ':') : NULL;

	*ret_bytes = colon ? (size_t)(colon - name) : 0;
	return colon ? name : NULL;
}

static int unseal(const struct key *key, const char *about, const char *words, char **ret_text)
{
	size_t n = strlen(words), bytes = 0;
	unsigned char *box = mem_new(n + 1), *text = mem_new(n + 1);
	unsigned long long text_bytes = 0;
	int r = E_CORRUPT;

	if (sodium_base642bin(box, n, words, n, NULL, &bytes, NULL, BASE64) == 0 &&
	    bytes >= NONCE_BYTES + TAG_BYTES &&
	    crypto_aead_xchacha20poly1305_ietf_decrypt(
		    text, &text_bytes, NULL, box + NONCE_BYTES, bytes - NONCE_BYTES,
		    (const unsigned char *)about, strlen(about), box, key->bytes) == 0) {
		CHECK(text_bytes == bytes - NONCE_BYTES - TAG_BYTES);
		*ret_text = mem_strn((char *)text, text_bytes);
		r = 0;
	}
	sodium_memzero(text, n + 1);
	free(text);
	free(box);
	return r;
}

int vault_open(struct vault *v, const char *about, const char *sealed, char **ret_text,
               struct err *err)
{
	size_t bytes;
	const char *name = key_name(sealed, &bytes);
	const struct key *key;
	int r = refresh(v, err);

	if (r < 0)
		return r;
	key = name ? key_find(v->keys, v->n, name, bytes) : NULL;
	if (!key)
		return err_set(err, E_CORRUPT,
		               "the secret of %.80s was sealed with the key '%.*s', which "
		               "secrets_key_file does not have",
		               about, (int)bytes, name ? name : "");
	if (unseal(key, about, name + bytes + 1, ret_text) < 0)
		return err_set(err, E_CORRUPT, "the secret of %.80s does not open with the key %s",
		               about, key->name);
	return 0;
}

int vault_is_current(struct vault *v, const char *sealed, bool *ret, struct err *err)
{
	size_t bytes;
	const char *name = key_name(sealed, &bytes);
	int r = refresh(v, err);

	if (r == 0)
		*ret = name && key_find(v->keys, 1, name, bytes);
	return r;
}
