#include "cgi/who/browser.h"

#include <stddef.h>
#include <string.h>

struct mark {
	const char *text, *word;
};

/* Most browsers name those they are like as well: the first row that is there counts. */
static const struct mark names[] = {
	{ "Edg/", "Edge" },
	{ "EdgA/", "Edge" },
	{ "OPR/", "Opera" },
	{ "Firefox/", "Firefox" },
	{ "FxiOS/", "Firefox" },
	{ "QQBrowser/", "QQ" },
	{ "MicroMessenger/", "WeChat" },
	{ "CriOS/", "Chrome" },
	{ "Chrome/", "Chrome" },
	{ "Safari/", "Safari" },
	{ "curl/", "curl" },
	{ "sirdar", "sirdar" },
	{ "python", "Python" },
	{ "Python", "Python" },
};
static const struct mark systems[] = {
	{ "Windows", "Windows" }, { "Android", "Android" }, { "HarmonyOS", "HarmonyOS" },
	{ "iPhone", "iOS" },      { "iPad", "iPadOS" },     { "Mac OS X", "macOS" },
	{ "CrOS", "ChromeOS" },   { "Linux", "Linux" },
};

static const char *browser_find(const struct mark *marks, size_t n, const char *agent)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(agent, marks[i].text))
			return marks[i].word;
	return NULL;
}

struct browser browser_of(const char *agent)
{
	return (struct browser){ browser_find(names, sizeof names / sizeof names[0], agent),
		                 browser_find(systems, sizeof systems / sizeof systems[0], agent) };
}
