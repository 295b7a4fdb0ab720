#define _GNU_SOURCE /* memmem, memfd_create, environ */
/* The script and the numbers go to gnuplot's standard input, the picture comes from its standard
 * output: no file and no text of the user is named in a command. Texts are quoted with ', inside
 * of which gnuplot replaces nothing. */
#include "report/figure.h"

#include "base/message.h"
#include "base/text_stream.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Eight colours that colour-blind readers can distinguish, then the same dashed. */
static const char *const colours[] = {"#4477aa", "#ee6677", "#228833", "#aa3377",
                                      "#b8860b", "#33bbcc", "#777777", "#000000"};
enum { COLOURS = sizeof colours / sizeof colours[0], KEY_INSIDE = 6 };

static void put_quoted(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\'')
            fputc('\'', out);
        fputc(c < ' ' || c == 127 ? ' ' : c, out);
    }
    fputc('\'', out);
}

static void put_setting(FILE *out, const char *what, const char *text) {
    fprintf(out, "set %s ", what);
    put_quoted(out, text);
    fputc('\n', out);
}

static void put_terminal(FILE *out, const report_figure *figure, report_drawing kind, int columns,
                         int lines) {
    int height = 440 + (figure->count > 20 ? (int)(figure->count - 20) * 18 : 0);
    if (kind == REPORT_SVG)
        fprintf(
            out,
            "set terminal svg noenhanced size 760,%d background '#ffffff' font 'sans-serif,13'\n",
            height);
    else if (kind == REPORT_PNG)
        fprintf(out,
                "set terminal pngcairo noenhanced size 1520,%d background '#ffffff' "
                "font 'Sans,13' fontscale 1.8 linewidth 2\n",
                2 * height);
    else if (kind == REPORT_PDF)
        fprintf(out, "set terminal pdfcairo noenhanced size 7.6in,%gin font 'Sans,11'\n",
                height / 100.0);
    else
        fprintf(out, "set terminal dumb noenhanced mono size %d,%d\n", columns, lines);
}

static void put_data(FILE *out, const report_figure *figure) {
    for (size_t i = 0; i < figure->count; i++) {
        const report_curve *curve = &figure->curves[i];
        fprintf(out, "$curve%zu << END\n", i);
        for (size_t k = 0; k < curve->count; k++)
            fprintf(out, "%.17g %.17g %.17g %.17g\n", curve->x[k], curve->median[k], curve->low[k],
                    curve->high[k]);
        fputs("END\n", out);
    }
}

static void put_axes(FILE *out, const report_figure *figure) {
    put_setting(out, "xlabel", figure->x_label);
    put_setting(out, "ylabel", figure->y_label);
    fputs("set encoding utf8\nset format '%g'\nset tics nomirror\nset border 3\n", out);
    fputs(figure->log_y ? "set logscale y\n" : "unset logscale y\n", out);
}

static void put_band(FILE *out, size_t i) {
    fprintf(out,
            "$curve%zu using 1:3:4 with filledcurves fillcolor rgb '%s' "
            "fillstyle transparent solid 0.18 noborder notitle, ",
            i, colours[i % COLOURS]);
}

static void put_line(FILE *out, const report_curve *curve, size_t i, bool last) {
    const char *how = curve->count > 1 ? "lines" : "points";
    fprintf(out, "$curve%zu using 1:2 with %s linetype %zu", i, how, i + 1);
    fprintf(out, " linecolor rgb '%s'", colours[i % COLOURS]);
    if (curve->count > 1)
        fprintf(out, " dashtype %zu linewidth 1.6", 1 + i / COLOURS % 5);
    fputs(" title ", out);
    put_quoted(out, curve->label);
    fputs(last ? "\n" : ", ", out);
}

static void put_plot(FILE *out, const report_figure *figure, report_drawing kind) {
    put_data(out, figure);
    fputs("plot ", out);
    for (size_t i = 0; i < figure->count && kind != REPORT_TEXT; i++)
        if (figure->curves[i].runs > 1 && figure->curves[i].count > 1)
            put_band(out, i);
    for (size_t i = 0; i < figure->count; i++)
        put_line(out, &figure->curves[i], i, i + 1 == figure->count);
}

