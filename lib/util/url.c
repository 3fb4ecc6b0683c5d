/* Is an address one that secrets may be sent to? */
#include "util/url.h"

#include <stddef.h>
#include <string.h>

#include "util/err.h"

bool url_is_loopback(const char *url)
{
	static const char *const hosts[] = { "127.", "localhost", "[::1]" };
	const char *host = strstr(url, "://");

	if (!host)
		return false;
	host += 3;
	for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
		size_t n = strlen(hosts[i]);

		/* "127." is an address only when nothing but its numbers follows. */
		if (i == 0)
			n += strspn(host + (strncmp(host, hosts[i], n) == 0 ? n : 0),
			            "0123456789.");
		if (strncmp(host, hosts[i], strlen(hosts[i])) == 0 && strchr(":/", host[n]))
			return true;
	}
	return false;
}

int url_check(const char *setting, const char *url, struct err *err)
{
	if (strncmp(url, "https://", 8) == 0)
		return 0;
	if (strncmp(url, "http://", 7) != 0)
		return err_set(err, E_INVALID, "%s is '%s', want https://", setting, url);
	return url_is_loopback(url)
	               ? 0
	               : err_set(err, E_FORBIDDEN,
	                         "%s is '%s', which is not loopback: that needs https://", setting,
	                         url);
}
