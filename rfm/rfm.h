/* rfm - Recursive Feature Machines on memory that the caller hands over.
 *
 * Kernel ridge regression that learns a metric, in C99, with its own linear algebra. This header and rfm.c are the
 * whole core: they need libc's string.h and math.h, nothing else; no malloc, no globals, no recursion.
 *
 * Conventions, everywhere:
 *   - Functions that can fail return an int: RFM_OK (0) or a negative RFM_E... code; rfm_status_text() explains it.
 *     They always check their arguments, with one exception: a prediction of one row, here and in the extensions,
 *     trusts the model that a fit made or an open function accepted. Functions that return no status (rfm_class,
 *     rfm_name, the *_init functions, rfm_arena_take, rfm_phi ...) check nothing. After a refusal (RFM_ENULL ...
 *     RFM_EARENA) no argument has changed; scratch may have.
 *   - Scratch memory comes from an arena. For every function rfm_x() that needs some there is rfm_x_need(), which runs
 *     the same layout code: exactly that many bytes succeed, one byte less is refused before any work. After a call the
 *     arena is as it was. If arena->status is a failure, every call returns it. A call with an arena that has no
 *     memory returns RFM_EARENA.
 *   - Matrices are row-major; a stride is counted in elements, not bytes. A shape comment (m, n) means m rows, n
 *     columns. Outputs must not overlap other arguments; disjoint column blocks of one matrix (equal strides) do not
 *     overlap.
 *   - RFM_OK means a finite result that is right to rounding. Where data is too large to be squared, or a result too
 *     large for the number type, the status is RFM_ERANGE. Numbers below the normal range (1.2e-38 in float) may
 *     count as 0, and so may distances whose squares are; with an exponent below 1/4 phi is not yet 1 there.
 *   - Nothing is shared between calls: any two calls may run at the same time if neither writes what the other uses.
 *
 * Contents: switches, status, small functions, models, blobs, prediction of one row, arena, ports, context, matrix
 * views, products, Cholesky, eigenpairs, prediction of many rows, training, writing models, records, feature insight.
 */
#ifndef RFM_H
#define RFM_H

#include <stddef.h>
#include <stdint.h>

/* ---- switches: define them for the whole build, the library and its users alike ------------- */

/* The type of every number: float, or double (-DRFM_REAL=double). The ports in port/ exist for float only. */
#ifndef RFM_REAL
#define RFM_REAL float
#endif

/* -DRFM_NO_TRAIN leaves what firmware needs to predict: status, models, prediction of one row. On Cortex-M and RISC-V
 * that takes nothing from libm, in float. Models on the sphere, which are those of network kernels and of unit rows,
 * then need -DRFM_SPHERE besides; without it rfm_model_open refuses them. It also refuses exponents q of 1/8 and less:
 * only with larger ones phi is 0 wherever s^2 overflows. */
#if !defined(RFM_NO_TRAIN) && !defined(RFM_SPHERE)
#define RFM_SPHERE
#endif

/* Models of integers of the kernel L1 likewise need -DRFM_SMALL_L1 in firmware; without it rfm_model_open_i refuses
 * them. */
#if !defined(RFM_NO_TRAIN) && !defined(RFM_SMALL_L1)
#define RFM_SMALL_L1
#endif

/* -DRFM_NO_ROOT takes the eigenpairs out of rfm_fit, 10 KB of code on a Cortex-M0. Then the kernel L1 with RFM_FULL,
 * whose P is the symmetric root of M, is RFM_EVALUE in every function that takes options. */

#define RFM_CAT2_(a, b)        a##b
#define RFM_CAT_(a, b)         RFM_CAT2_(a, b)
#define RFM_BYTES_OF_float     4
#define RFM_BYTES_OF_double    8
#define RFM_REAL_BYTES         RFM_CAT_(RFM_BYTES_OF_, RFM_REAL) /* 4 or 8, usable in #if */
#define RFM_MATH_float(name)   name##f
#define RFM_MATH_double(name)  name
#define RFM_MATH(name)         RFM_CAT_(RFM_MATH_, RFM_REAL)(name) /* of math.h for this type: RFM_MATH(sqrt)(x) */
#define RFM_LIMIT_float(name)  FLT_##name
#define RFM_LIMIT_double(name) DBL_##name
#define RFM_LIMIT(name)        RFM_CAT_(RFM_LIMIT_, RFM_REAL)(name) /* of float.h likewise: RFM_LIMIT(EPSILON) */

