/* Passes over sparse rows: the plain loops, until faster ones take this file's place. */
#include "kernels/pass_private.h"
#include "kernels/pass_reference.h"

size_t blv_sparse_room_bytes(size_t classes, size_t columns, size_t real_size, size_t max_rows,
                             int threads) {
    (void)classes;
    (void)columns;
    (void)real_size;
    (void)max_rows;
    (void)threads;
    return 0;
}

void blv_sparse_pass(const blv_rows *rows, const blv_pass *pass, blv_pass_work *work, bool logistic,
                     bool single) {
    (void)work;
    blv_reference_pass(rows, pass, logistic, single);
}
