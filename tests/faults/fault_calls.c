#include "fault_calls.h"

#include "fault_places.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

const char *const fault_words[FAULT_KINDS] = {"none", "alloc", "file", "json"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fault_counts own, *counts = &own;
static fault_kind planned;
static long planned_at;
static fault_places *places; /* where calls are chosen, or NULL */

static bool fails(fault_kind kind, const char *call) {
    pthread_mutex_lock(&lock);
    bool now = ++counts->calls[kind] == planned_at && kind == planned;
    if (now) {
        counts->fired++;
        snprintf(counts->call, sizeof counts->call, "%s", call);
    }
    if (places)
        fault_places_note(places, kind, counts->calls[kind]);
    pthread_mutex_unlock(&lock);
    if (now)
        errno = kind == FAULT_FILE ? EIO : ENOMEM;
    return now;
}

/* NAME(PARAMETERS) calls the real one, or fails with WRONG. */
#define WRAPPED(type, kind, name, parameters, arguments, wrong)                                    \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters {                                                                \
        return fails(kind, #name) ? (wrong) : __real_##name arguments;                             \
    }

/* ---- Memory ---- */

WRAPPED(void *, FAULT_MEMORY, malloc, (size_t n), (n), NULL)
WRAPPED(void *, FAULT_MEMORY, calloc, (size_t count, size_t size), (count, size), NULL)
WRAPPED(void *, FAULT_MEMORY, realloc, (void *block, size_t n), (block, n), NULL)
WRAPPED(void *, FAULT_MEMORY, reallocarray, (void *block, size_t count, size_t size),
        (block, count, size), NULL)
WRAPPED(void *, FAULT_MEMORY, aligned_alloc, (size_t alignment, size_t n), (alignment, n), NULL)
WRAPPED(int, FAULT_MEMORY, posix_memalign, (void **block, size_t alignment, size_t n),
        (block, alignment, n), ENOMEM)
WRAPPED(char *, FAULT_MEMORY, strdup, (const char *text), (text), NULL)
WRAPPED(char *, FAULT_MEMORY, strndup, (const char *text, size_t n), (text, n), NULL)
WRAPPED(FILE *, FAULT_MEMORY, open_memstream, (char **text, size_t *size), (text, size), NULL)
WRAPPED(int, FAULT_MEMORY, inflateInit2_, (z_streamp z, int bits, const char *version, int size),
        (z, bits, version, size), Z_MEM_ERROR)
WRAPPED(int, FAULT_MEMORY, deflateInit2_,
        (z_streamp z, int level, int method, int bits, int memory, int strategy,
         const char *version, int size),
        (z, level, method, bits, memory, strategy, version, size), Z_MEM_ERROR)
WRAPPED(int, FAULT_MEMORY, inflate, (z_streamp z, int flush), (z, flush), Z_MEM_ERROR)
WRAPPED(int, FAULT_MEMORY, deflate, (z_streamp z, int flush), (z, flush), Z_STREAM_ERROR)
WRAPPED(int, FAULT_MEMORY, compress2,
        (Bytef * to, uLongf *to_size, const Bytef *from, uLong size, int level),
        (to, to_size, from, size, level), Z_MEM_ERROR)
WRAPPED(ssize_t, FAULT_MEMORY, getline, (char **line, size_t *size, FILE *file), (line, size, file),
        -1)
WRAPPED(int, FAULT_MEMORY, pthread_create,
        (pthread_t * thread, const pthread_attr_t *about, void *(*run)(void *), void *context),
        (thread, about, run, context), EAGAIN)

WRAPPED(int, FAULT_MEMORY, vasprintf, (char **text, const char *format, va_list arguments),
        (text, format, arguments), -1)
WRAPPED(FILE *, FAULT_MEMORY, fopencookie,
        (void *cookie, const char *mode, cookie_io_functions_t functions),
        (cookie, mode, functions), NULL)

int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_asprintf(char **text, const char *format, ...) {
    if (fails(FAULT_MEMORY, "asprintf"))
        return -1;
    va_list arguments;
    va_start(arguments, format);
    int n = __real_vasprintf(text, format, arguments);
    va_end(arguments);
    return n;
}

/* ---- Files ---- */

WRAPPED(FILE *, FAULT_FILE, fopen, (const char *path, const char *mode), (path, mode), NULL)
WRAPPED(FILE *, FAULT_FILE, fdopen, (int fd, const char *mode), (fd, mode), NULL)
WRAPPED(ssize_t, FAULT_FILE, read, (int fd, void *out, size_t n), (fd, out, n), -1)
WRAPPED(ssize_t, FAULT_FILE, pread, (int fd, void *out, size_t n, off_t at), (fd, out, n, at), -1)
WRAPPED(ssize_t, FAULT_FILE, write, (int fd, const void *from, size_t n), (fd, from, n), -1)
WRAPPED(int, FAULT_FILE, fsync, (int fd), (fd), -1)
WRAPPED(int, FAULT_FILE, fstat, (int fd, struct stat *about), (fd, about), -1)
WRAPPED(int, FAULT_FILE, ftruncate, (int fd, off_t size), (fd, size), -1)
WRAPPED(int, FAULT_FILE, rename, (const char *from, const char *to), (from, to), -1)
WRAPPED(int, FAULT_FILE, mkdir, (const char *path, mode_t mode), (path, mode), -1)
WRAPPED(char *, FAULT_FILE, mkdtemp, (char *path), (path), NULL)
WRAPPED(int, FAULT_FILE, mkstemp, (char *path), (path), -1)
WRAPPED(int, FAULT_FILE, stat, (const char *path, struct stat *about), (path, about), -1)
WRAPPED(int, FAULT_FILE, lstat, (const char *path, struct stat *about), (path, about), -1)
WRAPPED(int, FAULT_FILE, link, (const char *from, const char *to), (from, to), -1)
WRAPPED(int, FAULT_FILE, flock, (int fd, int operation), (fd, operation), -1)
WRAPPED(int, FAULT_FILE, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
WRAPPED(int, FAULT_FILE, fseek, (FILE * file, long by, int from), (file, by, from), -1)
WRAPPED(long, FAULT_FILE, ftell, (FILE * file), (file), -1)
WRAPPED(int, FAULT_FILE, posix_spawnp,
        (pid_t * pid, const char *program, const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment),
        (pid, program, actions, attributes, arguments, environment), EAGAIN)
WRAPPED(void *, FAULT_FILE, mmap,
        (void *at, size_t n, int protection, int flags, int fd, off_t from),
        (at, n, protection, flags, fd, from), MAP_FAILED)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return fails(FAULT_FILE, "open") ? -1 : __real_open(path, flags, mode);
}

/* It is closed all the same. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
    bool bad = fails(FAULT_FILE, "close");
    int code = __real_close(fd);
    if (bad)
        errno = EIO;
    return bad ? -1 : code;
}

/* ---- Streams: one that has failed stays so, as ferror tells. The standard streams do not count.
 * Streams into memory fail where memory is short, and do not remember it. ---- */

static FILE *failed_stream;

static bool stream_fails(FILE *file, const char *call) {
    if (file == stdout || file == stderr || fileno(file) < 0 || !fails(FAULT_FILE, call))
        return false;
    failed_stream = file;
    return true;
}

int __real_ferror(FILE *file);
int __wrap_ferror(FILE *file);
int __wrap_ferror(FILE *file) {
    return file == failed_stream ? 1 : __real_ferror(file);
}

size_t __real_fwrite(const void *from, size_t size, size_t n, FILE *file);
size_t __wrap_fwrite(const void *from, size_t size, size_t n, FILE *file);
size_t __wrap_fwrite(const void *from, size_t size, size_t n, FILE *file) {
    return stream_fails(file, "fwrite") ? 0 : __real_fwrite(from, size, n, file);
}

size_t __real_fread(void *out, size_t size, size_t n, FILE *file);
size_t __wrap_fread(void *out, size_t size, size_t n, FILE *file);
size_t __wrap_fread(void *out, size_t size, size_t n, FILE *file) {
    return stream_fails(file, "fread") ? 0 : __real_fread(out, size, n, file);
}

char *__real_fgets(char *out, int size, FILE *file);
char *__wrap_fgets(char *out, int size, FILE *file);
char *__wrap_fgets(char *out, int size, FILE *file) {
    return stream_fails(file, "fgets") ? NULL : __real_fgets(out, size, file);
}

int __real_fputs(const char *text, FILE *file);
int __wrap_fputs(const char *text, FILE *file);
int __wrap_fputs(const char *text, FILE *file) {
    return stream_fails(file, "fputs") ? EOF : __real_fputs(text, file);
}

int __real_fputc(int c, FILE *file);
int __wrap_fputc(int c, FILE *file);
int __wrap_fputc(int c, FILE *file) {
    return stream_fails(file, "fputc") ? EOF : __real_fputc(c, file);
}

int __real_vfprintf(FILE *file, const char *format, va_list arguments);
int __wrap_vfprintf(FILE *file, const char *format, va_list arguments);
int __wrap_vfprintf(FILE *file, const char *format, va_list arguments) {
    bool bad = fileno(file) < 0 ? fails(FAULT_MEMORY, "vfprintf") : stream_fails(file, "vfprintf");
    return bad ? -1 : __real_vfprintf(file, format, arguments);
}

int __wrap_fprintf(FILE *file, const char *format, ...);
int __wrap_fprintf(FILE *file, const char *format, ...) {
    if (stream_fails(file, "fprintf"))
        return -1;
    va_list arguments;
    va_start(arguments, format);
    int n = __real_vfprintf(file, format, arguments);
    va_end(arguments);
    return n;
}

int __real_fflush(FILE *file);
int __wrap_fflush(FILE *file);
int __wrap_fflush(FILE *file) {
    if (!file)
        return __real_fflush(file);
    int code = __real_fflush(file);
    return stream_fails(file, "fflush") || file == failed_stream ? EOF : code;
}

int __real_fclose(FILE *file);
int __wrap_fclose(FILE *file);
int __wrap_fclose(FILE *file) {
    bool bad = stream_fails(file, "fclose") || file == failed_stream;
    if (file == failed_stream)
        failed_stream = NULL;
    int code = __real_fclose(file);
    if (bad)
        errno = EIO;
    return bad ? EOF : code;
}

/* ---- SQLite ---- */

static sqlite3_mem_methods sqlite_memory;

static void *sqlite_malloc(int n) {
    return fails(FAULT_MEMORY, "sqlite malloc") ? NULL : sqlite_memory.xMalloc(n);
}

static void *sqlite_realloc(void *block, int n) {
    return fails(FAULT_MEMORY, "sqlite realloc") ? NULL : sqlite_memory.xRealloc(block, n);
}

static ssize_t sqlite_pwrite(int fd, const void *bytes, size_t n, off_t at) {
    return fails(FAULT_FILE, "sqlite pwrite") ? -1 : pwrite(fd, bytes, n, at);
}

static void wrap_sqlite(void) {
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory);
    sqlite3_mem_methods counted = sqlite_memory;
    counted.xMalloc = sqlite_malloc;
    counted.xRealloc = sqlite_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &counted);
    sqlite3_vfs *files = sqlite3_vfs_find(NULL);
    static const struct {
        const char *name;
        sqlite3_syscall_ptr call;
    } calls[] = {{"open", (sqlite3_syscall_ptr)__wrap_open},
                 {"pread", (sqlite3_syscall_ptr)__wrap_pread},
                 {"pread64", (sqlite3_syscall_ptr)__wrap_pread},
                 {"pwrite", (sqlite3_syscall_ptr)sqlite_pwrite},
                 {"pwrite64", (sqlite3_syscall_ptr)sqlite_pwrite},
                 {"ftruncate", (sqlite3_syscall_ptr)__wrap_ftruncate}};
    for (size_t i = 0; files && i < sizeof calls / sizeof calls[0]; i++)
        files->xSetSystemCall(files, calls[i].name, calls[i].call);
}

