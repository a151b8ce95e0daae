/* Products of rows and axes that are rounded to bytes, on processors that multiply those: four times
   as many at once as single precision (VNNI), or whole tiles of them (AMX). Sums of whole numbers are
   exact, so either unit finds the same, and what rounding may hide is bounded (`_bytes_of.h`). */
#ifndef SUBSPACES_BYTES_H
#define SUBSPACES_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "_passes.h"

#if !defined(__x86_64__) || !defined(__linux__)
#define HAS_BYTE_CODE 0
#elif defined(__clang__)
#define HAS_BYTE_CODE (__clang_major__ >= 13)
#else
#define HAS_BYTE_CODE (__GNUC__ >= 11)
#endif

enum { NO_BYTES, BYTES_BY_VECTORS, BYTES_BY_TILES };

/* SIDE axes are a panel, LINE bytes of a row go together; of GROUP rows the inner loops of either
   unit take a whole number of blocks. */
enum { SIDE = 16, LINE = 64, GROUP = 96, LARGEST = 127, OFFSET = 128 };

/* The axes of a pass in bytes. Of q scores per cluster each is `scales` times a whole number, to
   which OFFSET is added; panels (across / 16, along / 4, 16, 4): four variables of each axis side by
   side, zeros behind the last axis and the last variable. */
typedef struct {
    int unit;
    ptrdiff_t along, across;
    const uint8_t *panels;
    const float *scales;         /* (K q,) */
    const double *slacks;        /* (K,): spectral norm of what rounding took from the axes */
    const double *centre_slacks; /* (K,): length of what it took from the centres */
} ByteAxes;

/* A row in bytes: its unit s, |y|, |e| and a little more, since both are sums of single precision,
   and the sum of y. */
typedef struct {
    float unit, length, error;
    int total;
} Rounded;

/* From one row of bytes to the next: not a power of two, lest rows meet in the cache. */
static inline ptrdiff_t byte_stride(const ByteAxes *axes) { return axes->along + LINE; }

/* Rows that are multiplied at once. */
static inline ptrdiff_t byte_block(const ByteAxes *axes)
{
    return axes->unit == BYTES_BY_TILES ? 2 * SIDE : 12;
}

#if HAS_BYTE_CODE

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ON_VECTORS __attribute__((target("avx512f,avx512vnni")))
#define ON_TILES __attribute__((target("avx512f,amx-tile,amx-int8")))

/* The quickest unit there is. The system must be asked for that of tiles. */
static int byte_unit(void)
{
    const unsigned tile = 1u << 24, int8 = 1u << 25;
    const long ask_for_state = 0x1023, tile_data = 18; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
    unsigned a, b, c, d;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & tile) && (d & int8)
        && syscall(SYS_arch_prctl, ask_for_state, tile_data) == 0)
        return BYTES_BY_TILES;
    return __builtin_cpu_supports("avx512vnni") ? BYTES_BY_VECTORS : NO_BYTES;
}

/* The numbers of a row from here on, up to sixteen. */
ON_VECTORS
INLINE __m512 numbers_float(const float *row, __mmask16 some)
{
    return _mm512_maskz_loadu_ps(some, row);
}

ON_VECTORS
INLINE __m512 numbers_double(const double *row, __mmask16 some)
{
    const __m512d first = _mm512_maskz_loadu_pd((__mmask8)some, row);
    const __m512d second = _mm512_maskz_loadu_pd((__mmask8)(some >> 8), row + 8);
    const __m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps(first));
    return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(low),
                                               _mm256_castps_pd(_mm512_cvtpd_ps(second)), 1));
}

/* Sixteen numbers in their unit to bytes; what they add to |e|^2, |y|^2 and the sum. */
ON_VECTORS
INLINE void round_sixteen(__m512 exact, int8_t *bytes, __m512 *error, __m512 *length,
                                 __m512i *total)
{
    const __m512i whole = _mm512_cvtps_epi32(exact);
    const __m512 kept = _mm512_cvtepi32_ps(whole), lost = _mm512_sub_ps(exact, kept);
    *error = _mm512_fmadd_ps(lost, lost, *error);
    *length = _mm512_fmadd_ps(kept, kept, *length);
    *total = _mm512_add_epi32(*total, whole);
    _mm_storeu_si128((__m128i *)bytes, _mm512_cvtsepi32_epi8(whole));
}

