/* bench_report.c - the table and the JSON; see bench_report.h. */
#include "tools/bench_report.h"
#include "tools/output.h"

#include <stdio.h>
#include <string.h>

void bench_machine_line(const bench *b, char *out, size_t size)
{
    const ocelli_machine *m = &b->machine;
    int used = snprintf(out, size, "%.1f GB/s read, %.0f f32", m->read_bytes_per_second / 1e9,
                        m->f32_operations_per_second / 1e9);
    if (m->bf16_operations_per_second > 0 && used > 0 && (size_t)used < size) {
        used += snprintf(out + used, size - (size_t)used, ", %.0f bf16",
                         m->bf16_operations_per_second / 1e9);
    }
    if (m->int8_operations_per_second > 0 && used > 0 && (size_t)used < size) {
        used += snprintf(out + used, size - (size_t)used, ", %.0f int8",
                         m->int8_operations_per_second / 1e9);
    }
    if (used > 0 && (size_t)used < size) {
        snprintf(out + used, size - (size_t)used, " GOP/s");
    }
}

void bench_print_table(const bench *b)
{
    char line[160], figure[32], limit[32], low[32], high[32];
    const ocelli_model_info *info = &b->shape.info;
    bench_machine_line(b, line, sizeof line);
    output_format("model    %s\n", b->path);
    output_format("         %s, %s, vision %s, %s, %d threads\n", info->form,
                  ocelli_quant_name(info->quant), ocelli_vision_name(info->vision), info->cpu_tier,
                  info->threads);
    output_format("machine  %s\n", line);
    output_format("%-9s %-26s %14s %14s %6s  %s\n", "", "", "figure", "limit", "share", "runs");
    for (size_t i = 0; i < b->rows.count; i++) {
        const bench_row *row = &b->rows.items[i];
        bench_format(figure, sizeof figure, row->unit, row->median);
        snprintf(limit, sizeof limit, "-");
        char share[16] = "-";
        if (row->limited) {
            bench_format(limit, sizeof limit, row->unit, row->limit);
            snprintf(share, sizeof share, "%.0f %%", row->share * 100);
        }
        output_format("%-9s %-26s %14s %14s %6s  ", bench_group_names[row->group], row->name,
                      figure, limit, share);
        if (row->runs > 1) {
            bench_format(low, sizeof low, row->unit, row->low);
            bench_format(high, sizeof high, row->unit, row->high);
            output_format("%zu: %s to %s", row->runs, low, high);
        } else {
            output_format("1");
        }
        output_format("%s%s", row->detail[0] != '\0' ? "; " : "", row->detail);
        if (row->peak_bytes > 0) {
            bench_format(low, sizeof low, BENCH_BYTES, (double)row->peak_bytes);
            bench_format(high, sizeof high, BENCH_BYTES, (double)row->told_bytes);
            output_format("; memory %s, told %s", low, high);
        }
        output_format("\n");
    }
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static const char *unit_name(bench_unit unit)
{
    static const char *const names[] = {[BENCH_SECONDS] = "seconds",
                                        [BENCH_RATE] = "tokens/second",
                                        [BENCH_BYTES] = "bytes",
                                        [BENCH_HOURLY] = "pictures/hour"};
    return names[unit];
}

static cJSON *add_machine(cJSON *object, const ocelli_machine *m)
{
    cJSON *machine = cJSON_AddObjectToObject(object, "machine");
    cJSON_AddNumberToObject(machine, "read_bytes_per_second", m->read_bytes_per_second);
    cJSON_AddNumberToObject(machine, "f32_operations_per_second", m->f32_operations_per_second);
    cJSON_AddNumberToObject(machine, "bf16_operations_per_second", m->bf16_operations_per_second);
    cJSON_AddNumberToObject(machine, "int8_operations_per_second", m->int8_operations_per_second);
    return machine;
}

/* What the limit is made of, so that anyone can hold other figures against it. */
static void add_work(cJSON *object, const bench_row *row)
{
    bench_work sum = {0, 0, 0};
    bench_work_add(&sum, &row->vision, 1);
    bench_work_add(&sum, &row->prompt, 1);
    bench_work_add(&sum, &row->answer, 1);
    cJSON *work = cJSON_AddObjectToObject(object, "work");
    cJSON_AddNumberToObject(work, "linear_operations", sum.linear);
    cJSON_AddNumberToObject(work, "attention_operations", sum.attention);
    cJSON_AddNumberToObject(work, "bytes", sum.bytes);
}

void bench_print_json(const bench *b)
{
    const ocelli_model_info *info = &b->shape.info;
    cJSON *object = cJSON_CreateObject();
    json_text(object, "model", b->path);
    json_text(object, "form", info->form);
    json_text(object, "quant", ocelli_quant_name(info->quant));
    json_text(object, "vision_type", ocelli_vision_name(info->vision));
    json_text(object, "version", ocelli_version());
    json_text(object, "build", ocelli_build_info());
    cJSON *machine = add_machine(object, &b->machine);
    json_text(machine, "cpu_tier", b->machine.cpu_tier);
    json_count(machine, "threads", (uint64_t)b->machine.threads);
    cJSON *list = cJSON_AddArrayToObject(object, "figures");
    for (size_t i = 0; i < b->rows.count; i++) {
        const bench_row *row = &b->rows.items[i];
        cJSON *item = cJSON_CreateObject();
        json_text(item, "group", bench_group_names[row->group]);
        json_text(item, "name", row->name);
        json_text(item, "detail", row->detail);
        json_text(item, "unit", unit_name(row->unit));
        json_count(item, "runs", row->runs);
        cJSON_AddNumberToObject(item, "median", row->median);
        cJSON_AddNumberToObject(item, "least", row->low);
        cJSON_AddNumberToObject(item, "most", row->high);
        if (row->limited) {
            cJSON_AddNumberToObject(item, "limit", row->limit);
            cJSON_AddNumberToObject(item, "share", row->share);
            add_work(item, row);
            add_machine(item, &b->looks[row->look].machine);
        }
        if (row->peak_bytes > 0) {
            json_count(item, "peak_bytes", row->peak_bytes);
            json_count(item, "told_bytes", row->told_bytes);
        }
        cJSON_AddItemToArray(list, item);
    }
    output_json(object);
}