/* ---- Jansson ---- */

static json_malloc_t json_memory;

static void *json_memory_or_none(size_t n) {
    return fails(FAULT_JSON, "json") ? NULL : json_memory(n);
}

void __real_json_set_alloc_funcs(json_malloc_t get, json_free_t give_back);
void __wrap_json_set_alloc_funcs(json_malloc_t get, json_free_t give_back);
void __wrap_json_set_alloc_funcs(json_malloc_t get, json_free_t give_back) {
    json_memory = get;
    __real_json_set_alloc_funcs(json_memory_or_none, give_back);
}

/* ---- Plans ---- */

void fault_plan(fault_counts *into, fault_kind kind, long at) {
    static bool wrapped;
    planned = FAULT_NONE;
    if (!wrapped)
        wrap_sqlite();
    wrapped = true;
    *into = (fault_counts){0};
    counts = into;
    planned_at = at;
    planned = kind;
}

void fault_plan_choice(fault_places *into) {
    places = into;
}

void fault_plan_from_environment(void) {
    const char *text = getenv("BILEVEL_FAULT");
    for (fault_kind kind = FAULT_MEMORY; text && kind < FAULT_KINDS; kind++) {
        size_t n = strlen(fault_words[kind]);
        if (strncmp(text, fault_words[kind], n) == 0 && text[n] == ':')
            fault_plan(&own, kind, strtol(text + n + 1, NULL, 10));
    }
}
