/* Which shard a process is, by word and by environment; which paths it owns. The expected owners were
 * computed by another program from the formula in tools/shard.h. */
#include "tools/shard.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An environment: name, value, name, value, ..., NULL. */
static const char *variable(void *user, const char *name)
{
    const char *const *pairs = user;
    for (size_t i = 0; pairs[i] != NULL; i += 2) {
        if (strcmp(pairs[i], name) == 0) {
            return pairs[i + 1];
        }
    }
    return NULL;
}

/* "K/N FROM", or "refused: WHY". */
static const char *found(const char *word, const char **pairs)
{
    static char text[600];
    char why[400] = "";
    shard s;
    if (shard_find(word, variable, pairs, &s, why, sizeof why)) {
        cr_assert_str_empty(why);
        snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 " %s", s.index + 1, s.count, s.from);
    } else {
        cr_assert(s.index == 0 && s.count == 1);
        snprintf(text, sizeof text, "refused: %s", why);
    }
    return text;
}

/* Variables of the environment in pairs, and NULL. */
#define FOUND(word, expected, ...)                                                                 \
    cr_expect_str_eq(found(word, (const char *[]){__VA_ARGS__}), expected)
#define REFUSED(word, part, ...)                                                                   \
    do {                                                                                           \
        const char *text = found(word, (const char *[]){__VA_ARGS__});                             \
        cr_expect(strncmp(text, "refused: ", 9) == 0 && strstr(text, part) != NULL, "%s", text);   \
    } while (0)

