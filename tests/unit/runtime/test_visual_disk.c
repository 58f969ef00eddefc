/* The cache's directory: what is written is read again, bit for bit; what is damaged, foreign or half
 * written is not believed; the bound holds, the longest unused go first; processes that write at once
 * or are killed while they write leave nothing wrong. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/visual_disk.h"
#include "runtime/visual_entry.h"
#include "runtime/visual_evict.h"
#include "tests/unit/weights/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { MOST_NOTES = 8 };

/* What the log was told. */
typedef struct notes {
    char lines[MOST_NOTES][512];
    ocelli_level levels[MOST_NOTES];
    size_t count;
} notes;

static void note(void *user, ocelli_level level, const char *line)
{
    notes *n = user;
    if (n->count < MOST_NOTES) {
        n->levels[n->count] = level;
        snprintf(n->lines[n->count++], sizeof n->lines[0], "%s", line);
    }
}

static oc_visual_disk open_disk(const char *path, uint64_t most, notes *n)
{
    ocelli_error err = {.message = ""};
    oc_visual_disk disk;
    const oc_log log = {.write = n != NULL ? note : NULL, .user = n};
    cr_assert_eq(oc_visual_disk_open(&disk, path, most, &log, &err), OCELLI_OK, "%s", err.message);
    return disk;
}

/* The key of picture number, whose rows are tokens x 4 values. */
static oc_visual_key key_of(uint64_t number, uint64_t tokens)
{
    oc_visual_key key;
    memset(&key, 0, sizeof key);
    key.pixels = (oc_hash){number, ~number};
    key.tower = (oc_hash){7, 8};
    key.frames = 1;
    key.tokens = tokens;
    key.row_width = 2;
    key.taps = 1;
    return key;
}

/* Rows that tell whose they are. */
static oc_visual_rows *rows_of(const oc_visual_key *key)
{
    size_t bytes;
    cr_assert(oc_visual_key_bytes(key, &bytes));
    oc_visual_rows *rows = oc_visual_rows_new(bytes);
    cr_assert_not_null(rows);
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        rows->values[i] = (float)(key->pixels.high * 31 + i);
    }
    return rows;
}

static bool write_one(oc_visual_disk *disk, const oc_visual_key *key)
{
    oc_visual_rows *rows = rows_of(key);
    bool written = oc_visual_disk_write(disk, key, rows);
    oc_visual_rows_release(rows);
    return written;
}

/* Whether the disk has the key; what it has must be right. */
static bool has(oc_visual_disk *disk, const oc_visual_key *key, bool *damaged)
{
    bool was_damaged;
    oc_visual_rows *rows = oc_visual_disk_read(disk, key, &was_damaged);
    if (damaged != NULL) {
        *damaged = was_damaged;
    }
    if (rows == NULL) {
        return false;
    }
    oc_visual_rows *wanted = rows_of(key);
    cr_assert_eq(rows->bytes, wanted->bytes);
    cr_assert_arr_eq(rows->values, wanted->values, rows->bytes);
    cr_assert(!was_damaged);
    oc_visual_rows_release(wanted);
    oc_visual_rows_release(rows);
    return true;
}

static void entry_path(const scratch *folder, const oc_visual_key *key, char path[SCRATCH_PATH])
{
    char name[OC_VISUAL_ENTRY_NAME];
    oc_visual_entry_name(name, key);
    scratch_path(folder, name, path);
}

/* Sum of the sizes of the directory's files; how many they are. */
static uint64_t size_of(const scratch *folder, size_t *files)
{
    char path[SCRATCH_PATH];
    struct stat about;
    uint64_t bytes = 0;
    DIR *list = opendir(folder->path);
    cr_assert_not_null(list);
    *files = 0;
    for (struct dirent *item = readdir(list); item != NULL; item = readdir(list)) {
        if (lstat(scratch_path(folder, item->d_name, path), &about) == 0 &&
            S_ISREG(about.st_mode)) {
            bytes += (uint64_t)about.st_size;
            ++*files;
        }
    }
    closedir(list);
    return bytes;
}

