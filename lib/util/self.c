#include "util/self.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

uint64_t self_resident_bytes(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

int64_t self_cpu_us(void)
{
	struct rusage u = { 0 };

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000) + u.ru_utime.tv_usec +
	       u.ru_stime.tv_usec;
}
