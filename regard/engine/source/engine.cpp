// The native engine as Python calls it: weights are packed, a whole pass of a model is one call, and so is which tokens
// are the best.

#include <new>

#include "pass.hpp"
#include "ranking.hpp"

using namespace regard;

extern "C" {

void* regard_pack(const float* weight, const int64_t* strides, int64_t outputs, int64_t inputs, const float* bias,
                  int32_t whole) {
    try {
        return pack(weight, strides, outputs, inputs, bias, whole != 0);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void regard_free(void* matrix) { free_matrix((Matrix*)matrix); }

int64_t regard_bytes(const void* matrix) { return (int64_t)((const Matrix*)matrix)->bytes; }

int32_t regard_lanes() { return LANES; }

int32_t regard_run(const Call* call) {
    static thread_local std::vector<float> records;
    static thread_local std::vector<char> rounded;
    if (int32_t wrong = check(*call)) return wrong;
    try {
        Pass pass(*call, records, rounded);
        pool().run(pass, (int)call->threads);
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    }
    if (records.size() > (1 << 26)) records = {};  // one long text should not keep its memory for ever
    return DONE;
}

int32_t regard_rank(const Ranking* asked) {
    try {
        RankingJob job(*asked);
        pool().run(job, (int)asked->threads);
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    }
    return DONE;
}

}  // extern "C"
