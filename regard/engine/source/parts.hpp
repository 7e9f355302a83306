// What a model is made of besides matrices: attention over a memory, norms, cells. Each works on one row at a time.
#pragma once

#include <vector>

#include "simd.hpp"

namespace regard {

// y = (x − mean) / √(variance + ε) · gain + bias, or without mean and bias (RMSNorm).
inline void norm(const float* x, float* y, int n, float epsilon, const float* gain, const float* bias, bool rms) {
    Floats total = {}, squares = {};
    if (!rms) each(n, [&](int i, int k) { total += load(x + i, k); });
    float mean = sum(total) / n;
    each(n, [&](int i, int k) {
        Floats part = load(x + i, k) - all(mean);
        for (int lane = k; lane < LANES; lane++) part[lane] = 0;
        squares += part * part;
    });
    float factor = 1 / __builtin_sqrtf(sum(squares) / n + epsilon);
    each(n, [&](int i, int k) {
        Floats value = (load(x + i, k) - all(mean)) * all(factor) * load(gain + i, k);
        store(y + i, bias ? value + load(bias + i, k) : value, k);
    });
}

// Each pair (x_i, x_{i + n/2}) turned by an angle; the table has all sines, then all cosines.
inline void rotate(const float* x, float* y, int n, const float* table) {
    int half = n / 2;
    const float *sines = table, *cosines = table + half;
    each(half, [&](int i, int k) {
        Floats left = load(x + i, k), right = load(x + half + i, k), s = load(sines + i, k), c = load(cosines + i, k);
        store(y + i, left * c - right * s, k);
        store(y + half + i, right * c + left * s, k);
    });
}

// Keys and values of one line and one head: slot s at data + s · stride, its key first, then its value.
struct Memory {
    const float* data;
    int64_t stride;
    const int32_t* slots;  // which may be looked at, in order; null: the first ones
    int64_t count;         // how many

    INLINE const float* at(int64_t i) const { return data + (slots ? slots[i] : i) * stride; }
};

// a = softmax(f_att(q, k)), y = Σ_i a_i v_i; with `v` (additive) f_att = vᵀ tanh(q + k), else scale · q · k.
inline void attend(const float* q, const Memory& memory, int key_width, int value_width, float scale, const float* v,
                   float* y) {
    static thread_local std::vector<float> scratch;
    int64_t n = memory.count;
    if (!n) {
        std::memset(y, 0, 4 * value_width);
        return;
    }
    int64_t room = (n + LANES - 1) / LANES * LANES;
    if ((int64_t)scratch.size() < room) scratch.resize(room * 2);
    float* e = scratch.data();
    for (int64_t i = 0; i < n; i++) {
        const float* key = memory.at(i);
        if (!v) {
            e[i] = scale * dot(q, key, key_width);
            continue;
        }
        Floats total = {};
        each(key_width, [&](int j, int k) { total += load(v + j, k) * tanh(load(q + j, k) + load(key + j, k)); });
        e[i] = sum(total);
    }
    float most = e[0];
    for (int64_t i = 1; i < n; i++) most = e[i] > most ? e[i] : most;
    for (int64_t i = n; i < room; i++) e[i] = most - 1000;  // as good as −∞
    float total = 0;
    for (int64_t i = 0; i < room; i += LANES) {
        Floats weights = exp(load(e + i) - all(most));
        store(e + i, weights);
    }
    for (int64_t i = 0; i < n; i++) total += e[i];
    float factor = 1 / total;
    int column = 0;
    for (; column + 4 * LANES <= value_width; column += 4 * LANES) {
        Floats sums[4] = {};
        for (int64_t i = 0; i < n; i++) {
            const float* value = memory.at(i) + key_width + column;
            Floats weight = all(e[i]);
            for (int part = 0; part < 4; part++) sums[part] += weight * load(value + part * LANES);
        }
        for (int part = 0; part < 4; part++) store(y + column + part * LANES, sums[part] * all(factor));
    }
    each(value_width - column, [&](int j, int k) {
        Floats found = {};
        for (int64_t i = 0; i < n; i++) found += all(e[i]) * load(memory.at(i) + key_width + column + j, k);
        store(y + column + j, found * all(factor), k);
    });
}

// h' = tanh(g); g = W_x x + W_h h.
inline void rnn(const float* g, float* h, int n) {
    each(n, [&](int i, int k) { store(h + i, tanh(load(g + i, k)), k); });
}

// i, f, g, o side by side; c' = σ(f) c + σ(i) tanh(g), h' = σ(o) tanh(c').
inline void lstm(const float* g, const float* c, float* h, float* c_after, int n) {
    each(n, [&](int j, int k) {
        Floats i = sigmoid(load(g + j, k)), f = sigmoid(load(g + n + j, k));
        Floats candidate = tanh(load(g + 2 * n + j, k)), o = sigmoid(load(g + 3 * n + j, k));
        Floats cells = f * load(c + j, k) + i * candidate;
        store(c_after + j, cells, k);
        store(h + j, o * tanh(cells), k);
    });
}

// r, z, n side by side, from x and from h; h' = (1 − z) n + z h.
inline void gru(const float* x, const float* from_h, const float* h, float* h_after, int n) {
    each(n, [&](int j, int k) {
        Floats r = sigmoid(load(x + j, k) + load(from_h + j, k));
        Floats z = sigmoid(load(x + n + j, k) + load(from_h + n + j, k));
        Floats candidate = tanh(load(x + 2 * n + j, k) + r * load(from_h + 2 * n + j, k));
        store(h_after + j, (all(1.0f) - z) * candidate + z * load(h + j, k), k);
    });
}

}  // namespace regard
