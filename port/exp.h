/* exp in float: the method and the constants that every port shares. Private to port/.
 *
 *   n = round(x log2(e)),  r = h + l,  h = x - n ln2_hi,  l = n ln2_lo,  |r| <= ln(2) / 2
 *   exp(x) = 2^n (1 + (h + (l + r^2 q(r))))
 *
 * With FMA h is exact: x and n ln2_hi are multiples of 2^-25 when n != 0, and their difference is below 1/2. Keeping l
 * apart from h until the end saves a quarter of an ulp. q has degree 4, minimax for the relative error of the whole,
 * every coefficient rounded to float before the next was fitted: 2^-28.2, a twentieth of an ulp. All in all 0.88 ulp,
 * the most found over all floats beyond +-2^-31 (nearer to 0 the result is 1).
 *
 * 2^n is applied as 2^(n >> 1), then 2^(n - (n >> 1)): both are normal numbers for n in -150..128 and the first product
 * is exact, so a subnormal result is rounded once and an overflow gives infinity. x is first clamped to LOW..HIGH,
 * where the result already is 0 and infinity, so that n keeps to that range.
 *
 * Every fused operation is written as such and no other can be fused: the same bits from every compiler, and on every
 * machine that has FMA and subnormals. */
#ifndef RFM_PORT_EXP_H
#define RFM_PORT_EXP_H

#define RFM_EXP_LOW    (-104.0f)
#define RFM_EXP_HIGH   89.0f
#define RFM_EXP_LOG2E  0x1.715476p+0f
#define RFM_EXP_LN2_HI 0x1.62e430p-1f
#define RFM_EXP_LN2_LO 0x1.05c610p-29f /* ln2_hi - ln(2) */
#define RFM_EXP_Q0     0x1.fffffcp-2f
#define RFM_EXP_Q1     0x1.55548cp-3f
#define RFM_EXP_Q2     0x1.555858p-5f
#define RFM_EXP_Q3     0x1.123de0p-7f
#define RFM_EXP_Q4     0x1.6ac6b2p-10f

#endif
