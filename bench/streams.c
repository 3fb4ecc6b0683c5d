/* Holds many event streams and drops what comes: one thread, epoll, no parsing, so that the client
 * takes as little of the machine as can be.
 *
 *   SIRDAR_TOKEN=... streams PORT COUNT PATH     until a signal; a line "open N" when all are, at
 *                                                the end "bytes N reads N closed N"
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { AT_ONCE = 100 };

static volatile sig_atomic_t over;

static void on_signal(int sig)
{
	over = sig;
}

static int open_stream(int port, const char *request)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		                 .sin_port = htons((uint16_t)port),
		                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), little = 4096;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
	if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0 ||
	    write(fd, request, strlen(request)) < 0) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

int main(int argc, char **argv)
{
	static char junk[65536];
	char request[1000];
	const struct sigaction stop = { .sa_handler = on_signal };
	struct epoll_event got[256], want = { .events = EPOLLIN };
	unsigned long long bytes = 0, reads = 0, closed = 0;
	int epoll = epoll_create1(EPOLL_CLOEXEC), opened = 0;
	int count = argc == 4 ? (int)strtol(argv[2], NULL, 10) : 0;
	const char *token = getenv("SIRDAR_TOKEN"); /* not in argv, which everybody reads */

	if (argc != 4 || !token) {
		fprintf(stderr, "SIRDAR_TOKEN=... streams PORT COUNT PATH\n");
		return 64;
	}
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	snprintf(request, sizeof request,
	         "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", argv[3], token);
	while (!over) {
		for (int i = 0; i < AT_ONCE && opened < count; i++) {
			want.data.fd = open_stream((int)strtol(argv[1], NULL, 10), request);
			if (want.data.fd < 0 ||
			    epoll_ctl(epoll, EPOLL_CTL_ADD, want.data.fd, &want) < 0) {
				perror("streams");
				return 1;
			}
			if (++opened == count) {
				printf("open %d\n", opened);
				fflush(stdout);
			}
		}
		int n = epoll_wait(epoll, got, 256, opened < count ? 1 : -1);
		for (int i = 0; i < n; i++) {
			ssize_t r = read(got[i].data.fd, junk, sizeof junk);
			if (r > 0) {
				bytes += (unsigned long long)r;
				reads++;
			} else if (r == 0 || errno != EAGAIN) {
				close(got[i].data.fd);
				closed++;
			}
		}
	}
	printf("bytes %llu reads %llu closed %llu\n", bytes, reads, closed);
	return 0;
}
