/* auto: what a problem needs, decided by what is measured on the way.
 *
 *   batches   steps of saba, for sums of many samples
 *   whole     L-BFGS on Phi by whole sums (auto_descent.c), which also ends the run
 *   penalty   where d2g/dy2 is not positive definite at y*(x): ragd-gs, from gradients alone; for
 *             networks, of whose minimizers there are many, pbsgd
 *
 * Where both of the first two can be used they take turns: each is given a block of work, and what
 * Phi has fallen by in it, for each unit of work, decides who goes on. Blocks of batches grow when
 * they are far ahead. Work is the number of oracle calls, counted for each sample; one on a
 * batch costs about two on a whole sum. The clock is never asked. */
#include "blocks/nested.h"
#include "blocks/param_rows.h"
#include "solvers/auto_descent.h"
#include "solvers/builtin_solvers.h"

#include <math.h>

enum {
    BATCHES_IN_A_SUM = 16,
    PASSES = 32,
    PASSES_AGAIN = 4,
    STEPS_IN_A_PASS = 16,
    LOOKS_IN_A_PASS = 4,
    PASSES_TO_A_VALUE = 2,
    PENALTY_STEPS = 1000,
    PENALTY_PASSES = 8,
    PENALTY_BLOCKS = 32, /* as long as the first, at most */
    STEPS_TO_A_LOOK = 16
};
static const double batch_weight = 2.0, table_numbers_max = 3e7, penalty_accuracy = 1e-6,
                    penalty_dims_max = 1e6, clear_lead = 4.0;

typedef enum phase { ON_BATCHES, ON_WHOLE, ON_PENALTY } phase;

typedef struct autom {
    blv_nested batches, penalty;
    blv_auto_descent descent;
    blv_vec *v;                      /* the run's */
    blv_vec *kept[3], *best[3];      /* x, y, v: before the block of batches; of the least f */
    blv_vec *x_before, *move;        /* x a pass ago, and how it went in the pass before */
    double phase, begins;            /* begins: the phase, with the next step */
    double can_batch;                /* not 0: batches may have their turn */
    double work;                     /* so far */
    double at, value;                /* work and Phi at the beginning of this block */
    double gain[2];                  /* for each unit of work, of the last block of each */
    double block;                    /* passes in the next block of batches */
    double passes;                   /* in this block */
    double passes_in_all, blocks;    /* of batches */
    double looked_at, watched_at;    /* passes in all when x, and f, were looked at last */
    double f_first, f_least, f_last; /* in this block */
    double f_most, f_looks[2];       /* of penalties: the last two */
    double step_most;                /* of x */
    double batch_work;               /* of the last block of batches */
    double steps;                    /* of penalties, so far */
    double d_most, r_most, least;    /* their largest |d| and |r|, the least share of both, */
    double least_at;                 /* and in which step */
} autom;

static const blv_solver *const batch_solver = &blv_solver_saba;

/* ---- Opening ---- */

static size_t batch_of(const blv_run *run) {
    return blv_nested_batch(run, blv_problem_definition(blv_run_problem(run))->lower_samples);
}

/* Whether batches are much smaller than sums. */
static bool is_large(const blv_run *run, const blv_problem_def *def) {
    return batch_of(run) > 0 && def->lower_samples >= BATCHES_IN_A_SUM * batch_of(run);
}

/* Whether they are, their tables are not large, and x is not a weight for each sample, of which a
 * batch shows a few. */
static bool wants_batches(const blv_run *run, const blv_problem_def *def) {
    double batch = (double)batch_of(run);
    double samples = (double)def->lower_samples;
    double numbers = 3.0 * (double)def->dim_y + 2.0 * (double)def->dim_x;
    return is_large(run, def) && numbers * samples / batch <= table_numbers_max &&
           (double)def->dim_x < samples;
}

