/* shard.c - see shard.h. */
#include "tools/shard.h"
#include "tools/stable_hash.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char placeholder[] = "{shard}";

/* What is asked, and where the answer goes. */
typedef struct finding {
    shard_variable_fn variable;
    void *user;
    char *why;
    size_t size;
} finding;

/* One launcher's word: this is index of count, by the variable called name. */
typedef struct place {
    uint64_t index, count; /* count 0: no such launcher */
    const char *name;
} place;

static bool refuse(const finding *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->why, f->size, format, arguments);
    va_end(arguments);
    return false;
}

/* Digits only, at most SHARD_MOST; *end is set past them. */
static bool read_number(const char *text, uint64_t *out, const char **end)
{
    uint64_t value = 0;
    if (*text < '0' || *text > '9') {
        return false;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > SHARD_MOST) {
            return false;
        }
    }
    *out = value;
    *end = text;
    return true;
}

/* An empty variable is one that is not there: job files clear variables so. */
static const char *value_of(const finding *f, const char *name)
{
    const char *value = f->variable(f->user, name);
    return value != NULL && *value != '\0' ? value : NULL;
}

static bool number_of(const finding *f, const char *name, uint64_t *out)
{
    const char *value = value_of(f, name);
    const char *end = NULL;
    if (value == NULL) {
        return refuse(f, "%s is not set", name);
    }
    if (!read_number(value, out, &end) || *end != '\0') {
        return refuse(f, "%s is '%.40s', which is no number from 0 to %" PRIu64, name, value,
                      SHARD_MOST);
    }
    return true;
}

/* As number_of, but left as it is where the variable is not there. */
static bool number_if_any(const finding *f, const char *name, uint64_t *out)
{
    return value_of(f, name) == NULL || number_of(f, name, out);
}

/* Job files write count as they like; a rank outside of it is nobody's. */
static bool check_place(const finding *f, const place *p, const char *count_name)
{
    if (p->count == 0 || p->index >= p->count) {
        return refuse(f, "%s is %" PRIu64 ", but %s says that there are %" PRIu64, p->name,
                      p->index, count_name, p->count);
    }
    return true;
}

/* ---- launchers ----------------------------------------------------------------------------- */

/* Ids may begin anywhere and have a step. An array with gaps (a list, or some tasks of another array
 * sent again) does not say which part of the work its tasks were to do. */
static bool find_array(const finding *f, place *out)
{
    static const char id_name[] = "SLURM_ARRAY_TASK_ID";
    uint64_t id = 0, least = 0, most = 0, step = 1;
    if (value_of(f, id_name) == NULL) {
        return true;
    }
    if (!number_of(f, id_name, &id) || !number_of(f, "SLURM_ARRAY_TASK_MIN", &least) ||
        !number_of(f, "SLURM_ARRAY_TASK_MAX", &most) ||
        !number_if_any(f, "SLURM_ARRAY_TASK_STEP", &step)) {
        return false;
    }
    step = step > 0 ? step : 1;
    if (least > most || id < least || id > most) {
        return refuse(
            f, "%s is %" PRIu64 ", but SLURM_ARRAY_TASK_MIN and _MAX say %" PRIu64 " to %" PRIu64,
            id_name, id, least, most);
    }
    uint64_t count = (most - least) / step + 1;
    uint64_t told = count;
    if (!number_if_any(f, "SLURM_ARRAY_TASK_COUNT", &told)) {
        return false;
    }
    if (told != count || (most - least) % step != 0 || (id - least) % step != 0) {
        return refuse(f,
                      "the %" PRIu64 " ids of the Slurm array are not all from %" PRIu64
                      " to %" PRIu64 " in steps of %" PRIu64,
                      told, least, most, step);
    }
    *out = (place){(id - least) / step, count, id_name};
    return true;
}

