// Vectors of as many floats as the compiler was told the processor has, and the few functions that models need of them.
// The compiler's own vectors are used where they say all, so that one text serves AVX-512, AVX2, NEON and plain SSE.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define INLINE inline __attribute__((always_inline))

namespace regard {

#if defined(__AVX512F__)
constexpr int LANES = 16;
#elif defined(__AVX2__)
constexpr int LANES = 8;
#else
constexpr int LANES = 4;
#endif

typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));

INLINE Floats load(const float* from) {
    Floats found;
    std::memcpy(&found, from, sizeof found);
    return found;
}

INLINE void store(float* to, Floats value) { std::memcpy(to, &value, sizeof value); }

INLINE Floats all(float value) { return value - Floats{}; }

INLINE Floats larger(Floats a, Floats b) { return a > b ? a : b; }

INLINE Floats as_floats(Ints bits) {
    Floats found;
    std::memcpy(&found, &bits, sizeof found);
    return found;
}

INLINE Ints as_bits(Floats value) {
    Ints found;
    std::memcpy(&found, &value, sizeof found);
    return found;
}

INLINE float sum(Floats v) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps((__m512)v);
#elif defined(__AVX2__)
    __m128 half = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
#else
    return (v[0] + v[2]) + (v[1] + v[3]);
#endif
}

INLINE float largest(Floats v) {
    float found = v[0];
    for (int lane = 1; lane < LANES; lane++) found = v[lane] > found ? v[lane] : found;
    return found;
}

// Adding 1.5 · 2^23 rounds to the nearest whole number and leaves it in the low bits.
constexpr float ROUND = 12582912.0f;

INLINE Ints rounded(Floats x) { return as_bits(x + all(ROUND)) - as_bits(all(ROUND)); }

// e^x = 2^n e^r with |r| ≤ ln 2 / 2; e^r by the polynomial of Cephes' expf, off by less than 2 units in the last place.
INLINE Floats exp(Floats x) {
    x = x > all(88.0f) ? all(88.0f) : x;
    x = x < all(-87.0f) ? all(-87.0f) : x;
    Floats n = (x * all(1.44269504088896341f) + all(ROUND)) - all(ROUND);
    Floats r = x - n * all(0.693359375f) + n * all(2.12194440e-4f);
    Floats p = all(1.9875691500e-4f);
    p = p * r + all(1.3981999507e-3f);
    p = p * r + all(8.3334519073e-3f);
    p = p * r + all(4.1665795894e-2f);
    p = p * r + all(1.6666665459e-1f);
    p = p * r + all(5.0000001201e-1f);
    p = p * r * r + r + all(1.0f);
    Ints power = (rounded(x * all(1.44269504088896341f)) + 127) << 23;
    return p * as_floats(power);
}

INLINE Floats sigmoid(Floats x) { return all(1.0f) / (all(1.0f) + exp(-x)); }

INLINE Floats tanh(Floats x) { return all(1.0f) - all(2.0f) / (exp(x + x) + all(1.0f)); }

// erf by Abramowitz and Stegun's 7.1.26, off by less than 2e-7.
INLINE Floats erf(Floats x) {
    Floats size = x < all(0.0f) ? -x : x;
    Floats t = all(1.0f) / (all(1.0f) + all(0.3275911f) * size);
    Floats p = all(1.061405429f);
    p = p * t - all(1.453152027f);
    p = p * t + all(1.421413741f);
    p = p * t - all(0.284496736f);
    p = p * t + all(0.254829592f);
    Floats found = all(1.0f) - p * t * exp(-size * size);
    return x < all(0.0f) ? -found : found;
}

enum Activation : int32_t { NONE, RELU, GELU, GELU_TANH, SILU, TANH, SIGMOID };

INLINE Floats activated(Floats x, int32_t kind) {
    switch (kind) {
        case RELU: return larger(x, all(0.0f));
        case GELU: return all(0.5f) * x * (all(1.0f) + erf(x * all(0.70710678118654752f)));
        case GELU_TANH:
            return all(0.5f) * x * (all(1.0f) + tanh(all(0.79788456080286536f) * (x + all(0.044715f) * x * x * x)));
        case SILU: return x * sigmoid(x);
        case TANH: return tanh(x);
        case SIGMOID: return sigmoid(x);
        default: return x;
    }
}

// f for n numbers in a row, in vectors; the last one may be half empty.
template <class Function>
INLINE void each(int n, Function f) {
    int i = 0;
    for (; i + LANES <= n; i += LANES) f(i, LANES);
    if (i < n) f(i, n - i);
}

INLINE Floats load(const float* from, int n) {
    if (n == LANES) return load(from);
    Floats found = {};
    std::memcpy(&found, from, 4 * n);
    return found;
}

INLINE void store(float* to, Floats value, int n) {
    if (n == LANES) store(to, value);
    else std::memcpy(to, &value, 4 * n);
}

INLINE float dot(const float* a, const float* b, int n) {
    Floats found = {};
    each(n, [&](int i, int k) { found += load(a + i, k) * load(b + i, k); });
    return sum(found);
}

}  // namespace regard
