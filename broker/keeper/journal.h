/* journal.h — what the keeper must not forget, whatever ends it: one file of records.
 *
 * Records are KeeperRecord of keeper.proto, each with a checksum and a number that rises.
 * The file is filled with zeros ahead of its end: a record overwrites blocks that exist, so
 * that it needs no space and its sync moves no metadata.
 */
#ifndef KEEPER_JOURNAL_H
#define KEEPER_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keeper.pb-c.h"
#include "util/buf.h"

struct err;

enum { JOURNAL_RECORD_MAX = 1024, JOURNAL_PLACE = 72 };

struct journal {
	char *path;
	char place[JOURNAL_PLACE]; /* which file it is, and no copy of it */
	int fd;                    /* -1: none */
	size_t end, size;          /* next record's place; zeros up to size */
	size_t live_end;           /* end after the last rewrite */
	uint64_t number;
	struct buf pending; /* not written yet */
	bool is_broken;     /* a write or sync failed: only a rewrite helps */
};

struct journal_health {
	size_t records;
	size_t torn_bytes;    /* at the end: a write that was cut */
	size_t corrupt_bytes; /* with whole records after them */
	char place[JOURNAL_PLACE];
};

void journal_init(struct journal *j, const char *path);
void journal_done(struct journal *j);

/* Read the file that a former keeper left, record by record; none is no error.
 *   errors  E_IO. Damage is no error: see ret_health */
int journal_read(const struct journal *j, void (*each)(void *ctx, const Sirdar__KeeperRecord *r),
                 void *ctx, struct journal_health *ret_health, struct err *err);

/* Replace the file by one that holds what `fill` puts (journal_put), synced, renamed.
 *   errors  E_FULL, E_IO: the old file goes on */
int journal_rewrite(struct journal *j, size_t size, void (*fill)(void *ctx, struct journal *j),
                    void *ctx, struct err *err);
/* Go on with the file of this process's former image. */
int journal_resume(struct journal *j, struct err *err);

/* Is there room for `bytes` more, growing the file if need be? E_FULL, E_IO. */
int journal_room(struct journal *j, size_t bytes, struct err *err);
void journal_put(struct journal *j, Sirdar__KeeperRecord *r); /* numbers it; written by flush */
int journal_flush(struct journal *j, bool sync, struct err *err);

#endif
