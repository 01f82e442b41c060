/* Gives the kernel managed memory that is not resident, by the functions that adapters/userspace/preload_calls.c
 * covers, and checks what came of it. Run by preload.sh under uvmp-run with a budget of EVICT_BYTES / 2 or less. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVICT_BYTES ((size_t)16 << 20)
#define LARGE       ((size_t)5 << 18) /* several pieces */

static uint8_t *others;
static int failed;

static void check(int is_right, const char *name)
{
	printf("%s %s\n", is_right ? "ok  " : "FAIL", name);
	if (!is_right)
		printf("     errno: %s\n", strerror(errno));
	failed |= !is_right;
}

/* Everything written before is evicted. */
static void evict(void)
{
	for (size_t i = 0; i < EVICT_BYTES; i += 4096)
		(void)*(volatile uint8_t *)(others + i);
}

/* Managed memory, not resident. Never freed. */
static void *fresh(size_t bytes)
{
	uint8_t *memory = malloc(bytes < (1u << 20) ? 1u << 20 : bytes);

	if (!memory || (uintptr_t)memory % (2u << 20) != 0) {
		printf("FAIL memory is managed\n");
		exit(1);
	}
	return memory;
}

static void *away(const void *from, size_t bytes)
{
	void *memory = fresh(bytes);

	memcpy(memory, from, bytes);
	evict();
	return memory;
}

static char *text(const char *from)
{
	return away(from, strlen(from) + 1u);
}

static uint8_t *pattern(size_t bytes, unsigned seed)
{
	uint8_t *memory = fresh(bytes);

	for (size_t i = 0; i < bytes; i++)
		memory[i] = (uint8_t)((i * 31u + i / 251u + seed) & 255u);
	evict();
	return memory;
}

static int is_pattern(const uint8_t *memory, size_t bytes, unsigned seed)
{
	for (size_t i = 0; i < bytes; i++)
		if (memory[i] != (uint8_t)((i * 31u + i / 251u + seed) & 255u))
			return 0;
	return 1;
}

static void files(void)
{
	char *path = text("file");
	uint8_t *in = fresh(LARGE + 5);
	struct iovec *part = fresh(4096);
	struct stat *st = fresh(4096);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0640);

	check(fd >= 0, "open: a path");
	check(write(fd, pattern(LARGE, 1), LARGE) == (ssize_t)LARGE, "write: a file, whole");
	lseek(fd, 0, SEEK_SET);
	check(read(fd, in, LARGE + 5) == (ssize_t)LARGE && is_pattern(in, LARGE, 1), "read: a file, up to its end");
	check(read(fd, fresh(1), 1) == 0, "read: at the end");
	check(pwrite(fd, pattern(LARGE, 2), LARGE, 7) == (ssize_t)LARGE, "pwrite");
	in = fresh(LARGE);
	check(pread(fd, in, LARGE, 7) == (ssize_t)LARGE && is_pattern(in, LARGE, 2), "pread");
	errno = 0;
	check(pread(fd, in, 10, -1) == -1 && errno == EINVAL, "pread: EINVAL");
	part[0] = (struct iovec){fresh(LARGE), LARGE / 2 + 1};
	part[1] = (struct iovec){NULL, 0};
	part[2] = (struct iovec){fresh(LARGE), LARGE};
	evict();
	check(preadv(fd, part, 3, 7) == (ssize_t)LARGE && is_pattern(part[0].iov_base, LARGE / 2 + 1, 2), "preadv");
	check(memcmp(part[2].iov_base, in + LARGE / 2 + 1, LARGE - LARGE / 2 - 1) == 0, "preadv: its second part");
	part[0] = (struct iovec){pattern(LARGE, 3), LARGE};
	part[1] = (struct iovec){pattern(100, 4), 100};
	evict();
	check(pwritev(fd, part, 2, 11) == (ssize_t)LARGE + 100, "pwritev");
	lseek(fd, 11, SEEK_SET);
	part[0].iov_base = fresh(LARGE);
	part[1].iov_base = fresh(100);
	evict();
	check(readv(fd, part, 2) == (ssize_t)LARGE + 100 && is_pattern(part[0].iov_base, LARGE, 3) &&
	              is_pattern(part[1].iov_base, 100, 4), "readv");
	check(writev(fd, part, 2) == (ssize_t)LARGE + 100, "writev");
	errno = 0;
	check(fstat(fd, st) == 0 && st->st_size == 2 * (off_t)LARGE + 211, "fstat");
	check(stat(path, fresh(sizeof(*st))) == 0, "stat");
	close(fd);
	errno = 0;
	check(read(fd, fresh(100), 100) == -1 && errno == EBADF, "read: EBADF");
	fd = open("full", O_RDWR | O_CREAT | O_TRUNC, 0600);
	check(access(path, W_OK) == 0 && rename(path, text("file2")) == 0, "access, rename");
	path = text("file2");
	check(symlink(path, text("link")) == 0, "symlink");
	in = fresh(100);
	check(readlink(text("link"), (char *)in, 100) == 5 && memcmp(in, "file2", 5) == 0, "readlink");
	check(mkdir(text("folder"), 0700) == 0 && chdir(text("folder")) == 0, "mkdir, chdir");
	check(getcwd((char *)in, 1u << 20) == (char *)in && strstr((char *)in, "/folder"), "getcwd");
	check(chdir(text("..")) == 0 && rmdir(text("folder")) == 0, "rmdir");
	check(unlink(text("link")) == 0 && unlink(path) == 0, "unlink");
	close(fd);
}

