/* logkeeper_files.h — logs as releases before segments kept them: plain files below log_dir.
 *
 * They are read, moved into segments when more is printed into them, and go by retention. Nothing
 * is written here. To be removed when nobody can have such files any more: docs/upgrade.md.
 */
#ifndef BASESERVER_LOGKEEPER_FILES_H
#define BASESERVER_LOGKEEPER_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baseserver/net/logkeeper.h"
#include "logs/logs.h"

struct log_survey;

/* Is there any such folder? `dir_fd`, here and below: of log_dir. */
bool log_files_any(int dir_fd);

/* Whose an attempt's files are. Token 0: nobody's, or of before owners were kept; broker 0: of
 * before that was written. */
struct log_files_owner {
	uint64_t token;
	uint32_t broker;
};

/* Are there files of this attempt, of any stream? */
bool log_files_has(int dir_fd, const struct log_name *n, struct log_files_owner *ret);

/* The last generation and attempt with a file of this stream, among those that `n` leaves open. */
bool log_files_last(int dir_fd, struct log_name *n);

/* Bytes of a file from *offset on (2^64-n: the last n); *ret_end: nothing follows them.
 *
 *   errors  E_NOT_FOUND, E_IO
 */
int log_files_read(int dir_fd, const struct log_name *n, uint64_t *offset, struct log_room room,
                   size_t *ret_bytes, bool *ret_end);

/* Move the files of an attempt into the log of the execution that printed them; without files it
 * does nothing.
 *
 *   errors  E_FULL, E_IO; E_AGAIN: the home has a part of that log, which is on its way */
int log_files_move(int dir_fd, struct logs *logs, const struct log_name *name, int64_t now_us);
/* They are in a segment. */
void log_files_remove(int dir_fd, const struct log_name *n);

/* Instances whose folder nobody wrote to since then go. */
void log_files_retain(int dir_fd, int64_t before_s);
/* Adds to *s; not complete where `until_us` (monotonic) comes first. */
void log_files_survey(int dir_fd, int64_t until_us, struct log_survey *s);

#endif