Test(visual_disk, write_and_read)
{
    scratch folder = scratch_open();
    oc_visual_disk disk = open_disk(folder.path, 1 << 20, NULL);
    oc_visual_key one = key_of(1, 5), other = key_of(2, 5);
    struct stat about;
    char path[SCRATCH_PATH];
    bool damaged = true;
    cr_assert(!has(&disk, &one, &damaged));
    cr_assert(!damaged);
    cr_assert(write_one(&disk, &one));
    cr_assert(has(&disk, &one, NULL));
    cr_assert(!has(&disk, &other, NULL));
    cr_assert(write_one(&disk, &one)); /* over itself */
    cr_assert(has(&disk, &one, NULL));
    entry_path(&folder, &one, path);
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_mode & 0777, 0600);
    cr_assert_eq((uint64_t)about.st_size, sizeof(oc_visual_entry) + 5 * 2 * 2 * sizeof(float));
    oc_visual_disk_close(&disk);
    disk = open_disk(folder.path, 1 << 20, NULL); /* another process would see it so */
    cr_assert(has(&disk, &one, NULL));
    oc_visual_disk_close(&disk);
    scratch_close(&folder);
}

/* Every word of the key counts. */
Test(visual_disk, the_key_is_compared_whole)
{
    scratch folder = scratch_open();
    oc_visual_disk disk = open_disk(folder.path, 1 << 20, NULL);
    const oc_visual_key key = key_of(1, 5);
    cr_assert(write_one(&disk, &key));
    for (size_t bit = 0; bit < 8 * sizeof key; bit += 5) {
        oc_visual_key changed = key;
        unsigned char bytes[sizeof key];
        size_t size;
        bool damaged;
        memcpy(bytes, &key, sizeof key);
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        memcpy(&changed, bytes, sizeof key);
        cr_assert_null(oc_visual_disk_read(&disk, &changed, &damaged));
        cr_assert(!damaged);
        /* Under the name of another: a collision of hashes, or somebody's joke. */
        char from[SCRATCH_PATH], to[SCRATCH_PATH];
        entry_path(&folder, &key, from);
        entry_path(&folder, &changed, to);
        cr_assert_eq(link(from, to), 0);
        cr_assert_null(oc_visual_disk_read(&disk, &changed, &damaged));
        /* Rows larger than all that may be kept are not even looked for. */
        cr_assert(damaged || !oc_visual_key_bytes(&changed, &size) || size > disk.most);
        cr_assert_eq(unlink(to), 0);
    }
    cr_assert(has(&disk, &key, NULL));
    oc_visual_disk_close(&disk);
    scratch_close(&folder);
}

/* A damaged entry is told, not believed, and replaced by the next write. */
static void expect_damaged(oc_visual_disk *disk, const oc_visual_key *key, notes *n,
                           const char *why)
{
    bool damaged;
    n->count = 0;
    cr_assert(!has(disk, key, &damaged), "%s", why);
    cr_assert(damaged, "%s", why);
    cr_assert_eq(n->count, 1);
    cr_assert_eq(n->levels[0], OCELLI_LOG_INFO);
    cr_assert_not_null(strstr(n->lines[0], why), "'%s' lacks '%s'", n->lines[0], why);
    cr_assert(write_one(disk, key));
    cr_assert(has(disk, key, NULL));
}

Test(visual_disk, damage)
{
    scratch folder = scratch_open();
    notes n = {.count = 0};
    oc_visual_disk disk = open_disk(folder.path, 1 << 20, &n);
    const oc_visual_key key = key_of(1, 5);
    unsigned char bytes[sizeof(oc_visual_entry) + 5 * 2 * 2 * sizeof(float)];
    char path[SCRATCH_PATH], name[OC_VISUAL_ENTRY_NAME];
    oc_visual_entry_name(name, &key);
    entry_path(&folder, &key, path);
    cr_assert(write_one(&disk, &key));
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    cr_assert_eq(fread(bytes, 1, sizeof bytes, file), sizeof bytes);
    fclose(file);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= (unsigned char)(1u << i % 8);
        scratch_write(&folder, name, bytes, sizeof bytes);
        expect_damaged(&disk, &key, &n,
                       i >= sizeof(oc_visual_entry)         ? "has damaged rows"
                       : i < offsetof(oc_visual_entry, key) ? "is not of this program's form"
                                                            : "has a damaged header");
        bytes[i] ^= (unsigned char)(1u << i % 8);
        scratch_write(&folder, name, bytes, i); /* cut off before this byte */
        expect_damaged(&disk, &key, &n, "has another size");
    }
    /* A header that is sound and lies about the size, and one that says another picture. */
    oc_visual_entry entry;
    oc_visual_key other = key_of(2, 5);
    oc_visual_entry_make(&entry, &key, bytes, 1);
    memcpy(bytes, &entry, sizeof entry);
    scratch_write(&folder, name, bytes, sizeof bytes);
    expect_damaged(&disk, &key, &n, "is of another picture");
    oc_visual_entry_make(&entry, &other, bytes + sizeof entry, sizeof bytes - sizeof entry);
    memcpy(bytes, &entry, sizeof entry);
    scratch_write(&folder, name, bytes, sizeof bytes);
    expect_damaged(&disk, &key, &n, "is of another picture");
    oc_visual_disk_close(&disk);
    scratch_close(&folder);
}

