/* How many labels are wrong, and how probable it is that each is right.
 *
 * Of the probabilities p of models that have not seen a row, P = p^a, summing up to 1, are those of
 * its true class; a label is drawn from T = (1 - e) I + e S, so that label s of a row has the
 * chance
 *
 *     (1 - e) u + e v,    u = P_s,    v = sum_k P_k S[k,s]
 *
 * Classes that overlap and labels that are wrong look alike where a model is unsure, not where it
 * is sure: overlap leaves next to nothing of u there, wrong labels a share e. So the likelihood
 * tells them apart, the better the more rows there are, with the best sharpness a for every e.
 * Trusted rows, whose labels have the chance P_s, tell what a is; log a is 0 but for a deviation of
 * 1.
 *
 * S says which label becomes which: by confident learning (Northcutt, Jiang and Chuang, 2021),
 * where a class is likely for a row when its probability is at least the mean over the rows
 * labelled with it. The share of rows with another likely class than their label bounds e from
 * above, since rows that the model gets wrong are among them. Below that, e is the largest that is
 * about as likely as the likeliest one: wrong labels near the boundaries of classes pass for
 * overlap, so that the likeliest e is too small. More is put down to that where some labels are
 * clearly wrong than where all may be right.
 *
 * Where the labels are about as likely by the shares of the classes alone, the features seem to
 * have nothing to do with them: noise that turns every class into all others would explain them as
 * well as none. That one e is the likeliest, such as 0, then says little: e is the mean of all,
 * weighted by the likelihood, or the likeliest one where that is larger, and it is not clear that
 * any label is wrong. */
#include "learn/clean_work.h"
#include "learn/row_sets.h"

#include <math.h>
#include <stdlib.h>

enum { SHARPNESSES = 38, SHARES = 61, SMOOTHING = 2, MOST_ROWS = 10000, MOST_NUMBERS = 200000 };
enum { AT_ONCE = 16 }; /* chances of which the product is above 0 */
static const double least_sharp = -2.5, sharp_step = 0.15; /* log a */
static const double share_step = 0.01, slack = 0.03;
static const double too_many = 0.65; /* rows that look wrong, to believe that labels are */
/* In logarithms of chances. */
static const double clearly_likelier = 2.0, about_as_likely[] = {0.75, 3.0}; /* [surely] */
static const double least_chance = 1e-12;

typedef struct share_fit {
    blv_arena arena;
    const blv_cleaning *cleaning;
    size_t classes, rows, apart; /* every `apart`th row of train is used */
    const int32_t *label;
    double *class_share; /* of the rows of train */
    double *S;
    double *room, *logs; /* of the probabilities of one row, and of each that is used */
    double *chances;     /* of each sharpness that is known: u and v of each row */
    size_t trusted_rows;
    const int32_t *trusted_label;
    double *trusted_logs;
    bool known[SHARPNESSES];
    double trusted[SHARPNESSES];
    double fit[SHARES]; /* log of the likelihood, with the best sharpness */
    double sharp[SHARES];
} share_fit;

/* ---- Which label becomes which ---- */

/* The likeliest of those that are likely; K: none. */
static size_t likely_class(const double *p, size_t K, const double *likely) {
    size_t best = K;
    for (size_t k = 0; k < K; k++)
        if (p[k] >= likely[k] && (best == K || p[k] > p[best]))
            best = k;
    return best;
}

static bool count_confident(share_fit *f, double *joint) {
    const blv_clean_result *r = &f->cleaning->result;
    const size_t K = f->classes;
    double *likely = calloc(2 * K, sizeof *likely), *rows = likely + K;
    if (!likely)
        return false;
    for (size_t i = 0; i < r->rows; i++) {
        likely[f->label[i]] += r->probability[i * K + (size_t)f->label[i]];
        rows[f->label[i]] += 1.0;
    }
    for (size_t k = 0; k < K; k++)
        likely[k] = rows[k] > 0.0 ? likely[k] / rows[k] : 2.0; /* no row: never likely */
    for (size_t i = 0; i < r->rows; i++) {
        const size_t best = likely_class(r->probability + i * K, K, likely);
        if (best < K)
            joint[best * K + (size_t)f->label[i]] += 1.0;
    }
    free(likely);
    return true;
}