/* For every row of a block. */
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define START(l) __m512i first##l = _mm512_setzero_si512(), second##l = first##l;
#define ADD(l)                                                                                      \
    {                                                                                               \
        int four;                                                                                   \
        memcpy(&four, some[l / 3] + l % 3 * stride + j, sizeof four);                               \
        const __m512i all = _mm512_set1_epi32(four);                                                \
        __asm__("vpdpbusd %2, %1, %0" : "+v"(first##l) : "v"(one), "v"(all));                       \
        __asm__("vpdpbusd %2, %1, %0" : "+v"(second##l) : "v"(two), "v"(all));                      \
    }
#define KEEP(l)                                                                                     \
    _mm512_storeu_si512(sums + l * axes->across, first##l);                                         \
    _mm512_storeu_si512(sums + l * axes->across + SIDE, second##l);

/* sums (12, 32) of 12 rows and two panels; a line of sums is `across` long. The instruction is
   named, and every sum, since compilers otherwise copy or store the sums. */
ON_VECTORS
static void multiply_vectors(const ByteAxes *axes, const int8_t *rows, const uint8_t *panel, int *sums)
{
    const ptrdiff_t stride = byte_stride(axes), next = axes->along * SIDE, along = axes->along;
    const int8_t *some[] = {rows, rows + 3 * stride, rows + 6 * stride, rows + 9 * stride};
    EACH(START)
    for (ptrdiff_t j = 0; j < along; j += 4) {
        const __m512i one = _mm512_loadu_si512(panel + j * SIDE);
        const __m512i two = _mm512_loadu_si512(panel + next + j * SIDE);
        EACH(ADD)
    }
    EACH(KEEP)
}
#undef EACH
#undef START
#undef ADD
#undef KEEP

/* All tiles of sixteen lines of 64 bytes. */
ON_TILES
static void shape_tiles(void)
{
    struct { uint8_t palette, start, rest[14]; uint16_t width[16]; uint8_t height[16]; } shape;
    memset(&shape, 0, sizeof shape);
    shape.palette = 1;
    for (int t = 0; t < 8; t++) {
        shape.width[t] = LINE;
        shape.height[t] = SIDE;
    }
    _tile_loadconfig(&shape);
}

/* sums (32, 32) of 32 rows and two panels. */
ON_TILES
static void multiply_tiles(const ByteAxes *axes, const int8_t *rows, const uint8_t *panel, int *sums)
{
    const ptrdiff_t stride = byte_stride(axes), next = axes->along * SIDE, line = axes->across;
    __asm__ volatile("" ::: "memory");
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (ptrdiff_t j = 0; j < axes->along; j += LINE) {
        _tile_loadd(4, rows + j, stride);
        _tile_loadd(5, rows + SIDE * stride + j, stride);
        _tile_loadd(6, panel + j * SIDE, LINE);
        _tile_loadd(7, panel + next + j * SIDE, LINE);
        _tile_dpbsud(0, 4, 6);
        _tile_dpbsud(1, 4, 7);
        _tile_dpbsud(2, 5, 6);
        _tile_dpbsud(3, 5, 7);
    }
    _tile_stored(0, sums, line * sizeof(int));
    _tile_stored(1, sums + SIDE, line * sizeof(int));
    _tile_stored(2, sums + SIDE * line, line * sizeof(int));
    _tile_stored(3, sums + SIDE * line + SIDE, line * sizeof(int));
    __asm__ volatile("" ::: "memory");
}

ON_TILES
static void release_tiles(void) { _tile_release(); }

/* sums (GROUP, across) of up to GROUP rows of bytes and all axes, OFFSET included. */
static void multiply_bytes(const ByteAxes *axes, ptrdiff_t n, const int8_t *rows, int *sums)
{
    const int by_tiles = axes->unit == BYTES_BY_TILES;
    const ptrdiff_t block = byte_block(axes);
    if (by_tiles)
        shape_tiles();
    for (ptrdiff_t c = 0; c < axes->across; c += 2 * SIDE)
        for (ptrdiff_t i = 0; i < n; i += block)
            (by_tiles ? multiply_tiles : multiply_vectors)(
                axes, rows + i * byte_stride(axes), axes->panels + c * axes->along,
                sums + i * axes->across + c);
    if (by_tiles)
        release_tiles();
}

#else

static int byte_unit(void) { return NO_BYTES; }
static void multiply_bytes(const ByteAxes *axes, ptrdiff_t n, const int8_t *rows, int *sums)
{
    (void)axes, (void)n, (void)rows, (void)sums;
}

#endif

INLINE float root_float(float number) { return sqrtf(number); }
INLINE double root_double(double number) { return sqrt(number); }

#define REAL float
#define NAME(stem) stem##_float
#include "_bytes_of.h"
#undef REAL
#undef NAME

#define REAL double
#define NAME(stem) stem##_double
#include "_bytes_of.h"
#undef REAL
#undef NAME

#endif
