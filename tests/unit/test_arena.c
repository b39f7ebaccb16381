/* The arena: exact sizes, alignment, one failure that sticks, measuring. */
#include "test.h"

#ifdef TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

static rfm_arena arena;

void setUp(void) {
    test_reset();
    test_note("", 0, 0, 0);
}
void tearDown(void) {}

/* What a layout of these blocks needs; sizes are in bytes and none of them is a multiple of anything. */
static const size_t blocks[] = {1, 15, 16, 17, 33, 7};

static size_t measured(void) {
    rfm_arena m;
    size_t i;

    rfm_arena_measure(&m);
    for (i = 0; i < TEST_LENGTH(blocks); i++) TEST_ASSERT_NULL(rfm_arena_take(&m, blocks[i], 1));
    TEST_ASSERT_EQUAL_INT(RFM_OK, m.status);
    TEST_ASSERT_TRUE(m.base == NULL && m.peak == m.used);
    return m.peak;
}

static void test_init(void) {
    unsigned char *memory = test_take(64);
    rfm_arena before;
    size_t i;

    memset(&arena, 0x5A, sizeof arena);
    before = arena;
    TEST_ASSERT_EQUAL_INT(RFM_ENULL, rfm_arena_init(NULL, memory, 64));
    TEST_ASSERT_EQUAL_INT(RFM_ENULL, rfm_arena_init(&arena, NULL, 64));
    for (i = 1; i < RFM_ALIGN; i++) TEST_ASSERT_EQUAL_INT(RFM_EALIGN, rfm_arena_init(&arena, memory + i, 32));
    TEST_ASSERT_EQUAL_MEMORY(&before, &arena, sizeof arena);
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_arena_init(&arena, memory, 64));
    TEST_ASSERT_TRUE(arena.base == memory && arena.size == 64 && arena.used == 0 && arena.peak == 0);
    TEST_ASSERT_EQUAL_INT(RFM_OK, arena.status);
}

static void test_exact(void) {
    const size_t need = measured();
    unsigned char *memory = test_take(need), *end = memory, *at[TEST_LENGTH(blocks)];
    size_t i, j;

    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_arena_init(&arena, memory, need));
    for (i = 0; i < TEST_LENGTH(blocks); i++) {
        at[i] = rfm_arena_take(&arena, blocks[i], 1);
        TEST_ASSERT_NOT_NULL(at[i]);
        TEST_ASSERT_EQUAL_UINT(0, (uintptr_t)at[i] % RFM_ALIGN);
        TEST_ASSERT_TRUE(at[i] >= end); /* behind the block before */
        end = at[i] + blocks[i];
        TEST_ASSERT_TRUE(end <= memory + need);
        memset(at[i], (int)i, blocks[i]);
    }
    for (i = 0; i < TEST_LENGTH(blocks); i++)
        for (j = 0; j < blocks[i]; j++) TEST_ASSERT_EQUAL_UINT(i, at[i][j]);
    CHECK_SIZE(need, arena.used);
    CHECK_SIZE(need, arena.peak);
    TEST_ASSERT_EQUAL_INT(RFM_OK, arena.status);
}

static void test_one_byte_short(void) {
    const size_t need = measured();
    unsigned char *memory = test_take(need);
    size_t i, used = 0;

    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_arena_init(&arena, memory, need - 1));
    for (i = 0; i < TEST_LENGTH(blocks); i++) {
        int last = i + 1 == TEST_LENGTH(blocks);

        used = last ? arena.used : used;
        TEST_ASSERT_TRUE((rfm_arena_take(&arena, blocks[i], 1) == NULL) == last);
    }
    TEST_ASSERT_EQUAL_INT(RFM_EARENA, arena.status);
    CHECK_SIZE(used, arena.used);
    CHECK_SIZE(used, arena.peak);
}

static void test_sticky(void) {
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_arena_init(&arena, test_take(96), 96));
    TEST_ASSERT_NOT_NULL(rfm_arena_take(&arena, 16, 1));
    TEST_ASSERT_NULL(rfm_arena_take(&arena, 97, 1));
    TEST_ASSERT_EQUAL_INT(RFM_EARENA, arena.status);
    TEST_ASSERT_NULL(rfm_arena_take(&arena, 1, 1)); /* there would be room */
    TEST_ASSERT_NULL(rfm_arena_take(&arena, SIZE_MAX, 2));
    TEST_ASSERT_EQUAL_INT(RFM_EARENA, arena.status); /* the first reason */
}

/* A function that is given an arena with a failure reports that failure. */
static void test_failed_arena(void) {
    rfm_real x[4] = {1, 0, 0, 1};
    rfm_ctx ctx;
    size_t rank;
    uint32_t perm[2];

    memset(&ctx, 0, sizeof ctx);
    ctx.arena = &arena;
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_arena_init(&arena, test_take(512), 512));
    TEST_ASSERT_NULL(rfm_arena_take(&arena, SIZE_MAX, 2));
    TEST_ASSERT_EQUAL_INT(RFM_EOVERFLOW, rfm_chol_rank(&ctx, rfm_view(x, 2, 2), 0, perm, &rank));
    TEST_ASSERT_EQUAL_INT(RFM_EOVERFLOW, arena.status);
}

