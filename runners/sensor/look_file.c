/* Files by path or pattern, and directories of partitions. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "runners/common/apart.h"
#include "runners/sensor/sensor.h"

#define DAY_MS    86400000ll
#define FILES_MAX 1000000

struct wanted {
	int64_t size_min, age_min_ms, count_min;
};

/* NULL: it is as wanted; else what is wrong with it. */
static const char *file_judge(const struct stat *st, const struct wanted *w)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (st->st_size < w->size_min)
		return "is too small";
	int64_t age_ms = (now.tv_sec - st->st_mtim.tv_sec) * 1000 +
	                 (now.tv_nsec - st->st_mtim.tv_nsec) / 1000000;

	return age_ms < w->age_min_ms ? "was changed too recently" : NULL;
}

static enum sight look_over(struct look *l, const glob_t *found, const struct wanted *w)
{
	int64_t good = 0, bytes = 0;
	struct stat st;

	for (size_t i = 0; i < found->gl_pathc; i++) {
		if (stat(found->gl_pathv[i], &st) < 0)
			continue;
		const char *wrong = file_judge(&st, w);

		/* One that is still being written: the set is not complete. */
		if (wrong) {
			snprintf(l->found, sizeof l->found, "%.150s %s", found->gl_pathv[i], wrong);
			return SIGHT_NOT_YET;
		}
		good++;
		bytes += st.st_size;
	}
	if (good < w->count_min) {
		snprintf(l->found, sizeof l->found, "%lld of %lld files are there", (long long)good,
		         (long long)w->count_min);
		return SIGHT_NOT_YET;
	}
	run_output(l->run, "path", "%s", found->gl_pathc ? found->gl_pathv[0] : "");
	run_output(l->run, "files", "%lld", (long long)good);
	run_output(l->run, "bytes", "%lld", (long long)bytes);
	snprintf(l->found, sizeof l->found, "%lld files, %lld bytes", (long long)good,
	         (long long)bytes);
	return SIGHT_THERE;
}

static enum sight file_refuse(struct look *l, const char *name)
{
	run_refuse(l->run, "parameter %s is missing, or no path from the root", name);
	return SIGHT_ENDED;
}

enum sight look_file(struct look *l)
{
	struct wanted w;
	glob_t found = { 0 };
	char *path;
	enum sight sight;

	if (run_number(l->run, "min_size", 0, INT64_MAX, 0, &w.size_min) < 0 ||
	    run_number(l->run, "min_count", 1, FILES_MAX, 1, &w.count_min) < 0 ||
	    run_duration(l->run, "min_age", 3650 * DAY_MS, 0, &w.age_min_ms) < 0)
		return SIGHT_ENDED;
	path = run_text(l->run, "path");
	if (!path || path[0] != '/') {
		free(path);
		return file_refuse(l, "path");
	}
	l->apart = apart_begin(l->run);
	if (l->apart) {
		free(path);
		return SIGHT_APART;
	}
	int r = glob(path, GLOB_NOSORT, NULL, &found);

	if (r == 0 || r == GLOB_NOMATCH) {
		sight = look_over(l, &found, &w);
	} else {
		run_end(l->run, RUNNER_RETRYABLE, "%.150s: cannot be read", path);
		sight = SIGHT_FAILED;
	}
	globfree(&found);
	free(path);
	return sight;
}

/* `path` is the table's directory, `partition` a path below it (dt=2026-03-01/hour=01), `marker` a
 * file in that one which says that it is complete. */
enum sight look_partition(struct look *l)
{
	char *table = run_text(l->run, "path"), *partition = run_text(l->run, "partition");
	char *marker = run_text(l->run, "marker"), *path = NULL;
	enum sight sight = SIGHT_ENDED;
	struct stat st;

	if (!table || table[0] != '/') {
		file_refuse(l, "path");
	} else if (!partition || strstr(partition, "..")) {
		run_refuse(l->run, "parameter partition is missing, or has dots in it");
	} else if (asprintf(&path, "%s/%s%s%s", table, partition, marker ? "/" : "",
	                    marker ? marker : "") < 0) {
		path = NULL;
	} else if ((l->apart = apart_begin(l->run)) != 0) {
		sight = SIGHT_APART;
	} else if (stat(path, &st) < 0 || (!marker && !S_ISDIR(st.st_mode))) {
		sight = SIGHT_NOT_YET;
		snprintf(l->found, sizeof l->found, "%.150s is not there", path);
	} else {
		sight = SIGHT_THERE;
		snprintf(l->found, sizeof l->found, "%.150s is there", path);
		run_output(l->run, "path", "%s/%s", table, partition);
	}
	free(path);
	free(table);
	free(partition);
	free(marker);
	return sight;
}
