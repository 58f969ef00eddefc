/* interrupt.c - see interrupt.h. Handlers use only what POSIX lists as safe in them. */
#define _POSIX_C_SOURCE 200809L

#include "tools/interrupt.h"
#include "tools/cli_options.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* A handler has no other way to see these. */
static volatile sig_atomic_t caught; /* the signal, 0: none */
static volatile sig_atomic_t patience = 1;
static volatile sig_atomic_t line_open;

/* Written to by the handler, so that a wait that begins after the signal ends too: [reading end,
 * writing end], -1 where there is no pipe. */
static int wake[2] = {-1, -1};

static void end_now(void)
{
    if (line_open) {
        ssize_t written = write(STDOUT_FILENO, "\n", 1);
        (void)written; /* nothing is left to do about it */
    }
    _exit(EXIT_INTERRUPTED);
}

static void on_signal(int number)
{
    if (number == SIGALRM) {
        if (caught != 0) {
            end_now();
        }
        return;
    }
    if (caught != 0) {
        end_now();
    }
    caught = number;
    if (wake[1] >= 0) {
        int before = errno;
        ssize_t written = write(wake[1], "", 1);
        (void)written; /* a full pipe wakes as well */
        errno = before;
    }
    if (patience > 0) {
        alarm((unsigned)patience);
    }
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    action.sa_flags = 0; /* no SA_RESTART: a read that waits must come back */
    sigaction(number, &action, NULL);
}

void interrupt_setup(void)
{
    struct sigaction before;
    if (pipe(wake) == 0) {
        for (int i = 0; i < 2; i++) {
            fcntl(wake[i], F_SETFD, FD_CLOEXEC);
            fcntl(wake[i], F_SETFL, O_NONBLOCK);
        }
    }
    handle(SIGINT, on_signal);
    handle(SIGTERM, on_signal);
    handle(SIGALRM, on_signal);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
        handle(SIGHUP, on_signal); /* nohup has it ignored, and means it */
    }
    handle(SIGPIPE, SIG_IGN);
    handle(SIGXFSZ, SIG_IGN);
}

void interrupt_patience(unsigned seconds)
{
    patience = (sig_atomic_t)seconds;
}

bool interrupt_pending(void)
{
    return caught != 0;
}

bool interrupt_is_final(void)
{
    return caught != 0 && caught != SIGINT;
}

int interrupt_poll(struct pollfd *watched, size_t count, int milliseconds)
{
    struct pollfd all[INTERRUPT_MOST_WATCHED + 1];
    if (count > INTERRUPT_MOST_WATCHED) {
        count = INTERRUPT_MOST_WATCHED;
    }
    memcpy(all, watched, count * sizeof *all);
    all[count] = (struct pollfd){.fd = wake[0], .events = POLLIN};
    while (caught == 0) {
        int ready = poll(all, count + 1, milliseconds);
        if (ready < 0 && errno == EINTR) {
            continue; /* by a signal that is not ours: the wait begins anew */
        }
        if (caught != 0) {
            break;
        }
        for (size_t i = 0; i < count; i++) {
            /* Where poll itself fails, let the read say what is wrong. */
            watched[i].revents = ready < 0 ? POLLERR : all[i].revents;
        }
        if (ready <= 0 || all[count].revents == 0) {
            return ready < 0 ? (int)count : ready;
        }
    }
    return -1;
}

bool interrupt_wait(int descriptor)
{
    struct pollfd watched = {.fd = descriptor, .events = POLLIN};
    return interrupt_poll(&watched, 1, -1) > 0;
}

void interrupt_clear(void)
{
    char bytes[16];
    alarm(0);
    while (wake[0] >= 0 && read(wake[0], bytes, sizeof bytes) > 0) {
    }
    caught = 0;
}

void interrupt_line_open(bool is_open)
{
    line_open = is_open;
}