/* What is no file under an entry's name: nothing is followed, waited for or read. */
Test(visual_disk, no_files, .timeout = 60)
{
    scratch folder = scratch_open();
    notes n = {.count = 0};
    oc_visual_disk disk = open_disk(folder.path, 1 << 20, &n);
    const oc_visual_key key = key_of(1, 5), other = key_of(2, 5);
    char path[SCRATCH_PATH], target[SCRATCH_PATH];
    entry_path(&folder, &key, path);
    entry_path(&folder, &other, target);
    cr_assert(write_one(&disk, &other));
    cr_assert_eq(symlink(target, path), 0);
    expect_damaged(&disk, &key, &n, "is a link");
    cr_assert(has(&disk, &other, NULL)); /* not written through the link */
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    expect_damaged(&disk, &key, &n, "is no file");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    n.count = 0;
    bool damaged;
    cr_assert(!has(&disk, &key, &damaged));
    cr_assert(damaged);
    cr_assert(!write_one(&disk, &key)); /* it cannot be replaced; that is told once */
    cr_assert(!write_one(&disk, &key));
    cr_assert_eq(n.count, 2);
    cr_assert_eq(n.levels[1], OCELLI_LOG_WARN);
    cr_assert_eq(rmdir(path), 0);
    oc_visual_disk_close(&disk);
    scratch_close(&folder);
}

static void expect_no_folder(const char *path, const char *why)
{
    ocelli_error err = {.message = ""};
    oc_visual_disk disk;
    const oc_log log = {.write = NULL};
    cr_assert_eq(oc_visual_disk_open(&disk, path, 1, &log, &err), OCELLI_E_IO);
    cr_assert_not_null(strstr(err.message, path));
    cr_assert_not_null(strstr(err.message, why), "'%s' lacks '%s'", err.message, why);
    oc_visual_disk_close(&disk);
}

Test(visual_disk, folders)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    struct stat about;
    scratch_write(&folder, "file", "x", 1);
    expect_no_folder(scratch_path(&folder, "file", path), "Not a directory");
    expect_no_folder(scratch_path(&folder, "none/cache", path), "is not there");
    cr_assert_eq(mkdir(scratch_path(&folder, "open", path), 0700), 0);
    cr_assert_eq(chmod(path, 0777), 0);
    expect_no_folder(path, "anyone may write");
    cr_assert_eq(rmdir(path), 0);
    scratch_path(&folder, "new", path);
    oc_visual_disk disk = open_disk(path, 1 << 20, NULL);
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_mode & 0777, 0700);
    oc_visual_disk_close(&disk);
    cr_assert_eq(rmdir(path), 0);
    scratch_close(&folder);
}

/* Sets when the entry was used last, seconds ago. */
static void set_age(const char *path, time_t seconds)
{
    const struct timespec when[2] = {{.tv_sec = time(NULL) - seconds},
                                     {.tv_sec = time(NULL) - seconds}};
    cr_assert_eq(utimensat(AT_FDCWD, path, when, 0), 0);
}

