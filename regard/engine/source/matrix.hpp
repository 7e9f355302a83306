// y = W x + b for many rows x: weights packed once, in 32 bits or in 8, and read in one stream.
//
// A panel is 2 · LANES outputs side by side. Every output adds up its products in the order of its inputs, by itself:
// how many rows there are, and which thread has them, changes no bit of an answer.
#pragma once

#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "simd.hpp"

namespace regard {

constexpr int PANEL = 2 * LANES;
constexpr int BLOCK = 32;       // inputs that share a scale
constexpr int AHEAD = 2048;     // bytes: rows are too short for the processor to guess what is read next
constexpr size_t HUGE_PAGE = 1 << 21;

// Memory in large pages where it is large: a step reads all of it.
inline void* pages(size_t bytes) {
    size_t unit = bytes < HUGE_PAGE ? 64 : HUGE_PAGE;
    void* found = nullptr;
    if (posix_memalign(&found, unit, (bytes + unit - 1) / unit * unit)) throw std::bad_alloc();
#if defined(__linux__)
    if (unit == HUGE_PAGE) madvise(found, (bytes + unit - 1) / unit * unit, MADV_HUGEPAGE);
#endif
    return found;
}

struct Matrix {
    int64_t outputs, inputs, padded, panels;  // padded: inputs up to whole blocks, where they are in 8 bits
    bool whole;                               // in whole numbers of 8 bits
    void* data;                               // float [panel][input][PANEL], or bytes [panel][input / 4][PANEL][4]
    float *bias, *scale;                      // of every output, up to whole panels
    size_t bytes;
};

// W_{o,i} = s_o · n_{o,i} with s_o = max_i |W_{o,i}| / 127: n is a whole number from −127 to 127.
// Where products of unsigned and signed bytes are one instruction (VNNI), n + 128 is kept.
#if defined(__AVX512VNNI__)
constexpr int SHIFT = 128;
#else
constexpr int SHIFT = 0;
#endif

inline int whole_number(float x) { return (int)(x < 0 ? x - 0.5f : x + 0.5f); }

inline Matrix* pack(const float* weight, const int64_t* strides, int64_t outputs, int64_t inputs, const float* bias,
                    bool whole) {
    int64_t panels = (outputs + PANEL - 1) / PANEL, padded = (inputs + BLOCK - 1) / BLOCK * BLOCK;
    size_t bytes = (size_t)panels * PANEL * (whole ? padded : inputs * 4);
    auto* matrix = new Matrix{outputs, inputs, padded, panels, whole, pages(bytes), nullptr, nullptr, bytes};
    matrix->bias = (float*)pages(panels * PANEL * 4);
    matrix->scale = (float*)pages(panels * PANEL * 4);
    for (int64_t o = 0; o < panels * PANEL; o++) {
        const float* row = weight + o * strides[0];
        bool real = o < outputs;
        float most = 0;
        for (int64_t i = 0; real && whole && i < inputs; i++) {
            float size = __builtin_fabsf(row[i * strides[1]]);
            most = size > most ? size : most;
        }
        float scale = most / 127 > 1e-30f ? most / 127 : 1e-30f;
        matrix->bias[o] = real && bias ? bias[o] : 0;
        matrix->scale[o] = scale;
        int64_t panel = o / PANEL, place = o % PANEL;
        if (!whole) {
            float* to = (float*)matrix->data + panel * inputs * PANEL + place;
            for (int64_t i = 0; i < inputs; i++) to[i * PANEL] = real ? row[i * strides[1]] : 0;
            continue;
        }
        int8_t* to = (int8_t*)matrix->data + panel * padded * PANEL + place * 4;
        for (int64_t i = 0; i < padded; i++) {
            int n = real && i < inputs ? whole_number(row[i * strides[1]] / scale) : 0;
            to[i / 4 * PANEL * 4 + i % 4] = (int8_t)(uint8_t)(n + SHIFT);
        }
    }
    return matrix;
}

inline void free_matrix(Matrix* matrix) {
    std::free(matrix->data);
    std::free(matrix->bias);
    std::free(matrix->scale);
    delete matrix;
}

// ---- what goes in, in 8 bits: x_i = s_b · n_i for the inputs of block b, s_b = max |x| / 127
//
// A row is its numbers, then the scale of each block, then for each −SHIFT · Σ n, which takes the shift out again.
// No input overflows. |n| ≤ 128 whatever was rounded, |W's n| ≤ 127 or, shifted, ≤ 255:
//   a pair in 16 bits (AVX2 and NEON) is at most 2 · 127 · 128 = 32,512 < 2^15,
//   a block in 32 bits at most 32 · 255 · 128 = 1,044,480 < 2^31, and its correction at most 128 · 32 · 128 = 524,288;
// blocks are added up as floats. Where an input is infinite or no number, so is the block's scale, and the answer.

struct Rounded {
    int8_t* numbers;
    float* scale;
    int32_t* correction;
};

inline int64_t rounded_bytes(int64_t padded) { return padded + padded / BLOCK * 8; }

INLINE Rounded rounded_row(char* rows, int64_t row, int64_t padded) {
    char* at = rows + row * rounded_bytes(padded);
    auto* scale = (float*)(at + padded);
    return {(int8_t*)at, scale, (int32_t*)(scale + padded / BLOCK)};
}

inline void round_row(const float* x, int64_t inputs, Rounded to) {
    for (int64_t block = 0; block * BLOCK < inputs; block++) {
        alignas(64) float part[BLOCK] = {};
        int64_t from = block * BLOCK, n = inputs - from < BLOCK ? inputs - from : BLOCK;
        std::memcpy(part, x + from, 4 * n);
        Floats most = {}, wrong = {};
        for (int i = 0; i < BLOCK; i += LANES) {
            Floats v = load(part + i);
            most = larger(v < all(0.0f) ? -v : v, most);
            wrong += v - v;  // 0, or no number where v is infinite or none
        }
        float size = largest(most);
        bool tiny = !(size > 1e-30f);
        float inverse = tiny ? 0 : 127 / size;
        int32_t total = 0;
        alignas(64) int32_t whole[BLOCK];
        for (int i = 0; i < BLOCK; i += LANES) {
            Ints n = rounded(load(part + i) * all(inverse));
            std::memcpy(whole + i, &n, sizeof n);
        }
        for (int i = 0; i < BLOCK; i++) {
            auto n = (int8_t)whole[i];
            to.numbers[from + i] = n;
            total += n;
        }
        to.scale[block] = (tiny ? 0 : size / 127) + sum(wrong);
        to.correction[block] = -SHIFT * total;
    }
}

// sum_l += Σ_{j < 4} w_{4 l + j} x_j in every lane l.
INLINE Ints dot4(Ints sum, Ints w, int32_t x) {
#if defined(__AVX512VNNI__)
    return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)w, _mm512_set1_epi32(x));
