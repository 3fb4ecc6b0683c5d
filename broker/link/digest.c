#include "broker/link/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <unistd.h>

#include "util/err.h"

enum { SHA256_BYTES = 32 };

static void to_hex(const unsigned char sum[SHA256_BYTES], char ret_hex[DIGEST_HEX])
{
	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(ret_hex + 2 * i, 3, "%02x", sum[i]);
}

int digest_bytes(const void *data, size_t n, char ret_hex[DIGEST_HEX], struct err *err)
{
	unsigned char sum[SHA256_BYTES];

	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, data, n, sum) < 0)
		return err_set(err, E_IO, "no SHA-256 here");
	to_hex(sum, ret_hex);
	return 0;
}

int digest_fd(int fd, char ret_hex[DIGEST_HEX], struct err *err)
{
	unsigned char sum[SHA256_BYTES];
	gnutls_hash_hd_t hash;
	char piece[65536];
	off_t at = 0;
	ssize_t n;

	if (gnutls_hash_init(&hash, GNUTLS_DIG_SHA256) < 0)
		return err_set(err, E_IO, "no SHA-256 here");
	while ((n = pread(fd, piece, sizeof piece, at)) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 0)
			gnutls_hash(hash, piece, (size_t)n);
		at += n > 0 ? n : 0;
	}
	int failed = errno;
	gnutls_hash_deinit(hash, sum);
	if (n < 0)
		return err_sys(err, E_IO, failed, "read");
	to_hex(sum, ret_hex);
	return 0;
}

int digest_file(const char *path, char ret_hex[DIGEST_HEX], struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return err_sys(err, errno == ENOENT ? E_NOT_FOUND : E_IO, errno, "%s", path);
	int r = digest_fd(fd, ret_hex, err);
	close(fd);
	return r;
}