/* Readers of pipes get what is there, and not wait for more. */
static void *write_later(void *context)
{
	int *fd = context;
	uint8_t *out = pattern(LARGE, 5);

	check(write(fd[1], out, LARGE) == (ssize_t)LARGE, "write: a pipe, whole");
	close(fd[1]);
	return NULL;
}

static void pipes(void)
{
	int *fd = fresh(4096);
	uint8_t *in = fresh(LARGE);
	size_t done = 0;
	ssize_t got;
	pthread_t thread;

	check(pipe(fd) == 0, "pipe");
	check(write(fd[1], pattern(5, 6), 5) == 5 && read(fd[0], in, LARGE) == 5 && is_pattern(in, 5, 6),
	      "read: a pipe, what is there");
	pthread_create(&thread, NULL, write_later, fd);
	in = fresh(LARGE);
	while (done < LARGE && (got = read(fd[0], in + done, LARGE - done)) > 0)
		done += (size_t)got;
	pthread_join(thread, NULL);
	check(done == LARGE && is_pattern(in, LARGE, 5), "read: a pipe, to its end");
	close(fd[0]);
	check(pipe2(fd, O_NONBLOCK) == 0, "pipe2");
	got = write(fd[1], pattern(LARGE, 7), LARGE);
	check(got > 0 && got < (ssize_t)LARGE, "write: a pipe that does not wait, in part");
	errno = 0;
	check(write(fd[1], pattern(10, 7), 10) == -1 && errno == EAGAIN, "write: EAGAIN");
	in = fresh(LARGE);
	check(read(fd[0], in, LARGE) == got && is_pattern(in, (size_t)got, 7), "read: what was written");
	close(fd[0]);
	close(fd[1]);
}

static void on_alarm(int number)
{
	(void)number;
}

static void interrupted(void)
{
	struct sigaction action = {.sa_handler = on_alarm};
	int fd[2];

	if (pipe(fd) != 0)
		return;
	sigaction(SIGALRM, &action, NULL);
	alarm(1);
	errno = 0;
	check(read(fd[0], fresh(100), 100) == -1 && errno == EINTR, "read: EINTR");
}

static void *read_forever(void *context)
{
	int *fd = context;

	(void)!read(*fd, fresh(100), 100);
	return NULL;
}