Test(visual_disk, the_longest_unused_go_first)
{
    enum { TOKENS = 100, FIT = 4 };
    const uint64_t entry = sizeof(oc_visual_entry) + TOKENS * 2 * 2 * sizeof(float);
    scratch folder = scratch_open();
    oc_visual_disk disk = open_disk(folder.path, FIT * entry + entry / 2, NULL);
    char path[SCRATCH_PATH];
    size_t files;
    scratch_write(&folder, "holiday.jpg", path, 200);
    scratch_write(&folder, "0123456789abcdef0123456789abcdef.rows.bak", path, 200);
    for (uint64_t i = 0; i < FIT; i++) {
        oc_visual_key key = key_of(i, TOKENS);
        cr_assert(write_one(&disk, &key));
        entry_path(&folder, &key, path);
        set_age(path, 1000 - 100 * (time_t)i); /* 0 is the oldest */
    }
    oc_visual_key zero = key_of(0, TOKENS), one = key_of(1, TOKENS);
    cr_assert(has(&disk, &zero, NULL)); /* used: now 1 is the oldest */
    oc_visual_key next = key_of(9, TOKENS);
    cr_assert(write_one(&disk, &next));
    cr_assert(!has(&disk, &one, NULL));
    for (uint64_t i = 0; i < FIT; i++) {
        oc_visual_key key = key_of(i, TOKENS);
        cr_assert_eq(has(&disk, &key, NULL), i != 1);
    }
    cr_assert_eq(size_of(&folder, &files), FIT * entry + 400); /* and nobody else's file went */
    oc_visual_key large = key_of(10, 5 * TOKENS);
    cr_assert(!write_one(&disk, &large)); /* larger than all */
    cr_assert(has(&disk, &zero, NULL));
    /* A time in the future does not keep an entry for ever. */
    entry_path(&folder, &zero, path);
    set_age(path, -1000000);
    cr_assert(write_one(&disk, &one));
    cr_assert(!has(&disk, &zero, NULL));
    cr_assert(has(&disk, &one, NULL));
    /* Half-written entries count, and are removed when nobody can be writing any more. */
    scratch_write(&folder, "0123456789abcdef0123456789abcdef.99.1.part", path, 200);
    set_age(scratch_path(&folder, "0123456789abcdef0123456789abcdef.99.1.part", path), 2000);
    cr_assert(oc_visual_evict(disk.folder, disk.most));
    cr_assert_neq(access(path, F_OK), 0);
    cr_assert(oc_visual_evict(disk.folder, entry));
    cr_assert_eq(size_of(&folder, &files), entry + 400);
    cr_assert(has(&disk, &one, NULL));
    oc_visual_disk_close(&disk);
    scratch_close(&folder);
}

enum { KILL_KEYS = 40, KILL_TOKENS = 20000 };

/* Writes entries until it is killed; reads them too, and ends with 1 if one is wrong. */
static void write_for_ever(const char *path, uint64_t most, uint64_t seed)
{
    const oc_log log = {.write = NULL};
    oc_visual_disk disk;
    ocelli_error err;
    if (oc_visual_disk_open(&disk, path, most, &log, &err) != OCELLI_OK) {
        _exit(1);
    }
    for (uint64_t i = seed;; i = i * 5 + 1) {
        oc_visual_key key = key_of(i % KILL_KEYS, KILL_TOKENS + i % 3);
        bool damaged;
        oc_visual_rows *rows = oc_visual_disk_read(&disk, &key, &damaged);
        oc_visual_rows *wanted = rows_of(&key);
        if (damaged || (rows != NULL && memcmp(rows->values, wanted->values, wanted->bytes) != 0)) {
            _exit(1);
        }
        oc_visual_rows_release(rows);
        (void)oc_visual_disk_write(&disk, &key, wanted);
        oc_visual_rows_release(wanted);
    }
}

/* Four processes fill one directory at once, and are killed in the middle, again and again. */
Test(visual_disk, killed_while_writing, .timeout = 120)
{
    enum { ROUNDS = 25, WRITERS = 4 };
    const uint64_t most = UINT64_C(6) << 20;
    scratch folder = scratch_open();
    size_t files;
    for (unsigned round = 0; round < ROUNDS; round++) {
        pid_t writers[WRITERS];
        for (unsigned i = 0; i < WRITERS; i++) {
            writers[i] = fork();
            cr_assert_geq(writers[i], 0);
            if (writers[i] == 0) {
                write_for_ever(folder.path, most, round * WRITERS + i);
            }
        }
        const struct timespec nap = {.tv_nsec = 20000000 + (long)round * 1234567};
        nanosleep(&nap, NULL);
        for (unsigned i = 0; i < WRITERS; i++) {
            int status;
            cr_assert_eq(kill(writers[i], SIGKILL), 0);
            cr_assert_eq(waitpid(writers[i], &status, 0), writers[i]);
            cr_assert(WIFSIGNALED(status), "writer %u found a wrong entry", i);
        }
        oc_visual_disk disk = open_disk(folder.path, most, NULL);
        size_t found = 0;
        for (uint64_t i = 0; i < KILL_KEYS * 3; i++) {
            oc_visual_key key = key_of(i % KILL_KEYS, KILL_TOKENS + i / KILL_KEYS);
            bool damaged;
            found += has(&disk, &key, &damaged);
            cr_assert(!damaged);
        }
        cr_assert(round < ROUNDS - 1 || found > 0, "nothing was ever written whole");
        oc_visual_disk_close(&disk);
    }
    /* What the killed left counts, and the bound holds again after the next write. */
    oc_visual_disk disk = open_disk(folder.path, most, NULL);
    oc_visual_key key = key_of(1, KILL_TOKENS);
    cr_assert(write_one(&disk, &key));
    cr_assert_leq(size_of(&folder, &files), most);
    cr_assert_geq(files, 2);
    oc_visual_disk_close(&disk);
    scratch_close(&folder);
}
