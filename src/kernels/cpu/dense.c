#include "kernels/cpu/dense.h"

#define REAL double
#define NAMED(name) name##_f64
#include "kernels/cpu/dense_body.h"
#undef REAL
#undef NAMED

#define REAL float
#define NAMED(name) name##_f32
#include "kernels/cpu/dense_body.h"
#undef REAL
#undef NAMED
