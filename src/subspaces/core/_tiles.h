/* Products of rows and axes on the matrix unit that some processors have (AMX): single precision by
   three products of halves. A number is the sum of two of eight digits (bfloat16) to 2^-18 of it;
   high and low halves are multiplied, but for low by low, and added in single precision. A few
   times less exact than BLAS's product: who decides by it looks twice at near-ties. */
#ifndef SUBSPACES_TILES_H
#define SUBSPACES_TILES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#define HAS_TILE_CODE (__clang_major__ >= 13)
#elif defined(__GNUC__)
#define HAS_TILE_CODE (__GNUC__ >= 11)
#else
#define HAS_TILE_CODE 0
#endif

enum { SIDE = 16, DEPTH = 32, TILE_SIZE = SIDE * DEPTH }; /* rows of a tile, halves in a row */

/* How many tiles hold so many rows, and so many variables. */
static inline ptrdiff_t tiles_across(ptrdiff_t n) { return (n + 2 * SIDE - 1) / (2 * SIDE) * 2; }
static inline ptrdiff_t tiles_along(ptrdiff_t p) { return (p + DEPTH - 1) / DEPTH; }

#if defined(__x86_64__) && defined(__linux__) && HAS_TILE_CODE

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ON_TILES __attribute__((target("avx512f,amx-tile,amx-bf16")))

/* Whether there is such a unit, and the system, which must be asked, lets this process use it. */
static int tiles_granted(void)
{
    const unsigned bf16 = 1u << 22, tile = 1u << 24;
    const long ask_for_state = 0x1023, tile_data = 18; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & bf16) == 0 || (d & tile) == 0)
        return 0;
    return syscall(SYS_arch_prctl, ask_for_state, tile_data) == 0;
}

/* The upper halves of two times sixteen numbers, rounded, in pairs; what they leave of the numbers. */
ON_TILES
static inline __m512i upper_halves(__m512 *first, __m512 *second)
{
    const __m512i half = _mm512_set1_epi32(0x8000), upper = _mm512_set1_epi32((int)0xFFFF0000);
    const __m512i one = _mm512_add_epi32(_mm512_castps_si512(*first), half);
    const __m512i two = _mm512_and_epi32(_mm512_add_epi32(_mm512_castps_si512(*second), half), upper);
    *first = _mm512_sub_ps(*first, _mm512_castsi512_ps(_mm512_and_epi32(one, upper)));
    *second = _mm512_sub_ps(*second, _mm512_castsi512_ps(two));
    return _mm512_or_epi32(_mm512_srli_epi32(one, 16), two);
}

/* A line of a tile of high halves, and of one of low halves two tiles behind it. */
ON_TILES
static inline void halve(__m512 first, __m512 second, uint16_t *high)
{
    _mm512_store_si512(high, upper_halves(&first, &second));
    _mm512_store_si512(high + 2 * TILE_SIZE, upper_halves(&first, &second));
}

/* So many of sixteen numbers, none if that is below 0. */
static inline uint16_t mask_of(ptrdiff_t count)
{
    return count >= SIDE ? 0xFFFF : count > 0 ? (uint16_t)((1u << count) - 1) : 0;
}

/* A row of p numbers, none for no row, as a line of tiles that are four apart; its squared length. */
ON_TILES
static float pack_row(ptrdiff_t p, const float *row, uint16_t *high)
{
    __m512 sum = _mm512_setzero_ps();
    for (ptrdiff_t j = 0; j < tiles_along(p) * DEPTH; j += DEPTH, high += 4 * TILE_SIZE) {
        const ptrdiff_t left = row == NULL ? 0 : p - j;
        const __m512 first = _mm512_maskz_loadu_ps(mask_of(left), row + j);
        const __m512 second = _mm512_maskz_loadu_ps(mask_of(left - SIDE), row + j + SIDE);
        sum = _mm512_fmadd_ps(first, first, _mm512_fmadd_ps(second, second, sum));
        halve(first, second, high);
    }
    return _mm512_reduce_add_ps(sum);
}

/* Rows (n, p) in tiles (across / 2, along, 4): two of high halves, then two of low ones, of 32 rows
   and 32 variables (in an order of their own); squared lengths (n,), if those are wanted. */
ON_TILES
static void pack_rows(ptrdiff_t n, ptrdiff_t p, const float *rows, uint16_t *tiles, float *squared)
{
    const ptrdiff_t side = 2 * SIDE, along = tiles_along(p);
    for (ptrdiff_t i = 0; i < tiles_across(n) * SIDE; i++) {
        uint16_t *high = tiles + i / side * along * 4 * TILE_SIZE + i % side * DEPTH;
        const float length = pack_row(p, i < n ? rows + i * p : NULL, high);
        if (squared && i < n)
            squared[i] = length;
    }
}

