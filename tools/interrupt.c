/* interrupt.c - see interrupt.h. Handlers use only what POSIX lists as safe in them. */
#define _POSIX_C_SOURCE 200809L

#include "tools/interrupt.h"
#include "tools/cli_options.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* A handler has no other way to see these. */
static volatile sig_atomic_t caught; /* the signal, 0: none */
static volatile sig_atomic_t patience = 1;
static volatile sig_atomic_t line_open;

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

void interrupt_clear(void)
{
    alarm(0);
    caught = 0;
}

void interrupt_line_open(bool is_open)
{
    line_open = is_open;
}
