/* Blobs of older formats, as the commands of their time wrote them: they are opened, predict the same bits as then, and
 * say the same of their names and summaries. */
#include "test.h"

#include "old_models.h"
#include "rfm_small.h"

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

typedef struct {
    const char *name;
    const unsigned char *blob;
    size_t bytes;
    int type, minor, metric, task;
    size_t n, c;
    const void *scores; /* (OLD_ROWS, OLD_OUTPUTS) of uint32_t, uint64_t, int32_t */
    size_t rows;        /* of the summary; 0: there is none */
} old_model;

#define OLD(name, ...) \
    { #name, name, sizeof name, __VA_ARGS__, name##_scores, 10 }
#define OLD_PLAIN(name, ...) \
    { #name, name, sizeof name, __VA_ARGS__, name##_scores, 0 }

static const old_model models[] = {
    OLD(f32_diag, RFM_F32, 0, RFM_DIAGONAL, RFM_REGRESS, 10, 1),
    OLD(f32_full, RFM_F32, 0, RFM_FULL, RFM_CLASSIFY, 10, 3),
    OLD(f32_gauss, RFM_F32, 0, RFM_FULL, RFM_CLASSIFY, 10, 3),
    OLD(f32_general, RFM_F32, 0, RFM_DIAGONAL, RFM_REGRESS, 10, 2),
    OLD(f64_full, RFM_F64, 0, RFM_FULL, RFM_CLASSIFY, 10, 3),
    OLD(i8_full, RFM_I8, 1, RFM_FULL, RFM_CLASSIFY, 10, 3),
    OLD_PLAIN(i16_diag, RFM_I16, 1, RFM_DIAGONAL, RFM_REGRESS, 10, 1),
    OLD_PLAIN(i16_full, RFM_I16, 1, RFM_FULL, RFM_CLASSIFY, 6, 3),
};

static void check_names(const old_model *o, const char *class_names, const char *input_names) {
    if (o->task == RFM_CLASSIFY) {
        TEST_ASSERT_EQUAL_STRING("blue", rfm_name(class_names, 0));
        TEST_ASSERT_EQUAL_STRING("green", rfm_name(class_names, 1));
        TEST_ASSERT_EQUAL_STRING("red", rfm_name(class_names, 2));
    } else
        CHECK(class_names == NULL);
    if (o->rows > 0) TEST_ASSERT_EQUAL_STRING("b", rfm_name(input_names, 1));
}

static void check_summary(const old_model *o, const void *summary, size_t d) {
    rfm_model m;
    rfm_summary s;
    memset(&m, 0, sizeof m);
    m.summary = summary, m.d = d;
    CHECK(o->rows > 0 ? summary != NULL : summary == NULL);
    if (summary == NULL) return;
    CHECK_INT(RFM_OK, rfm_model_summary(&m, &s, NULL, 0));
    CHECK_SIZE(o->rows, s.rows);
    CHECK_SIZE(s.iterations + 1, s.steps);
    CHECK((double)s.ridge > 0.0099 && (double)s.ridge < 0.0101);
}

/* Numbers of this build. */
static void check_numbers(const old_model *o) {
    rfm_real x[OLD_INPUTS], scores[OLD_OUTPUTS], scratch[RFM_PREDICT_SCRATCH(OLD_INPUTS, OLD_INPUTS)];
    rfm_model m;
    size_t i, j;
    CHECK_INT(RFM_OK, rfm_model_open(o->blob, o->bytes, &m));
    CHECK(m.n == o->n && m.d == OLD_INPUTS && m.c == o->c && m.metric == o->metric && m.task == o->task);
    for (i = 0; i < OLD_ROWS; i++) {
        for (j = 0; j < OLD_INPUTS; j++) x[j] = (rfm_real)old_rows[i][j];
        CHECK_INT(RFM_OK, rfm_predict_one(&m, x, scores, scratch, NULL, NULL));
        CHECK(memcmp(scores, (const char *)o->scores + i * OLD_OUTPUTS * sizeof *scores, m.c * sizeof *scores) == 0);
    }
    check_names(o, m.class_names, m.input_names);
    check_summary(o, m.summary, m.d);
}

static void check_integers(const old_model *o) {
    int16_t x[OLD_INPUTS], scratch[RFM_PREDICT_I_SCRATCH(OLD_INPUTS, OLD_INPUTS)];
    int32_t scores[OLD_OUTPUTS];
    rfm_model_i m;
    size_t i, j;
    CHECK_INT(RFM_OK, rfm_model_open_i(o->blob, o->bytes, &m));
    CHECK(m.n == o->n && m.d == OLD_INPUTS && m.c == o->c && m.metric == o->metric && m.task == o->task);
    for (i = 0; i < OLD_ROWS; i++) {
        for (j = 0; j < OLD_INPUTS; j++) x[j] = (int16_t)(old_rows[i][j] * 100);
        CHECK_INT(RFM_OK, rfm_predict_i(&m, x, scores, scratch, NULL, NULL));
        CHECK(memcmp(scores, (const char *)o->scores + i * OLD_OUTPUTS * sizeof *scores, m.c * sizeof *scores) == 0);
    }
    check_names(o, m.class_names, m.input_names);
    check_summary(o, m.summary, m.d);
}

static void test_old_models(void) {
    rfm_model m;
    rfm_model_i m_i;
    size_t i, bytes = 7;
    if (!test_little_endian()) TEST_IGNORE_MESSAGE("big-endian: no blobs");
    for (i = 0; i < TEST_LENGTH(models); i++) {
        const old_model *o = &models[i];
        test_note(o->name, i, 0, 0);
        CHECK(o->blob[8] == 1 && o->blob[10] == o->minor && o->blob[16] == o->type);
        CHECK(rfm_record_open(o->blob, o->bytes, &bytes) == NULL && bytes == 7); /* there were none */
        if (o->type < RFM_F32)
            check_integers(o);
        else
            CHECK_INT(RFM_ETYPE, rfm_model_open_i(o->blob, o->bytes, &m_i));
        if (o->type == RFM_REAL_BYTES)
            check_numbers(o);
        else
            CHECK_INT(RFM_ETYPE, rfm_model_open(o->blob, o->bytes, &m));
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_old_models);
    return UNITY_END();
}
