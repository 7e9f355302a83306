// The best few of many scores with their log p: log p_j = (s_j − max s) − log Σ_i e^{s_i − max s}.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "pool.hpp"
#include "simd.hpp"

namespace regard {

struct Ranking {
    const float* scores;  // (rows, size), rows `stride` apart
    int64_t rows, stride, size, count;
    int64_t* tokens;  // (rows, count), the best first, of equals the first
    float *logs, *every;  // (rows, count); (rows, size), null: not wanted
    int64_t threads;
};

struct RankingJob : Job {
    static constexpr int64_t PIECE = 64;       // scores whose largest is known
    static constexpr int64_t WORTH = 1 << 15;  // scores; handing over fewer takes longer
    const Ranking& asked;

    explicit RankingJob(const Ranking& asked) : asked(asked) { operations = 1; }

    int pieces(int) override {
        int64_t most = std::min<int64_t>({asked.rows * asked.size / WORTH, asked.rows, 1024});
        return (int)std::max<int64_t>(1, most);
    }

    void run(int, int piece, int pieces) override {
        std::vector<float> largest_of((asked.size + PIECE - 1) / PIECE);
        for (int64_t r = asked.rows * piece / pieces; r < asked.rows * (piece + 1) / pieces; r++)
            rank(r, asked.scores + r * asked.stride, largest_of.data());
    }

   private:
    void rank(int64_t row, const float* scores, float* largest_of) const {
        float most = -std::numeric_limits<float>::infinity();
        for (int64_t first = 0; first < asked.size; first += PIECE) {
            Floats found = all(-std::numeric_limits<float>::infinity());
            in_piece(scores, first, [&](Floats value, int64_t, int) { found = larger(value, found); });
            float here = largest(found);
            largest_of[first / PIECE] = here;
            most = here > most ? here : most;
        }
        Floats sums[PIECE / LANES] = {};
        for (int64_t first = 0; first < asked.size; first += PIECE)
            in_piece(scores, first, [&](Floats value, int64_t at, int) {
                sums[(at - first) / LANES] += exp(value - all(most));
            });
        Floats total = {};
        for (Floats part : sums) total += part;
        float rest = std::log(sum(total));
        best(row, scores, largest_of);
        int64_t* tokens = asked.tokens + row * asked.count;
        for (int64_t n = 0; n < asked.count; n++) asked.logs[row * asked.count + n] = (scores[tokens[n]] - most) - rest;
        if (!asked.every) return;
        float* every = asked.every + row * asked.size;
        for (int64_t first = 0; first < asked.size; first += PIECE)
            in_piece(scores, first, [&](Floats value, int64_t at, int n) {
                store(every + at, (value - all(most)) - all(rest), n);
            });
    }

    // f(scores, where they begin, how many they are) for all of a piece; behind the last there is −∞.
    template <class Function>
    INLINE void in_piece(const float* scores, int64_t first, Function f) const {
        if (first + PIECE <= asked.size) {
            for (int64_t at = first; at < first + PIECE; at += LANES) f(load(scores + at), at, LANES);
            return;
        }
        for (int64_t at = first; at < asked.size; at += LANES) {
            int n = (int)std::min<int64_t>(LANES, asked.size - at);
            Floats value = load(scores + at, n);
            for (int lane = n; lane < LANES; lane++) value[lane] = -std::numeric_limits<float>::infinity();
            f(value, at, n);
        }
    }

    // Those found so far stand in order; a piece is looked into only where its largest is among the best.
    void best(int64_t row, const float* scores, const float* largest_of) const {
        int64_t *tokens = asked.tokens + row * asked.count, found = 0;
        for (int64_t first = 0; asked.count && first < asked.size; first += PIECE) {
            if (found == asked.count && !(largest_of[first / PIECE] > scores[tokens[found - 1]])) continue;
            for (int64_t at = first; at < std::min(first + PIECE, asked.size); at++) {
                if (found == asked.count && !(scores[at] > scores[tokens[found - 1]])) continue;
                int64_t place = found < asked.count ? found++ : found - 1;
                for (; place && scores[at] > scores[tokens[place - 1]]; place--) tokens[place] = tokens[place - 1];
                tokens[place] = at;
            }
        }
    }
};

}  // namespace regard
