// A pass of a model: a list of operations over the records of all positions fed.
//
// A record is one position's numbers; an operation reads some columns of it and writes others, so that what stands side
// by side is concatenated already. `regard/engine/tape.py` says which operations a model is made of.
#pragma once

#include <algorithm>
#include <vector>

#include "matrix.hpp"
#include "parts.hpp"
#include "pool.hpp"

namespace regard {

enum Kind : int32_t { EMBED, PLACE, NORM, ROUND_ROWS, PRODUCT, GATE, COPY, REMEMBER, ATTEND, LOAD, CELL, SSRU_CELL };
enum Cell : int32_t { RNN_CELL, LSTM_CELL, GRU_CELL };

// The fields mean what tape.py says of each kind.
struct Operation {
    int32_t kind, last, from, to, width;  // last: of each row its last position alone
    int32_t more[10];
    float number;
    const void* pointer[2];
};

struct MemoryLines {
    float* data;
    int64_t line, head, slot;  // strides
    int64_t length;            // slots filled, those of this call included
    int64_t rows;              // how many rows look at one line
};

struct StateVectors {
    const float* before;
    float* after;
};

struct Call {
    const Operation* operations;
    int64_t number, width;  // of operations; of a record
    int64_t rows, steps;
    const int64_t *tokens, *seen, *where;  // (rows, steps); tokens seen by each row; where each stands, null: seen + t
    const bool* keep;                      // (rows, steps), null: all
    const bool* kept;                      // (groups, kept_lines, length), null: all
    int64_t kept_lines, group_size, length;
    const int64_t* filled;    // slots of each line filled before, null: all but the newest
    const bool* source_keep;  // (lines, source_length), null: all
    int64_t source_length;
    const MemoryLines* memories;
    const StateVectors* states;
    const float* const* tables;   // sines and cosines by position
    const int64_t* table_lengths;
    float* out;  // what the last operation puts out
    int64_t out_stride;
    int64_t threads;
};

enum Outcome : int32_t { DONE, WRONG_TOKEN, WRONG_POSITION, NO_MEMORY };

struct Pass : Job {
    const Call& call;
    int64_t positions;
    std::vector<float>& records;
    std::vector<char>& rounded;
    std::vector<int32_t> own, source;  // slots that each row, or line of the source, may look at
    std::vector<int64_t> own_count, source_count;

    Pass(const Call& call, std::vector<float>& records, std::vector<char>& rounded)
        : call(call), positions(call.rows * call.steps), records(records), rounded(rounded) {
        operations = (int)call.number;
        int64_t bytes = 0;
        for (int i = 0; i < operations; i++)
            if (call.operations[i].kind == ROUND_ROWS) {
                int64_t padded = (call.operations[i].width + BLOCK - 1) / BLOCK * BLOCK;
                bytes = std::max(bytes, rounded_bytes(padded));
            }
        if ((int64_t)records.size() < positions * call.width) records.resize(positions * call.width);
        if ((int64_t)rounded.size() < positions * bytes) rounded.resize(positions * bytes);
        if (call.kept)
            list(own, own_count, call.rows, call.length, [&](int64_t row) {
                int64_t line = call.kept_lines == 1 ? 0 : row % call.group_size;
                return call.kept + (row / call.group_size * call.kept_lines + line) * call.length;
            });
        if (call.source_keep) {
            int64_t lines = call.rows / source_rows();
            list(source, source_count, lines, call.source_length,
                 [&](int64_t line) { return call.source_keep + line * call.source_length; });
        }
    }

    template <class Line>
    static void list(std::vector<int32_t>& slots, std::vector<int64_t>& counts, int64_t rows, int64_t length, Line line) {
        slots.resize(rows * length);
        counts.resize(rows);
        for (int64_t row = 0; row < rows; row++) {
            const bool* allowed = line(row);
            int64_t n = 0;
            for (int64_t slot = 0; slot < length; slot++)
                if (allowed[slot]) slots[row * length + n++] = (int32_t)slot;
            counts[row] = n;
        }
    }

