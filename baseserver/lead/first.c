/* The file is written and on disk before the server is asked to make `admin`: a crash in between
 * leaves a file without an administrator, for whom the next start draws another password. */
#include "baseserver/lead/first.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"

/* As the other passwords: baseserver/lead/admin_main.c. */
enum { LETTERS = 24, HASH_PASSES = 2, HASH_MEMORY = 19 * 1024 * 1024 };

/* Without letters that look alike. */
static const char alphabet[] = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";

static char *first_path(const char *state_dir)
{
	return mem_fmt("%s/" FIRST_FILE, state_dir);
}

int first_draw(const char *state_dir, char ret_hash[FIRST_HASH], struct err *err)
{
	_Static_assert(crypto_pwhash_STRBYTES <= FIRST_HASH, "the hash fits");
	char line[LETTERS + 2] = "", *path = first_path(state_dir);
	int r = sodium_init() < 0 ? err_set(err, E_IO, "no random numbers") : 0;

	for (size_t i = 0; i < LETTERS && r == 0; i++)
		line[i] = alphabet[randombytes_uniform(sizeof alphabet - 1)];
	if (r == 0 && crypto_pwhash_str(ret_hash, line, LETTERS, HASH_PASSES, HASH_MEMORY) != 0)
		r = err_set(err, E_NOMEM, "no memory to hash a password");
	line[LETTERS] = '\n';
	fs_tidy(path);
	if (r == 0)
		r = fs_write(path, line, LETTERS + 1, 0600, err);
	sodium_memzero(line, sizeof line);
	free(path);
	return r;
}

bool first_is_kept(const char *state_dir)
{
	char *path = first_path(state_dir);
	bool is = access(path, F_OK) == 0;

	free(path);
	return is;
}

void first_forget(const char *state_dir)
{
	char *path = first_path(state_dir);

	if (unlink(path) == 0)
		log_info("admin.first_over",
		         "file=%s text=\"admin has another password: the file is removed\"", path);
	else if (errno != ENOENT)
		log_warn("admin.first_over", "file=%s text=\"cannot remove it: %s\"", path,
		         strerrordesc_np(errno));
	free(path);
}
