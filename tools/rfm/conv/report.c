/* Pictures of what a model of patches looks at: eigenvectors of M as patches, and over images the length of M^1/2 x[r],
 * of M x[r], and the response |u'x[r]| of each eigenvector u. As files, and on a page. */
#include "conv.h"

#include "rfm/report/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EIGENVECTORS 6 /* that are shown */
#define RESPONSES    3 /* eigenvectors whose response to an image is shown */
#define USUAL_IMAGES 4

/* ---- the operator ---------------------------------------------------------------------------- */

/* M = F'F on the patches of images of this size. */
typedef struct {
    rfm_conv f;
    size_t d, r;      /* numbers of a patch; rows of F */
    rfm_real *factor; /* (r, d) */
    size_t count;
    rfm_real *vectors; /* (count, d) eigenvectors */
    double share[EIGENVECTORS];
} patch_operator;

/* M of the first layer: the model's own, or with layers of filters the mean outer product of the first filters, which
 * were drawn with M as their covariance. */
static patch_operator operator_of(machine *m, const rfm_conv_model *model) {
    rfm_real *metric;
    patch_operator o;
    size_t i, j, q;
    memset(&o, 0, sizeof o);
    o.f = model->input, o.d = rfm_conv_patch(&o.f);
    o.r = model->layers > 0 ? model->layer[0].count : model->r;
    o.factor = allocate(o.r, o.d * sizeof *o.factor, "the metric");
    o.vectors = allocate(EIGENVECTORS, o.d * sizeof *o.vectors, "eigenvectors");
    for (i = 0; i < o.r * o.d; i++) {
        if (model->layers > 0)
            o.factor[i] = model->layer[0].filters[i] / (rfm_real)sqrt((double)o.r);
        else
            o.factor[i] = model->p != NULL ? model->p[i] : i / o.d == i % o.d ? (rfm_real)1 : (rfm_real)0;
    }
    metric = allocate(o.d, o.d * sizeof *metric, "the metric");
    for (i = 0; i < o.d; i++)
        for (j = 0; j < o.d; j++)
            for (q = 0; q < o.r; q++) metric[i * o.d + j] += o.factor[q * o.d + i] * o.factor[q * o.d + j];
    o.count = conv_directions(m, o.d, metric, EIGENVECTORS, o.vectors, o.share);
    free(metric);
    return o;
}

/* ---- pictures -------------------------------------------------------------------------------- */

typedef struct {
    size_t channels, height, width;
    double *at; /* (channels, height, width) from -1 to 1, or from 0 to 1 */
    int sign;   /* 1: from -1 to 1 */
    char name[64], caption[96];
} picture;

static picture picture_make(size_t channels, size_t height, size_t width, int has_sign) {
    picture p;
    memset(&p, 0, sizeof p);
    p.channels = channels, p.height = height, p.width = width, p.sign = has_sign;
    p.at = allocate(channels * height, width * sizeof *p.at, "a picture");
    return p;
}

/* The largest number becomes 1; without a sign the smallest becomes 0 if it is negative. */
static void picture_scale(picture *p) {
    size_t count = p->channels * p->height * p->width, i;
    double low = 0, high = 0;
    for (i = 0; i < count; i++) low = fmin(low, p->at[i]), high = fmax(high, p->at[i]);
    if (p->sign) high = fmax(high, -low), low = 0;
    for (i = 0; i < count; i++) p->at[i] = high > low ? (p->at[i] - low) / (high - low) : 0;
}

/* Binary PGM; PPM of three channels. Other numbers of channels stand side by side. With a sign 0 is grey. */
static text picture_file(const picture *p) {
    int colour = p->channels == 3;
    size_t columns = colour ? 1 : p->channels, i, j, k;
    text t = {NULL, 0, 0};
    text_add(&t, "P%d\n%zu %zu\n255\n", colour ? 6 : 5, columns * p->width, p->height);
    for (i = 0; i < p->height; i++)
        for (j = 0; j < columns * p->width; j++)
            for (k = 0; k < (colour ? 3u : 1u); k++) {
                size_t channel = colour ? k : j / p->width;
                double v = p->at[(channel * p->height + i) * p->width + j % p->width];
                char byte = (char)(unsigned char)floor(255 * (p->sign ? (v + 1) / 2 : v) + 0.5);
                text_bytes(&t, &byte, 1);
            }
    return t;
}

