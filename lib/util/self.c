#include "util/self.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

uint64_t self_resident_bytes(void)
{
	char text[100] = "";
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	const char *resident = fgets(text, sizeof text, f) ? strchr(text, ' ')
	                                                   : NULL; /* the second */
	fclose(f);
	return resident ? strtoull(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

int64_t self_cpu_us(void)
{
	struct rusage u = { 0 };

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000) + u.ru_utime.tv_usec +
	       u.ru_stime.tv_usec;
}
