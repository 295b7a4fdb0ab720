/* Activations and dropout, on flat arrays. What is behind the last whole vector belongs to the
 * padding: counts are multiples of a cache line. */
#pragma once

#include "kernels/cpu/lanes_math.h"
#include "nn/nn_loops.h"

static void relu(size_t count, void *value_data, void *tangent_data) {
    real *value = value_data, *tangent = tangent_data;
    const vec nothing = all(0);
    for (size_t i = 0; i < count; i += LANES) {
        const vec x = load(value + i);
        const ivec off = x <= nothing; /* NaN stays */
        store(value + i, without(off, x));
        if (tangent)
            store(tangent + i, without(off, load(tangent + i)));
    }
}

static void relu_back(size_t count, const void *value_data, void *delta_data, void *tangent_data) {
    const real *value = value_data;
    real *delta = delta_data, *tangent = tangent_data;
    const vec nothing = all(0);
    for (size_t i = 0; i < count; i += LANES) {
        const ivec off = load(value + i) <= nothing;
        store(delta + i, without(off, load(delta + i)));
        if (tangent)
            store(tangent + i, without(off, load(tangent + i)));
    }
}

/* A function with its first and second derivative. */
typedef struct activated {
    vec value, slope, curve;
} activated;

/* log(1 + e^x) = max(x, 0) + log1p e^-|x| */
ALWAYS_INLINE void softplus_of(vec x, activated *out) {
    const vec nothing = all(0), one = all(1);
    const vec far = exp_of(minus_size_of(x));
    const vec near = one / (one + far), other = far * near;
    const ivec positive = x > nothing;
    out->value = log1p_of(far) + choose(positive, x, nothing);
    out->slope = choose(positive, near, other);
    out->curve = near * other;
}

/* (1 + 2 z) exp(z^2) erfc(z) for z >= 0: a Chebyshev expansion in (z - 4) / (z + 4), written in
 * powers. Off by 4e-16 (double) and 4e-7 (float), relative. */
ALWAYS_INLINE vec scaled_erfc_of(vec z) {
    /* clang-format off */
    static const real c[] = {
#if REAL_IS_FLOAT
        -0.00036650826f, 0.0043990687f, -0.016615845f, 0.03782366f, -0.06611918f,
        0.09344131f, -0.101087786f, 0.06814955f, 0.015383784f, -0.13962376f,
        1.232995f,
#else
        1.5738283774192037e-09, -6.9926126813398e-09, -1.6371779763566967e-08,
        9.295292277973951e-08, 7.115337800585303e-08, -8.020193766522085e-07,
        2.9801353803031333e-07, 5.689537732302816e-06, -1.1225101875659178e-05,
        -2.438779085759055e-05, 0.00015062309720018628, -0.00019926095315041177,
        -0.000757773707063825, 0.005031971002298884, -0.016197733981455194,
        0.03716751538635946, -0.06633036582031154, 0.09373283501077742,
        -0.10103906603586531, 0.06809705425421975, 0.015379652102610473,
        -0.1396211168405572, 1.2329951186255526,
#endif
    };
    /* clang-format on */
    const vec q = (z - all(4)) / (z + all(4));
    vec p = all(c[0]);
    for (size_t i = 1; i < sizeof c / sizeof *c; i++)
        p = multiply_add(p, q, all(c[i]));
    return p;
}

/* x P(x), where P is the normal distribution and d its density: slope P + x d, curve (2 - x^2) d.
 * P(-|x|) = exp(-x^2/2) erfc scaled / 2. */
ALWAYS_INLINE void gelu_of(vec x, activated *out) {
    const vec nothing = all(0), one = all(1), half = all(R(0.5));
    const vec size = (vec)((ivec)x & ~(ivec)all(-(real)0.0));
    const vec z = size * all(R(0.70710678118654752440));
    const vec bell = exp_of(x * x * all(R(-0.5)));
    const vec below = half * bell * scaled_erfc_of(z) / multiply_add(all(2), z, one);
    const vec p = choose(x > nothing, one - below, below);
    const vec density = bell * all(R(0.39894228040143267794));
    out->value = x * p;
    out->slope = multiply_add(x, density, p);
    out->curve = (all(2) - x * x) * density;
}

ALWAYS_INLINE void activate_with(void (*of)(vec, activated *), size_t count, real *value,
                                 real *tangent, real *out, real *out_tangent) {
    for (size_t i = 0; i < count; i += LANES) {
        activated b;
        of(load(value + i), &b);
        store(out + i, b.value);
        store(value + i, b.slope);
        if (tangent) {
            const vec t = load(tangent + i);
            store(out_tangent + i, b.slope * t);
            store(tangent + i, b.curve * t);
        }
    }
}

static void activate(blv_nn_activation activation, size_t count, void *value, void *tangent,
                     void *out, void *out_tangent) {
    if (activation == BLV_NN_GELU)
        activate_with(gelu_of, count, value, tangent, out, out_tangent);
    else
        activate_with(softplus_of, count, value, tangent, out, out_tangent);
}

static void activate_back(size_t count, const void *slope_data, const void *curved_data,
                          const void *delta_data, const void *delta_tangent_data, void *in_data,
                          void *in_tangent_data) {
    const real *slope = slope_data, *curved = curved_data, *delta = delta_data;
    const real *delta_tangent = delta_tangent_data;
    real *in = in_data, *in_tangent = in_tangent_data;
    for (size_t i = 0; i < count; i += LANES) {
        const vec s = load(slope + i), d = load(delta + i);
        store(in + i, s * d);
        if (in_tangent)
            store(in_tangent + i, multiply_add(s, load(delta_tangent + i), load(curved + i) * d));
    }
}

static void drop(size_t count, const uint8_t *kept, double factor, void *value_data) {
    real *value = value_data;
    for (size_t i = 0; i < count; i++)
        value[i] = kept[i] ? (real)factor * value[i] : 0;
}