/* On a page: the mean of the channels. */
static void picture_html(text *t, const picture *p) {
    size_t count = p->height * p->width, i, k;
    double *v = allocate(count, sizeof *v, "a picture");
    for (i = 0; i < count; i++)
        for (k = 0; k < p->channels; k++) v[i] += p->at[k * count + i] / (double)p->channels;
    text_add(t, "<figure>");
    html_image(t, v, p->width, p->height, "pixels", p->caption);
    text_add(t, "<figcaption>");
    html_text(t, p->caption);
    text_add(t, "</figcaption></figure>\n");
    free(v);
}

#define IMAGE_PICTURES (3 + RESPONSES)

typedef struct {
    picture eigenvector[EIGENVECTORS];
    size_t eigenvectors;
    picture *of_image; /* (images, IMAGE_PICTURES) */
    size_t images, each;
} album;

static void eigenvectors_draw(album *a, const patch_operator *o) {
    size_t i, j, rows = o->f.height == 1 ? 1 : o->f.patch;
    a->eigenvectors = o->count;
    for (i = 0; i < o->count; i++) {
        picture *p = &a->eigenvector[i];
        *p = picture_make(o->f.channels, rows, o->f.patch, 1);
        for (j = 0; j < o->d; j++) p->at[j] = (double)o->vectors[i * o->d + j];
        picture_scale(p);
        snprintf(p->name, sizeof p->name, "eigenvector-%zu", i + 1);
        snprintf(p->caption, sizeof p->caption, "Eigenvector %zu, %.1f %% of the trace", i + 1, 100 * o->share[i]);
    }
}

static double length_of(const double *v, size_t n) {
    double sum = 0;
    size_t i;
    for (i = 0; i < n; i++) sum += v[i] * v[i];
    return sqrt(sum);
}

/* The picture of image x itself, and those of M over its places. */
static void image_draw(album *a, size_t image, const patch_operator *o, const rfm_real *x) {
    static const char *const names[] = {"image", "root", "metric", "response"};
    size_t pixels = rfm_conv_pixels(&o->f), places = rfm_conv_places(&o->f), rows, i, j, q, k;
    size_t responses = o->count < RESPONSES ? o->count : RESPONSES;
    rfm_real *patches = allocate(places, o->d * sizeof *patches, "patches");
    double *fx = allocate(o->r + o->d, sizeof *fx, "a patch"), *mx = fx + o->r;
    picture *p = a->of_image + image * IMAGE_PICTURES;
    rows = o->f.height == 1 ? 1 : o->f.height - o->f.patch + 1;
    must(rfm_conv_patches(&o->f, x, rfm_view(patches, places, o->d)), "patches");
    p[0] = picture_make(o->f.channels, o->f.height, o->f.width, 0);
    for (i = 0; i < pixels; i++) p[0].at[i] = (double)x[i];
    for (k = 1; k < 3 + responses; k++) p[k] = picture_make(1, rows, places / rows, 0);
    for (i = 0; i < places; i++) {
        const rfm_real *patch = patches + i * o->d;
        memset(fx, 0, (o->r + o->d) * sizeof *fx);
        for (q = 0; q < o->r; q++)
            for (j = 0; j < o->d; j++) fx[q] += (double)o->factor[q * o->d + j] * (double)patch[j];
        for (q = 0; q < o->r; q++)
            for (j = 0; j < o->d; j++) mx[j] += (double)o->factor[q * o->d + j] * fx[q];
        p[1].at[i] = length_of(fx, o->r);
        p[2].at[i] = length_of(mx, o->d);
        for (k = 0; k < responses; k++) {
            double sum = 0;
            for (j = 0; j < o->d; j++) sum += (double)o->vectors[k * o->d + j] * (double)patch[j];
            p[3 + k].at[i] = fabs(sum);
        }
    }
    for (k = 0; k < 3 + responses; k++) {
        picture_scale(&p[k]);
        if (k < 3)
            snprintf(p[k].name, sizeof p[k].name, "%s-%zu", names[k], image + 1);
        else
            snprintf(p[k].name, sizeof p[k].name, "response-%zu-%zu", image + 1, k - 2);
        snprintf(p[k].caption, sizeof p[k].caption,
                 k == 0   ? "Image %zu"
                 : k == 1 ? "|M^1/2 x[r]|"
                 : k == 2 ? "|M x[r]|"
                          : "Response of eigenvector %zu",
                 k == 0 ? image + 1 : k - 2);
    }
    a->each = 3 + responses;
    free(patches);
    free(fx);
}

