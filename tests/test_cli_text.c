/* Text that the command puts together in memory: all of it, or the command ends. */
#include "cli/common.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINES = 5000 };

static long countdown = -1; /* the call that finds 0 fails; below 0 none does */

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size) {
    if (countdown >= 0 && countdown-- == 0)
        return NULL;
    return __real_realloc(block, size);
}

static char *put_lines(cli_text *text) {
    FILE *out = cli_text_begin(text);
    for (int i = 0; i < LINES; i++)
        fprintf(out, "line %4d\n", i);
    return cli_text_end(text);
}

static void test_whole(void **state) {
    (void)state;
    cli_text text;
    char *all = put_lines(&text), line[32];
    assert_int_equal(text.size, LINES * 10);
    assert_int_equal(strlen(all), text.size);
    for (int i = 0; i < LINES; i++) {
        snprintf(line, sizeof line, "line %4d\n", i);
        assert_memory_equal(all + 10 * i, line, 10);
    }
    free(all);
    cli_text_begin(&text);
    all = cli_text_end(&text);
    assert_string_equal(all, "");
    free(all);
    all = cli_print("%s-%d", "a", 7);
    assert_string_equal(all, "a-7");
}

/* Memory that is short once, while there is some before and after. */
static void test_short_memory(void **state) {
    (void)state;
    int at = 0, code = CLI_FAILED;
    for (; code != CLI_DONE; at++) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            cli_text text;
            if (!freopen("/dev/null", "w", stderr))
                _exit(3);
            countdown = at;
            free(put_lines(&text));
            _exit(countdown < 0 ? 4 : CLI_DONE); /* 4: something failed and nobody noticed */
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        code = WEXITSTATUS(status);
        assert_in_range(code, CLI_DONE, CLI_FAILED);
    }
    assert_true(at > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole),
                                       cmocka_unit_test(test_short_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
