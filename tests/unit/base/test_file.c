/* test_file.c - files as they are, and the things that only look like files. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include "runtime/base/file.h"
#include "runtime/base/memory.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/ocelli-file-XXXXXX";
static char path[256];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void make_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(in_folder(name), "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static void set_up(void)
{
    cr_assert_not_null(mkdtemp(folder));
}

static void tear_down(void)
{
    static const char *const names[] = {"plain", "empty", "pipe", "locked", "link"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unlink(in_folder(names[i]));
    }
    rmdir(in_folder("sub"));
    rmdir(folder);
}

TestSuite(file, .init = set_up, .fini = tear_down);

static void expect_refused(const char *name, const char *reason)
{
    ocelli_error err = {0};
    oc_map map = {.bytes = (const unsigned char *)"", .size = 1};
    cr_assert_eq(oc_map_open(&map, in_folder(name), NULL, &err), OCELLI_E_IO);
    cr_assert_null(map.bytes);
    cr_assert_eq(map.size, 0);
    cr_assert_not_null(strstr(err.message, path), "the message must name the file: %s",
                       err.message);
    cr_assert_not_null(strstr(err.message, reason), "%s", err.message);
    char *bytes = path;
    size_t size = 1;
    cr_assert_eq(oc_file_read(&bytes, &size, path, 100, &err), OCELLI_E_IO);
    cr_assert_null(bytes);
    cr_assert_eq(size, 0);
    cr_assert_not_null(strstr(err.message, path));
    cr_assert_not_null(strstr(err.message, reason), "%s", err.message);
}

Test(file, maps_and_reads_the_same_bytes)
{
    make_file("plain", "some\0bytes", 10);
    ocelli_error err = {0};
    oc_map map;
    oc_file_identity first = {0}, second = {0};
    cr_assert_eq(oc_map_open(&map, in_folder("plain"), &first, &err), OCELLI_OK);
    cr_assert_eq(map.size, 10);
    cr_assert_eq(memcmp(map.bytes, "some\0bytes", 10), 0);
    cr_assert_eq(first.size, 10);
    oc_map again;
    cr_assert_eq(oc_map_open(&again, path, &second, &err), OCELLI_OK);
    cr_assert_eq(first.inode, second.inode);
    cr_assert_eq(first.device, second.device);
    cr_assert_eq(first.modified_nanoseconds, second.modified_nanoseconds);
    oc_map_close(&again);
    cr_assert_null(again.bytes);
    oc_map_close(&again);
    oc_map_close(&map);

    char *bytes;
    size_t size;
    cr_assert_eq(oc_file_read(&bytes, &size, path, 10, &err), OCELLI_OK);
    cr_assert_eq(size, 10);
    cr_assert_eq(memcmp(bytes, "some\0bytes", 11), 0, "the NUL after the end is promised");
    oc_free(bytes);
    cr_assert_eq(oc_file_read(&bytes, &size, path, 9, &err), OCELLI_E_LIMIT);
    cr_assert_null(bytes);
    cr_assert_not_null(strstr(err.message, "10 bytes, more than the limit of 9"));
    cr_assert(oc_file_exists(path));
    cr_assert_not(oc_file_is_directory(path));
}

/* A copy stays what it was, where it was, whatever becomes of the file or is said of its pages. */
Test(file, holds_a_copy)
{
    enum { SIZE = 5 << 20 };
    char *bytes = oc_alloc(SIZE, 1);
    cr_assert_not_null(bytes);
    for (size_t i = 0; i < SIZE; i++) {
        bytes[i] = (char)(i * 7 + i / 4096);
    }
    make_file("plain", bytes, SIZE);
    ocelli_error err = {0};
    oc_map map;
    cr_assert_eq(oc_map_open(&map, in_folder("plain"), NULL, &err), OCELLI_OK);
    oc_map_expect_whole(&map);
    const unsigned char *place = map.bytes;
    cr_assert_eq(oc_map_hold(&map, path, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(oc_map_hold(&map, path, &err), OCELLI_OK, "again changes nothing");
    cr_assert_eq(map.bytes, place);
    cr_assert_eq(truncate(path, 10), 0);
    oc_map_release_pages(&map, map.bytes, map.size);
    cr_assert_eq(oc_map_check(&map, path, &err), OCELLI_OK);
    cr_assert_eq(memcmp(map.bytes, bytes, SIZE), 0);
    oc_map_close(&map);
    oc_free(bytes);
    /* What a file no longer has cannot be copied. */
    make_file("plain", "some bytes", 10);
    cr_assert_eq(oc_map_open(&map, path, NULL, &err), OCELLI_OK);
    cr_assert_eq(truncate(path, 4), 0);
    cr_assert_eq(oc_map_hold(&map, path, &err), OCELLI_E_IO);
    cr_assert_not_null(strstr(err.message, path), "%s", err.message);
    oc_map_close(&map);
    make_file("empty", "", 0);
    cr_assert_eq(oc_map_open(&map, path, NULL, &err), OCELLI_OK);
    cr_assert_eq(oc_map_hold(&map, path, &err), OCELLI_OK);
    oc_map_close(&map);
}

Test(file, an_empty_file_is_a_file)
{
    make_file("empty", "", 0);
    oc_map map;
    cr_assert_eq(oc_map_open(&map, in_folder("empty"), NULL, NULL), OCELLI_OK);
    cr_assert_null(map.bytes);
    cr_assert_eq(map.size, 0);
    oc_map_release_pages(&map, path, 1);
    oc_map_close(&map);
    char *bytes;
    size_t size = 9;
    cr_assert_eq(oc_file_read(&bytes, &size, path, 0, NULL), OCELLI_OK);
    cr_assert_eq(size, 0);
    cr_assert_str_eq(bytes, "");
    oc_free(bytes);
}

Test(file, a_missing_one)
{
    expect_refused("nothing", "No such file");
    cr_assert_not(oc_file_exists(path));
    expect_refused("nothing/below", "No such file");
}

Test(file, a_folder)
{
    cr_assert_eq(mkdir(in_folder("sub"), 0700), 0);
    expect_refused("sub", "a folder, not a file");
    cr_assert(oc_file_exists(path));
    cr_assert(oc_file_is_directory(path));
}

/* Opening a pipe that nobody writes to would wait for ever. */
Test(file, a_pipe, .timeout = 20)
{
    cr_assert_eq(mkfifo(in_folder("pipe"), 0600), 0);
    expect_refused("pipe", "a special file, not a file");
}

Test(file, one_without_permission)
{
    make_file("locked", "secret", 6);
    cr_assert_eq(chmod(in_folder("locked"), 0), 0);
    if (geteuid() == 0) {
        /* Root may read everything: become nobody, who may not. */
        cr_assert_eq(chmod(folder, 0755), 0);
        cr_assert_eq(setegid(65534), 0);
        cr_assert_eq(seteuid(65534), 0);
    }
    expect_refused("locked", "Permission denied");
    if (getuid() == 0) {
        cr_assert_eq(seteuid(0), 0);
        cr_assert_eq(setegid(0), 0);
    }
}

Test(file, a_dangling_link)
{
    cr_assert_eq(symlink("/nowhere/at/all", in_folder("link")), 0);
    expect_refused("link", "No such file");
}

Test(file, pages_given_back_still_read_the_same)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = 5 * page + 100;
    unsigned char *bytes = oc_alloc(size, 1);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(i * 131 >> 3);
    }
    make_file("plain", bytes, size);
    oc_map map;
    cr_assert_eq(oc_map_open(&map, in_folder("plain"), NULL, NULL), OCELLI_OK);
    cr_assert_eq(memcmp(map.bytes, bytes, size), 0);
    oc_map_release_pages(&map, map.bytes + 10, size - 10);
    oc_map_release_pages(&map, map.bytes, 10);
    oc_map_release_pages(&map, map.bytes + size, 0);
    oc_map_release_pages(&map, map.bytes + 10, size); /* beyond the end: ignored */
    oc_map_release_pages(&map, bytes, page);          /* not of this map: ignored */
    cr_assert_eq(memcmp(map.bytes, bytes, size), 0);
    cr_assert_eq(bytes[size - 1], (unsigned char)((size - 1) * 131 >> 3));
    oc_map_close(&map);
    oc_free(bytes);
}

