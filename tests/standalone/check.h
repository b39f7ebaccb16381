/* Checks one standalone header; included once for each, by the file that `models` writes, which defines
 *
 *   ID(x), BIG(x)    the model's names
 *   KIND             0 tiny, 1 integers, 2 floats
 *   CLASSIFIES       1, or 0 for regression
 *   CRC              of all results: scores, the nearest phi, [integers: saturated inputs], the class or 0
 *   CRC_RAW          of what floats become as integers, and of the classes or the bits of the values then
 *   CRC_CERTIFY      of certificates: class, square or radius, moves; 0 if there are none. NO_CERTIFY: not checked
 *
 * ID(check)() returns the number of checksums that are wrong. */

#if CRC_CERTIFY != 0 && !defined NO_CERTIFY
static int ID(check_certify)(void) {
    uint32_t crc = 0xffffffffu, stream = 3, row, j, k;
    for (row = 0; row < ROWS_CERTIFY; row++) {
#if KIND == 2
        float *x = room.raw, *moves = &room.raw[256], radius = -1.0f;
        for (j = 0; j < BIG(INPUTS); j++) x[j] = float_input(&stream, row);
        k = ID(certify)(x, &radius);
        ID(moves)(radius, moves);
        crc = crc_add(crc_add(crc, k, 2), float_bits(radius), 4);
        for (j = 0; j < BIG(INPUTS); j++) crc = crc_add(crc, float_bits(moves[j]), 4);
#else
        int16_t *x = room_x;
        uint16_t *moves = room.moves;
        uint32_t square = 99;
        for (j = 0; j < BIG(INPUTS); j++)
#if KIND == 1
            x[j] = next_input(&stream, ID(low)[j], ID(high)[j]);
#else
            x[j] = tiny_input(&stream, row);
#endif
        k = ID(certify)(x, &square);
        ID(moves)(x, square, moves);
        crc = crc_add(crc_add(crc, k, 2), square, 4);
        for (j = 0; j < BIG(INPUTS); j++) crc = crc_add(crc, moves[j], 2);
#endif
    }
    return (crc ^ 0xffffffffu) != CRC_CERTIFY;
}
#endif

static int ID(check)(void) {
    uint32_t crc = 0xffffffffu, stream = 1, row, j, wrong = 0;
#if KIND == 2
    float *x = room.raw, *scores = room_y;
    for (row = 0; row < ROWS_FLOAT; row++) {
        uint32_t nearest, k = 0;
        for (j = 0; j < BIG(INPUTS); j++) x[j] = float_input(&stream, row);
        nearest = float_bits(ID(scores)(x, scores));
        for (j = 0; j < BIG(OUTPUTS); j++) crc = crc_add(crc, float_bits(scores[j]), 4);
#if CLASSIFIES
        k = ID(classify)(x);
#else
        ID(predict)(x, scores);
#endif
        crc = crc_add(crc_add(crc, nearest, 4), k, 2);
    }
    wrong += (crc ^ 0xffffffffu) != CRC;
#else
    int16_t *x = room_x;
    int32_t *scores = room_scores;
    float *raw = room.raw;
    for (row = 0; row < ROWS; row++) {
        uint32_t nearest, k = 0;
        for (j = 0; j < BIG(INPUTS); j++)
#if KIND == 1
            x[j] = next_input(&stream, ID(low)[j], ID(high)[j]);
#else
            x[j] = tiny_input(&stream, row);
#endif
        nearest = ID(scores)(x, scores);
        for (j = 0; j < BIG(OUTPUTS); j++) crc = crc_add(crc, (uint32_t)scores[j], 4);
        crc = crc_add(crc, nearest, 2);
#if KIND == 1
        crc = crc_add(crc, ID(saturated)(x), 4);
#endif
#if CLASSIFIES
        k = ID(classify)(x);
#endif
        crc = crc_add(crc, k, 2);
    }
    wrong += (crc ^ 0xffffffffu) != CRC;
    crc = 0xffffffffu;
    for (row = 0; row < ROWS_FLOAT; row++) {
        for (j = 0; j < BIG(INPUTS); j++) raw[j] = raw_input(&stream);
        ID(integers)(raw, x);
        for (j = 0; j < BIG(INPUTS); j++) crc = crc_add(crc, (uint32_t)x[j], 2);
#if CLASSIFIES
        crc = crc_add(crc, ID(classify_floats)(raw), 2);
#else
        ID(predict_floats)(raw, room_y);
        for (j = 0; j < BIG(OUTPUTS); j++) crc = crc_add(crc, float_bits(room_y[j]), 4);
#endif
    }
    wrong += (crc ^ 0xffffffffu) != CRC_RAW;
#endif
#if CRC_CERTIFY != 0 && !defined NO_CERTIFY
    wrong += (uint32_t)ID(check_certify)();
#endif
    return (int)wrong;
}
