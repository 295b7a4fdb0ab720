#include "row_sweep_reference.h"

#include <math.h>
#include <stdlib.h>

typedef struct reference {
    const blv_rows *rows;
    const blv_sweep *sweep;
    bool logistic, single;
    double *gradient, *hessian; /* layout of sweep->gradient */
    double *score, *tangent;    /* W a and V a of one row */
    double *probability;
} reference;

static double get(const reference *r, const void *array, size_t i) {
    return r->single ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static void put(const reference *r, void *array, size_t i, double value) {
    if (r->single)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

static size_t place(const reference *r, size_t k, size_t j) {
    return r->rows->dense ? k * r->rows->columns + j : j * r->sweep->classes + k;
}

static size_t entries_of(const reference *r, size_t row) {
    const blv_rows *d = r->rows;
    return d->dense ? d->columns : d->row_start[row + 1] - d->row_start[row];
}

static double entry(const reference *r, size_t row, size_t e, size_t *column) {
    const blv_rows *d = r->rows;
    if (d->dense) {
        *column = e;
        return get(r, d->dense, row * d->stride + e);
    }
    *column = d->column[d->row_start[row] + e];
    return get(r, d->value, d->row_start[row] + e);
}

static void multiply(const reference *r, size_t row, const void *matrix, double *out) {
    for (size_t k = 0; k < r->sweep->classes; k++)
        out[k] = 0.0;
    for (size_t e = 0; e < entries_of(r, row); e++) {
        size_t j;
        double a = entry(r, row, e, &j);
        for (size_t k = 0; k < r->sweep->classes; k++)
            out[k] += a * get(r, matrix, place(r, k, j));
    }
}

/* out += factor u a', u of one number for each class */
static void add_outer(const reference *r, size_t row, double factor, const double *u, double *out) {
    for (size_t e = 0; e < entries_of(r, row); e++) {
        size_t j;
        double a = entry(r, row, e, &j);
        for (size_t k = 0; k < r->sweep->classes; k++)
            out[place(r, k, j)] += factor * u[k] * a;
    }
}

/* Loss of a row; probability becomes the probabilities of all classes (logistic: of label 1). */
static double row_loss(reference *r, size_t label) {
    size_t classes = r->sweep->classes;
    if (r->logistic) {
        double s = label ? r->score[0] : -r->score[0];
        r->probability[0] = 1.0 / (1.0 + exp(-r->score[0]));
        return s > 0.0 ? log1p(exp(-s)) : log1p(exp(s)) - s;
    }
    double largest = r->score[0], sum = 0.0;
    for (size_t k = 1; k < classes; k++)
        largest = fmax(largest, r->score[k]);
    for (size_t k = 0; k < classes; k++)
        sum += r->probability[k] = exp(r->score[k] - largest);
    for (size_t k = 0; k < classes; k++)
        r->probability[k] /= sum;
    return log(sum) - (r->score[label] - largest);
}

static size_t best_class(const reference *r) {
    if (r->logistic)
        return r->score[0] > 0.0;
    size_t best = 0;
    for (size_t k = 1; k < r->sweep->classes; k++)
        if (r->score[k] > r->score[best])
            best = k;
    return best;
}

static double visit_row(reference *r, size_t row) {
    const blv_sweep *p = r->sweep;
    size_t label = r->rows->label ? (size_t)r->rows->label[row] : 0, classes = p->classes;
    const double *target = r->rows->target;
    double weight = r->rows->weight ? get(r, r->rows->weight, row) : 1.0;
    multiply(r, row, p->w, r->score);
    if (p->row_class)
        p->row_class[row] = (int32_t)best_class(r);
    double miss = target ? r->score[0] - target[row] : 0.0;
    double loss = target ? 0.5 * miss * miss : row_loss(r, label);
    if (p->row_loss)
        put(r, p->row_loss, row, loss);
    if (p->row_probability)
        put(r, p->row_probability, row, exp(-loss));
    double *residual = r->score; /* p - e, in place of the scores */
    for (size_t k = 0; k < classes; k++)
        residual[k] =
            target ? miss
                   : r->probability[k] - (r->logistic ? (double)label : (double)(k == label));
    if (p->gradient)
        add_outer(r, row, p->scale * weight, residual, r->gradient);
    if (p->v) {
        double cross = 0.0, mean = 0.0;
        multiply(r, row, p->v, r->tangent);
        for (size_t k = 0; k < classes; k++) {
            cross += residual[k] * r->tangent[k];
            mean += r->probability[k] * r->tangent[k];
        }
        if (p->row_cross)
            put(r, p->row_cross, row, cross);
        for (size_t k = 0; k < classes; k++)
            r->tangent[k] = target ? r->tangent[k]
                            : r->logistic
                                ? r->probability[0] * (1.0 - r->probability[0]) * r->tangent[0]
                                : r->probability[k] * (r->tangent[k] - mean);
        if (p->hessian)
            add_outer(r, row, p->scale * weight, r->tangent, r->hessian);
    }
    return weight * loss;
}

static void finish(const reference *r, const double *sum, const void *of, void *out) {
    const blv_sweep *p = r->sweep;
    for (size_t k = 0; k < p->classes; k++)
        for (size_t j = 0; j < r->rows->columns; j++) {
            size_t at = place(r, k, j);
            double ridge = p->ridge;
            ridge += p->ridge_column ? get(r, p->ridge_column, j) : 0.0;
            ridge += p->ridge_class ? get(r, p->ridge_class, k) : 0.0;
            put(r, out, at, sum[at] + ridge * get(r, of, at));
        }
}

bool blv_reference_sweep(const blv_rows *rows, const blv_sweep *sweep, bool logistic, bool single) {
    size_t size = sweep->classes * rows->columns;
    double *memory = calloc(2 * size + 3 * sweep->classes, sizeof *memory);
    if (!memory)
        return false;
    reference r = {.rows = rows,
                   .sweep = sweep,
                   .logistic = logistic,
                   .single = single,
                   .gradient = memory,
                   .hessian = memory + size,
                   .score = memory + 2 * size,
                   .tangent = memory + 2 * size + sweep->classes,
                   .probability = memory + 2 * size + 2 * sweep->classes};
    double loss = 0.0;
    for (size_t i = 0; i < rows->count; i++)
        loss += visit_row(&r, rows->index ? rows->index[i] : rows->first + i);
    if (sweep->loss)
        *sweep->loss = sweep->scale * loss;
    if (sweep->gradient)
        finish(&r, r.gradient, sweep->w, sweep->gradient);
    if (sweep->hessian)
        finish(&r, r.hessian, sweep->v, sweep->hessian);
    free(memory);
    return true;
}
