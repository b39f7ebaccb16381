/* rfm sums and rfm merge: what a pass over rows adds up, for one model. A file of sums has the model in front of them;
 * rfm/FORMAT.md has its bytes. */
#include "large.h"

#include "rfm_large.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODEL_MAGIC  0x626d6672u
#define SUMS_MAGIC   0x736d6672u
#define PART_MAGIC   0x706d6672u
#define PART_VERSION 1u
#define PART_HEAD    16u

static size_t filled(size_t bytes) { return (bytes + RFM_ALIGN - 1) / RFM_ALIGN * RFM_ALIGN; }

/* ---- files of sums --------------------------------------------------------------------------- */

typedef struct {
    unsigned char *bytes; /* of the file, aligned */
    size_t size, model_bytes;
    rfm_model model;
    rfm_sums *sums;
} part_file;

#define UNIT_ROWS 1000 /* centres that tell the size of targets */

/* Near the largest target less its offset, from the model alone: all parts have to agree, whatever rows they have and
 * on whatever machine. Classes are -1, 0 and 1. Else y_i = f(x_i) + ridge alpha_i at the centres of an exact model, and
 * about f(x_i) at those of another. alpha says little: it is small where rows are alike or the ridge is large. */
static rfm_real unit_of_targets(const rfm_model *m) {
    rfm_model projected = *m; /* takes rows as centres are */
    rfm_summary summary;
    rfm_real *room, *zeros, *ones, *scratch, *f, ridge = 0, most = 0;
    size_t count = m->n < UNIT_ROWS ? m->n : UNIT_ROWS, i, j, k;
    if (m->task == RFM_CLASSIFY) return 2;
    if (rfm_model_summary(m, &summary, NULL, 0) == RFM_OK && summary.rows == m->n && isfinite(summary.ridge))
        ridge = summary.ridge;
    room = allocate(2 * m->r + RFM_PREDICT_SCRATCH(m->r, m->r) + m->c, sizeof *room, "sums");
    zeros = room, ones = zeros + m->r, scratch = ones + m->r, f = scratch + RFM_PREDICT_SCRATCH(m->r, m->r);
    for (j = 0; j < m->r; j++) ones[j] = 1;
    projected.d = m->r, projected.metric = RFM_DIAGONAL, projected.shift = zeros, projected.p = ones;
    projected.offset = NULL;
    for (i = 0; i < count; i++) {
        const size_t at = (size_t)((uint64_t)i * m->n / count);
        if (rfm_predict_one(&projected, m->centers + at * m->r, f, scratch, NULL, NULL) != RFM_OK) continue;
        for (k = 0; k < m->c; k++) {
            const rfm_real y = (rfm_real)fabs((double)(f[k] + ridge * m->alpha[at * m->c + k]));
            if (isfinite(y) && y > most) most = y;
        }
    }
    for (k = 0; !(most > 0) && k < m->c; k++) most = m->offset != NULL ? (rfm_real)fabs((double)m->offset[k]) : 0;
    free(room);
    return most >= (rfm_real)1e-30 ? most : 1;
}

static unsigned char *part_read(const char *file, size_t *size) {
    char *read = file_read(file, size);
    unsigned char *bytes = allocate_aligned(*size, "sums");
    memcpy(bytes, read, *size);
    free(read);
    return bytes;
}

/* The model's file in place of a part: a part of no rows. */
static void part_of_model(part_file *p, const char *file) {
    size_t size, bytes = 0, at;
    unsigned char *read = part_read(file, &size);
    memset(p, 0, sizeof *p);
    must(rfm_model_open(read, size, &p->model), file);
    must(rfm_sums_size(&p->model, RFM_SUMS_SOLVE, &bytes), file);
    at = PART_HEAD + filled(size);
    p->bytes = allocate_aligned(at + bytes, "sums"), p->size = at + bytes, p->model_bytes = size;
    memset(p->bytes, 0, at);
    memcpy(p->bytes + PART_HEAD, read, size);
    free(read);
    must(rfm_model_open(p->bytes + PART_HEAD, size, &p->model), file);
    p->sums = (rfm_sums *)(void *)(p->bytes + at);
    must(rfm_sums_init(&p->model, RFM_SUMS_SOLVE, unit_of_targets(&p->model), p->sums, bytes), file);
}