static blv_error keep_state(blv_run *run, autom *s) {
    static const char *const kept[] = {"x kept", "y kept", "v kept"};
    static const char *const best[] = {"x best", "y best", "v best"};
    for (size_t i = 0; i < 3; i++) {
        blv_level level = i == 0 ? BLV_LEVEL_X : BLV_LEVEL_Y;
        BLV_CHECK(blv_state_vec(run, kept[i], level, &s->kept[i]));
        BLV_CHECK(blv_state_vec(run, best[i], level, &s->best[i]));
    }
    BLV_CHECK(blv_state_vec(run, "x before", BLV_LEVEL_X, &s->x_before));
    BLV_CHECK(blv_state_vec(run, "move", BLV_LEVEL_X, &s->move));
    return blv_state_hiddens(
        run, "phase", &s->phase, "begins", &s->begins, "work", &s->work, "at", &s->at, "value",
        &s->value, "gain of batches", &s->gain[ON_BATCHES], "gain of whole sums",
        &s->gain[ON_WHOLE], "block", &s->block, "passes", &s->passes, "can batch", &s->can_batch,
        "passes in all", &s->passes_in_all, "blocks", &s->blocks, "batch work", &s->batch_work,
        "looked at", &s->looked_at, "watched at", &s->watched_at, "first f", &s->f_first, "least f",
        &s->f_least, "last f", &s->f_last, "most f", &s->f_most, "look", &s->f_looks[0],
        "look before", &s->f_looks[1], "most step", &s->step_most, "steps", &s->steps, "most d",
        &s->d_most, "most r", &s->r_most, "least", &s->least, "least at", &s->least_at, NULL);
}

static blv_error auto_open(blv_run *run, void *state) {
    autom *s = state;
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    bool regular = !def->singular_lower && !def->many_minimizers;
    bool on_batches = regular && wants_batches(run, def);
    if (on_batches)
        BLV_CHECK(blv_nested_open(run, batch_solver, true, &s->batches));
    else
        BLV_CHECK(blv_state_iterate(run, "v", BLV_LEVEL_Y, &s->v));
    s->v = blv_nested_v(run);
    const blv_solver *penalty = def->many_minimizers ? &blv_solver_pbsgd : &blv_solver_ragd_gs;
    if (!regular || (double)def->dim_x + (double)def->dim_y <= penalty_dims_max)
        BLV_CHECK(blv_nested_open(run, penalty, def->many_minimizers, &s->penalty));
    BLV_CHECK(keep_state(run, s));
    s->phase = !regular ? ON_PENALTY : on_batches ? ON_BATCHES : ON_WHOLE;
    s->can_batch = on_batches;
    s->begins = 1.0;
    s->block = PASSES;
    return blv_auto_descent_open(run, s->v, &s->descent);
}

static blv_flow auto_prepare(blv_run *run, void *state) {
    autom *s = state;
    s->value = NAN;
    if (s->phase == ON_PENALTY)
        blv_run_note(run, "g has many minimizers: gradients alone, by %s", s->penalty.solver->name);
    if (s->phase != ON_BATCHES)
        return BLV_GO;
    blv_flow flow = blv_nested_prepare(run, &s->batches);
    if (flow == BLV_NO_INVERSE || flow == BLV_NONFINITE) {
        s->phase = ON_WHOLE; /* which looks more closely */
        s->can_batch = 0.0;
        return BLV_GO;
    }
    BLV_TRY(flow);
    double curvature = *blv_nested_scalar(run, &s->batches, "L_phi");
    if (!blv_problem_definition(blv_run_problem(run))->project_x) /* |grad Phi| at the start */
        s->descent.first = *blv_nested_scalar(run, &s->batches, "reach_x") * curvature;
    s->descent.curvature = curvature;
    return blv_oracle_upper(run, NULL, blv_run_x(run), blv_run_y(run), &s->value, NULL, NULL);
}

/* ---- Turns ---- */

static void turn_to(autom *s, phase next) {
    s->phase = next;
    s->begins = 1.0;
}

static blv_flow set(blv_run *run, blv_vec *iterate, const blv_vec *value) {
    return blv_move_to(run, iterate, 1, (const double[]){1.0}, &value);
}

static void keep(blv_run *run, autom *s, blv_vec *const *place) {
    blv_vec_copy(place[0], blv_run_x(run));
    blv_vec_copy(place[1], blv_run_y(run));
    blv_vec_copy(place[2], s->v);
}

static blv_flow go_back(blv_run *run, autom *s, blv_vec *const *place) {
    BLV_TRY(set(run, blv_run_x(run), place[0]));
    BLV_TRY(set(run, blv_run_y(run), place[1]));
    return set(run, s->v, place[2]);
}

/* To where the block of batches began. */
static blv_flow undo_block(blv_run *run, autom *s) {
    s->gain[ON_BATCHES] = 0.0;
    return go_back(run, s, s->kept);
}