#elif defined(__AVX512F__)
#error "AVX-512 wants VNNI here"
#elif defined(__AVX2__)
    // |w| · (x with w's sign): one factor must be unsigned
    __m256i signed_x = _mm256_sign_epi8(_mm256_set1_epi32(x), (__m256i)w);
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8((__m256i)w), signed_x);
    sum += (Ints)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    asm("" : "+x"(sum));  // added up one by one: to build a tree, a compiler keeps more than there are registers
    return sum;
#elif defined(__ARM_FEATURE_DOTPROD)
    return (Ints)vdotq_s32((int32x4_t)sum, (int8x16_t)w, vreinterpretq_s8_s32(vdupq_n_s32(x)));
#elif defined(__ARM_NEON)
    int8x16_t other = vreinterpretq_s8_s32(vdupq_n_s32(x)), mine = (int8x16_t)w;
    int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(mine), vget_low_s8(other)));
    int32x4_t high = vpaddlq_s16(vmull_s8(vget_high_s8(mine), vget_high_s8(other)));
    int32x4_t both = vcombine_s32(vpadd_s32(vget_low_s32(low), vget_high_s32(low)),
                                  vpadd_s32(vget_low_s32(high), vget_high_s32(high)));
    return sum + (Ints)both;
#else
    int8_t a[4 * LANES], b[4];
    std::memcpy(a, &w, sizeof a);
    std::memcpy(b, &x, sizeof b);
    for (int l = 0; l < LANES; l++)
        sum[l] += a[4 * l] * b[0] + a[4 * l + 1] * b[1] + a[4 * l + 2] * b[2] + a[4 * l + 3] * b[3];
    return sum;