/* first: the part before it, whose model is that of bare sums; NULL: this is the first one. */
static void part_open(part_file *p, const char *file, const part_file *first) {
    size_t size, at;
    int status;
    memset(p, 0, sizeof *p);
    p->bytes = part_read(file, &size), p->size = size;
    if (size >= PART_HEAD && rfm_get_u32(p->bytes) == SUMS_MAGIC) {
        if (first == NULL) fail("%s: sums without a model: expected the model's file in front of it", file);
        p->sums = (rfm_sums *)(void *)p->bytes;
        status = rfm_sums_check(&first->model, p->sums, size);
        if (status == RFM_ECHANGED) fail("%s: sums of another model", file);
        if (status != RFM_OK) fail("%s: %s", file, rfm_status_text(status));
        return;
    }
    /* Models of images have the magic, too, but no other model behind it. */
    if (size < PART_HEAD + 4 || rfm_get_u32(p->bytes) != PART_MAGIC || memcmp(p->bytes + PART_HEAD, "rfmb", 4) != 0)
        fail("%s: expected sums, as rfm sums writes them", file);
    if (rfm_get_u32(p->bytes + 4) != PART_VERSION) fail("%s: sums of a newer version", file);
    p->model_bytes = rfm_get_u32(p->bytes + 8), at = PART_HEAD + filled(p->model_bytes);
    if (at > size || at < p->model_bytes) fail("%s: the sums are cut off", file);
    status = rfm_model_open(p->bytes + PART_HEAD, p->model_bytes, &p->model);
    p->sums = (rfm_sums *)(void *)(p->bytes + at);
    if (status == RFM_OK) status = rfm_sums_check(&p->model, p->sums, size - at);
    if (status != RFM_OK) fail("%s: %s", file, rfm_status_text(status));
}

/* ---- rfm sums -------------------------------------------------------------------------------- */

typedef struct {
    const sample *s;
    const rfm_real *y;
    size_t d, c;
} rows_in_memory;

static size_t read_rows(void *from, size_t first, size_t count, rfm_real *x, rfm_real *y, rfm_real *weights) {
    const rows_in_memory *r = from;
    (void)weights;
    memcpy(x, r->s->x + first * r->d, count * r->d * sizeof *x);
    memcpy(y, r->y + first * r->c, count * r->c * sizeof *y);
    return count;
}

int command_sums(const call *a) {
    any_model any;
    const rfm_model *m = &any.numbers;
    machine of;
    model_table table;
    row_list rows;
    sample given;
    rows_in_memory from;
    rfm_rows in;
    rfm_real *targets = NULL;
    unsigned char *out;
    char *blob;
    size_t size, bytes = 0, need = 0, at;
    text said = {NULL, 0, 0};
    if (a->out == NULL) usage("sums: expected -o PART.sums");
    machine_start(&of, a->threads, a->port);
    model_read(a->operands[0], &blob, &size, &any);
    model_table_read(&table, &any, a->operands[0], a->operands[1], !a->no_header, a->target, 1);
    rows = rows_to_score(&table.file, NULL, table.column, table.form.targets);
    given = sample_read(&table.file, table.inputs, table.column, &table.form, rows,
                        model_table_offsets(&table, rows, &any));
    sample_fill(&given, &any, a->operands[1]);
    if (given.moved.x != NULL || given.moved.y != NULL)
        fail("%s: a column needs more digits than a model has; expected it less an offset", a->operands[1]);
    if (given.labels != NULL) {
        targets = allocate(given.rows, m->c * sizeof *targets, "targets");
        class_targets(given.labels, given.rows, m->c, targets);
    }
    from.s = &given, from.y = targets != NULL ? targets : given.y, from.d = m->d, from.c = m->c;
    memset(&in, 0, sizeof in);
    in.n = given.rows, in.d = m->d, in.c = m->c, in.read = read_rows, in.from = &from;
    must(rfm_sums_size(m, RFM_SUMS_SOLVE, &bytes), "sums");
    at = PART_HEAD + filled(size);
    out = allocate_aligned(at + bytes, "sums");
    memset(out, 0, at);
    rfm_put_u32(out, PART_MAGIC), rfm_put_u32(out + 4, PART_VERSION), rfm_put_u32(out + 8, (uint32_t)size);
    memcpy(out + PART_HEAD, blob, size);
    must(rfm_sums_init(m, RFM_SUMS_SOLVE, unit_of_targets(m), (rfm_sums *)(void *)(out + at), bytes), "sums");
    must(rfm_sums_add_need(&of.ctx, &in, m, RFM_SUMS_SOLVE, &need), "sums");
    machine_memory(&of, need, "sums");
    must(rfm_sums_add(&of.ctx, &in, m, (rfm_sums *)(void *)(out + at)), a->operands[1]);
    file_write(a->out, out, at + bytes);
    text_add(&said, "sums          of %zu rows for %zu centres, %zu bytes\n", given.rows, m->n, at + bytes);
    file_show(&said, a->out);
    free(said.at), free(out), free(targets), free(rows.at), free(blob);
    sample_free(&given);
    model_table_free(&table);
    machine_stop(&of);
    return 0;
}