    int64_t source_rows() const {
        for (int i = 0; i < operations; i++) {
            const Operation& op = call.operations[i];
            if (op.kind == ATTEND && op.more[9]) return call.memories[op.more[0]].rows;
        }
        return 1;
    }

    float* record(int64_t position) { return records.data() + position * call.width; }

    int64_t rows_of(const Operation& op) const { return op.last ? call.rows : positions; }

    // The record of the i-th row that an operation works on.
    float* row_of(const Operation& op, int64_t i) { return record(op.last ? i * call.steps + call.steps - 1 : i); }

    int64_t place(int64_t position) const {
        return call.where ? call.where[position] : call.seen[position / call.steps] + position % call.steps;
    }

    // ---- how an operation is cut

    static constexpr int64_t WORTH = 1 << 15;  // multiplications; handing over a smaller piece takes longer

    // Many rows are cut too, into pieces of about 64.
    static int64_t high(int64_t rows) { return std::min<int64_t>((rows + 63) / 64, 256); }

    int share(int64_t work, int64_t parts) const {
        int64_t most = std::min<int64_t>({work / WORTH, parts, 16 * call.threads});
        return (int)std::max<int64_t>(1, most);
    }

    int pieces(int i) override {
        const Operation& op = call.operations[i];
        int64_t rows = rows_of(op);
        switch (op.kind) {
            case PRODUCT: {
                const Matrix& matrix = *(const Matrix*)op.pointer[0];
                int64_t blocks = high(rows), groups = (matrix.panels + WIDE - 1) / WIDE;
                int64_t across = share(matrix.outputs * matrix.inputs * rows / blocks, std::min(groups, 4095 / blocks));
                return (int)(blocks * across);
            }
            case ATTEND: {
                const MemoryLines& memory = call.memories[op.more[0]];
                int64_t units = call.rows * op.more[1];
                return share(units * call.steps * memory.length * (op.more[4] + op.more[5]), units);
            }
            case REMEMBER: return 1;
            case SSRU_CELL: return share(positions * op.width * 4, call.rows);
            case CELL: return share(rows * op.width * 40, rows);
            case NORM: return share(rows * op.width * 4, rows);
            default: return share(rows * op.width * 2, rows);
        }
    }

    void run(int i, int piece, int pieces) override {
        const Operation& op = call.operations[i];
        if (op.kind == PRODUCT) return multiply(op, piece, pieces);
        if (op.kind == ATTEND) return look(op, piece, pieces);
        if (op.kind == REMEMBER) return remember(op);
        int64_t rows = op.kind == SSRU_CELL ? call.rows : rows_of(op);
        for (int64_t r = rows * piece / pieces, end = rows * (piece + 1) / pieces; r < end; r++) by_row(op, r);
    }

    void by_row(const Operation& op, int64_t r) {
        float* own = row_of(op, r);
        switch (op.kind) {
            case EMBED: {
                const float* row = (const float*)op.pointer[0] + call.tokens[r] * op.width;
                each(op.width, [&](int j, int k) { store(own + op.to + j, load(row + j, k) * all(op.number), k); });
                return;
            }
            case PLACE: {
                const float* table = op.pointer[0] ? (const float*)op.pointer[0] : call.tables[op.more[1]];
                const float* row = table + place(r) * op.width;
                float* to = own + op.to;
                each(op.width, [&](int j, int k) {
                    store(to + j, op.more[2] ? load(to + j, k) + load(row + j, k) : load(row + j, k), k);
                });
                return;
            }
            case NORM:
                return norm(own + op.from, own + op.to, op.width, op.number, (const float*)op.pointer[0],
                            (const float*)op.pointer[1], op.more[0]);
            case ROUND_ROWS: {
                int64_t padded = (op.width + BLOCK - 1) / BLOCK * BLOCK;
                return round_row(own + op.from, op.width, rounded_row(rounded.data(), r, padded));
            }
            case GATE:
                each(op.width, [&](int j, int k) {
                    Floats gate = activated(load(own + op.from + j, k), op.more[0]);
                    store(own + op.to + j, gate * load(own + op.from + op.width + j, k), k);
                });
                return;
            case COPY:
                if (op.more[1]) {
                    std::memcpy(call.out + r * call.out_stride, own + op.from, 4 * op.width);
                    return;
                }
                each(op.width, [&](int j, int k) {
                    Floats value = load(own + op.from + j, k);
                    store(own + op.to + j, op.more[0] ? value + load(own + op.to + j, k) : value, k);
                });
                return;
            case LOAD:
                std::memcpy(own + op.to, call.states[op.more[0]].before + r * op.width, 4 * op.width);
                return;
            case CELL: return cell(op, r, own);
            case SSRU_CELL: return ssru(op, r);
        }
    }