static void album_free(album *a) {
    size_t i, k;
    for (i = 0; i < a->eigenvectors; i++) free(a->eigenvector[i].at);
    for (i = 0; i < a->images; i++)
        for (k = 0; k < a->each; k++) free(a->of_image[i * IMAGE_PICTURES + k].at);
    free(a->of_image);
}

/* PREFIX-eigenvector-1.pgm and so on. Two walks: no file is written before all can be. */
static void album_write(const album *a, const char *prefix) {
    size_t total = a->eigenvectors + a->images * a->each, i;
    int writes;
    for (writes = 0; writes < 2; writes++)
        for (i = 0; i < total; i++) {
            size_t at = i - a->eigenvectors;
            const picture *p =
                i < a->eigenvectors ? &a->eigenvector[i] : &a->of_image[at / a->each * IMAGE_PICTURES + at % a->each];
            text name = {NULL, 0, 0}, bytes;
            text_add(&name, "%s-%s.%s", prefix, p->name, p->channels == 3 ? "ppm" : "pgm");
            text_bytes(&name, "", 1);
            if (!writes)
                file_check(name.at);
            else {
                bytes = picture_file(p);
                file_write(name.at, bytes.at, bytes.size);
                free(bytes.at);
            }
            free(name.at);
        }
}

/* ---- the page -------------------------------------------------------------------------------- */

typedef struct {
    const char *model_file, *data_file;
    const any_model *any;
    size_t bytes, rows;
    const score *score; /* NULL: the images have no labels */
    const album *album;
} page;

static void page_model(text *t, const page *p) {
    const rfm_conv_model *m = &p->any->patches;
    const rfm_conv *f = &m->input;
    char room[NUMBER_ROOM];
    html_section(t, "model", "The model");
    text_add(t, "<dl>");
    if (p->score != NULL) {
        html_row(t, m->task == RFM_CLASSIFY ? "Accuracy" : "R\xc2\xb2");
        text_add(t, "%s on %zu rows</dd>", html_score(room, main_score(p->score, m->task)), p->rows);
    }
    html_row(t, "Images");
    text_add(t, "%zu x %zu x %zu: channels, rows, columns</dd>", f->channels, f->height, f->width);
    html_row(t, "Patches");
    text_add(t, "side %zu, rank of M %zu</dd>", f->patch, m->r);
    html_row(t, "Kernel");
    text_add(t, "%s, %d layer%s</dd>", conv_kernel_word(&m->f), m->f.depth, m->f.depth == 1 ? "" : "s");
    if (m->layers > 0) {
        html_row(t, "Filters");
        text_add(t, "%zu layers of %zu</dd>", m->layers, m->layer[0].count);
    }
    html_row(t, "Images that are kept");
    text_add(t, "%zu</dd>", m->n);
    html_row(t, "Size of the model");
    text_add(t, "%s</dd>", html_bytes(room, (double)p->bytes));
    html_row(t, "Scratch of a prediction");
    text_add(t, "%s</dd>", html_bytes(room, (double)(rfm_conv_scratch(m) * sizeof(rfm_real))));
    text_add(t, "</dl></section>\n");
}

static void page_make(text *t, const page *p) {
    const album *a = p->album;
    size_t i, k;
    html_page_open(t, p->model_file);
    text_add(t, "<header><p class=\"over\">rfm report</p><h1>");
    html_name(t, p->model_file, 80);
    text_add(t, "</h1>\n<p class=\"lead\">What a machine of patches has learned to look at, on images of ");
    html_name(t, p->data_file, 60);
    text_add(t, ".</p></header>\n<main>\n");
    page_model(t, p);
    html_section(t, "eigenvectors", "Eigenvectors of M");
    text_add(t, "<p class=\"say\">%s</p>\n<div class=\"gallery\">\n",
             p->any->patches.layers > 0 ? "The patches along which predictions change most. M is that of the first "
                                          "layer, estimated from its filters."
             : p->any->patches.p == NULL
                 ? "M is the identity: all pixels of a patch count the same, and these vectors say nothing. No "
                   "iteration was "
                   "asked for, or none did better on held-out rows (rfm train --iterations 1 learns an M)."
                 : "The patches along which predictions change most.");
    for (i = 0; i < a->eigenvectors; i++) picture_html(t, &a->eigenvector[i]);
    text_add(t, "</div>\n<div class=\"scale\">negative <i></i> positive</div>\n</section>\n");
    html_section(t, "images", "Over images");
    text_add(t,
             "<p class=\"say\">For each place r of an image the length of its patch x[r] in the metric, the length of "
             "M x[r], and what the first eigenvectors respond. Each picture has its own scale.</p>\n");
    for (i = 0; i < a->images; i++) {
        text_add(t, "<div class=\"gallery\">\n");
        for (k = 0; k < a->each; k++) picture_html(t, &a->of_image[i * IMAGE_PICTURES + k]);
        text_add(t, "</div>\n");
    }
    text_add(t, "</section>\n</main>\n<footer>rfm %d.%d.%d</footer>\n", RFM_VERSION_MAJOR, RFM_VERSION_MINOR,
             RFM_VERSION_PATCH);
    html_page_close(t);
}

