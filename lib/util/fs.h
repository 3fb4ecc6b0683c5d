/* fs.h — small files and directories, done so that a crash leaves the old or the new.
 *
 * Paths are the operator's, from settings; names that a peer had a say in go through
 * fs_name_ok() first.
 */
#ifndef UTIL_FS_H
#define UTIL_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;

/* Append a whole file to ret_text.
 *
 *   max     bytes; more than that is refused
 *   errors  E_NOT_FOUND, E_TOO_BIG, E_IO
 */
int fs_read(const char *path, size_t max, struct buf *ret_text, struct err *err);

/* As fs_read(), refused where anybody but root and this process's user could have written it or
 * its way (trust.h). For what decides what a daemon does.
 *
 *   errors  as fs_read(); E_FORBIDDEN
 */
int fs_read_trusted(const char *path, size_t max, struct buf *ret_text, struct err *err);

/* As fs_read_trusted(), refused when the file is not a plain one, or anyone but its owner may
 * read it. For keys. */
int fs_read_secret(const char *path, size_t max, struct buf *ret_text, struct err *err);

/* Its first line alone, heap; E_INVALID: that is empty. */
int fs_read_secret_line(const char *path, char **ret, struct err *err);

/* Whether fs_read_secret() would refuse it: 0 or E_FORBIDDEN, E_NOT_FOUND, E_IO. */
int fs_secret_check(const char *path, struct err *err);

/* Replace a file: written beside it, fsynced, renamed over it, directory fsynced. Where root does
 * it, it keeps its owner, and a new one gets its directory's.
 *
 *   errors  E_FULL, E_IO; the old file is untouched then
 */
int fs_write(const char *path, const void *data, size_t n, mode_t mode, struct err *err);

/* Remove what fs_write() of that path has left beside it where it was killed: of writers that are
 * gone, which the kernel says. For secrets. */
void fs_tidy(const char *path);

/* Set a file's time (wall, us), making an empty one: nothing is synced. E_IO. */
int fs_touch(const char *path, mode_t mode, int64_t at_us);
/* That time. E_NOT_FOUND; *ret_us is 0 then. */
int fs_touched_us(const char *path, int64_t *ret_us);

/* Lock a file, made when it is not there, for as long as *ret_fd is open; this process's number
 * stands in it then, for people: the kernel keeps the lock.
 *
 *   owns    *ret_fd, also after an error; -1: none
 *   errors  E_BUSY another process has it, *ret_owner says which (0: not known); E_FULL, E_IO
 */
int fs_lock(const char *path, int *ret_fd, long *ret_owner, struct err *err);

/* Make a directory and those above it; what exists is fine. `mode` for those made. */
int fs_mkdirs(const char *path, mode_t mode, struct err *err);

/* fsync a directory: what was renamed, made or removed in it stays so. */
int fs_sync_dir(const char *path, struct err *err);

/* A single name safe to use in a path: 1..max of [A-Za-z0-9._-], no leading dot or dash. */
bool fs_name_ok(const char *name, size_t max);

/* Bytes an ordinary user may still write where `path` is. */
int fs_free_bytes(const char *path, unsigned long long *ret_bytes, struct err *err);

#endif