static void put_script(FILE *out, const report_figure *figure, report_drawing kind, int columns,
                       int lines) {
    put_terminal(out, figure, kind, columns, lines);
    put_setting(out, "title", figure->title);
    put_axes(out, figure);
    if (kind != REPORT_TEXT)
        fputs("set grid linecolor rgb '#dddddd'\n", out);
    fputs(figure->count > KEY_INSIDE ? "set key outside right top vertical\n"
          : figure->log_y            ? "set key inside right top\n"
                                     : "set key inside right bottom\n",
          out);
    put_plot(out, figure, kind);
}

/* Few tics: at most four steps of 1, 2 or 5 times a power of ten, or of whole decades. Where the
 * axis is not logarithmic, the fall from the start is cut off: what passes in the first tenth, and
 * bands before the end. */
static void put_tics(FILE *out, const report_figure *figure) {
    double most_x = 0.0, least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < figure->count; i++)
        most_x = fmax(most_x, figure->curves[i].x[figure->curves[i].count - 1]);
    for (size_t i = 0; i < figure->count; i++)
        for (size_t k = 0; k < figure->curves[i].count; k++) {
            const report_curve *curve = &figure->curves[i];
            const bool is_last = figure->log_y || k + 1 == curve->count;
            if (!is_last && curve->x[k] < 0.1 * most_x)
                continue;
            least = fmin(least, is_last ? curve->low[k] : curve->median[k]);
            most = fmax(most, is_last ? curve->high[k] : curve->median[k]);
        }
    double step = most_x > 0.0 ? pow(10.0, floor(log10(most_x / 4.0))) : 1.0;
    step *= most_x / step > 20.0  ? 10.0
            : most_x / step > 8.0 ? 5.0
            : most_x / step > 4.0 ? 2.0
                                  : 1.0;
    fprintf(out, "set xtics %g\nunset mxtics\nunset mytics\nset ytics autofreq\nset yrange [*:*]\n",
            step);
    if (figure->log_y && most > 10.0 * least)
        fprintf(out, "set ytics %g\n", pow(10.0, ceil(log10(most / least) / 6.0)));
    else if (figure->log_y)
        fputs("unset logscale y\n", out);
    else if (most > least)
        fprintf(out, "set yrange [%g:%g]\n", least - 0.04 * (most - least),
                most + 0.04 * (most - least));
}

/* From left to right, the legend of the last one beside it. */
static void put_panels(FILE *out, const report_figure *panels, size_t count) {
    enum { WIDTH = 330, LEFT = 84, RIGHT = 12, LEGEND = 210, HEIGHT = 330, LINE = 19 };
    const double width = WIDTH * (double)count + LEGEND;
    const size_t lines = panels[0].count * LINE + 60;
    fprintf(out,
            "set terminal svg noenhanced size %g,%zu background '#ffffff' font 'sans-serif,12'\n"
            "set multiplot\nset grid linecolor rgb '#dddddd'\nunset key\nset "
            "autoscale xfix\n",
            width, lines > HEIGHT ? lines : (size_t)HEIGHT);
    for (size_t i = 0; i < count; i++) {
        put_axes(out, &panels[i]);
        put_tics(out, &panels[i]);
        fprintf(out, "set lmargin at screen %.4f\nset rmargin at screen %.4f\n",
                ((double)i * WIDTH + LEFT) / width, ((double)(i + 1) * WIDTH - RIGHT) / width);
        if (i + 1 == count)
            fprintf(out, "set key at screen %.4f,0.97 left top Left reverse samplen 2\n",
                    (double)(count * WIDTH) / width);
        put_plot(out, &panels[i], REPORT_SVG);
    }
    fputs("unset multiplot\n", out);
}