    // ---- products

    void multiply(const Operation& op, int piece, int pieces) {
        const Matrix& matrix = *(const Matrix*)op.pointer[0];
        int64_t rows = rows_of(op), blocks = high(rows), across = pieces / blocks;
        int64_t block = piece / across, which = piece % across, groups = (matrix.panels + WIDE - 1) / WIDE;
        int64_t panel = groups * which / across * WIDE, row = rows * block / blocks, end = rows * (block + 1) / blocks;
        int64_t last = std::min(groups * (which + 1) / across * WIDE, matrix.panels);
        Target target{call.out, call.out_stride, op.more[0], op.more[1] != 0};
        int64_t stride = op.last ? call.width * call.steps : call.width;
        if (!op.more[2]) target.to = row_of(op, 0) + op.to, target.stride = stride;
        if (matrix.whole) {
            product<In8, TALL8>(matrix, panel, last, row, end, rounded.data(), target);
        } else {
            const float* x = row_of(op, 0) + op.from;
            product<In32, TALL>(matrix, panel, last, row, end, x, stride, target);
        }
    }

    // ---- attention. more: memory, heads, heads that share a memory, columns from one such group to the next,
    //      key width, value width, table of the rotation (−1: none), causal, first new slot counts (own), of the source

    int64_t filled(const MemoryLines& memory, int64_t line) const {
        return call.filled ? call.filled[line] : memory.length - memory.rows * call.steps;
    }

    void remember(const Operation& op) {
        const MemoryLines& memory = call.memories[op.more[0]];
        int heads = op.more[1], step = op.more[3], keys = op.more[4], values = op.more[5];
        for (int64_t p = 0; p < positions; p++) {
            int64_t row = p / call.steps, line = row / memory.rows;
            int64_t slot = filled(memory, line) + row % memory.rows * call.steps + p % call.steps;
            const float* from = record(p) + op.from;
            for (int head = 0; head < heads; head++, from += step) {
                float* to = memory.data + line * memory.line + head * memory.head + slot * memory.slot;
                if (op.more[6] < 0) {
                    std::memcpy(to, from, 4 * (keys + values));
                } else {
                    rotate(from, to, keys, call.tables[op.more[6]] + place(p) * keys);
                    std::memcpy(to + keys, from + keys, 4 * values);
                }
            }
        }
    }