#endif
}

// Where a product goes: row r at to + r · stride, activated, added to what is there if so wished.
struct Target {
    float* to;
    int64_t stride;
    int32_t activation;
    bool adds;

    INLINE void put(const Matrix& matrix, int64_t row, int64_t output, Floats value) const {
        int64_t left = matrix.outputs - output;
        if (left <= 0) return;
        int n = left < LANES ? (int)left : LANES;
        float* at = to + row * stride + output;
        value = activated(value + load(matrix.bias + output), activation);
        if (adds) value += load(at, n);
        store(at, value, n);
    }
};

// What is fetched while a tile is computed: at the i-th of its lines of 4 · PANEL bytes, `step` bytes from at + i · step.
struct Ahead {
    const char* at;
    int64_t step;

    INLINE void fetch(int64_t i) const {
        __builtin_prefetch(at + i * step);
        if (PANEL * 4 > 64) __builtin_prefetch(at + i * step + step / 2);
    }
};

// ROWS rows by PANELS panels at once, in registers.
template <int ROWS, int PANELS>
inline void tile(const Matrix& matrix, int64_t panel, const float* x, int64_t stride, int64_t row, Ahead ahead,
                 const Target& target) {
    Floats sums[ROWS][PANELS][2] = {};
    const int64_t inputs = matrix.inputs;
    const float* w = (const float*)matrix.data + panel * inputs * PANEL;
    x += row * stride;
    for (int64_t i = 0; i < inputs; i++)
        for (int p = 0; p < PANELS; p++) {
            const float* at = w + (p * inputs + i) * PANEL;
            ahead.fetch(p * inputs + i);
            Floats left = load(at), right = load(at + LANES);
            for (int r = 0; r < ROWS; r++) {
                Floats value = all(x[r * stride + i]);
                sums[r][p][0] += value * left;
                sums[r][p][1] += value * right;
            }
        }
    for (int r = 0; r < ROWS; r++)
        for (int p = 0; p < PANELS; p++)
            for (int half = 0; half < 2; half++)
                target.put(matrix, row + r, (panel + p) * PANEL + half * LANES, sums[r][p][half]);
}