static void cancelled(void)
{
	pthread_t thread;
	void *result = NULL;
	int fd[2];

	if (pipe(fd) != 0)
		return;
	pthread_create(&thread, NULL, read_forever, &fd[0]);
	usleep(20000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	check(result == PTHREAD_CANCELED, "read: a point of cancellation");
}

static void sockets(void)
{
	struct sockaddr_un *name = fresh(sizeof(*name));
	socklen_t *bytes = fresh(4096);
	struct msghdr *message = fresh(4096);
	struct iovec *part = fresh(4096);
	uint8_t *in = fresh(LARGE);
	int *fd = fresh(4096), server;

	check(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd) == 0, "socketpair");
	check(send(fd[0], pattern(100000, 8), 100000, 0) == 100000, "send: a datagram");
	check(recv(fd[1], in, 10, MSG_TRUNC | MSG_PEEK) == 100000 && is_pattern(in, 10, 8), "recv: cut, MSG_TRUNC");
	check(recv(fd[1], in, LARGE, 0) == 100000 && is_pattern(in, 100000, 8), "recv: a datagram, whole");
	part[0] = (struct iovec){pattern(1000, 9), 1000};
	*message = (struct msghdr){.msg_iov = part, .msg_iovlen = 1};
	evict();
	check(sendmsg(fd[0], message, 0) == 1000, "sendmsg");
	part[0].iov_base = in = fresh(1000);
	message->msg_control = fresh(4096);
	message->msg_controllen = 4096;
	evict();
	check(recvmsg(fd[1], message, 0) == 1000 && is_pattern(in, 1000, 9) && message->msg_controllen == 0 &&
	              message->msg_iov == part, "recvmsg");
	close(fd[0]);
	close(fd[1]);
	name->sun_family = AF_UNIX;
	strcpy(name->sun_path, "socket");
	server = socket(AF_UNIX, SOCK_DGRAM, 0);
	evict();
	check(bind(server, (struct sockaddr *)name, sizeof(*name)) == 0, "bind");
	evict();
	*bytes = sizeof(*name);
	check(sendto(server, pattern(50, 1), 50, 0, (struct sockaddr *)name, sizeof(*name)) == 50, "sendto");
	memset(name, 0, sizeof(*name));
	evict();
	check(recvfrom(server, in, 1000, 0, (struct sockaddr *)name, bytes) == 50 && is_pattern(in, 50, 1) &&
	              strcmp(name->sun_path, "socket") == 0 && *bytes < sizeof(*name), "recvfrom: the sender");
	close(server);
	unlink("socket");
}

static void waiting(void)
{
	struct pollfd *fds = fresh(4096);
	struct epoll_event *event = fresh(4096);
	fd_set *set = fresh(sizeof(*set));
	int fd[2], watch = epoll_create1(0);

	if (pipe(fd) != 0 || write(fd[1], "x", 1) != 1)
		return;
	fds[0] = (struct pollfd){.fd = fd[0], .events = POLLIN};
	event->events = EPOLLIN;
	event->data.u64 = 77;
	FD_ZERO(set);
	FD_SET(fd[0], set);
	evict();
	check(poll(fds, 1, 1000) == 1 && fds[0].revents == POLLIN, "poll");
	check(epoll_ctl(watch, EPOLL_CTL_ADD, fd[0], event) == 0, "epoll_ctl");
	event->data.u64 = 0;
	evict();
	check(epoll_wait(watch, event, 10, 1000) == 1 && event->data.u64 == 77, "epoll_wait");
	check(select(fd[0] + 1, set, NULL, NULL, NULL) == 1 && FD_ISSET(fd[0], set), "select");
}

static int print(FILE *file, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vfprintf(file, format, arguments);
	va_end(arguments);
	return length;
}