/* Where x goes on as it did before the last look, its step is too short, and where it comes back,
 * too long: the automatic one is from the start, and Phi may bend much less further on. */
static void adapt_step(blv_run *run, autom *s, const blv_nested *nested, double returning) {
    const double steady = 0.5;
    double product, now, before, *step = blv_nested_scalar(run, nested, "auto_step_x");
    blv_vec_combine(s->x_before, 1.0, blv_run_x(run), -1.0, s->x_before);
    blv_reduce(BLV_SCALARS(BLV_DOT(&product, s->x_before, s->move), BLV_NORM(&now, s->x_before),
                           BLV_NORM(&before, s->move)));
    blv_vec_swap(s->x_before, s->move);
    blv_vec_copy(s->x_before, blv_run_x(run));
    s->looked_at = s->passes_in_all;
    if (now * before > 0.0 && product > steady * now * before)
        *step = fmin(2.0 * *step, s->step_most);
    else if (now * before > 0.0 && product < returning * now * before)
        *step *= 0.5;
}

/* f on the whole sum. */
static blv_flow look_at_f(blv_run *run, autom *s) {
    s->watched_at = s->passes_in_all;
    return blv_oracle_upper(run, NULL, blv_run_x(run), blv_run_y(run), &s->f_last, NULL, NULL);
}

/* Where f has risen by a quarter of what it has fallen by, x has run ahead of y: its step becomes
 * much shorter, and never as long again. Where it stands still the block has nothing left to do. */
static blv_flow watch_f(blv_run *run, autom *s) {
    const double rise = .25, still = 1e-6, before = s->f_last;
    double *step = blv_nested_scalar(run, &s->batches, "auto_step_x");
    BLV_TRY(look_at_f(run, s));
    double f = s->f_last;
    if (fabs(f - before) < still * (s->f_first - s->f_least))
        s->passes = s->block;
    if (f <= s->f_least) {
        s->f_least = f;
        keep(run, s, s->best);
    }
    if (f <= s->f_least + rise * (s->f_first - s->f_least))
        return BLV_GO;
    s->step_most = 0.25 * *step;
    *step = 0.1 * s->step_most;
    return BLV_GO;
}

static blv_flow begin_batches(blv_run *run, autom *s, const blv_nested *nested) {
    const double longer = 64.0;
    blv_vec_copy(s->x_before, blv_run_x(run));
    blv_vec_fill(s->move, 0.0);
    s->looked_at = s->watched_at = s->passes_in_all;
    s->step_most = longer * *blv_nested_scalar(run, nested, "auto_step_x");
    BLV_TRY(blv_oracle_upper(run, NULL, blv_run_x(run), blv_run_y(run), &s->f_first, NULL, NULL));
    s->f_least = s->f_last = s->f_first;
    keep(run, s, s->best);
    return BLV_GO;
}

/* Steps and tables are of a point far away. */
static blv_flow begin_anew(blv_run *run, autom *s) {
    static const char *const steps[] = {"auto_step_x", "auto_step_y", "auto_step_v"};
    for (size_t i = 0; i < 3; i++)
        *blv_nested_scalar(run, &s->batches, steps[i]) = NAN;
    return blv_nested_prepare(run, &s->batches);
}

static blv_flow step_on_batches(blv_run *run, autom *s) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    size_t a_pass = def->lower_samples / batch_of(run);
    size_t steps = a_pass / STEPS_IN_A_PASS + 1;
    if (s->begins != 0.0) {
        keep(run, s, s->kept);
        if (s->blocks > 0.0)
            BLV_TRY(begin_anew(run, s));
        BLV_TRY(begin_batches(run, s, &s->batches));
    }
    s->begins = 0.0;
    for (size_t i = 0; i < steps; i++)
        BLV_TRY(blv_nested_step(run, &s->batches));
    s->passes += (double)steps / (double)a_pass;
    s->passes_in_all += (double)steps / (double)a_pass;
    if (s->passes_in_all >= s->looked_at + 1.0 / LOOKS_IN_A_PASS)
        adapt_step(run, s, &s->batches, 0.0);
    if (s->passes_in_all >= s->watched_at + PASSES_TO_A_VALUE)
        BLV_TRY(watch_f(run, s));
    return BLV_GO;
}