    void look(const Operation& op, int piece, int pieces) {
        static thread_local std::vector<float> turned;
        const MemoryLines& memory = call.memories[op.more[0]];
        int heads = op.more[1], sharing = op.more[2], keys = op.more[4], values = op.more[5];
        bool of_source = op.more[9] != 0;
        if ((int)turned.size() < keys) turned.resize(keys);
        int64_t units = call.rows * heads;
        for (int64_t unit = units * piece / pieces, end = units * (piece + 1) / pieces; unit < end; unit++) {
            int64_t row = unit / heads, head = unit % heads, line = row / memory.rows;
            Memory seen{memory.data + line * memory.line + head / sharing * memory.head, memory.slot, nullptr, memory.length};
            if (of_source && call.source_keep) {
                seen.slots = source.data() + line * call.source_length;
                seen.count = source_count[line];
            } else if (!of_source && call.kept) {
                seen.slots = own.data() + row * call.length;
                seen.count = own_count[row];
            }
            int64_t all_of_it = seen.count;
            for (int64_t t = 0; t < call.steps; t++) {
                float* at = record(row * call.steps + t);
                const float* q = at + op.from + head / sharing * op.more[3] + head % sharing * keys;
                if (op.more[6] >= 0) {
                    rotate(q, turned.data(), keys, call.tables[op.more[6]] + place(row * call.steps + t) * keys);
                    q = turned.data();
                }
                if (op.more[7]) {  // causal: of its row's new slots those up to its own
                    int64_t limit = filled(memory, line) + row % memory.rows * call.steps + t + 1;
                    if (seen.slots) seen.count = std::lower_bound(seen.slots, seen.slots + all_of_it, limit) - seen.slots;
                    else seen.count = limit;
                }
                attend(q, seen, keys, values, op.number, (const float*)op.pointer[0], at + op.to + head * values);
            }
        }
    }

    // ---- cells, one position at a time. more: kind, state of h, state of c, columns of W_h h (GRU)

    void cell(const Operation& op, int64_t r, float* own) {
        int n = op.width;
        const StateVectors& h = call.states[op.more[1]];
        float* after = h.after + r * n;
        const float* gates = own + op.from;
        if (op.more[0] == RNN_CELL) rnn(gates, after, n);
        if (op.more[0] == GRU_CELL) gru(gates, own + op.more[3], h.before + r * n, after, n);
        if (op.more[0] == LSTM_CELL) {
            const StateVectors& c = call.states[op.more[2]];
            lstm(gates, c.before + r * n, after, c.after + r * n, n);
        }
        std::memcpy(own + op.to, after, 4 * n);
    }

    // f and W x side by side; c' = f c + (1 − f) W x, y = relu(c'), for all steps of a row. more: state of c
    void ssru(const Operation& op, int64_t r) {
        const StateVectors& c = call.states[op.more[0]];
        float* after = c.after + r * op.width;
        std::memcpy(after, c.before + r * op.width, 4 * op.width);
        for (int64_t t = 0; t < call.steps; t++) {
            float* own = record(r * call.steps + t);
            bool real = !call.keep || call.keep[r * call.steps + t];
            each(op.width, [&](int j, int k) {
                Floats forget = load(own + op.from + j, k), before = load(after + j, k);
                Floats now = forget * before + (all(1.0f) - forget) * load(own + op.from + op.width + j, k);
                if (!real) now = before;
                store(after + j, now, k);
                store(own + op.to + j, larger(now, all(0.0f)), k);
            });
        }
    }
};

// What is looked up must be there: nothing has been written yet.
inline int32_t check(const Call& call) {
    int64_t positions = call.rows * call.steps;
    for (int64_t i = 0; i < call.number; i++) {
        const Operation& op = call.operations[i];
        if (op.kind == EMBED)
            for (int64_t p = 0; p < positions; p++)
                if (call.tokens[p] < 0 || call.tokens[p] >= op.more[0]) return WRONG_TOKEN;
        int64_t table = -1;
        if (op.kind == PLACE) table = op.pointer[0] ? op.more[0] : call.table_lengths[op.more[1]];
        if ((op.kind == REMEMBER || op.kind == ATTEND) && op.more[6] >= 0) table = call.table_lengths[op.more[6]];
        for (int64_t p = 0; table >= 0 && p < positions; p++) {
            int64_t place = call.where ? call.where[p] : call.seen[p / call.steps] + p % call.steps;
            if (place < 0 || place >= table) return WRONG_POSITION;
        }
    }
    return DONE;
}

}  // namespace regard