static void streams(void)
{
	uint8_t *in = fresh(LARGE), *out = pattern(LARGE, 3);
	FILE *file = fopen(text("stream"), "w+");
	char *word = fresh(LARGE);

	check(file && setvbuf(file, fresh(1u << 20), _IOFBF, 1u << 20) == 0, "fopen, setvbuf");
	check(fwrite(out, 1000, LARGE / 1000, file) == LARGE / 1000, "fwrite");
	rewind(file);
	check(fread(in, 7, LARGE, file) == LARGE / 1000 * 1000 / 7 && is_pattern(in, LARGE / 1000 * 1000, 3),
	      "fread: up to the end");
	rewind(file);
	check(ftruncate(fileno(file), 0) == 0, "ftruncate");
	memset(word, 'w', LARGE - 1);
	evict();
	check(fputs(word, file) >= 0 && print(file, "%d %s\n", 5, word) == (int)LARGE + 2, "fputs, fprintf");
	fflush(file);
	rewind(file);
	in = fresh(2 * LARGE);
	evict();
	check(fread(in, 1, 2 * LARGE, file) == 2 * LARGE, "fread: both");
	check(in[LARGE - 2] == 'w' && memcmp(in + LARGE - 1, "5 www", 5) == 0, "fputs, fprintf: what was written");
	fclose(file);
	unlink("stream");
}

/* A child's standard output. */
static int says(pid_t pid, int fd, const char *want)
{
	char got[256];
	size_t done = 0;
	ssize_t now;
	int status = 0;

	while ((now = read(fd, got + done, sizeof(got) - 1 - done)) > 0)
		done += (size_t)now;
	got[done] = '\0';
	waitpid(pid, &status, 0);
	if (strcmp(got, want) != 0)
		printf("     got %s\n", got);
	return status == 0 && strcmp(got, want) == 0;
}

static void programs(void)
{
	char **argument = fresh(4096), **with = fresh(4096);
	char *shell = text("/bin/sh");
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int fd[2];

	argument[0] = text("sh");
	argument[1] = text("-c");
	argument[2] = text("echo $0 $WORD");
	argument[3] = text("zero");
	with[0] = text("WORD=word");
	evict();
	if (pipe(fd) != 0)
		return;
	pid = vfork();
	if (pid == 0) {
		dup2(fd[1], 1);
		execve(shell, argument, with);
		_exit(1);
	}
	close(fd[1]);
	check(says(pid, fd[0], "zero word\n"), "execve behind vfork");
	close(fd[0]);
	if (pipe(fd) != 0)
		return;
	evict();
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd[1], 1);
	check(posix_spawn(&pid, shell, &actions, NULL, argument, with) == 0, "posix_spawn");
	close(fd[1]);
	check(says(pid, fd[0], "zero word\n"), "posix_spawn: what it ran");
	close(fd[0]);
	check(system(text("exit 3")) == 3 << 8, "system");
}

static void on_usr1(int number)
{
	uint8_t *in = fresh(4096);
	int fd = open("/dev/zero", O_RDONLY);

	(void)number;
	memset(in, 1, 4096);
	evict();
	check(read(fd, in, 4096) == 4096 && in[0] == 0 && in[4095] == 0, "read and malloc in a signal handler");
	close(fd);
}

int main(void)
{
	uint8_t *random;

	setvbuf(stdout, NULL, _IONBF, 0);
	others = fresh(EVICT_BYTES);
	memset(others, 1, EVICT_BYTES);
	files();
	pipes();
	interrupted();
	cancelled();
	sockets();
	waiting();
	streams();
	programs();
	random = fresh(LARGE);
	check(getrandom(random, LARGE, 0) == (ssize_t)LARGE && memchr(random + LARGE - 65536, 7, 65536), "getrandom");
	signal(SIGUSR1, on_usr1);
	raise(SIGUSR1);
	if (getenv("UVMP_RUN_USER_MODE")) { /* is this test one at all? */
		errno = 0;
		check(syscall(SYS_getcwd, fresh(4096), 4096) == -1 && errno == EFAULT, "a call that is not covered fails");
	}
	return failed;
}