/* Makes S; returns the share of rows whose likely class is another than their label. */
static double take_joint(share_fit *f, const double *joint) {
    const size_t K = f->classes;
    double apart = 0.0;
    for (size_t s = 0; s < K; s++) {
        double judged = 0.0, rows = 0.0;
        for (size_t k = 0; k < K; k++)
            judged += joint[k * K + s];
        for (size_t i = 0; i < f->cleaning->result.rows; i++)
            rows += (size_t)f->label[i] == s;
        if (judged > 0.0)
            apart += rows * (1.0 - joint[s * K + s] / judged);
    }
    for (size_t k = 0; k < K; k++) {
        double sum = SMOOTHING;
        for (size_t l = 0; l < K; l++)
            sum += l == k ? 0.0 : joint[k * K + l];
        for (size_t l = 0; l < K; l++)
            f->S[k * K + l] =
                l == k ? 0.0 : (joint[k * K + l] + SMOOTHING / ((double)K - 1.0)) / sum;
    }
    return apart / (double)f->cleaning->result.rows;
}

/* ---- The likelihood ---- */

/* log p / max p of a row, at least least_chance: what powers of it are made of. */
static void take_logs(const double *p, size_t K, double *to) {
    double largest = least_chance;
    for (size_t k = 0; k < K; k++)
        largest = fmax(largest, p[k]);
    for (size_t k = 0; k < K; k++)
        to[k] = log(fmax(p[k], least_chance) / largest);
}

/* u and, where S is not NULL, v of a row with these logarithms. */
static void chances_of(const double *logs, size_t K, size_t label, double sharpness,
                       const double *S, double *u, double *v) {
    double sum = 0.0, others = 0.0, stated = 0.0;
    for (size_t k = 0; k < K; k++) {
        const double P = exp(sharpness * logs[k]);
        sum += P;
        others += S ? P * S[k * K + label] : 0.0;
        stated = k == label ? P : stated;
    }
    *u = stated / sum;
    if (v)
        *v = others / sum;
}

static double sharpness_at(double place) {
    return exp(least_sharp + sharp_step * place);
}

/* Of a sharpness that is asked for the first time. */
static void find_chances(share_fit *f, size_t t) {
    const size_t K = f->classes;
    double *to = f->chances + 2 * t * f->rows, u;
    for (size_t i = 0; i < f->rows; i++, to += 2)
        chances_of(f->logs + i * K, K, (size_t)f->label[i * f->apart], sharpness_at((double)t),
                   f->S, to, to + 1);
    f->trusted[t] = 0.0;
    for (size_t j = 0; j < f->trusted_rows; j++) {
        chances_of(f->trusted_logs + j * K, K, (size_t)f->trusted_label[j], sharpness_at((double)t),
                   NULL, &u, NULL);
        f->trusted[t] += log(fmax(u, least_chance));
    }
    f->known[t] = true;
}

static double likelihood(share_fit *f, size_t t, double share) {
    const double *chance = f->chances + 2 * t * f->rows;
    const double sharp =
        log(sharpness_at((double)t)); /* is 0 where models are as sure as they say */
    if (!f->known[t])
        find_chances(f, t);
    double sum = f->trusted[t] - 0.5 * sharp * sharp, product = 1.0;
    for (size_t i = 0; i < f->rows; i++) {
        product *= fmax((1.0 - share) * chance[2 * i] + share * chance[2 * i + 1], least_chance);
        if (i % AT_ONCE == AT_ONCE - 1 || i + 1 == f->rows) {
            sum += log(product);
            product = 1.0;
        }
    }
    return sum;
}

/* The best sharpness for a share, uphill from *t, and between its neighbours by a parabola. */
static void fit_share(share_fit *f, size_t at, size_t *t) {
    const double share = share_step * (double)at;
    double here = likelihood(f, *t, share), side[2];
    for (;;) {
        side[0] = *t > 0 ? likelihood(f, *t - 1, share) : -INFINITY;
        side[1] = *t + 1 < SHARPNESSES ? likelihood(f, *t + 1, share) : -INFINITY;
        const bool up = side[1] > side[0];
        if (!(side[up] > here))
            break;
        *t = up ? *t + 1 : *t - 1;
        here = side[up];
    }
    const double bend = side[0] - 2.0 * here + side[1], slope = 0.5 * (side[1] - side[0]);
    const double move = isfinite(bend) && bend < 0.0 ? -slope / bend : 0.0;
    f->fit[at] = here + 0.5 * slope * move;
    f->sharp[at] = sharpness_at((double)*t + move);
}

/* Of the same labels, where each has the share of its class in train as its chance. */
static double likelihood_without_features(const share_fit *f) {
    double sum = 0.0;
    for (size_t i = 0; i < f->rows; i++)
        sum += log(f->class_share[f->label[i * f->apart]]);
    for (size_t j = 0; j < f->trusted_rows; j++)
        sum += log(fmax(f->class_share[f->trusted_label[j]], least_chance));
    return sum;
}

/* Not more than rows look wrong. */
static bool may_be(const blv_wrong_share *found, size_t at) {
    return at < SHARES && share_step * (double)at <= found->apart + slack;
}