Test(shard, words)
{
    FOUND("1/4", "1/4 ", NULL);
    FOUND("4/4", "4/4 ", NULL);
    FOUND("1/1", "1/1 ", NULL);
    FOUND("1000000/1000000", "1000000/1000000 ", NULL);
    FOUND("none", "1/1 ", "SLURM_PROCID", "nonsense", NULL);
    FOUND(NULL, "1/1 ", NULL);
    FOUND("auto", "1/1 ", NULL);
    /* What was said comes before what is there. */
    FOUND("2/3", "2/3 ", "OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "8", NULL);
    const char *const bad[] = {"0/4",
                               "5/4",
                               "1/0",
                               "0/0",
                               "4",
                               "/4",
                               "1/",
                               "1//4",
                               "-1/4",
                               "+1/4",
                               " 1/4",
                               "1/4 ",
                               "1/4/2",
                               "1.0/4",
                               "a/b",
                               "",
                               "1/1000001",
                               "18446744073709551617/4",
                               "1/18446744073709551616",
                               "AUTO",
                               "all"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        REFUSED(bad[i], "K/N", NULL);
    }
}

#define ARRAY(id, least, most, step, count)                                                        \
    "SLURM_ARRAY_TASK_ID", id, "SLURM_ARRAY_TASK_MIN", least, "SLURM_ARRAY_TASK_MAX", most,        \
        "SLURM_ARRAY_TASK_STEP", step, "SLURM_ARRAY_TASK_COUNT", count

Test(shard, slurm_arrays)
{
    FOUND(NULL, "1/4 SLURM_ARRAY_TASK_ID", ARRAY("0", "0", "3", "1", "4"), NULL);
    FOUND(NULL, "4/4 SLURM_ARRAY_TASK_ID", ARRAY("3", "0", "3", "1", "4"), NULL);
    FOUND(NULL, "1/4 SLURM_ARRAY_TASK_ID", ARRAY("1", "1", "4", "1", "4"), NULL);
    FOUND(NULL, "3/4 SLURM_ARRAY_TASK_ID", ARRAY("7", "3", "9", "2", "4"), NULL);
    FOUND(NULL, "1/1 ", ARRAY("7", "7", "7", "1", "1"), NULL);
    /* What is missing follows from the others. */
    FOUND(NULL, "2/4 SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_ID", "2", "SLURM_ARRAY_TASK_MIN", "1",
          "SLURM_ARRAY_TASK_MAX", "4", NULL);
    /* Tasks 1, 5 and 6; task 2 of four sent again alone; ids outside. */
    REFUSED(NULL, "not all from 1 to 6", ARRAY("5", "1", "6", "1", "3"), NULL);
    REFUSED(NULL, "not all", ARRAY("2", "1", "9", "2", "5"), NULL);
    REFUSED(NULL, "_MIN and _MAX say 0 to 3", ARRAY("4", "0", "3", "1", "4"), NULL);
    REFUSED(NULL, "_MIN and _MAX say 5 to 3", ARRAY("4", "5", "3", "1", "4"), NULL);
    REFUSED(NULL, "SLURM_ARRAY_TASK_MIN is not set", "SLURM_ARRAY_TASK_ID", "2", NULL);
    REFUSED(NULL, "is '4x'", ARRAY("4x", "0", "3", "1", "4"), NULL);
    REFUSED(NULL, "is '-4'", ARRAY("-4", "0", "3", "1", "4"), NULL);
    REFUSED(NULL, "OCELLI_SHARDS is 4", ARRAY("2", "2", "2", "1", "1"), "OCELLI_SHARDS", "4", NULL);
    FOUND(NULL, "3/4 SLURM_ARRAY_TASK_ID", ARRAY("2", "0", "3", "1", "4"), "OCELLI_SHARDS", "4",
          NULL);
}

#define STEP(rank, tasks) "SLURM_STEP_ID", "0", "SLURM_PROCID", rank, "SLURM_STEP_NUM_TASKS", tasks

Test(shard, slurm_tasks)
{
    FOUND(NULL, "3/4 SLURM_PROCID", STEP("2", "4"), NULL);
    FOUND(NULL, "1/1 ", STEP("0", "1"), NULL);
    /* A shell of salloc and a batch script have tasks to give and are none. */
    FOUND(NULL, "1/1 ", "SLURM_JOB_ID", "7", "SLURM_NTASKS", "4", NULL);
    FOUND(NULL, "1/1 ", "SLURM_NTASKS", "4", "SLURM_PROCID", "0", NULL);
    REFUSED(NULL, "there are 4", STEP("4", "4"), NULL);
    REFUSED(NULL, "how many", "SLURM_STEP_ID", "0", "SLURM_PROCID", "0", NULL);
    /* srun -n 2 in each of four array tasks: eight parts. */
    FOUND(NULL, "6/8 SLURM_ARRAY_TASK_ID and SLURM_PROCID", ARRAY("2", "0", "3", "1", "4"),
          STEP("1", "2"), NULL);
    FOUND(NULL, "3/4 SLURM_ARRAY_TASK_ID", ARRAY("2", "0", "3", "1", "4"), STEP("0", "1"), NULL);
}

Test(shard, mpi)
{
    FOUND(NULL, "3/5 OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_SIZE",
          "5", NULL);
    FOUND(NULL, "1/2 MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "0", "MV2_COMM_WORLD_SIZE", "2",
          NULL);
    FOUND(NULL, "2/2 PMI_RANK", "PMI_RANK", "1", "PMI_SIZE", "2", NULL);
    FOUND(NULL, "2/4 PMIX_RANK", "PMIX_RANK", "1", STEP("1", "4"), NULL);
    /* mpirun within Slurm: its daemons are one task a node, the ranks are more. */
    FOUND(NULL, "6/8 OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "5", "OMPI_COMM_WORLD_SIZE",
          "8", "PMIX_RANK", "5", "PMI_RANK", "1", "PMI_SIZE", "2", STEP("1", "2"), NULL);
    FOUND(NULL, "1/1 ", "OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "1", NULL);
    REFUSED(NULL, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "2", NULL);
    REFUSED(NULL, "there are 2", "PMI_RANK", "2", "PMI_SIZE", "2", NULL);
    REFUSED(NULL, "how many", "PMIX_RANK", "0", NULL);
    REFUSED(NULL, "OCELLI_SHARDS is 8, but by PMI_RANK there are 2", "PMI_RANK", "1", "PMI_SIZE",
            "2", "OCELLI_SHARDS", "8", NULL);
}

Test(shard, kubernetes)
{
    FOUND(NULL, "1/3 JOB_COMPLETION_INDEX", "JOB_COMPLETION_INDEX", "0", "OCELLI_SHARDS", "3",
          NULL);
    FOUND(NULL, "3/3 JOB_COMPLETION_INDEX", "JOB_COMPLETION_INDEX", "2", "OCELLI_SHARDS", "3",
          NULL);
    FOUND(NULL, "1/1 ", "JOB_COMPLETION_INDEX", "0", "OCELLI_SHARDS", "1", NULL);
    FOUND(NULL, "1/1 ", "JOB_COMPLETION_INDEX", "", "OCELLI_SHARDS", "", NULL);
    REFUSED(NULL, "set OCELLI_SHARDS", "JOB_COMPLETION_INDEX", "0", NULL);
    REFUSED(NULL, "there are 3", "JOB_COMPLETION_INDEX", "3", "OCELLI_SHARDS", "3", NULL);
    REFUSED(NULL, "nothing says which", "OCELLI_SHARDS", "3", NULL);
    REFUSED(NULL, "is 0", "OCELLI_SHARDS", "0", NULL);
    REFUSED(NULL, "both set", "JOB_COMPLETION_INDEX", "0", "OCELLI_SHARDS", "4",
            ARRAY("2", "0", "3", "1", "4"), NULL);
    REFUSED(NULL, "both set", "JOB_COMPLETION_INDEX", "0", "OCELLI_SHARDS", "4", "PMI_RANK", "1",
            "PMI_SIZE", "2", NULL);
}

/* The one owner of path among count shards, 1 to count. */
static unsigned owner(const char *path, unsigned count)
{
    unsigned who = 0;
    for (unsigned i = 0; i < count; i++) {
        shard s = {i, count, ""};
        if (shard_owns(&s, path)) {
            cr_assert_eq(who, 0, "'%s' has two owners", path);
            who = i + 1;
        }
    }
    cr_assert_neq(who, 0, "'%s' has no owner", path);
    return who;
}

Test(shard, owners)
{
    static const struct {
        const char *path;
        unsigned of_2, of_3, of_4, of_7, of_1000;
    } known[] = {
        {"a.jpg", 1, 2, 1, 7, 789},           {"a.png", 1, 3, 3, 1, 223},
        {"b/a.jpg", 2, 2, 2, 6, 386},         {"picture01.png", 1, 1, 3, 3, 255},
        {"picture02.png", 2, 3, 4, 7, 72},    {"2024/summer/IMG_0001.JPG", 2, 3, 4, 5, 740},
        {"caf\xC3\xA9.jpg", 2, 2, 2, 4, 974}, {"", 2, 1, 4, 6, 204},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const char *path = known[i].path;
        cr_expect(owner(path, 2) == known[i].of_2 && owner(path, 3) == known[i].of_3 &&
                      owner(path, 4) == known[i].of_4 && owner(path, 7) == known[i].of_7 &&
                      owner(path, 1000) == known[i].of_1000,
                  "'%s'", path);
        cr_expect_eq(owner(path, 1), 1);
    }
    const char *const same[] = {"./b/a.jpg", "b//a.jpg", "b/./a.jpg", "././b/a.jpg", "/b/a.jpg"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        cr_expect_eq(owner(same[i], 1000), 386, "'%s'", same[i]);
    }
    cr_expect_neq(owner("b..a.jpg", 1000), 386);
    cr_expect_neq(owner(".b/a.jpg", 1000), 386);
}

/* The shares of 10000 names of each of these kinds come within five standard deviations of even. */
Test(shard, balance)
{
    const char *const kinds[] = {"IMG_%04zu.JPG", "frame_%06zu0.png", "%zu.jpg",
                                 "day/%02zu/clip.png", "%zu/0001.jpg"};
    const unsigned counts[] = {2, 3, 4, 8, 10, 64};
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            size_t share[64] = {0};
            double mean = 10000.0 / counts[c];
            for (size_t i = 0; i < 10000; i++) {
                char path[64];
                snprintf(path, sizeof path, kinds[kind], i * 2); /* all even */
                share[owner(path, counts[c]) - 1]++;
            }
            for (unsigned i = 0; i < counts[c]; i++) {
                double off = (double)share[i] - mean;
                cr_expect(off * off < 25 * mean, "%s: shard %u of %u has %zu", kinds[kind], i + 1,
                          counts[c], share[i]);
            }
        }
    }
}

static void check_expanded(const char *pattern, const char *expected, bool has_place)
{
    shard s = {1, 4, ""};
    bool placed = !has_place;
    char *name = shard_expand(&s, pattern, &placed);
    cr_assert_not_null(name);
    cr_expect_str_eq(name, expected);
    cr_expect_eq(placed, has_place);
    free(name);
}

Test(shard, names)
{
    check_expanded("out-{shard}.jsonl", "out-2-of-4.jsonl", true);
    check_expanded("{shard}/{shard}", "2-of-4/2-of-4", true);
    check_expanded("{shard", "{shard", false);
    check_expanded("{{shard}}", "{2-of-4}", true);
    check_expanded("out.jsonl", "out.jsonl", false);
    check_expanded("", "", false);
    shard whole = {0, 1, ""};
    char *name = shard_expand(&whole, "a{shard}", NULL);
    cr_expect_str_eq(name, "a1-of-1");
    free(name);
}
