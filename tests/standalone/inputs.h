/* The inputs of models.c and check.h: the same stream on every machine. */
#ifndef INPUTS_H
#define INPUTS_H

#include "inputs_i.h"

#define ROWS         1000
#define ROWS_FLOAT   100
#define ROWS_CERTIFY 12

/* Of a tiny model, whose inputs have no range: anything, small numbers, the ends. Every eighth row is one of ends. */
static int16_t tiny_input(uint32_t *stream, uint32_t row) {
    uint32_t bits = next_bits(stream);
    if (row % 8 == 0) return (bits & 64) != 0 ? 32767 : -32768;
    if (row % 8 < 4) return (int16_t)((int32_t)(bits >> 16 & 511) - 256);
    return (int16_t)((int32_t)(bits >> 12 & 65535) - 32768);
}

/* For models that take floats: exact products, so that they are the same everywhere. */
static float float_input(uint32_t *stream, uint32_t row) {
    int32_t v = (int32_t)(next_bits(stream) >> 8) - 8388608; /* 24 bits */
    return (float)v * (row % 10 == 0 ? 1.0f / 4096.0f : row % 10 == 1 ? 0.0f : 1.0f / 4194304.0f);
}

/* To be made integers: halves, large and small numbers. */
static float raw_input(uint32_t *stream) {
    uint32_t bits = next_bits(stream);
    float v = (float)((int32_t)(bits >> 8 & 65535) - 32768) * 0.5f;
    return (bits & 7) == 0 ? v * 65536.0f : (bits & 7) == 1 ? v / 65536.0f : v;
}

static uint32_t float_bits(float x) {
    union {
        float value;
        uint32_t bits;
    } u;
    u.value = x;
    return u.bits;
}

/* CRC-32 of a number's low bytes. */
static uint32_t crc_add(uint32_t crc, uint32_t value, int bytes) {
    int i, bit;
    for (i = 0; i < bytes; i++) {
        crc ^= (value >> (8 * i)) & 255u;
        for (bit = 0; bit < 8; bit++) crc = (crc & 1u) != 0 ? (crc >> 1) ^ 0xEDB88320u : crc >> 1;
    }
    return crc;
}

#endif