template <int ROWS, int PANELS>
inline void tile8(const Matrix& matrix, int64_t panel, char* rows, int64_t row, Ahead ahead, const Target& target) {
    Floats sums[ROWS][PANELS][2] = {};
    const int64_t padded = matrix.padded;
    const int8_t* w = (const int8_t*)matrix.data + panel * padded * PANEL;
    Rounded x[ROWS];
    for (int r = 0; r < ROWS; r++) x[r] = rounded_row(rows, row + r, padded);
    for (int64_t block = 0; block < padded / BLOCK; block++) {
        Ints whole[ROWS][PANELS][2];
        for (int r = 0; r < ROWS; r++)
            for (int p = 0; p < PANELS; p++)
                for (int half = 0; half < 2; half++) whole[r][p][half] = x[r].correction[block] - Ints{};
        for (int four = 0; four < BLOCK / 4; four++)
            for (int p = 0; p < PANELS; p++) {
                const int8_t* at = w + p * padded * PANEL + (block * (BLOCK / 4) + four) * PANEL * 4;
                ahead.fetch(p * (padded / 4) + block * (BLOCK / 4) + four);
                Ints left, right;
                std::memcpy(&left, at, sizeof left);
                std::memcpy(&right, at + 4 * LANES, sizeof right);
                for (int r = 0; r < ROWS; r++) {
                    int32_t value;
                    std::memcpy(&value, x[r].numbers + block * BLOCK + four * 4, 4);
                    whole[r][p][0] = dot4(whole[r][p][0], left, value);
                    whole[r][p][1] = dot4(whole[r][p][1], right, value);
                }
            }
        for (int r = 0; r < ROWS; r++)
            for (int p = 0; p < PANELS; p++)
                for (int half = 0; half < 2; half++)
                    sums[r][p][half] += __builtin_convertvector(whole[r][p][half], Floats) * all(x[r].scale[block]);
    }
    for (int r = 0; r < ROWS; r++)
        for (int p = 0; p < PANELS; p++)
            for (int half = 0; half < 2; half++) {
                int64_t output = (panel + p) * PANEL + half * LANES;
                target.put(matrix, row + r, output, sums[r][p][half] * load(matrix.scale + output));
            }
}

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int TALL = 8, TALL8 = 5;  // rows of a tile: as many as registers hold
#elif defined(__AVX2__)
constexpr int TALL = 6, TALL8 = 5;
#else
constexpr int TALL = 4, TALL8 = 2;
#endif
constexpr int WIDE = 4;  // panels of a tile of one row

template <int ROWS, int PANELS>
struct In32 {
    static void run(const Matrix& m, int64_t panel, int64_t row, Ahead ahead, const float* x, int64_t stride,
                    const Target& to) {
        tile<ROWS, PANELS>(m, panel, x, stride, row, ahead, to);
    }
};

template <int ROWS, int PANELS>
struct In8 {
    static void run(const Matrix& m, int64_t panel, int64_t row, Ahead ahead, char* rows,
                    const Target& to) {
        tile8<ROWS, PANELS>(m, panel, rows, row, ahead, to);
    }
};

// A tile of so many rows, which are at most ROWS.
template <template <int, int> class Tile, int ROWS, class... More>
inline void tall(int64_t rows, const Matrix& matrix, int64_t panel, const More&... more) {
    if constexpr (ROWS > 0) {
        if (rows == ROWS) Tile<ROWS, 1>::run(matrix, panel, more...);
        else tall<Tile, ROWS - 1>(rows, matrix, panel, more...);
    }
}

// Some rows by some panels: one or two rows by several panels, or tiles of one panel and about as many rows each.
// Few rows fetch what they read next themselves; the tiles of many share the panel behind theirs.
template <template <int, int> class Tile, int MOST, class... More>
inline void product(const Matrix& matrix, int64_t panel, int64_t last_panel, int64_t row, int64_t last_row,
                    const More&... more) {
    const int64_t bytes = matrix.bytes / matrix.panels, tiles = (last_row - row + MOST - 1) / MOST;
    const char* data = (const char*)matrix.data;
    if (last_row - row == 1)
        for (; panel + WIDE <= last_panel; panel += WIDE)
            Tile<1, WIDE>::run(matrix, panel, row, Ahead{data + panel * bytes + AHEAD, PANEL * 4}, more...);
    if (last_row - row == 2)
        for (; panel + 2 <= last_panel; panel += 2)
            Tile<2, 2>::run(matrix, panel, row, Ahead{data + panel * bytes + AHEAD, PANEL * 4}, more...);
    for (; panel < last_panel; panel++)
        for (int64_t tile = 0, r = row; tile < tiles; tile++) {
            int64_t rows = (last_row - r + tiles - tile - 1) / (tiles - tile);
            Ahead ahead{data + (panel + 1) * bytes + bytes * tile / tiles, PANEL * 4 / tiles};
            tall<Tile, MOST>(rows, matrix, panel, r, ahead, more...);
            r += rows;
        }
}

}  // namespace regard