/* ---- the command ---------------------------------------------------------------------------- */

/* The rows to score, and their score. */
static sample labelled_rows(const call *c, machine *m, const any_model *any, model_table *table, score *s) {
    double *offset = conv_offset(any);
    row_list rows;
    sample given;
    model_table_read(table, any, c->operands[0], c->data, !c->no_header, c->target, 0);
    rows = rows_to_score(&table->file, c->split, table->column, table->form.targets);
    given = conv_sample(table, rows, any);
    *s = conv_score(m, &any->patches, offset, &given);
    model_table_free(table);
    free(rows.at);
    free(offset);
    return given;
}

/* Images of another set, perhaps of another size; labels beside them are not looked at. */
static sample other_images(const call *c, const any_model *any, rfm_conv *f) {
    image_size size = image_size_of("--image", c->image);
    size_t pixels = size.channels * size.height * size.width;
    unsigned char *use;
    input_list inputs;
    row_list rows;
    sample given;
    csv file;
    memset(&given, 0, sizeof given);
    if (size.channels != f->channels)
        usage("--image %s: %zu channels, expected the %zu of the model", c->image, size.channels, f->channels);
    if (f->patch > size.width || (f->height > 1 && f->patch > size.height) || (f->height == 1) != (size.height == 1))
        usage("--image %s: expected images that hold the patches of the model, side %zu", c->image, f->patch);
    f->height = size.height, f->width = size.width;
    csv_read(&file, c->data, !c->no_header);
    inputs = inputs_of_model(&file, NULL, pixels, c->target, model_targets(&any->numbers));
    use = split_read(c->split, &file, USE_TEST);
    rows = rows_of(&file, use, USE_TEST);
    given.rows = rows.count, given.x = allocate(rows.count, pixels * sizeof *given.x, "images");
    inputs_fill(&file, inputs, rows, 0, NULL, given.x);
    inputs_free(&inputs);
    csv_free(&file);
    free(use);
    free(rows.at);
    return given;
}

int conv_report(const call *c, machine *m, any_model *any, char *blob, size_t size) {
    size_t shown = c->pictures_of != SIZE_MAX ? c->pictures_of : USUAL_IMAGES, i;
    patch_operator o;
    model_table table;
    sample given;
    score s;
    album a;
    page p;
    text t = {NULL, 0, 0};
    memset(&a, 0, sizeof a);
    memset(&p, 0, sizeof p);
    if (c->missing != NULL) usage("%s: a model of patches, expected no --missing", c->operands[0]);
    o = operator_of(m, &any->patches);
    o.f.padded = 0; /* a place for each patch that is inside */
    given = c->image != NULL ? other_images(c, any, &o.f) : labelled_rows(c, m, any, &table, &s);
    file_check(c->out);
    eigenvectors_draw(&a, &o);
    a.images = shown < given.rows ? shown : given.rows;
    a.of_image = allocate(a.images * IMAGE_PICTURES, sizeof *a.of_image, "pictures");
    for (i = 0; i < a.images; i++) image_draw(&a, i, &o, given.x + i * rfm_conv_pixels(&o.f));
    p.model_file = file_base(c->operands[0], "standard input"), p.data_file = file_base(c->data, "standard input");
    p.any = any, p.bytes = size, p.rows = given.rows, p.score = c->image != NULL ? NULL : &s, p.album = &a;
    page_make(&t, &p);
    if (c->pictures != NULL) album_write(&a, c->pictures);
    file_write(c->out, t.at, t.size);
    machine_stop(m);
    album_free(&a);
    sample_free(&given);
    free(o.factor);
    free(o.vectors);
    free(t.at);
    free(blob);
    return 0;
}