static blv_flow batch_step(blv_run *run, autom *s) {
    blv_flow flow = step_on_batches(run, s);
    bool ran_off = flow == BLV_NONFINITE || flow == BLV_NO_INVERSE;
    if (ran_off)
        blv_run_note(run, "batches ran off: back to the best of them");
    else
        BLV_TRY(flow);
    if (!ran_off && s->passes < s->block)
        return BLV_GO;
    turn_to(s, ON_WHOLE);
    if (!ran_off)
        BLV_TRY(watch_f(run, s));
    return ran_off || s->f_last > s->f_least ? go_back(run, s, s->best) : BLV_GO;
}

/* Phi at the end of a block, and what the block has gained. */
static blv_flow judge_batches(blv_run *run, autom *s) {
    double spent = s->work - s->at;
    blv_flow flow = blv_auto_descent_begin(run, &s->descent);
    if (flow != BLV_GO && flow != BLV_NONFINITE && flow != BLV_NO_INVERSE)
        return flow;
    s->gain[ON_BATCHES] = (s->value - s->descent.phi) / spent;
    if (flow != BLV_GO || !(s->descent.phi < s->value)) {
        BLV_TRY(undo_block(run, s));
        BLV_TRY(blv_auto_descent_begin(run, &s->descent));
    }
    s->batch_work = spent;
    s->block = s->blocks == 0.0 ? PASSES_AGAIN : s->block;
    s->blocks++;
    if (s->blocks == 1.0)
        blv_run_note(run, "batches of %zu for %.1f passes, then whole sums: Phi = %.6g there",
                     batch_of(run), s->passes_in_all, s->descent.phi);
    return BLV_GO;
}

static void begin_block(autom *s) {
    s->at = s->work;
    s->value = s->descent.phi;
    s->passes = 0.0;
}

static blv_flow whole_step(blv_run *run, autom *s) {
    if (s->begins == 0.0)
        return blv_auto_descent_step(run, &s->descent);
    if (s->can_batch != 0.0)
        BLV_TRY(judge_batches(run, s));
    else
        BLV_TRY(blv_auto_descent_begin(run, &s->descent));
    s->begins = 0.0;
    return blv_auto_descent_confirm(run, &s->descent);
}

/* After a step on whole sums: batches have their turn when these have been given as much work and
 * have gained less with it. */
static void compare_gains(blv_run *run, autom *s) {
    double spent = s->work - s->at;
    if (s->can_batch == 0.0 || spent < s->batch_work)
        return;
    s->gain[ON_WHOLE] = (s->value - s->descent.phi) / spent;
    begin_block(s);
    if (s->gain[ON_BATCHES] <= s->gain[ON_WHOLE])
        return;
    if (s->gain[ON_BATCHES] > clear_lead * s->gain[ON_WHOLE])
        s->block *= 2.0;
    turn_to(s, ON_BATCHES);
    blv_run_note(run,
                 "batches again after iteration %llu: whole sums gained less for the same work",
                 (unsigned long long)blv_run_iteration(run) + 1);
}

/* Of the largest that it has been. */
static double share_left(double norm, double *most) {
    *most = fmax(*most, norm);
    return *most > 0.0 ? norm / *most : 0.0;
}

/* What share of the samples of g a step of penalties goes through. */
static double pass_of_a_step(const blv_run *run) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    return batch_of(run) > 0 ? (double)batch_of(run) / (double)def->lower_samples : 1.0;
}

static bool is_stochastic(const blv_solver *solver) {
    return (solver->uses & BLV_IS_STOCHASTIC) != 0;
}

static double first_block(const blv_run *run) {
    return fmax(PENALTY_PASSES, PENALTY_STEPS * pass_of_a_step(run));
}

/* What f has changed by in all. Where it rises, y fits wrong labels and x has yet to follow: that
 * is no reason for shorter steps of x. */
static blv_flow follow_f(blv_run *run, autom *s) {
    BLV_TRY(look_at_f(run, s));
    s->f_most = fmax(s->f_most, s->f_last);
    s->f_least = fmin(s->f_least, s->f_last);
    return BLV_GO;
}

/* Where d and r are noise: they end when twice the passes have changed f by no more than a
 * hundredth of what it has changed by in all, two times in a row, and after many passes anyway. */
