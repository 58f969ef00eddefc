/* child.c - see child.h. Between fork and exec only what POSIX lists as safe there is called, because
 * the parent has threads. */
#define _POSIX_C_SOURCE 200809L

#include "tools/child.h"
#include "tools/cli_options.h"
#include "tools/interrupt.h"
#include "tools/report.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* Descriptors above stderr that a child could inherit; ours are closed on exec, those that the
 * caller's shell left open are not. */
#define MOST_INHERITED 256

/* ---- finding ------------------------------------------------------------------------------- */

/* The program's path, from the absolute folders of PATH: a relative one would run what lies in a
 * folder of pictures. False: there is none. */
static bool find_program(const char *program, char *path, size_t size)
{
    const char *folders = getenv("PATH");
    while (folders != NULL && *folders != '\0') {
        size_t length = strcspn(folders, ":");
        struct stat about;
        int needed = snprintf(path, size, "%.*s/%s", (int)length, folders, program);
        if (*folders == '/' && length < size && needed > 0 && (size_t)needed < size &&
            stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0) {
            return true;
        }
        folders += length;
        folders += *folders == ':';
    }
    return false;
}

bool child_is_installed(const char *program)
{
    char path[4096];
    return find_program(program, path, sizeof path);
}

/* ---- starting ------------------------------------------------------------------------------ */

/* In the child: never returns. trouble is closed by exec, or gets errno. */
static void become(const char *path, char *const *argv, int out, int err, int trouble, pid_t parent)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGPIPE, SIGXFSZ};
    struct sigaction usual;
    sigset_t none;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    sigemptyset(&usual.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], &usual, NULL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
#endif
    int in = open("/dev/null", O_RDONLY);
    bool good = getppid() == parent && in >= 0 && dup2(in, STDIN_FILENO) >= 0 &&
                dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0;
    for (int i = STDERR_FILENO + 1; i < MOST_INHERITED; i++) {
        if (i != trouble) {
            close(i);
        }
    }
    if (good) {
        execv(path, argv);
    }
    int reason = errno;
    ssize_t written = write(trouble, &reason, sizeof reason);
    (void)written; /* the parent sees that nothing came */
    _exit(127);
}

/* Pipe ends that are not 0, 1 or 2, so that the child's dup2 cannot overwrite one it still needs: a
 * caller may have closed those. */
static bool make_pipe(int ends[2])
{
    int low[2];
    ends[0] = -1;
    ends[1] = -1;
    if (pipe(low) != 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(low[i]);
    }
    return ends[0] >= 0 && ends[1] >= 0;
}

static void shut(int *descriptor)
{
    if (*descriptor >= 0) {
        close(*descriptor);
        *descriptor = -1;
    }
}

int child_start(child *c, char *const *argv)
{
    char path[4096];
    int out[2] = {-1, -1}, err[2] = {-1, -1}, trouble[2] = {-1, -1};
    int reason = 0;
    memset(c, 0, sizeof *c);
    c->out = -1;
    c->err = -1;
    if (!find_program(argv[0], path, sizeof path)) {
        report_error("the program '%s' is not installed", argv[0]);
        return EXIT_FAILED;
    }
    pid_t parent = getpid();
    pid_t pid = -1;
    if (make_pipe(out) && make_pipe(err) && make_pipe(trouble)) {
        pid = fork();
    }
    if (pid < 0) {
        reason = errno;
    }
    if (pid == 0) {
        become(path, argv, out[1], err[1], trouble[1], parent);
    }
    shut(&out[1]);
    shut(&err[1]);
    shut(&trouble[1]);
    if (pid > 0) {
        ssize_t got;
        setpgid(pid, pid); /* whoever is first */
        do {
            got = read(trouble[0], &reason, sizeof reason); /* ends with the exec */
        } while (got < 0 && errno == EINTR);
        c->running = true;
        c->pid = pid;
        if (got == 0) {
            c->out = out[0];
            c->err = err[0];
            shut(&trouble[0]);
            return EXIT_DONE;
        }
    }
    shut(&out[0]);
    shut(&err[0]);
    shut(&trouble[0]);
    child_end(c);
    report_error("cannot run '%s': %s", path, strerror(reason));
    return EXIT_FAILED;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Reads what is there; closes the descriptor at its end. False after a message. */
static bool take(int *descriptor, void *bytes, size_t room, size_t *got)
{
    ssize_t count = read(*descriptor, bytes, room);
    if (count > 0) {
        *got = (size_t)count;
    } else if (count == 0) {
        shut(descriptor);
    } else if (errno != EINTR && errno != EAGAIN) {
        report_error("cannot read from a child process: %s", strerror(errno));
        return false;
    }
    return true;
}

int child_read(child *c, void *bytes, size_t room, size_t *got, char *text, size_t text_room,
               size_t *said)
{
    *got = 0;
    *said = 0;
    while (*got == 0 && *said == 0 && ((room > 0 && c->out >= 0) || c->err >= 0)) {
        struct pollfd watched[2] = {{.fd = room > 0 ? c->out : -1, .events = POLLIN},
                                    {.fd = c->err, .events = POLLIN}};
        if (interrupt_poll(watched, 2, -1) < 0) {
            return EXIT_INTERRUPTED;
        }
        if (watched[1].revents != 0 && !take(&c->err, text, text_room, said)) {
            return EXIT_FAILED;
        }
        if (watched[0].revents != 0 && !take(&c->out, bytes, room, got)) {
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

bool child_end(child *c)
{
    int status = 0;
    pid_t ended = -1;
    if (!c->running) {
        return false;
    }
    /* Both pipes at their end: it ends by itself, or has; its exit code counts. */
    bool by_itself = c->out < 0 && c->err < 0;
    shut(&c->out);
    shut(&c->err);
    if (!by_itself) {
        kill(c->pid, SIGKILL);
    }
    for (int tries = 0; ended != c->pid; tries++) {
        /* One that closed its pipes and stays is not waited for without end. */
        ended = waitpid(c->pid, &status, tries < 200 ? WNOHANG : 0);
        if (ended < 0 && errno != EINTR) {
            break;
        }
        if (ended == 0) {
            struct timespec pause = {0, 5 * 1000 * 1000};
            nanosleep(&pause, NULL);
            if (tries == 199 || interrupt_pending()) {
                kill(c->pid, SIGKILL);
            }
        }
    }
    memset(c, 0, sizeof *c);
    c->out = -1;
    c->err = -1;
    return by_itself && ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
