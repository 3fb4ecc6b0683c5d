/* The task types of a directory, one manifest a file. They are read anew as a whole when the
 * directory's time of change is another: files are put there by renaming. What is wrong in a file
 * is kept for people to see, and costs only that file. For one thread at a time; the set it gives
 * is valid until the next call. */
#include "rt/manifests.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sched/type.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/fs.h"

#define MANIFEST_BYTES_MAX 262144
#define TYPES_MAX          500

struct manifests {
	char *dir;
	struct type_set *types;
	struct diags wrong;
	struct timespec changed;
};

struct manifests *manifests_new(const char *dir)
{
	struct manifests *m = mem_new(sizeof *m);

	m->dir = mem_str(dir);
	m->types = type_set_new();
	diags_init(&m->wrong);
	return m;
}

void manifests_free(struct manifests *m)
{
	if (!m)
		return;
	free(m->dir);
	type_set_free(m->types);
	diags_done(&m->wrong);
	free(m);
}

static void read_file(struct manifests *m, const char *name)
{
	char *path = mem_fmt("%s/%s", m->dir, name);
	struct err err = { 0 };
	struct buf text;

	buf_init(&text);
	if (fs_read_trusted(path, MANIFEST_BYTES_MAX, &text, &err) < 0)
		diag_error(&m->wrong, (struct place){ path, 0, 0, "" }, "unreadable", NULL, "%s",
		           err.text);
	else
		type_set_read(m->types, buf_str(&text), text.len, path, &m->wrong);
	buf_done(&text);
	free(path);
}

static int is_manifest(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 5 && strcmp(d->d_name + n - 5, ".yaml") == 0;
}

static void read_all(struct manifests *m)
{
	struct dirent **names = NULL;
	int n = scandir(m->dir, &names, is_manifest, alphasort);

	type_set_free(m->types);
	m->types = type_set_new();
	diags_done(&m->wrong);
	diags_init(&m->wrong);
	for (int i = 0; i < n; i++) {
		if (i < TYPES_MAX)
			read_file(m, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

/* What was read of it stays; once it is back it is read again. */
static void note_gone(struct manifests *m)
{
	diags_done(&m->wrong);
	diags_init(&m->wrong);
	diag_error(&m->wrong, (struct place){ m->dir, 0, 0, "" }, "unreadable", NULL,
	           "there is no such directory of task types");
	m->changed = (struct timespec){ 0 };
}

const struct type_set *manifests_types(struct manifests *m)
{
	struct stat st;

	if (*m->dir && stat(m->dir, &st) < 0) {
		note_gone(m);
		/* A directory changes with each file that is renamed into it. */
	} else if (*m->dir && memcmp(&st.st_mtim, &m->changed, sizeof m->changed) != 0) {
		m->changed = st.st_mtim;
		read_all(m);
	}
	return m->types;
}

const struct diags *manifests_wrong(const struct manifests *m)
{
	return &m->wrong;
}
