#include "util/near.h"

#include <string.h>
#include <strings.h>

static int min3(int a, int b, int c)
{
	int m = a < b ? a : b;

	return m < c ? m : c;
}

int near_distance(const char *a, const char *b)
{
	int row[NEAR_LETTERS_MAX + 1];
	int n = (int)strnlen(b, NEAR_LETTERS_MAX + 1);

	if (n > NEAR_LETTERS_MAX || strnlen(a, NEAR_LETTERS_MAX + 1) > NEAR_LETTERS_MAX)
		return NEAR_FAR;
	for (int j = 0; j <= n; j++)
		row[j] = j;
	for (int i = 1; a[i - 1]; i++) {
		int corner = row[0];
		row[0] = i;
		for (int j = 1; j <= n; j++) {
			int change = strncasecmp(&a[i - 1], &b[j - 1], 1) != 0;
			int up = row[j];
			row[j] = min3(up + 1, row[j - 1] + 1, corner + change);
			corner = up;
		}
	}
	return row[n];
}

const char *near_name(const char *name, const char *const *known)
{
	const char *best = NULL;
	int least = 2 + (int)strnlen(name, NEAR_LETTERS_MAX) / 4;

	for (; known && *known; known++) {
		int d = near_distance(name, *known);
		if (d < least) {
			least = d;
			best = *known;
		}
	}
	return best;
}

bool near_is_one(const char *name, const char *const *known)
{
	while (*known && strcmp(*known, name) != 0)
		known++;
	return *known != NULL;
}