static void test_overflow(void) {
    static const size_t pairs[][2] = {
        {SIZE_MAX, 1}, {SIZE_MAX - 1, 1},     {SIZE_MAX - 14, 1},    {1, SIZE_MAX},
        {SIZE_MAX, 2}, {2, SIZE_MAX / 2 + 1}, {SIZE_MAX / 4 + 1, 4}, {SIZE_MAX, SIZE_MAX},
    };
    void *memory = test_take(64);
    size_t i, measure;

    for (i = 0; i < TEST_LENGTH(pairs); i++)
        for (measure = 0; measure < 2; measure++) {
            test_note("pair", i, measure, 0);
            if (measure)
                rfm_arena_measure(&arena);
            else
                CHECK_INT(RFM_OK, rfm_arena_init(&arena, memory, 64));
            CHECK(rfm_arena_take(&arena, pairs[i][0], pairs[i][1]) == NULL);
            CHECK_INT(RFM_EOVERFLOW, arena.status);
            CHECK_SIZE(0, arena.used);
        }
    /* The sum of two blocks that do not overflow by themselves. */
    rfm_arena_measure(&arena);
    rfm_arena_take(&arena, SIZE_MAX / 2, 1);
    TEST_ASSERT_EQUAL_INT(RFM_OK, arena.status);
    rfm_arena_take(&arena, SIZE_MAX / 2, 1);
    TEST_ASSERT_EQUAL_INT(RFM_EOVERFLOW, arena.status);
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_arena_init(&arena, memory, 64));
    TEST_ASSERT_NULL(rfm_arena_take(&arena, SIZE_MAX / 2, 1));
    TEST_ASSERT_EQUAL_INT(RFM_EARENA, arena.status);
}

static void test_release(void) {
    size_t used, peak;
    void *first, *second;

    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_arena_init(&arena, test_take(256), 256));
    first = rfm_arena_take(&arena, 20, 1);
    used = arena.used;
    second = rfm_arena_take(&arena, 50, 1);
    peak = arena.used;
    TEST_ASSERT_NOT_NULL(first);
    rfm_arena_release(&arena, used);
    CHECK_SIZE(used, arena.used);
    CHECK_SIZE(peak, arena.peak);
    TEST_ASSERT_TRUE(rfm_arena_take(&arena, 3, 16) == second);
    rfm_arena_release(&arena, 0);
    TEST_ASSERT_TRUE(rfm_arena_take(&arena, 1, 1) == first);
    CHECK_SIZE(peak, arena.peak);
}

/* The need of a layout that gives blocks back between is its peak. */
static void test_measure_release(void) {
    rfm_arena real;
    size_t used, round;

    rfm_arena_measure(&arena);
    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_arena_init(&real, test_take(512), 512));
    for (round = 0; round < 3; round++) {
        used = arena.used;
        rfm_arena_take(&arena, 100 - 30 * round, 1);
        rfm_arena_take(&real, 100 - 30 * round, 1);
        rfm_arena_release(&arena, used);
        rfm_arena_release(&real, used);
        rfm_arena_take(&arena, 5, 4);
        rfm_arena_take(&real, 5, 4);
        CHECK_SIZE(real.used, arena.used);
        CHECK_SIZE(real.peak, arena.peak);
    }
}

static void test_views(void) {
    rfm_real x[6] = {0};
    rfm_mat m = rfm_view(x, 2, 3);
    rfm_cmat c = rfm_cview(x, 3, 2);

    TEST_ASSERT_TRUE(m.at == x && m.rows == 2 && m.cols == 3 && m.stride == 3);
    TEST_ASSERT_TRUE(c.at == x && c.rows == 3 && c.cols == 2 && c.stride == 2);
    m.stride = 5;
    c = rfm_const(m);
    TEST_ASSERT_TRUE(c.at == x && c.rows == 2 && c.cols == 3 && c.stride == 5);
}

#ifdef TEST_ASAN
/* What is not handed out must not be touched: red zones behind the blocks, all of it before and after. */
static void test_red_zones(void) {
    unsigned char *memory = test_take(256), *block;
    size_t i, used;

    TEST_ASSERT_EQUAL_INT(RFM_OK, rfm_arena_init(&arena, memory, 256));
    TEST_ASSERT_TRUE(__asan_address_is_poisoned(memory) && __asan_address_is_poisoned(memory + 255));
    for (i = 1; i < 40; i += 3) {
        used = arena.used;
        block = rfm_arena_take(&arena, i, 1);
        TEST_ASSERT_NOT_NULL(block);
        TEST_ASSERT_NULL(__asan_region_is_poisoned(block, i));
        TEST_ASSERT_TRUE(__asan_address_is_poisoned(block + i));
        TEST_ASSERT_NOT_NULL(rfm_arena_take(&arena, 1, 1));
        TEST_ASSERT_TRUE(__asan_address_is_poisoned(block + (i + 15) / 16 * 16)); /* also with a block behind it */
        rfm_arena_release(&arena, used);
        TEST_ASSERT_TRUE(__asan_address_is_poisoned(block));
    }
}
#endif

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(test_init);
    RUN_TEST(test_exact);
    RUN_TEST(test_one_byte_short);
    RUN_TEST(test_sticky);
    RUN_TEST(test_failed_arena);
    RUN_TEST(test_overflow);
    RUN_TEST(test_release);
    RUN_TEST(test_measure_release);
    RUN_TEST(test_views);
#ifdef TEST_ASAN
    RUN_TEST(test_red_zones);
#endif
    return UNITY_END();
}