static blv_flow end_on_batches(blv_run *run, autom *s) {
    const double enough = 0.01;
    BLV_TRY(follow_f(run, s));
    double change = fmax(fabs(s->f_last - s->f_looks[0]), fabs(s->f_looks[0] - s->f_looks[1]));
    s->f_looks[1] = s->f_looks[0];
    s->f_looks[0] = s->f_last;
    s->block *= 2.0;
    bool settled = change <= enough * (s->f_most - s->f_least);
    if (!settled && s->block <= PENALTY_BLOCKS * first_block(run))
        return BLV_GO;
    blv_run_note(run, "ended after %.0f passes: f %s", s->passes_in_all,
                 settled ? "has settled" : "still changes, but this is long enough");
    return BLV_STUCK;
}

static blv_flow begin_penalty(blv_run *run, autom *s) {
    BLV_TRY(blv_nested_prepare(run, &s->penalty));
    if (!is_stochastic(s->penalty.solver))
        return BLV_GO;
    s->passes_in_all = 0.0;
    s->block = first_block(run);
    BLV_TRY(begin_batches(run, s, &s->penalty));
    s->f_most = s->f_looks[0] = s->f_looks[1] = s->f_first;
    return BLV_GO;
}

/* Batches show x and y by turns, and each of them a part of x: it takes a pass to see where x goes,
 * and noise sends it back as often as on. */
static blv_flow penalty_on_batches(blv_run *run, autom *s) {
    const double a_step = pass_of_a_step(run), a_look = STEPS_TO_A_LOOK * a_step;
    s->passes_in_all += a_step;
    if (s->passes_in_all >= s->looked_at + fmax(1.0, a_look))
        adapt_step(run, s, &s->penalty, -0.5);
    if (s->passes_in_all >= s->watched_at + fmax(PASSES_TO_A_VALUE, a_look))
        BLV_TRY(follow_f(run, s));
    return s->passes_in_all >= s->block ? end_on_batches(run, s) : BLV_GO;
}

/* They end when d and r are small, or have not come down for as long as all that came before. */
static blv_flow penalty_step(blv_run *run, autom *s) {
    if (s->begins != 0.0)
        BLV_TRY(begin_penalty(run, s));
    s->begins = 0.0;
    BLV_TRY(blv_nested_step(run, &s->penalty));
    if (is_stochastic(s->penalty.solver))
        return penalty_on_batches(run, s);
    s->steps++;
    double left = share_left(blv_run_metrics(run)->d_norm, &s->d_most);
    left = fmax(left, share_left(blv_run_metrics(run)->r_norm, &s->r_most));
    if (left <= penalty_accuracy)
        return BLV_FINISHED;
    if (s->steps == 1.0 || left < 0.99 * s->least) {
        s->least = left;
        s->least_at = s->steps;
    }
    return s->steps > 2.0 * s->least_at + PENALTY_STEPS ? BLV_STUCK : BLV_GO;
}

static blv_flow auto_step(blv_run *run, void *state) {
    autom *s = state;
    bool begins = s->begins != 0.0, is_whole = s->phase == ON_WHOLE;
    double before = blv_nested_work(run), weight = s->phase == ON_BATCHES ? batch_weight : 1.0;
    blv_flow flow = s->phase == ON_BATCHES ? batch_step(run, s)
                    : s->phase == ON_WHOLE ? whole_step(run, s)
                                           : penalty_step(run, s);
    s->work += weight * (blv_nested_work(run) - before);
    if (flow == BLV_GO && is_whole && begins)
        begin_block(s);
    else if (flow == BLV_GO && is_whole)
        compare_gains(run, s);
    if (flow != BLV_NO_INVERSE || s->phase != ON_WHOLE || !s->penalty.solver)
        return flow;
    blv_run_note(run,
                 "g does not curve up in every direction at its minimum: gradients alone from "
                 "here on, by %s",
                 s->penalty.solver->name);
    turn_to(s, ON_PENALTY);
    return BLV_GO;
}

const blv_solver blv_solver_auto = {
    BLV_SIZED(blv_solver),
    .name = "auto",
    .summary = "batches or whole sums, whichever gains more, to a certified end: nothing to set",
    .citation = "this library",
    .group = "automatic",
    .hint = "check the oracles with `bilevel check`; where x runs off, bound it",
    .uses = BLV_USES_HVP | BLV_USES_CROSS | BLV_IS_STOCHASTIC,
    .state_size = sizeof(autom),
    .open = auto_open,
    .prepare = auto_prepare,
    .step = auto_step,
};