#ifdef __cplusplus
extern "C" {
#endif

#define RFM_VERSION_MAJOR 0
#define RFM_VERSION_MINOR 1
#define RFM_VERSION_PATCH 0

typedef RFM_REAL rfm_real;

/* ---- status: the values never change meaning ------------------------------------------------ */

#define RFM_OK         0
#define RFM_ENULL      (-1)  /* a pointer that must not be NULL is NULL */
#define RFM_EZERO      (-2)  /* a size is zero */
#define RFM_ESHAPE     (-3)  /* sizes of the arguments do not fit each other */
#define RFM_ESTRIDE    (-4)  /* a row stride is smaller than the row */
#define RFM_EOVERFLOW  (-5)  /* a size does not fit into size_t or into the library's 32-bit indices */
#define RFM_EALIAS     (-6)  /* an output overlaps another argument */
#define RFM_EFINITE    (-7)  /* the input holds a NaN or an infinity */
#define RFM_EVALUE     (-8)  /* an argument is outside its range */
#define RFM_EALIGN     (-9)  /* memory is not aligned as it must be */
#define RFM_EARENA     (-10) /* the arena is too small */
#define RFM_ENOTPD     (-11) /* the matrix is not positive definite */
#define RFM_ECONVERGE  (-12) /* an iteration did not converge */
#define RFM_ERANGE     (-13) /* finite input, but the result does not fit into the number type */
#define RFM_ECANCEL    (-14) /* the tick callback said stop */
#define RFM_EMAGIC     (-15) /* not a model */
#define RFM_EVERSION   (-16) /* a model of a newer major format version */
#define RFM_ETRUNCATED (-17) /* the model is longer than the memory it is in */
#define RFM_ECHECKSUM  (-18) /* the model has been damaged */
#define RFM_ECONTENT   (-19) /* the checksum is right, but the model contradicts itself */
#define RFM_ETYPE      (-20) /* the model's numbers are of another type or byte order than this build's */
#define RFM_EFLASH     (-21) /* the flash did not do what it was told */
#define RFM_EEMPTY     (-22) /* nothing is stored */
#define RFM_EREAD      (-23) /* the rows could not be read */
#define RFM_ECHANGED   (-24) /* rows are not those of an earlier pass, or sums belong to another model */

/* One sentence for a status; never NULL. */
const char *rfm_status_text(int status);

/* ---- small functions ------------------------------------------------------------------------ */

/* exp(x) for x <= 0, and the square root of x >= 0, as rfm_predict_one uses them. They take few instructions and
 * give the same bits on every machine. In float, on processors without an FPU, they take nothing from libm. exp: at
 * most 2.5 ulp from the truth, 0 below -87. sqrt: exactly rounded; below 1.2e-38 it may be 0, without an FPU. */
rfm_real rfm_exp(rfm_real x);
rfm_real rfm_sqrt(rfm_real x);

/* 1 if x[0..n-1] has neither a NaN nor an infinity. It looks at the bits, so that compilers that assume finite
 * numbers cannot remove the check. */
int rfm_finite(size_t n, const rfm_real *x);

#ifndef RFM_NO_TRAIN
/* The largest |x_i|; 0 if n is 0. */
rfm_real rfm_largest(size_t n, const rfm_real *x);
#endif

#ifdef RFM_SPHERE
/* The arc-cosine functions of network kernels, at the cosine u of an angle:
 *   k0(u) = (pi - acos u) / pi,  k1(u) = (u (pi - acos u) + sqrt(1 - u^2)) / pi;  k1' = k0,  k0' = 1 / (pi sine). */
typedef struct {
    rfm_real k0, k1;
    rfm_real below; /* 1 - k1, with all its digits where k1 is near 1 */
    rfm_real sine;  /* sqrt(1 - u^2) */
} rfm_arc;

/* They take minus = 1 - u and plus = 1 + u, each from 0 to 2, because u itself loses half of the digits of a small
 * angle. For directions p and q these are |p - q|^2 / 2 and |p + q|^2 / 2. Nothing is checked. */
rfm_arc rfm_arc_at(rfm_real minus, rfm_real plus);
#endif

/* ---- models --------------------------------------------------------------------------------- */

/* Kernels, phi as a function of s = |x - z|_M and the bandwidth L. */
#define RFM_LAPLACE  0 /* exp(-s / L) */
#define RFM_GAUSSIAN 1 /* exp(-s^2 / (2 L^2)) */
#define RFM_GENERAL  2 /* exp(-(s / L)^q), 0 < q <= 2 */
#define RFM_L1       3 /* exp(-(s / L)^q), 0 < q <= 1, s = sum_j |u_j|, u = P (x - z), P = M^1/2 */

/* Network kernels: infinitely wide ReLU networks with q hidden layers, q = 1..8. rho is the cosine of the angle between
 * P x and P z. K is 0 where one of them is 0. L has no meaning for them, and X is not shifted. */
#define RFM_NNGP    4 /* |P x| |P z| r(rho): the network with random weights */
#define RFM_NTK     5 /* |P x| |P z| t(rho): its tangent kernel; at x = z it is (q + 1) |P x|^2 */
#define RFM_KERNELS 6
#ifndef RFM_NO_TRAIN
/* What a kernel is: rfm_kernels[RFM_LAPLACE] and so on. */
typedef struct {
    const char *name;  /* "laplace": the command's word */
    int norm;          /* s is this norm of P (x - z): 2, or 1 for the sum of absolute values */
    rfm_real exponent; /* q; 0: every model has its own, ... */
    rfm_real most;     /* ... 0 < q <= most */
    int axes;          /* 1: phi depends on P, not only on M = P'P; with RFM_FULL P is the symmetric root of M */
    int layers;        /* 1: a network kernel; q is its depth, a whole number */
} rfm_kernel;
extern const rfm_kernel rfm_kernels[RFM_KERNELS];

/* phi at a distance. `distance` is s^2 for a kernel of norm 2, s for one of norm 1; inverse is 1 / L. If weight is
 * not NULL, *weight becomes -phi'(s) / s for norm 2, -phi'(s) for norm 1, and 0 at s = 0. Network kernels: s is the
 * distance of directions, 0 to 2, and rho = 1 - s^2 / 2. Nothing is checked. */
rfm_real rfm_phi(int kernel, rfm_real exponent, rfm_real inverse, rfm_real distance, rfm_real *weight);

/* The distance s at which phi has this value, 0 < phi < 1, for L = 1; not for network kernels. */
rfm_real rfm_phi_distance(int kernel, rfm_real exponent, rfm_real phi);
#endif

/* Forms of the metric M. */
#define RFM_IDENTITY 0
#define RFM_DIAGONAL 1
#define RFM_FULL     2

/* Models and the memory of arenas start at a multiple of this, and so does every part of them. */
#define RFM_ALIGN 16

/* The first word of a declaration of such memory: RFM_ALIGNED static unsigned char memory[4096]; */
#if defined(__GNUC__)
#define RFM_ALIGNED __attribute__((aligned(RFM_ALIGN)))
#elif defined(_MSC_VER)
#define RFM_ALIGNED __declspec(align(RFM_ALIGN))
#elif defined(__cplusplus) && __cplusplus >= 201103L
#define RFM_ALIGNED alignas(RFM_ALIGN)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define RFM_ALIGNED _Alignas(RFM_ALIGN)
#else
#define RFM_ALIGNED /* no standard way: align a static array by hand */
#endif

/* For the library's own sources. RFM_AT_4: tells the compiler that `at` is a multiple of 4. RFM_ALONE: not inlined, so
 * that the function's loop has all registers and its code exists once. */
#if defined(__GNUC__)
#define RFM_AT_4(at) __builtin_assume_aligned(at, 4)
#define RFM_ALONE    __attribute__((noinline))
#else
#define RFM_AT_4(at) (at)
#define RFM_ALONE
#endif

/* What the outputs mean. */
#define RFM_REGRESS  0 /* the c predicted numbers */
#define RFM_CLASSIFY 1 /* c >= 2: the class of the largest output; c = 1: class 1 if the output is positive, else 0 */

/* f_k(z) = offset_k + sum_i alpha_ik phi(|P (x_i - z)|), M = P'P. A model only points to its arrays. They live in
 * the arena that rfm_fit took them from, or in the blob (flash, a mapped file) that rfm_model_open was given.
 * Unit rows: P x_i and P z are scaled to length `radius`, and a row of zeros stays where it is.
 * Network kernels: P x_i and P z are scaled to length 1, and the sum is multiplied by |P z|, unless rows are unit rows.
 * alpha_ik has the factor |P x_i| in it. */
typedef struct {
    size_t n, d, c, r; /* centres, inputs, outputs, rank of P */
    int kernel, metric, task;
    rfm_real bandwidth;      /* L, in float from 1e-12 to 1e12, in double from 1e-100 to 1e100 */
    rfm_real exponent;       /* q; of a network kernel its depth */
    rfm_real temperature;    /* of the softmax in rfm_class; 0: no confidence */
    const rfm_real *shift;   /* (d) subtracted from every input */
    const rfm_real *p;       /* RFM_FULL: P (r, d). RFM_DIAGONAL: its diagonal (d), r = d. NULL: P = I, r = d */
    const rfm_real *centers; /* (n, r) P (x_i - shift) */
    const rfm_real *alpha;   /* (n, c) */
    const rfm_real *offset;  /* (c); NULL: zeros */
    const char *class_names; /* a string for each class, one after the other, each with its final 0; NULL: none */
    const char *input_names; /* the d names of the inputs, stored in the same way; NULL: none */
    const void *summary;     /* what rfm_model_summary reads; NULL: none */
#ifdef RFM_SPHERE
    rfm_real radius; /* of unit rows; 0: rows are as they are */
#endif
} rfm_model;

/* Opens a model in place: nothing is copied, so `blob` must stay where it is. rfm/FORMAT.md has the bytes. The blob
 * is not trusted: everything that prediction will touch is checked here. Errors are those of rfm_blob_open.
 * RFM_ETYPE also means that the numbers have another type than this build's (integers: rfm_small.h). RFM_ECONTENT
 * also means that a number is not finite. After an error *model is unchanged. */
int rfm_model_open(const void *blob, size_t size, rfm_model *model);

/* The same for a blob that was opened before and has not changed: nothing is checked, so it takes no time. */
void rfm_model_reopen(const void *blob, rfm_model *model);

/* ---- blobs: what models of every number type have in common --------------------------------- */

/* Types of the numbers in a blob: bits of a set; for these four also their bytes. */
#define RFM_I8  1
#define RFM_I16 2
#define RFM_F32 4
#define RFM_F64 8
#define RFM_F16 16 /* reserved for numbers of 2 bytes: nothing writes or opens it yet, RFM_ETYPE */

/* Sections that every blob can have; the others belong to the number type. */
#define RFM_SECTION_CLASS_NAMES 5
#define RFM_SECTION_INPUT_NAMES 6
#define RFM_SECTION_SUMMARY     7
#define RFM_SECTION_RECORD      8  /* since format 1.2; rfm_record_open */
#define RFM_SECTION_RADIUS      14 /* since format 1.3: of unit rows */

#define RFM_UNIT_ROWS 4 /* added to the metric of a blob: its rows are unit rows */
#define RFM_ABSOLUTE  8 /* added to the metric of a blob of integers: distances are sums of absolute differences */

/* The head of a blob. */
typedef struct {
    const unsigned char *at; /* the blob; from here on as it has them */
    uint8_t type, kernel;    /* RFM_I8 ..., RFM_LAPLACE ... */
    uint8_t metric, task;    /* RFM_DIAGONAL or RFM_FULL (+ RFM_UNIT_ROWS or RFM_ABSOLUTE), RFM_REGRESS or
                                RFM_CLASSIFY */
    uint32_t n, d, c, r;     /* centres, inputs, outputs, rank: none is 0 */
    float exponent, temperature;
} rfm_blob;

/* Checks what all blobs have in common: head, length, checksum, names, summary. No floating-point operation. RFM_ENULL,
 * RFM_EALIGN (blob is not 16-byte aligned), RFM_EMAGIC, RFM_EVERSION, RFM_ETRUNCATED, RFM_ECHECKSUM, RFM_ETYPE (not one
 * of `types`, a sum of the above; or a big-endian machine), RFM_ECONTENT: *head is unchanged. */
int rfm_blob_open(const void *blob, size_t size, unsigned types, rfm_blob *head);

/* Section `section` of an opened blob if it consists of count * each elements of `bytes` bytes (all > 0); NULL: it does
 * not. */
const void *rfm_blob_array(const rfm_blob *head, uint32_t section, uint32_t count, uint32_t each, uint32_t bytes);

/* Class names, input names or the summary of an opened blob; NULL: there are none. */
const void *rfm_blob_section(const rfm_blob *head, uint32_t section);

/* A little-endian integer of a blob or a slot, at any address. */
uint32_t rfm_get_u32(const void *at);
void rfm_put_u32(void *at, uint32_t value);

/* CRC-32 (IEEE 802.3) of `size` more bytes; `crc` is what the bytes before gave, 0 at the start. */
uint32_t rfm_crc32(uint32_t crc, const void *at, size_t size);

/* ---- prediction of one row ------------------------------------------------------------------ */

/* Numbers of scratch for a model with d inputs and rank r. */
#define RFM_PREDICT_SCRATCH(d, r) ((size_t)(d) + (size_t)(r))

/* The loop of a prediction, for one kind of processor. scratch holds x - shift (d), and behind it room for z (r).
 * The loop computes z = P (x - shift) there, then scores[k] += sum_i alpha_ik phi(|x_i - z|), where x_i is row i of
 * centers. It returns the largest phi. For a model that it does not support it returns a negative number and leaves
 * scores alone; then the portable code runs. The loops of port/ support RFM_LAPLACE and RFM_GAUSSIAN. */
typedef rfm_real (*rfm_loop)(const rfm_model *model, rfm_real *scratch, rfm_real *scores);

/* scores (c) = f(x), x (d). Uses no memory but `scratch`, RFM_PREDICT_SCRATCH(d, r) numbers. `loop` NULL: portable
 * code. If novelty is not NULL, *novelty becomes the largest kernel value to any centre: 1 at a centre, near 0 far
 * from everything that was trained on; of a network kernel the largest rho, 0 for a row of zeros. RFM_ENULL;
 * RFM_EFINITE: x has a NaN or an infinity, nothing was written; RFM_ERANGE: a score is not finite, or with an exponent
 * below 0.28 P (x - shift) has a number beyond 1e15. */
int rfm_predict_one(const rfm_model *model, const rfm_real *x, rfm_real *scores, rfm_real *scratch, rfm_loop loop,
                    rfm_real *novelty);

/* The class that the scores mean; 0 for RFM_REGRESS, which is the task of a model of rfm_fit until the caller sets
 * model->task = RFM_CLASSIFY. If confidence is not NULL, *confidence becomes the probability
 * of that class, by a softmax of the scores with the model's temperature; 0 if the model has no temperature. */
size_t rfm_class(const rfm_model *model, const rfm_real *scores, rfm_real *confidence);

/* Name i of the model's class_names or input_names; "" if there are none. */
const char *rfm_name(const char *names, size_t i);

#ifndef RFM_NO_TRAIN

/* ---- arena: a caller's block of memory, handed out from the bottom up ----------------------- */

/* An arena holds no pointers, so needs are the same on every target (given the same port and number type). The first
 * failure stays in `status`: a layout takes all its blocks and looks at it once. */
typedef struct {
    unsigned char *base; /* NULL: a measuring arena, which has no end and hands out NULL */
    size_t size;         /* bytes at base */
    size_t used;         /* bytes handed out */
    size_t peak;         /* the most that `used` has been */
    int status;          /* RFM_OK, or why a take failed */
} rfm_arena;

/* Use `size` bytes at `memory`. RFM_ENULL, RFM_EALIGN. */
int rfm_arena_init(rfm_arena *arena, void *memory, size_t size);

/* An arena without memory. Taking from it only counts; afterwards `peak` is the need. */
void rfm_arena_measure(rfm_arena *arena);

/* count * size bytes, 16-byte aligned, contents undefined. NULL after a failure (arena->status: RFM_EOVERFLOW,
 * RFM_EARENA) and always from a measuring arena. */
void *rfm_arena_take(rfm_arena *arena, size_t count, size_t size);

/* Give back everything taken since `used` had this value. */
void rfm_arena_release(rfm_arena *arena, size_t used);

/* (rows, cols) numbers, taken in the same way. */
rfm_real *rfm_arena_reals(rfm_arena *arena, size_t rows, size_t cols);

/* ---- a stream of random numbers, the same everywhere (xorshift) ----------------------------- */

uint32_t rfm_random_start(uint32_t seed); /* the state to begin with; never 0 */
uint32_t rfm_random(uint32_t *state);     /* the next state, which is the number */

/* ---- ports: the inner loops of one instruction set (port/README.md is the contract) --------- */

/* Where an entry is NULL the portable code is used. Packed panels: an A panel holds mr rows, element (i, p) at
 * a[p * mr + i]; a B panel holds nr columns, element (p, j) at b[p * nr + j]. Panels are padded with zeros. */
typedef struct {
    const char *name;
    size_t mr, nr;     /* the tile of C that gemm computes */
    size_t mc, kc, nc; /* cache blocks: mc x kc of A, kc x nc of B; mc a multiple of mr, nc of nr, kc at least mr */

    /* C = alpha A B, or C += alpha A B if add: A (mr, k) has element (i, p) at a[i * rs + p * cs], B is a packed panel,
     * C (mr, nr) has rows ldc apart. Without add C is not read. Never NULL. */
    void (*gemm)(size_t k, rfm_real alpha, const rfm_real *a, size_t rs, size_t cs, const rfm_real *b, rfm_real *c,
                 size_t ldc, int add);

    /* One step of a forward substitution on a packed B panel: rows 0..k-1 of b are solved; rows k..k+mr-1 hold the
     * right-hand side T and become L^-1 (T - A b[0..k-1]). `a` is an A panel with k + mr columns: A, then the lower
     * triangle L with the reciprocals of its diagonal in place of the diagonal. */
    void (*trsm)(size_t k, const rfm_real *a, rfm_real *b);

    /* Four rows of A at once, each element read once: y[j] += sum_r coef[r] a[r * lda + j];  dots[r] += sum_j
     * a[r * lda + j] x[j], for j < n and r < 4. */
    void (*rows4)(size_t n, const rfm_real *a, size_t lda, const rfm_real coef[4], const rfm_real *x, rfm_real *y,
                  rfm_real dots[4]);

    /* y[i] = exp(x[i]), i < n; x == y is allowed. exp(-inf) = 0, exp(large) = inf. */
    void (*exp)(size_t n, const rfm_real *x, rfm_real *y);

    /* 1 if x[0..n-1] has neither a NaN nor an infinity. */
    int (*finite)(size_t n, const rfm_real *x);

    /* A whole panel of `width` (mr or nr) rows: dst[p * width + i] = a[i * rs + p * cs], p < k; rs or cs is 1. Nothing
     * beyond dst[k * width - 1] is written. */
    void (*pack)(size_t width, size_t k, const rfm_real *a, size_t rs, size_t cs, rfm_real *dst);

    /* A tile row of the Laplace kernel: s = sqrt(s2[i]), phi[i] = exp(-s * inverse), and if w is not NULL also w[i] =
     * inverse * phi[i] / s, 0 where s = 0. s2 >= 0; phi == s2 is allowed. inverse = 1 / L. */
    void (*laplace)(size_t n, rfm_real inverse, const rfm_real *s2, rfm_real *phi, rfm_real *w);

    /* As gemm, with sums of absolute differences in place of products: C (mr, nr) = sum_p |A(i, p) - B(p, j)|, or that
     * added to C if add. Without add C is not read. */
    void (*l1)(size_t k, const rfm_real *a, size_t rs, size_t cs, const rfm_real *b, rfm_real *c, size_t ldc, int add);

    /* Its gradients: h[k * ldh + q] += sum_i w[i * c + k] sign(z[i * r + q] - x[q]), i < n, k < c <= 8, q < r, where
     * sign(0) is 0. */
    void (*signs)(size_t n, size_t r, size_t c, const rfm_real *z, const rfm_real *x, const rfm_real *w, rfm_real *h,
                  size_t ldh);
} rfm_port;

/* The portable C in rfm.c, always there, named "scalar". The others: port/rfm_port.h. */
extern const rfm_port rfm_port_scalar;

/* ---- context: what a call works with -------------------------------------------------------- */

/* A piece of work: called once for every index < jobs; at any moment no two calls have the same worker number. */
typedef void (*rfm_job)(void *arg, size_t index, size_t worker);

/* The library starts no threads. A caller that has some passes `run`; results are the same bits with any number of
 * workers. A context that is all zero but for the arena is valid: portable code, one thread. */
typedef struct {
    rfm_arena *arena;     /* scratch; after a call `used` is what it was before */
    const rfm_port *port; /* NULL: rfm_port_scalar */
    size_t workers;       /* how many workers `run` has at most; 0 counts as 1; each costs a packing buffer */
    void (*run)(void *pool, rfm_job job, void *arg, size_t jobs); /* NULL: the caller's thread does it all */
    void *pool;                                                   /* passed to run */

    /* Called now and then during long work, on the caller's thread, with the share that is done (0 to 1, never
     * falling). It may show progress or feed a watchdog. If it returns anything but 0, the call ends with
     * RFM_ECANCEL. NULL: no tick. */
    int (*tick)(void *tick_arg, rfm_real done);
    void *tick_arg;
} rfm_ctx;

/* job(arg, 0..jobs-1, worker) by the workers of the context, or one after the other. worker < rfm_workers(ctx). */
size_t rfm_workers(const rfm_ctx *ctx);
void rfm_jobs(const rfm_ctx *ctx, rfm_job job, void *arg, size_t jobs);

/* ---- matrix views --------------------------------------------------------------------------- */

/* Row-major: element (i, j) at at[i * stride + j]. */
typedef struct {
    rfm_real *at;
    size_t rows, cols, stride;
} rfm_mat;

typedef struct {
    const rfm_real *at;
    size_t rows, cols, stride;
} rfm_cmat;

rfm_mat rfm_view(rfm_real *at, size_t rows, size_t cols);         /* stride = cols */
rfm_cmat rfm_cview(const rfm_real *at, size_t rows, size_t cols); /* stride = cols */
rfm_cmat rfm_const(rfm_mat a);

/* ---- products ------------------------------------------------------------------------------- */

/* Which operand is transposed. */
#define RFM_NN 0 /* A  B  */
#define RFM_TN 1 /* A' B  */
#define RFM_NT 2 /* A  B' */

/* C = alpha op(A) op(B) + beta C with C (m, n) and inner size k. With beta = 0 C is not read.
 * RFM_ENULL, RFM_EZERO, RFM_ESHAPE, RFM_ESTRIDE, RFM_EOVERFLOW, RFM_EALIAS (C over A or B), RFM_EFINITE, RFM_EVALUE
 * (no such op), RFM_EARENA: nothing written. RFM_ERANGE: C was computed and is not finite. */
int rfm_gemm(const rfm_ctx *ctx, int op, rfm_real alpha, rfm_cmat a, rfm_cmat b, rfm_real beta, rfm_mat c);
int rfm_gemm_need(const rfm_ctx *ctx, size_t m, size_t n, size_t k, size_t *bytes);

/* The upper triangle of C = alpha A A' + beta C (op RFM_NT) or alpha A' A + beta C (op RFM_TN), C (n, n), inner size k.
 * What is below the diagonal is neither read nor written. Status as rfm_gemm. */
int rfm_syrk(const rfm_ctx *ctx, int op, rfm_real alpha, rfm_cmat a, rfm_real beta, rfm_mat c);
int rfm_syrk_need(const rfm_ctx *ctx, size_t n, size_t k, size_t *bytes);

/* ---- Cholesky ------------------------------------------------------------------------------- */

/* A = U'U for a symmetric positive definite A (n, n), in place: the upper triangle of A becomes U; what is below the
 * diagonal is neither read nor written, so a copy of A may live there.
 * RFM_ENOTPD: *row (if row is not NULL) is the first row whose pivot is not positive; the leading row x row block
 * holds its factor, the rest of the upper triangle is undefined. Other refusals: nothing written. */
int rfm_chol(const rfm_ctx *ctx, rfm_mat a, size_t *row);
int rfm_chol_need(const rfm_ctx *ctx, size_t n, size_t *bytes);

/* Triangular solves in place: U X = B (op RFM_NN) or U' X = B (op RFM_TN), U (n, n) upper, B (n, c) becomes X.
 * RFM_EVALUE: no such op, or a zero on U's diagonal. RFM_ERANGE: the solution is not finite. B changes only on success.
 */
int rfm_trsm(const rfm_ctx *ctx, int op, rfm_cmat u, rfm_mat b);
int rfm_trsm_need(const rfm_ctx *ctx, size_t n, size_t c, size_t *bytes);

/* A X = B for A = U'U: both triangular solves. Status as rfm_trsm; the need is rfm_trsm_need's. */
int rfm_chol_solve(const rfm_ctx *ctx, rfm_cmat u, rfm_mat b);

/* A = U'U with the pivoting that reveals the rank, A (n, n) symmetric positive semi-definite. Stops when no remaining
 * pivot exceeds tolerance * (largest diagonal element of A); tolerance 0 means n * epsilon. On return *rank rows of U
 * are in the upper triangle of A, and perm[j] (n of them) is the column of the original A that is now column j:
 * A[perm[i]][perm[j]] = sum_p U[p][i] U[p][j]. The rest of the upper triangle is undefined; below the diagonal nothing
 * is read or written. A negative pivot beyond rounding (n * epsilon, or the tolerance) is RFM_ENOTPD, with *rank the
 * steps done; only the diagonal is looked at for that. A = 0 has rank 0. */
int rfm_chol_rank(const rfm_ctx *ctx, rfm_mat a, rfm_real tolerance, uint32_t *perm, size_t *rank);
int rfm_chol_rank_need(const rfm_ctx *ctx, size_t n, size_t *bytes);

/* ---- eigenpairs ----------------------------------------------------------------------------- */

/* The k largest eigenvalues of the symmetric A (n, n), 1 <= k <= n, in w, largest first, and their eigenvectors in the
 * ROWS of V (k, n): A = V' diag(w) V for k = n. Only A's upper triangle (with the diagonal) is read; it is overwritten,
 * what is below it is left alone. RFM_EVALUE: k is 0 or more than n. RFM_ECONVERGE: no result, A overwritten.
 * RFM_ERANGE: an eigenvalue is not finite. */
int rfm_eig(const rfm_ctx *ctx, rfm_mat a, size_t k, rfm_real *w, rfm_mat v);
int rfm_eig_need(const rfm_ctx *ctx, size_t n, size_t k, size_t *bytes);

/* ---- prediction of many rows ---------------------------------------------------------------- */

/* Y (m, c) = f(Z), Z (m, d). RFM_ENULL, RFM_EZERO, RFM_ESHAPE, RFM_ESTRIDE, RFM_EOVERFLOW, RFM_EALIAS, RFM_EFINITE,
 * RFM_EARENA, RFM_ECANCEL, RFM_ERANGE: Y is then undefined for the last two, unchanged for the others. */
int rfm_predict(const rfm_ctx *ctx, const rfm_model *model, rfm_cmat z, rfm_mat y);
int rfm_predict_need(const rfm_ctx *ctx, const rfm_model *model, size_t m, size_t *bytes);

/* A row of a kernel matrix from products, for kernels whose norm is 2: c[j] = -2 x'z_j becomes phi(|x - z_j|), j < n.
 * For network kernels the rows are directions. x (r) and z (n, r) are projected, xx and zz (n) their squared norms, at
 * most an eighth of the largest number. weights (n), if not NULL, are -phi'(s) / s, 0 where s = 0. inverse = 1 / L.
 * port NULL: portable code. Nothing is checked. */
void rfm_kernel_row(const rfm_port *port, int kernel, rfm_real exponent, rfm_real inverse, size_t n, size_t r,
                    const rfm_real *x, rfm_real xx, const rfm_real *z, const rfm_real *zz, rfm_real *c,
                    rfm_real *weights);

/* K between the rows Z (m, d) and the n centres: what prediction multiplies alpha with. op RFM_NN: K (m, n); RFM_TN:
 * its transpose (n, m). For network kernels the lengths of the centres are in alpha and not in K.
 * alpha is not read. Status as rfm_predict, and RFM_EVALUE (no such op). */
int rfm_kernel_values(const rfm_ctx *ctx, const rfm_model *model, rfm_cmat z, int op, rfm_mat k);
int rfm_kernel_values_need(const rfm_ctx *ctx, const rfm_model *model, size_t m, size_t *bytes);

/* G (m, c d): row j holds the gradients of f_0, f_1, ... at z_j. Status as rfm_predict. */
int rfm_gradients(const rfm_ctx *ctx, const rfm_model *model, rfm_cmat z, rfm_mat g);
int rfm_gradients_need(const rfm_ctx *ctx, const rfm_model *model, size_t *bytes);

/* Sums of gradients over the rows Z (m, d), weights (m) >= 0 or NULL, in the projected space: with h_jk the gradient of
 * f_k at z_j by P z, sum (r, r) = sum_j w_j sum_k h_jk h_jk', its upper triangle; or sum (1, r), its diagonal.
 * mean (c, r) = sum_j w_j h_jk; mean.at NULL: not wanted. The average gradient outer product is P' sum P / sum_j w_j.
 * Faster than rfm_gradients: differences come from products.
 * Status as rfm_predict, and RFM_EVALUE (a negative weight). */
int rfm_agop(const rfm_ctx *ctx, const rfm_model *model, rfm_cmat z, const rfm_real *weights, rfm_mat sum,
             rfm_mat mean);
int rfm_agop_need(const rfm_ctx *ctx, const rfm_model *model, size_t m, size_t *bytes);

/* ---- training ------------------------------------------------------------------------------- */

/* Scale of M after an update. */
#define RFM_SCALE_NONE  0 /* as Algorithm 1 of the paper leaves it: the mean of the outer products */
#define RFM_SCALE_MAX   1 /* largest entry 1 */
#define RFM_SCALE_TRACE 2 /* trace d */

/* What L means. */
#define RFM_BANDWIDTH_FIXED 0 /* L is `bandwidth` */
#define RFM_BANDWIDTH_MEDIAN \
    1 /* L is `bandwidth` times the median distance between training rows (at most 128 of them, evenly spread), \
         in the metric of each iteration; `bandwidth` itself if that median is 0 */

/* Which of the T + 1 iterates becomes the model. */
#define RFM_SELECT_LAST       0
#define RFM_SELECT_VALIDATION 1 /* the best score on the validation rows; of equals the earliest */
#define RFM_SELECT_LOO        2 /* the best leave-one-out score, in closed form; costs a second n^3 / 3 per iteration */

/* What a score is: mean squared error over rows and outputs (smaller is better); or the share of rows whose largest
 * output (with one output: whose sign) is that of the target (larger is better). */
#define RFM_SCORE_SQUARED  0
#define RFM_SCORE_ACCURACY 1

/* What the ridge means. For all but network kernels the two are the same, for their largest K is 1. */
#define RFM_RIDGE_SHARE 0 /* lambda is `ridge` times the largest K of two training rows, in every iteration */
#define RFM_RIDGE_FIXED 1 /* lambda is `ridge` */

/* rfm_options_init() sets what is said in (parentheses). */
typedef struct {
    int kernel;         /* (RFM_LAPLACE) */
    rfm_real exponent;  /* (1) q, for RFM_GENERAL and RFM_L1; the depth of a network kernel */
    int metric;         /* (RFM_FULL) */
    int scale;          /* (RFM_SCALE_NONE) */
    int center;         /* (0) 1: the mean gradient of each output is taken out before the outer products */
    int bandwidth_rule; /* (RFM_BANDWIDTH_FIXED) */
    rfm_real bandwidth; /* (10) L, or the factor of the median. Both are in the range of rfm_model */
    rfm_real ridge; /* (1e-3) lambda >= 0. 0: the pseudo-inverse, so a singular K has a defined answer; costs a second n
                       x n */
    size_t iterations;  /* (5) T updates of M; with RFM_IDENTITY none are made */
    size_t agop_points; /* (0: all) gradients at this many rows, drawn with `seed`, without replacement, from those
                           with weight; at most n */
    uint32_t seed;      /* (0) */
    int select;         /* (RFM_SELECT_LAST) */
    int score;          /* (RFM_SCORE_SQUARED) */
    int ridge_rule;     /* (RFM_RIDGE_SHARE) */
    int unit_rows;      /* (0) 1: rows are scaled to length 1 in the metric of each iteration; X is not shifted then */
} rfm_options;

void rfm_options_init(rfm_options *options);

/* What is learned from. A view with at == NULL is absent. */
typedef struct {
    rfm_cmat x, y;                       /* (n, d), (n, c) */
    const rfm_real *weights;             /* (n) >= 0, some > 0; NULL: all 1. A row of weight 2 counts as two rows */
    rfm_cmat x_validation, y_validation; /* (v, d), (v, c): for RFM_SELECT_VALIDATION, or only to be scored */
    rfm_cmat start; /* M to start from. RFM_FULL: (d, d) symmetric positive semi-definite; RFM_DIAGONAL: (1, d) >= 0.
                       Absent: the identity */
} rfm_data;

/* One iterate, t = 0..T. */
typedef struct {
    rfm_real score;     /* on the validation rows, or leave-one-out; 0 if neither was asked for */
    rfm_real ridge;     /* as used, by the ridge rule: more than asked for if rounding in this number type is larger */
    rfm_real bandwidth; /* as used; 1 for a network kernel */
    uint32_t rank;      /* of M */
} rfm_step;

typedef struct {
    rfm_step *path;  /* the caller's room for T + 1 of them, or NULL */
    size_t best;     /* t of the iterate that became the model */
    size_t row, col; /* written with RFM_EFINITE: where the number that is not finite is, in its matrix */
} rfm_report;

/* Algorithm 1: T times solve for alpha, update M by the average gradient outer product; then solve once more. The
 * model's arrays are taken from `store`, scratch from ctx->arena; they may be one arena, and then the scratch lies
 * above the model. The model's task is RFM_REGRESS: for classes set model->task = RFM_CLASSIFY behind it. report may
 * be NULL. RFM_EVALUE: an option outside its range, more AGOP points than rows, a negative
 * weight. RFM_ENOTPD: data->start is not positive semi-definite. After any failure neither *model nor `store` has
 * changed. */
int rfm_fit(const rfm_ctx *ctx, const rfm_data *data, const rfm_options *options, rfm_arena *store, rfm_model *model,
            rfm_report *report);

/* Bytes that rfm_fit takes from ctx->arena and from the store (their sum, if they are one). Reads sizes only. */
int rfm_fit_need(const rfm_ctx *ctx, const rfm_data *data, const rfm_options *options, size_t *scratch, size_t *store);

/* ---- writing models ------------------------------------------------------------------------- */

/* What a model was made from: kept in the blob for people and tools, never needed to predict. In the blob L is part of
 * P and of the centres, so in standardised inputs M = L^2 P'P. */
typedef struct {
    rfm_real bandwidth;      /* L as trained */
    rfm_real ridge;          /* lambda, as it was added to K */
    rfm_real validation;     /* score of the choice, 0: none */
    uint32_t rows;           /* trained on */
    uint32_t iterations;     /* of the model */
    uint32_t steps;          /* of the path that follows */
    const rfm_step *path;    /* `steps` of them; in an opened model NULL: rfm_model_summary copies them out */
    const rfm_real *x_scale; /* (d) scales that are folded in; NULL: none. When writing: those to keep, which are in the
                                numbers already; NULL: those that are folded now */
} rfm_summary;

/* What a blob is written from. Features were standardised before training as (x - mean) / scale, targets as (y - mean)
 * / scale: that is folded into the numbers, so that prediction takes and gives raw values. NULL: not so. */
typedef struct {
    const rfm_model *model;
    int task;
    rfm_real temperature;
    const rfm_real *x_mean, *x_scale; /* (d) */
    const rfm_real *y_mean, *y_scale; /* (c) */
    const char *class_names; /* c strings, two if c = 1, one after the other, as in rfm_model; NULL: leave out */
    const char *input_names;
    const rfm_summary *summary; /* NULL: leave out */
    const void *record;         /* entries that rfm_record_add made */
    size_t record_bytes;        /* 0: leave out */
} rfm_contents;

/* Bytes of the blob, and the blob itself: what the numbers need and at most 256 bytes, names, summary and record.
 * `blob` is 16-byte aligned memory of at least that size. RFM_ENULL, RFM_EALIGN, RFM_EARENA (size too small),
 * RFM_EOVERFLOW (4 GiB), RFM_EVALUE (a scale that is not positive, task, temperature, a record that is no list of
 * entries), RFM_EFINITE (the model is not finite), RFM_ETYPE (this machine's byte order is not the blob's): nothing
 * written. RFM_ERANGE: with what is folded in the numbers are not finite; the blob is zeros. */
int rfm_model_size(const rfm_contents *contents, size_t *bytes);
int rfm_model_write(const rfm_contents *contents, void *blob, size_t size);

/* How blobs of any type are put together: the place of every section, then the sections' bytes by their owner, then the
 * checksum. bytes[i] is the length of section i, 0: not there; at[i] becomes its offset; *total that of the whole.
 * RFM_EOVERFLOW: 4 GiB; at[] is undefined then. */
int rfm_blob_layout(uint32_t sections, const size_t *bytes, size_t *at, size_t *total);

/* Zeros, the head (head->at is not looked at) and the table into `blob`, of the layout's total size. */
void rfm_blob_begin(unsigned char *blob, const rfm_blob *head, uint32_t sections, const size_t *bytes, const size_t *at,
                    size_t total);
void rfm_blob_end(unsigned char *blob);

/* The summary of an opened model, and up to `room` steps of its path. RFM_ENULL, RFM_EVALUE (it has none). */
int rfm_model_summary(const rfm_model *model, rfm_summary *summary, rfm_step *path, size_t room);

/* ---- records: what tools and people want to know of a model; prediction never reads it --------- */

/* A list of entries, each a tag, which is not 0, and bytes, in a section of the blob. rfm/FORMAT.md has the layouts.
 * Tags that are not known are passed over. */
#define RFM_RECORD_OPTIONS 1 /* what it was trained with: rfm_record_options */
#define RFM_RECORD_TARGETS 2 /* names of the target columns: strings, one after the other, each with its 0 */
#define RFM_RECORD_FILL    3 /* (d) what missing inputs became, 8-byte numbers, as the next two */
#define RFM_RECORD_OFFSETS \
    4 /* (d + targets) what was taken out of inputs and targets while they had all their digits */
#define RFM_RECORD_SCALES    5 /* (d) x_scale, where the summary does not have it */
#define RFM_RECORD_CONFORMAL 6 /* a coverage and its threshold, 8-byte numbers: rfm_conformal_set */

/* What tools do with a table before it becomes inputs: FORMAT.md has the bytes. */
#define RFM_RECORD_RECIPE      16 /* how each input is made of a column */
#define RFM_RECORD_ABSENT      17 /* further words for what is missing: strings */
#define RFM_RECORD_LEFT        18 /* columns that were left out: a name and a reason each, strings */
#define RFM_RECORD_ROWS        19 /* fingerprints of the rows that were trained on, 4 bytes each, in order */
#define RFM_RECORD_WORDS       20 /* the options that were given for the table: strings */
#define RFM_RECORD_TEMPERATURE 21 /* of the softmax, one 8-byte number, where the model itself has none */
#define RFM_RECORD_DECISIONS   22 /* what else was decided about the table and the training: strings */
#define RFM_RECORD_KNOTS       23 /* tables of knots that make inputs of columns, 8-byte numbers */
#define RFM_RECORD_MODELS      24 /* of a mean: what each of its models was trained with, as entries of tag 1 */
#define RFM_RECORD_SHARES      25 /* of a mean: how many times each of its models counts, 8-byte numbers */
#define RFM_RECORD_SIGNAL      32 /* how inputs are made of the samples of sensors: a signal of rfm_signal.h */

#define RFM_RECORD_OPTIONS_BYTES 48

/* The record of a blob of any type but that of rfm_tiny.h, and its length. Everything is checked as rfm_blob_open does,
 * and that it is a list of entries. NULL: there is none, or it is no such list; *bytes is unchanged then. */
const void *rfm_record_open(const void *blob, size_t size, size_t *bytes);

/* The bytes of the first entry with this tag. NULL: there is none up to where the list ends or is wrong; *bytes is
 * unchanged then. An entry is a multiple of 4 bytes from the record's start, so its numbers are to be copied out. */
const void *rfm_record_find(const void *record, size_t record_bytes, uint16_t tag, size_t *bytes);

/* 1: a list of entries, at least one. */
int rfm_record_right(const void *record, size_t bytes);

/* One more entry behind the *used bytes of a record that has `room` bytes; record NULL: only *used grows, which is the
 * room that the same calls need. RFM_ENULL, RFM_EVALUE (tag 0, *used is no multiple of 4), RFM_EOVERFLOW (4 GiB),
 * RFM_EARENA: nothing written. */
int rfm_record_add(unsigned char *record, size_t room, size_t *used, uint16_t tag, const void *data, size_t bytes);

/* The options of a fit likewise: RFM_EVALUE also for one that is outside its range. */
int rfm_record_add_options(unsigned char *record, size_t room, size_t *used, const rfm_options *options);

/* And back. RFM_ENULL, RFM_EVALUE (there are none), RFM_ECONTENT (too short, or outside their ranges): *options is
 * unchanged. */
int rfm_record_options(const void *record, size_t record_bytes, rfm_options *options);

/* ---- feature insight ------------------------------------------------------------------------ */

/* M of a model: (d, d), or (1, d) for its diagonal, whatever the metric is. RFM_ENULL, RFM_ESHAPE, RFM_ESTRIDE;
 * RFM_ERANGE: M was computed and is not finite. Its top eigenvectors and their share come from rfm_eig. */
int rfm_metric(const rfm_model *model, rfm_mat m);

/* Similarity of two feature matrices of one shape. rfm_cosine: tr(A'B) / sqrt(tr(A'A) tr(B'B)). rfm_pearson: the
 * same after subtracting each matrix's mean entry. The result is 0 if a matrix is zero (for rfm_pearson: constant).
 * RFM_ENULL, RFM_EZERO, RFM_ESTRIDE, RFM_EOVERFLOW, RFM_ESHAPE, RFM_EFINITE. */
int rfm_cosine(rfm_cmat a, rfm_cmat b, rfm_real *cosine);
int rfm_pearson(rfm_cmat a, rfm_cmat b, rfm_real *pearson);

/* cos(K, YY'): how well the model's kernel K on X (m, d) agrees with the ideal one, YY', Y (m, c). */
int rfm_alignment(const rfm_ctx *ctx, const rfm_model *model, rfm_cmat x, rfm_cmat y, rfm_real *alignment);
int rfm_alignment_need(const rfm_ctx *ctx, const rfm_model *model, size_t m, size_t *bytes);

#endif /* RFM_NO_TRAIN */

#ifdef __cplusplus
}
#endif
#endif