/* The mean of the shares, weighted by their likelihood. */
static size_t mean_share(const share_fit *f, const blv_wrong_share *found) {
    double sum = 0.0, weights = 0.0;
    for (size_t s = 0; may_be(found, s); s++) {
        const double weight = exp(f->fit[s] - found->likelihood);
        sum += weight * (double)s;
        weights += weight;
    }
    return weights > 0.0 ? (size_t)round(sum / weights) : 0;
}

/* The largest share that is about as likely as the likeliest, but not above the share of rows that
 * look wrong for that. */
static size_t choose_share(const share_fit *f, blv_wrong_share *found) {
    size_t best = 0, at;
    for (size_t s = 1; s < SHARES; s++)
        if (f->fit[s] > f->fit[best])
            best = s;
    found->likelihood = f->fit[best];
    found->blind = f->fit[best] < likelihood_without_features(f) + about_as_likely[false];
    found->surely = f->fit[0] < f->fit[best] - clearly_likelier && !found->vague && !found->blind;
    if (found->blind) {
        const size_t mean = mean_share(f, found);
        return mean > best ? mean : best;
    }
    for (at = best;
         may_be(found, at + 1) && f->fit[at + 1] >= f->fit[best] - about_as_likely[found->surely];)
        at++;
    return at;
}

/* ---- What follows for each row ---- */

static double take_share(share_fit *f, blv_cleaning *c, size_t at) {
    blv_clean_result *r = &c->result;
    const size_t K = f->classes;
    /* less than half a wrong label: what is suspicious is still ranked */
    const double share = fmax(share_step * (double)at, 0.5 / (double)r->rows);
    double wrong = 0.0, u, v;
    for (size_t i = 0; i < r->rows; i++) {
        take_logs(r->probability + i * K, K, f->room);
        chances_of(f->room, K, (size_t)f->label[i], f->sharp[at], f->S, &u, &v);
        const double right = (1.0 - share) * u, other = share * v;
        r->label_probability[i] = right + other > 0.0 ? right / (right + other) : 1.0;
        wrong += 1.0 - r->label_probability[i];
    }
    r->estimated_wrong = wrong / (double)r->rows;
    return share;
}

/* Memory, and the logarithms of what the likelihood is made of. */
static bool open_fit(share_fit *f) {
    const blv_cleaning *c = f->cleaning;
    const size_t K = f->classes;
    if (c->sets.val && !c->options.probabilities) {
        f->trusted_rows = blv_rows_in(c->sets.val);
        f->trusted_label = blv_dataset_view_of(c->sets.val)->label;
    }
    f->class_share = blv_arena_alloc(&f->arena, K, sizeof *f->class_share);
    for (size_t i = 0; !f->arena.failed && i < c->result.rows; i++)
        f->class_share[f->label[i]] += 1.0 / (double)c->result.rows;
    f->room = blv_arena_alloc(&f->arena, K, sizeof *f->room);
    f->logs = blv_arena_alloc(&f->arena, f->rows * K, sizeof *f->logs);
    f->trusted_logs = blv_arena_alloc(&f->arena, f->trusted_rows * K + 1, sizeof *f->trusted_logs);
    f->chances = blv_arena_alloc(&f->arena, 2 * SHARPNESSES * f->rows, sizeof *f->chances);
    for (size_t i = 0; !f->arena.failed && i < f->rows; i++)
        take_logs(c->result.probability + i * f->apart * K, K, f->logs + i * K);
    for (size_t j = 0; !f->arena.failed && j < f->trusted_rows; j++)
        take_logs(c->result.val_probability + j * K, K, f->trusted_logs + j * K);
    return !f->arena.failed;
}

blv_error blv_clean_share(blv_cleaning *c, blv_wrong_share *found, double *S) {
    const size_t K = c->result.classes;
    share_fit f = {.cleaning = c,
                   .classes = K,
                   .apart = 1 + c->result.rows / MOST_ROWS + c->result.rows * K / MOST_NUMBERS,
                   .label = blv_dataset_view_of(c->sets.train)->label,
                   .S = S};
    f.rows = (c->result.rows + f.apart - 1) / f.apart;
    double *joint = blv_arena_alloc(&f.arena, K * K, sizeof *joint);
    const bool room = joint && open_fit(&f) && count_confident(&f, joint);
    if (room) {
        size_t t = (size_t)(-least_sharp / sharp_step);
        *found = (blv_wrong_share){.apart = take_joint(&f, joint)};
        found->vague = found->apart > too_many;
        for (size_t s = 0; s < SHARES; s++)
            fit_share(&f, s, &t);
        found->share = take_share(&f, c, choose_share(&f, found));
    }
    blv_arena_free(&f.arena);
    return room ? BLV_OK : blv_explain_memory(c->why);
}
