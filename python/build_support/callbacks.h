/* What the package adds to the public headers: functions that Python defines, and the C functions
 * through which the library calls them. Declarations here are read by cffi. */

/* ---- Defined in Python ---- */

extern "Python" {
/* Vectors come as the address of their elements, or as their number in a space of Python's; 0:
 * not needed. */
int blv_py_upper(void *user, const blv_batch *batch, uintptr_t x, uintptr_t y, double *f,
                 uintptr_t fx, uintptr_t fy);
int blv_py_lower(void *user, const blv_batch *batch, uintptr_t x, uintptr_t y, double *g,
                 uintptr_t gx, uintptr_t gy);
int blv_py_all(void *user, const blv_batch *batch, uintptr_t x, uintptr_t y, uintptr_t v,
               uintptr_t gy, uintptr_t hv, uintptr_t jv);
int blv_py_project(void *user, uintptr_t x);

int blv_py_monitor(void *context, const blv_progress *progress);
void blv_py_every(void *context, blv_run *run);
void blv_py_row(void *context, const blv_progress *progress, const char *text);
blv_error blv_py_begin(void *context, blv_run *run, blv_message *why);
void blv_py_end(void *context, blv_run *run, const blv_solution *solution, blv_error error,
                const char *why);
int blv_py_stop(void *context);
int blv_py_task_progress(void *context, const blv_task_progress *progress);
int blv_py_write(void *context, const void *bytes, size_t size);
void blv_py_release(void *context);

blv_error blv_py_open(void *solver, blv_run *run);
int blv_py_step(void *solver, blv_run *run);

void *blv_py_create(const blv_space *s);
void blv_py_destroy(const blv_space *s, void *v);
void blv_py_copy(const blv_space *s, void *dst, const void *src);
void blv_py_fill(const blv_space *s, void *v, double a);
void blv_py_scale(const blv_space *s, void *v, double a);
void blv_py_axpy(const blv_space *s, void *y, double a, const void *x);
double blv_py_dot(const blv_space *s, const void *a, const void *b);
void blv_py_clamp(const blv_space *s, void *v, double lo, double hi);
void blv_py_read(const blv_space *s, const void *v, double *host);
void blv_py_put(const blv_space *s, void *v, const double *host);
bool blv_py_lincomb(const blv_space *s, void *out, size_t count, const double *coef,
                    const void *const *terms, double *square);
void blv_py_reduce(size_t count, const blv_operands *pairs, double *result);
void blv_py_apply(const blv_space *s, blv_elementwise operation, void *out, double c, const void *a,
                  const void *b);
}

/* ---- Defined in callbacks.c ---- */

/* Fills in the oracles of a problem whose user is a handle of Python's. */
void blv_py_oracles(blv_problem_def *def, bool has_hvp, bool has_cross, bool projects);
/* A descriptor whose state is the handle of a Python object; name is borrowed. */
blv_solver *blv_py_solver_create(const char *name, void *solver);
void blv_py_solver_destroy(blv_solver *solver);
const blv_space_ops *blv_py_space_ops(void);
uintptr_t blv_py_elements(const blv_vec *v);
void blv_py_free(void *p);
