/* rfm_tool - the commands of rfm as functions on a caller's memory. They are in build/librfm.so (make shared) beside
 * the library itself; tools/python/rfm.py is made of them.
 *
 * Every function runs the code that the command of that name runs, with the same options, and gives the same bits.
 * Nothing is printed, no file is touched, the program is never ended: what a command would say comes back as text.
 * Calls may run at the same time in several threads; each starts threads of its own and ends them. After any result all
 * memory is free again but what rfm_tool_free takes.
 */
#ifndef RFM_TOOL_H
#define RFM_TOOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a function returns; result.error has a message unless it is RFM_TOOL_OK. */
#define RFM_TOOL_OK       0
#define RFM_TOOL_FAILED   1 /* the work: bad data, numbers that do not fit */
#define RFM_TOOL_USAGE    2 /* wrong options */
#define RFM_TOOL_CANCELED 3
#define RFM_TOOL_MEMORY   4

/* Types of numbers. */
#define RFM_TOOL_F32   0
#define RFM_TOOL_F64   1
#define RFM_TOOL_I8    2
#define RFM_TOOL_U8    3
#define RFM_TOOL_I16   4
#define RFM_TOOL_U16   5
#define RFM_TOOL_I32   6
#define RFM_TOOL_U32   7
#define RFM_TOOL_I64   8
#define RFM_TOOL_U64   9
#define RFM_TOOL_TYPES 10

/* A matrix in the caller's memory, only read. Steps are bytes from an element to the next, of any sign; nothing has to
 * be aligned. */
typedef struct {
    const void *at; /* element (0, 0); NULL: there is no such matrix */
    size_t rows, cols;
    ptrdiff_t row_step, col_step;
    int type; /* RFM_TOOL_F32 ... */
} rfm_tool_array;

typedef struct {
    rfm_tool_array x;       /* (n, d) */
    rfm_tool_array y;       /* (n, k) targets, or (n, 1) numbers of classes: an unsigned type */
    rfm_tool_array weights; /* (n, 1) */
    const char *names;  /* d strings, one after the other, each with its 0; NULL: columns are taken in their order */
    const char *labels; /* class_count strings: the classes that y has the numbers of; NULL: y are values */
    size_t label_count;
    int label_texts; /* 1: labels are texts also where they look like numbers, and 1 is another one than 1.0 */
} rfm_tool_rows;

typedef struct {
    const char *const *words;   /* options as the command has them: "--kernel", "laplace", ..., NULL. May be NULL */
    const volatile int *cancel; /* anything but 0 ends the work soon; set it from any thread. May be NULL */
    /* On the calling thread, a few times a second. Anything but 0 ends the work. May be NULL. */
    int (*progress)(void *arg, const char *label, double share);
    void *arg;
} rfm_tool_options;

typedef struct {
    void *bytes; /* what was made: a model, a header; NULL: nothing */
    size_t size;
    char *summary; /* the JSON of the command; NULL: it has none */
    char *notes;   /* lines; NULL: none */
    char *error;   /* NULL: none */
    size_t peak;   /* bytes that the call had at most, results included; not those of the caller's arrays */
} rfm_tool_result;

/* {how many numbers follow, RFM_TOOL_ABI, version (3), bytes of a number of the library, sizeof of the four structs}.
 * A caller that was not compiled with this header compares all of them. */
#define RFM_TOOL_ABI 1
const uint32_t *rfm_tool_abi(void);

int rfm_tool_train(const rfm_tool_rows *rows, const rfm_tool_options *options, rfm_tool_result *result);

/* rows: those that the model was trained on. */
int rfm_tool_compress(const void *model, size_t size, const rfm_tool_rows *rows, const rfm_tool_options *options,
                      rfm_tool_result *result);
int rfm_tool_evaluate(const void *model, size_t size, const rfm_tool_rows *rows, const rfm_tool_options *options,
                      rfm_tool_result *result);
int rfm_tool_export(const void *model, size_t size, const rfm_tool_options *options, rfm_tool_result *result);
int rfm_tool_info(const void *model, size_t size, const rfm_tool_options *options, rfm_tool_result *result);

/* y (n, c) scores or values, classes (n), probabilities (n, classes); each may be NULL. c and class_count are those of
 * the model, as info has them. */
int rfm_tool_predict(const void *model, size_t size, const rfm_tool_rows *rows, const rfm_tool_options *options,
                     size_t c, size_t class_count, double *y, uint32_t *classes, double *probabilities,
                     rfm_tool_result *result);

/* M in standardised features unless the model was trained with --raw: m (d, d), or (d) if `full` is 0, that is, if it
 * is diagonal or the identity. `full` and d are those of the model. */
int rfm_tool_metric(const void *model, size_t size, size_t d, int full, double *m, rfm_tool_result *result);

/* Frees what is in the result; it may be used again. */
void rfm_tool_free(rfm_tool_result *result);

#ifdef __cplusplus
}
#endif

#endif