Test(file, joins_with_one_slash)
{
    static const char *const cases[][3] = {{"a", "b", "a/b"},
                                           {"a/", "b", "a/b"},
                                           {"/", "b", "/b"},
                                           {"", "b", "/b"},
                                           {"a/b", "c d", "a/b/c d"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *joined = oc_path_join(cases[i][0], cases[i][1]);
        if (i != 3) { /* an empty folder name: not promised, but it must not crash */
            cr_assert_str_eq(joined, cases[i][2]);
        }
        oc_free(joined);
    }
}

/* Reads of the file beside the mapping; a file that becomes shorter; one that is replaced. */
Test(file, reads_and_checks_what_is_mapped)
{
    static unsigned char bytes[20000];
    char got[64];
    ocelli_error err = {0};
    oc_map map;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * 7 >> 2);
    }
    make_file("plain", bytes, sizeof bytes);
    cr_assert_eq(oc_map_open(&map, in_folder("plain"), NULL, NULL), OCELLI_OK);
    oc_map_expect_random(&map);
    oc_map_expect_read(&map, 12345, 64);
    cr_assert_eq(oc_map_read(&map, path, 12345, got, 64, &err), OCELLI_OK);
    cr_assert_eq(memcmp(got, bytes + 12345, 64), 0);
    cr_assert_eq(oc_map_read(&map, path, sizeof bytes - 64, got, 64, &err), OCELLI_OK);
    cr_assert_eq(oc_map_read(&map, path, 0, NULL, 0, &err), OCELLI_OK);
    cr_assert_eq(oc_map_read(&map, path, sizeof bytes - 63, got, 64, &err), OCELLI_E_IO);
    cr_assert(strstr(err.message, path) != NULL && strstr(err.message, "shorter") != NULL, "%s",
              err.message);
    cr_assert_eq(oc_map_check(&map, path, &err), OCELLI_OK);

    /* Replaced: what is mapped is the file that was opened. */
    make_file("link", "x", 1);
    char other[256];
    snprintf(other, sizeof other, "%s/link", folder);
    cr_assert_eq(rename(other, in_folder("plain")), 0);
    cr_assert_eq(oc_map_check(&map, path, &err), OCELLI_OK);
    cr_assert_eq(oc_map_read(&map, path, 12345, got, 64, &err), OCELLI_OK);
    cr_assert_eq(memcmp(got, bytes + 12345, 64), 0);
    oc_map_close(&map);

    make_file("plain", bytes, sizeof bytes);
    cr_assert_eq(oc_map_open(&map, in_folder("plain"), NULL, NULL), OCELLI_OK);
    cr_assert_eq(truncate(path, 5000), 0);
    cr_assert_eq(oc_map_check(&map, path, &err), OCELLI_E_IO);
    cr_assert(strstr(err.message, "5000 bytes, it had 20000") != NULL, "%s", err.message);
    oc_map_close(&map);
    cr_assert_eq(oc_map_check(&map, path, &err), OCELLI_OK); /* a zero one */
}

Test(file, impostors)
{
    static const char lfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n";
    cr_assert_str_eq(oc_file_impostor(lfs, sizeof lfs - 1),
                     "a Git LFS pointer, not the file: run git lfs pull");
    cr_assert_not_null(oc_file_impostor("<html>", 6));
    cr_assert_null(oc_file_impostor("version https://git", 19));
    cr_assert_null(oc_file_impostor("{}", 2));
    cr_assert_null(oc_file_impostor("", 0));
}
