/* sensor.h — the things a sensor can look for. */
#ifndef RUNNERS_SENSOR_H
#define RUNNERS_SENSOR_H

#include "runners/common/run.h"

struct fetcher;

/* What a look found. */
enum sight {
	SIGHT_THERE,
	SIGHT_NOT_YET, /* with a sentence */
	SIGHT_FAILED,  /* it could not look: the result says why */
	SIGHT_APART, /* its project's user looks, in a process: `apart` is what execute() answers */
	SIGHT_ENDED  /* parameters are wrong, or it was told to stop: the result says so */
};

#define SIGHT_BYTES 200

struct look {
	const struct run *run;
	struct fetcher *fetcher;
	int apart;
	char found[SIGHT_BYTES]; /* what is there, or what is missing */
};

enum sight look_file(struct look *l);
enum sight look_http(struct look *l);
enum sight look_sql(struct look *l);
enum sight look_partition(struct look *l);

#endif
