#include "base/memory_limit.h"
#include "base/message.h"

#include <inttypes.h>
#include <stdio.h>

static const uint64_t always_allowed = (uint64_t)64 << 20, most_per_byte = 1000;

/* The number behind a word in a file of the system; unknown: there is none. */
static uint64_t system_number(const char *path, const char *format, uint64_t unknown) {
    FILE *file = fopen(path, "re");
    char line[128];
    uint64_t number = unknown;
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file))
        // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): a literal of the caller
        found = sscanf(line, format, &number) == 1;
    if (file)
        fclose(file);
    return found ? number : unknown;
}

/* What the machine can give without writing to disk, or the group that this process is in. */
static uint64_t free_memory(void) {
    const uint64_t kilobytes =
        system_number("/proc/meminfo", "MemAvailable: %" SCNu64, UINT64_MAX >> 10);
    const uint64_t most = system_number("/sys/fs/cgroup/memory.max", "%" SCNu64, UINT64_MAX);
    const uint64_t taken = system_number("/sys/fs/cgroup/memory.current", "%" SCNu64, 0);
    const uint64_t left = most > taken ? most - taken : 0, free = kilobytes << 10;
    return left < free ? left : free;
}

/* by_file: it is the file that allows no more. */
static uint64_t allowed_bytes(const blv_memory_limit *limit, bool *by_file) {
    *by_file = false;
    if (limit->most > 0)
        return limit->most;
    uint64_t allowed = free_memory() / 2;
    *by_file = limit->file_bytes > 0 && limit->file_bytes < allowed / most_per_byte;
    if (*by_file)
        allowed = limit->file_bytes * most_per_byte;
    return allowed > always_allowed ? allowed : always_allowed;
}

void blv_format_bytes(uint64_t bytes, char text[BLV_BYTES_TEXT]) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double amount = (double)bytes / 1024.0;
    size_t unit = 0;
    for (; amount >= 1024.0 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        amount /= 1024.0;
    if (bytes < 1024)
        snprintf(text, BLV_BYTES_TEXT, "%" PRIu64 " bytes", bytes);
    else
        snprintf(text, BLV_BYTES_TEXT, "%.1f %s", amount, units[unit]);
}

blv_error blv_expect_memory(const blv_memory_limit *limit, uint64_t count, uint64_t size,
                            const char *name, const char *what, blv_message *why) {
    const uint64_t bytes = size > 0 && count > UINT64_MAX / size ? UINT64_MAX : count * size;
    if (limit->most == 0 && bytes <= always_allowed)
        return BLV_OK;
    bool by_file;
    const uint64_t allowed = allowed_bytes(limit, &by_file);
    char needed[BLV_BYTES_TEXT], least[BLV_BYTES_TEXT], file[BLV_BYTES_TEXT];
    if (bytes <= allowed)
        return BLV_OK;
    blv_format_bytes(bytes, needed);
    blv_format_bytes(allowed, least);
    blv_format_bytes(limit->file_bytes, file);
    if (limit->most > 0)
        return blv_explain(why, BLV_E_VALUE, "%s: %s would take %s, more than the limit of %s",
                           name, what, needed, least);
    if (by_file)
        return blv_explain(why, BLV_E_VALUE,
                           "%s: %s would take %s, more than 1000 times the %s%s%s; a limit "
                           "(--max-memory) that is large enough allows it",
                           name, what, needed, limit->so_far ? "" : "file of ", file,
                           limit->so_far ? " of it that were read" : "");
    return blv_explain(why, BLV_E_VALUE,
                       "%s: %s would take %s; %s are allowed, half of the memory that is free; a "
                       "limit (--max-memory) that is large enough allows more",
                       name, what, needed, least);
}