/* The same tiles of axes (q, p), as the right factor wants them: pairs of variables side by side. */
ON_TILES
static void pack_axes(ptrdiff_t q, ptrdiff_t p, const float *axes, uint16_t *tiles)
{
    uint16_t turned[TILE_SIZE];
    pack_rows(q, p, axes, tiles, NULL);
    for (ptrdiff_t t = 0; t < tiles_across(q) / 2 * tiles_along(p) * 4; t++) {
        uint16_t *tile = tiles + t * TILE_SIZE;
        for (ptrdiff_t c = 0; c < SIDE; c++)
            for (ptrdiff_t j = 0; j < DEPTH; j++)
                turned[j / 2 * DEPTH + 2 * c + j % 2] = tile[c * DEPTH + j];
        memcpy(tile, turned, sizeof turned);
    }
}

/* All tiles of sixteen lines of 64 bytes, as those of halves and those of sums both are. */
ON_TILES
static void shape_tiles(void)
{
    struct { uint8_t palette, start, rest[14]; uint16_t width[16]; uint8_t height[16]; } shape;
    memset(&shape, 0, sizeof shape);
    shape.palette = 1;
    for (int t = 0; t < 8; t++) {
        shape.width[t] = 2 * DEPTH;
        shape.height[t] = SIDE;
    }
    _tile_loadconfig(&shape);
}

/* sums (2, 2, 16, 16): 32 rows times 32 axes. */
ON_TILES
static void multiply_tiles(ptrdiff_t along, const uint16_t *rows, const uint16_t *axes, float *sums)
{
    __asm__ volatile("" ::: "memory");
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (ptrdiff_t t = 0; t < along; t++, rows += 4 * TILE_SIZE, axes += 4 * TILE_SIZE) {
        _tile_loadd(4, rows + 2 * TILE_SIZE, 2 * DEPTH);
        _tile_loadd(5, rows + 3 * TILE_SIZE, 2 * DEPTH);
        _tile_loadd(6, axes, 2 * DEPTH);
        _tile_loadd(7, axes + TILE_SIZE, 2 * DEPTH);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(4, rows, 2 * DEPTH);
        _tile_loadd(5, rows + TILE_SIZE, 2 * DEPTH);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(6, axes + 2 * TILE_SIZE, 2 * DEPTH);
        _tile_loadd(7, axes + 3 * TILE_SIZE, 2 * DEPTH);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, 4 * SIDE);
    _tile_stored(1, sums + SIDE * SIDE, 4 * SIDE);
    _tile_stored(2, sums + 2 * SIDE * SIDE, 4 * SIDE);
    _tile_stored(3, sums + 3 * SIDE * SIDE, 4 * SIDE);
    __asm__ volatile("" ::: "memory");
}

/* scores (q, n) of up to 32 rows, a tile of sums (16, 16) after the other. */
ON_TILES
static void keep_sums(ptrdiff_t height, ptrdiff_t n, ptrdiff_t width, const float *sums, float *scores)
{
    const __m512i lines = _mm512_mullo_epi32(
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi32(SIDE));
    for (ptrdiff_t l = 0; l < height; l += SIDE) {
        const __mmask16 some = (__mmask16)((1u << (height - l < SIDE ? height - l : SIDE)) - 1);
        for (ptrdiff_t c = 0; c < width; c++) {
            const float *tile = sums + (l / SIDE * 2 + c / SIDE) * SIDE * SIDE;
            const __m512 column = _mm512_i32gather_ps(lines, tile + c % SIDE, sizeof(float));
            _mm512_mask_storeu_ps(scores + c * n + l, some, column);
        }
    }
}

/* scores (q, n) of rows (n, p) on axes that are packed, and the rows' squared lengths (n,); room:
   the tiles of 32 rows. */
ON_TILES
static void scores_by_tiles(ptrdiff_t n, ptrdiff_t p, ptrdiff_t q, const float *rows,
                            const uint16_t *axes, uint16_t *room, float *scores, float *squared)
{
    const ptrdiff_t side = 2 * SIDE, along = tiles_along(p);
    float sums[4 * SIDE * SIDE];
    shape_tiles();
    for (ptrdiff_t i = 0; i < n; i += side) {
        const ptrdiff_t height = n - i < side ? n - i : side;
        pack_rows(height, p, rows + i * p, room, squared + i);
        for (ptrdiff_t r = 0; r < q; r += side) {
            multiply_tiles(along, room, axes + r / side * along * 4 * TILE_SIZE, sums);
            keep_sums(height, n, q - r < side ? q - r : side, sums, scores + r * n + i);
        }
    }
    _tile_release();
}

#else

static int tiles_granted(void) { return 0; }
static void pack_axes(ptrdiff_t q, ptrdiff_t p, const float *axes, uint16_t *tiles)
{
    (void)q, (void)p, (void)axes, (void)tiles;
}
static void scores_by_tiles(ptrdiff_t n, ptrdiff_t p, ptrdiff_t q, const float *rows,
                            const uint16_t *axes, uint16_t *room, float *scores, float *squared)
{
    (void)n, (void)p, (void)q, (void)rows, (void)axes, (void)room, (void)scores, (void)squared;
}

#endif
#endif
