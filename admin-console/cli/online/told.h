/* told.h — whether anybody is told of anything. */
#ifndef CLI_TOLD_H
#define CLI_TOLD_H

struct cJSON;

/* A line on stderr when the answer of /api/v1/channels says that no notifier is there. */
void say_alone(const struct cJSON *channels);

#endif