static bool find_tasks(const finding *f, place *out)
{
    static const struct {
        const char *rank, *size;
    } launchers[] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"},
        {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
        {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    };
    const size_t total = sizeof launchers / sizeof launchers[0];
    for (size_t i = 0; i < total; i++) {
        const char *rank = launchers[i].rank;
        bool by_srun = i + 1 == total;
        if (value_of(f, rank) == NULL || (by_srun && value_of(f, "SLURM_STEP_ID") == NULL)) {
            continue;
        }
        place p = {0, 0, rank};
        if (!number_of(f, rank, &p.index)) {
            return false;
        }
        if (value_of(f, launchers[i].size) == NULL) {
            return refuse(f, "%s is set, but not %s, which says how many there are", rank,
                          launchers[i].size);
        }
        if (!number_of(f, launchers[i].size, &p.count) || !check_place(f, &p, launchers[i].size)) {
            return false;
        }
        *out = p;
        return true;
    }
    return true;
}

static bool find_pod(const finding *f, uint64_t shards, place *out)
{
    place p = {0, shards, "JOB_COMPLETION_INDEX"};
    if (value_of(f, p.name) == NULL) {
        return true;
    }
    if (!number_of(f, p.name, &p.index)) {
        return false;
    }
    if (shards == 0) {
        return refuse(f, "JOB_COMPLETION_INDEX is set, but Kubernetes does not say how many there "
                         "are; set OCELLI_SHARDS to the job's completions");
    }
    if (!check_place(f, &p, "OCELLI_SHARDS")) {
        return false;
    }
    *out = p;
    return true;
}

static bool find_in_environment(const finding *f, shard *out)
{
    place array = {0, 0, NULL}, tasks = {0, 0, NULL}, pod = {0, 0, NULL};
    uint64_t shards = 0;
    if (!number_if_any(f, "OCELLI_SHARDS", &shards) || !find_array(f, &array) ||
        !find_tasks(f, &tasks) || !find_pod(f, shards, &pod)) {
        return false;
    }
    if (array.count > 0 && pod.count > 0) {
        return refuse(f, "%s and %s are both set", array.name, pod.name);
    }
    if (pod.count > 0 && tasks.count > 1) {
        return refuse(f, "%s and %s are both set", pod.name, tasks.name);
    }
    place outer = array.count > 0 ? array : pod;
    uint64_t outer_count = outer.count > 0 ? outer.count : 1;
    uint64_t inner_count = tasks.count > 0 ? tasks.count : 1;
    uint64_t count = outer_count * inner_count; /* each at most SHARD_MOST */
    if (count > SHARD_MOST) {
        return refuse(f, "%" PRIu64 " shards are more than %" PRIu64, count, SHARD_MOST);
    }
    if (value_of(f, "OCELLI_SHARDS") != NULL && shards != count) {
        return outer.count == 0 && tasks.count == 0
                   ? refuse(f, "OCELLI_SHARDS is %" PRIu64 ", but nothing says which one this is",
                            shards)
                   : refuse(f, "OCELLI_SHARDS is %" PRIu64 ", but by %s%s%s there are %" PRIu64,
                            shards, outer.count > 0 ? outer.name : tasks.name,
                            outer.count > 0 && tasks.count > 0 ? " and " : "",
                            outer.count > 0 && tasks.count > 0 ? tasks.name : "", count);
    }
    out->index = outer.index * inner_count + tasks.index;
    out->count = count;
    if (count > 1) {
        bool both = outer_count > 1 && inner_count > 1;
        snprintf(out->from, sizeof out->from, "%s%s%s", outer_count > 1 ? outer.name : tasks.name,
                 both ? " and " : "", both ? tasks.name : "");
    }
    return true;
}

bool shard_find(const char *word, shard_variable_fn variable, void *user, shard *out, char *why,
                size_t size)
{
    finding f = {variable, user, why, size};
    const char *end = NULL;
    uint64_t number = 0, count = 0;
    memset(out, 0, sizeof *out);
    out->count = 1;
    if (word == NULL || strcmp(word, "auto") == 0) {
        return find_in_environment(&f, out);
    }
    if (strcmp(word, "none") == 0) {
        return true;
    }
    if (!read_number(word, &number, &end) || *end != '/' || !read_number(end + 1, &count, &end) ||
        *end != '\0' || number < 1 || number > count) {
        return refuse(&f,
                      "a shard is K/N with K from 1 to N (1/4 to 4/4), N at most %" PRIu64
                      ", or auto or none; not '%.40s'",
                      SHARD_MOST, word);
    }
    out->index = number - 1;
    out->count = count;
    return true;
}

/* ---- paths and names ----------------------------------------------------------------------- */

bool shard_owns(const shard *s, const char *path)
{
    uint64_t hash = STABLE_HASH_START;
    bool begun = false;
    if (s->count <= 1) {
        return true;
    }
    while (*path != '\0') {
        size_t length = strcspn(path, "/");
        if (length > 0 && !(length == 1 && *path == '.')) {
            if (begun) {
                hash = stable_hash_byte(hash, '/');
            }
            begun = true;
            for (size_t i = 0; i < length; i++) {
                hash = stable_hash_byte(hash, (uint8_t)path[i]);
            }
        }
        path += length;
        path += strspn(path, "/");
    }
    return stable_mix(hash) % s->count == s->index;
}

void shard_label(const shard *s, char *out, size_t size)
{
    snprintf(out, size, "%" PRIu64 "-of-%" PRIu64, s->index + 1, s->count);
}

char *shard_expand(const shard *s, const char *pattern, bool *placed)
{
    char label[48];
    size_t places = 0, mark = sizeof placeholder - 1;
    shard_label(s, label, sizeof label);
    for (const char *at = strstr(pattern, placeholder); at != NULL;
         at = strstr(at + mark, placeholder)) {
        places++;
    }
    if (placed != NULL) {
        *placed = places > 0;
    }
    size_t wide = strlen(label);
    size_t length = strlen(pattern);
    char *out = places < (SIZE_MAX - length - 1) / wide ? malloc(length + places * wide + 1) : NULL;
    if (out == NULL) {
        return NULL;
    }
    size_t used = 0;
    while (*pattern != '\0') {
        if (strncmp(pattern, placeholder, mark) == 0) {
            memcpy(out + used, label, wide);
            used += wide;
            pattern += mark;
        } else {
            out[used++] = *pattern++;
        }
    }
    out[used] = '\0';
    return out;
}