static void put_bars(FILE *out, const report_bar *bars, size_t count, const char *x_label) {
    double least = bars[0].low, most = bars[0].high;
    for (size_t i = 0; i < count; i++) {
        least = bars[i].low < least ? bars[i].low : least;
        most = bars[i].high > most ? bars[i].high : most;
    }
    fprintf(out,
            "set terminal svg noenhanced size 760,%zu background '#ffffff' font 'sans-serif,12'\n"
            "set encoding utf8\nset format x '%%g'\nunset key\nset border 1\nset grid xtics "
            "linecolor rgb '#dddddd'\nset yrange [%g:-0.7]\nset style fill solid 0.5 noborder\n",
            90 + 26 * count, (double)count - 0.3);
    if (least > 0.0 && most > 100.0 * least)
        fputs("set logscale x\n", out);
    put_setting(out, "xlabel", x_label);
    fputs("set tics nomirror\nset ytics scale 0 (", out);
    for (size_t i = 0; i < count; i++) {
        put_quoted(out, bars[i].label);
        fprintf(out, " %zu%s", i, i + 1 < count ? ", " : ")\n");
    }
    fputs("$bars << END\n", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%zu %.9g %.9g %.9g\n", i, bars[i].low, bars[i].middle, bars[i].high);
    fprintf(out,
            "END\nplot $bars using 3:1:2:4:($1-0.3):($1+0.3) with boxxyerror linecolor rgb '%s', "
            "$bars using 3:1 with points pointtype 7 pointsize 0.6 linecolor rgb '#000000'\n",
            colours[0]);
}

/* Whether the picture is complete. */
static bool is_whole(const report_bytes *bytes, report_drawing kind) {
    static const struct {
        const char *first, *last;
    } marks[] = {[REPORT_SVG] = {"<?xml", "</svg>"},
                 [REPORT_PNG] = {"\x89PNG\r\n\x1a\n", "IEND"},
                 [REPORT_PDF] = {"%PDF-", "%%EOF"},
                 [REPORT_TEXT] = {"", "\n"}};
    size_t first = strlen(marks[kind].first), last = strlen(marks[kind].last);
    enum { TAIL = 32 };
    if (bytes->size < first + last + 1 || memcmp(bytes->data, marks[kind].first, first) != 0)
        return false;
    size_t tail = bytes->size < TAIL ? bytes->size : TAIL;
    return memmem(bytes->data + bytes->size - tail, tail, marks[kind].last, last) != NULL;
}

/* ---- The child process ---- */

enum { SAID = 512 };

static void close_end(int end) {
    if (end >= 0)
        close(end);
}

/* Starts gnuplot, looked up in PATH. A socket is its standard input and output: where it does not
 * read all of the script, that causes no signal here. Returns 0 or an errno. */
static int start(int socket, int messages, pid_t *pid) {
    char program[] = "gnuplot", plain[] = "-d";
    char *const argv[] = {program, plain, NULL}; /* -d: the user's own settings are left out */
    const int streams[] = {socket, socket, messages};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    for (int i = 0; i < 3 && error == 0; i++)
        error = posix_spawn_file_actions_adddup2(&actions, streams[i], i);
    if (error == 0)
        error = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Reads what there is. Returns whether there may be more; *error: why not. */
static bool read_some(int socket, report_bytes *bytes, int *error) {
    enum { PIECE = 65536 };
    char *larger = realloc(bytes->data, bytes->size + PIECE + 1);
    if (!larger) {
        *error = ENOMEM;
        return false;
    }
    bytes->data = larger;
    ssize_t count = recv(socket, bytes->data + bytes->size, PIECE, MSG_DONTWAIT);
    bytes->size += count > 0 ? (size_t)count : 0;
    bytes->data[bytes->size] = '\0';
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Writes the script and reads the picture. Returns 0 or an errno. */
static int exchange(int socket, const char *script, size_t size, report_bytes *drawn) {
    int error = 0;
    for (bool open = true; open && error == 0;) {
        struct pollfd ready = {socket, POLLIN, 0};
        ready.events = (short)(size > 0 ? POLLIN | POLLOUT : POLLIN);
        if (poll(&ready, 1, -1) < 0 && errno != EINTR)
            return errno;
        if (ready.revents & POLLOUT) {
            ssize_t count = send(socket, script, size, MSG_DONTWAIT | MSG_NOSIGNAL);
            bool failed = count < 0 && errno != EAGAIN && errno != EINTR;
            script += count > 0 ? count : 0;
            size -= failed ? size : count > 0 ? (size_t)count : 0;
            if (size == 0)
                shutdown(socket, SHUT_WR);
        }
        if (ready.revents & ~POLLOUT)
            open = read_some(socket, drawn, &error);
    }
    return error;
}

/* What it drew, to be freed either way, and the start of what it said. Returns 0 or an errno. */
static int draw(const char *script, size_t size, report_bytes *drawn, char said[SAID],
                int *status) {
    int sockets[2] = {-1, -1}, messages = memfd_create("gnuplot", MFD_CLOEXEC);
    pid_t pid = 0;
    int error = messages < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0
                    ? errno
                    : start(sockets[1], messages, &pid);
    close_end(sockets[1]);
    if (pid > 0) {
        error = exchange(sockets[0], script, size, drawn);
        close_end(sockets[0]);
        sockets[0] = -1;
        while (waitpid(pid, status, 0) < 0 && errno == EINTR)
            continue;
        ssize_t count = pread(messages, said, SAID - 1, 0);
        said[count > 0 ? count : 0] = '\0';
    }
    close_end(sockets[0]);
    close_end(messages);
    return error;
}

/* ---- The picture ---- */

static blv_error explain_start(int error, blv_message *why) {
    if (error == ENOENT)
        return blv_explain(why, BLV_E_FILE,
                           "gnuplot is not there, and it draws the pictures; install it "
                           "(Debian: apt-get install gnuplot-nox)");
    if (error == ENOMEM)
        return blv_explain(why, BLV_E_MEMORY, "no memory for what gnuplot draws");
    return blv_explain(why, BLV_E_FILE, "gnuplot cannot be started or read: %s", strerror(error));
}

static blv_error explain_drawing(const char *said, blv_message *why) {
    said += strspn(said, "\n ");
    int length = (int)strcspn(said, "\n");
    return blv_explain(why, BLV_E_FAILED, "gnuplot did not draw it: %.*s", length > 0 ? length : 13,
                       length > 0 ? said : "it said nothing");
}

/* Draws what the script says, which is closed. */
static blv_error draw_script(blv_text_stream *text, report_drawing kind, report_bytes *bytes,
                             blv_message *why) {
    char said[SAID] = "";
    int status = -1;
    *bytes = (report_bytes){0};
    char *script = blv_text_close(text);
    if (!script)
        return blv_explain(why, BLV_E_MEMORY, "no memory for the script of a picture");
    int error = draw(script, text->size, bytes, said, &status);
    blv_error result = error != 0                              ? explain_start(error, why)
                       : status != 0 || !is_whole(bytes, kind) ? explain_drawing(said, why)
                                                               : BLV_OK;
    if (result != BLV_OK) {
        free(bytes->data);
        *bytes = (report_bytes){0};
    }
    free(script);
    return result;
}

blv_error report_gnuplot_draw(const report_figure *figure, report_drawing kind, int columns,
                              int lines, report_bytes *bytes, blv_message *why) {
    blv_text_stream text;
    FILE *out = blv_text_open(&text);
    if (out)
        put_script(out, figure, kind, columns, lines);
    return draw_script(&text, kind, bytes, why);
}

/* Without groups that hold nothing, and with one digit behind the point of a path: half as large.
 */
static void lighten(report_bytes *svg) {
    const char *from = svg->data, *path = "d='", *group = "<g fill=";
    char *to = svg->data;
    bool in_path = false;
    while (*from) {
        const char *end = strncmp(from, group, strlen(group)) ? NULL : strstr(from, ">\n");
        if (end && strncmp(end, ">\n</g>\n", 7) == 0) {
            from = end + 7;
            continue;
        }
        in_path = in_path ? *from != '\'' : from > svg->data + 2 && !strncmp(from - 3, path, 3);
        const bool digits = in_path && *from == '.';
        *to++ = *from++;
        if (digits && *from >= '0' && *from <= '9')
            *to++ = *from++;
        while (digits && *from >= '0' && *from <= '9')
            from++;
    }
    *to = '\0';
    svg->size = (size_t)(to - svg->data);
}

blv_error report_gnuplot_panels(const report_figure *panels, size_t count, report_bytes *bytes,
                                blv_message *why) {
    blv_text_stream text;
    FILE *out = blv_text_open(&text);
    if (out)
        put_panels(out, panels, count);
    BLV_CHECK(draw_script(&text, REPORT_SVG, bytes, why));
    lighten(bytes);
    return BLV_OK;
}

blv_error report_gnuplot_bars(const report_bar *bars, size_t count, const char *x_label,
                              report_bytes *bytes, blv_message *why) {
    blv_text_stream text;
    FILE *out = blv_text_open(&text);
    if (out)
        put_bars(out, bars, count, x_label);
    return draw_script(&text, REPORT_SVG, bytes, why);
}

blv_error report_figure_embed(const report_figure *figure, FILE *out, blv_message *why) {
    report_bytes svg;
    char caption[256];
    BLV_CHECK(report_gnuplot_draw(figure, REPORT_SVG, 0, 0, &svg, why));
    snprintf(caption, sizeof caption, "%s over %s", figure->y_label, figure->x_label);
    report_html_drawing(out, svg.data, caption);
    free(svg.data);
    return BLV_OK;
}
