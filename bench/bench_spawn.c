/* bench_spawn.c — what the machine gives: posix_spawn and wait of a program, one after
 * another or some at once.
 *
 *   bench_spawn COUNT AT_ONCE PROGRAM [ARG...]   prints `spawn_rate N` (per second) */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	long count = argc > 3 ? strtol(argv[1], NULL, 10) : 0;
	long at_once = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
	long started = 0, ended = 0;
	double from = now_s();
	pid_t pid;

	if (count < 1 || at_once < 1) {
		fprintf(stderr, "usage: bench_spawn COUNT AT_ONCE PROGRAM [ARG...]\n");
		return 64;
	}
	while (ended < count) {
		while (started < count && started - ended < at_once) {
			if (posix_spawn(&pid, argv[3], NULL, NULL, argv + 3, environ) != 0)
				return 1;
			started++;
		}
		if (waitpid(-1, NULL, 0) > 0)
			ended++;
	}
	printf("spawn_rate %.0f\n", (double)count / (now_s() - from));
	return 0;
}