/* ---- rfm merge ------------------------------------------------------------------------------- */

static int is_model(const char *file) {
    size_t size;
    char *read = file_read(file, &size);
    int is = size >= 4 && rfm_get_u32((const unsigned char *)read) == MODEL_MAGIC;
    free(read);
    return is;
}

int command_merge(const call *a) {
    part_file all, next;
    int in_front, status;
    rfm_summary summary;
    rfm_solve_report report;
    machine m;
    rfm_real *alpha;
    text said = {NULL, 0, 0};
    size_t i, need = 0;
    if (a->out == NULL) usage("merge: expected -o MODEL.rfm");
    machine_start(&m, a->threads, a->port);
    in_front = is_model(a->operands[0]);
    if (in_front && a->operands[1] == NULL) usage("merge: expected PART.sums behind the model %s", a->operands[0]);
    if (in_front)
        part_of_model(&all, a->operands[0]);
    else
        part_open(&all, a->operands[0], NULL);
    for (i = 1; i < MOST_OPERANDS && a->operands[i] != NULL; i++) {
        part_open(&next, a->operands[i], &all);
        if (next.model_bytes > 0 && (next.model_bytes != all.model_bytes ||
                                     memcmp(next.bytes + PART_HEAD, all.bytes + PART_HEAD, all.model_bytes) != 0))
            fail("%s: sums of another model than %s", a->operands[i], a->operands[0]);
        status = rfm_sums_merge(all.sums, next.sums);
        if (status == RFM_ECHANGED)
            fail("%s: other units than %s, or centres that are alike to rounding, and were summed by a machine that "
                 "rounds differently",
                 a->operands[i], a->operands[0]);
        must(status, a->operands[i]);
        free(next.bytes);
    }
    if (rfm_sums_rows(all.sums) == 0) fail("%s: no rows in its sums", a->operands[0]);
    memset(&summary, 0, sizeof summary);
    if (rfm_model_summary(&all.model, &summary, NULL, 0) != RFM_OK) summary.ridge = (rfm_real)1e-3;
    alpha = allocate(all.model.n, all.model.c * sizeof *alpha, "the model");
    must(rfm_sums_solve_need(&m.ctx, &all.model, &need), "merge");
    machine_memory(&m, need, "merging");
    status =
        rfm_sums_solve(&m.ctx, &all.model, all.sums, summary.ridge, rfm_view(alpha, all.model.n, all.model.c), &report);
    if (status == RFM_ERANGE)
        fail(
            "merge: the model is too large for the number type, or a target too small for sums: they have one unit for "
            "all targets, so scale a target whose deviations are below 1/65536 of another's");
    must(status, "merge");
    memcpy(all.bytes + ((const unsigned char *)all.model.alpha - all.bytes), alpha,
           all.model.n * all.model.c * sizeof *alpha);
    rfm_blob_end(all.bytes + PART_HEAD);
    file_write(a->out, all.bytes + PART_HEAD, all.model_bytes);
    text_add(&said, "model         ");
    text_name(&said, a->out);
    text_add(&said, ", %zu centres, of %.0f rows in %zu parts\n", all.model.n, (double)report.rows,
             i - (size_t)in_front);
    file_show(&said, a->out);
    free(said.at), free(alpha), free(all.bytes);
    machine_stop(&m);
    return 0;
}
