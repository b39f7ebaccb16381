/* Status codes: pinned values, a text for each. */
#include "test.h"

#define LAST RFM_ECHANGED /* the most negative */

void setUp(void) { test_reset(); }
void tearDown(void) {}

static void test_values(void) {
    static const int codes[] = {
        RFM_OK,        RFM_ENULL,    RFM_EZERO,   RFM_ESHAPE, RFM_ESTRIDE,  RFM_EOVERFLOW,
        RFM_EALIAS,    RFM_EFINITE,  RFM_EVALUE,  RFM_EALIGN, RFM_EARENA,   RFM_ENOTPD,
        RFM_ECONVERGE, RFM_ERANGE,   RFM_ECANCEL, RFM_EMAGIC, RFM_EVERSION, RFM_ETRUNCATED,
        RFM_ECHECKSUM, RFM_ECONTENT, RFM_ETYPE,   RFM_EFLASH, RFM_EEMPTY,   RFM_EREAD,
        RFM_ECHANGED,
    };
    size_t i;

    for (i = 0; i < TEST_LENGTH(codes); i++) TEST_ASSERT_EQUAL_INT(-(int)i, codes[i]);
}

static void test_texts(void) {
    int i, j;

    for (i = LAST; i <= RFM_OK; i++) {
        const char *text = rfm_status_text(i);

        TEST_ASSERT_NOT_NULL(text);
        TEST_ASSERT_TRUE(text[0] != '\0' && text[1] != '\0');
        TEST_ASSERT_EQUAL_STRING(text, rfm_status_text(i));
        for (j = LAST; j < i; j++) TEST_ASSERT_TRUE(strcmp(text, rfm_status_text(j)) != 0);
    }
}

static void test_unknown(void) {
    static const int codes[] = {1, 2, 1000, LAST - 1, -1000, INT32_MAX, INT32_MIN};
    size_t i;
    int j;

    for (i = 0; i < TEST_LENGTH(codes); i++) {
        TEST_ASSERT_NOT_NULL(rfm_status_text(codes[i]));
        TEST_ASSERT_TRUE(rfm_status_text(codes[i])[0] != '\0');
        for (j = LAST; j <= RFM_OK; j++) TEST_ASSERT_TRUE(strcmp(rfm_status_text(codes[i]), rfm_status_text(j)) != 0);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_values);
    RUN_TEST(test_texts);
    RUN_TEST(test_unknown);
    return UNITY_END();
}
