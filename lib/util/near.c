/* How far apart two names are: letters to add, drop or change, and neighbours that changed places,
 * which is the commonest slip. A name is near when so few of its letters differ that it can hardly
 * be another word: one of three, two of four to seven, and so on. */
#include "util/near.h"

#include <string.h>
#include <strings.h>

static int min3(int a, int b, int c)
{
	int m = a < b ? a : b;

	return m < c ? m : c;
}

static bool same_letter(char a, char b)
{
	return strncasecmp(&a, &b, 1) == 0;
}

int near_distance(const char *a, const char *b)
{
	int rows[3][NEAR_LETTERS_MAX + 1]; /* of the last three letters of a */
	int n = (int)strnlen(b, NEAR_LETTERS_MAX + 1);

	if (n > NEAR_LETTERS_MAX || strnlen(a, NEAR_LETTERS_MAX + 1) > NEAR_LETTERS_MAX)
		return NEAR_FAR;
	for (int j = 0; j <= n; j++)
		rows[0][j] = j;
	int i = 1;
	for (; a[i - 1]; i++) {
		const int *above = rows[(i - 1) % 3], *two = rows[(i + 1) % 3];
		int *row = rows[i % 3];
		row[0] = i;
		for (int j = 1; j <= n; j++) {
			bool same = same_letter(a[i - 1], b[j - 1]);
			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same);
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]) && two[j - 2] + 1 < row[j])
				row[j] = two[j - 2] + 1;
		}
	}
	return rows[(i - 1) % 3][n];
}

int near_rank(const char *a, const char *name)
{
	enum { BEGIN_LEAST = 3 };
	size_t n = strnlen(a, NEAR_LETTERS_MAX);
	int d = near_distance(a, name);

	return d > 1 && n >= BEGIN_LEAST && strncasecmp(a, name, n) == 0 ? 1 : d;
}

int near_most(const char *name)
{
	int n = (int)strnlen(name, NEAR_LETTERS_MAX), most = 1 + n / 4;

	return most < n ? most : n - 1;
}

const char *near_name(const char *name, const char *const *known)
{
	const char *best = NULL;
	int least = near_most(name) + 1;

	for (; known && *known; known++) {
		int d = near_rank(name, *known);
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
