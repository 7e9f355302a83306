// Threads that help with a job: a list of operations, each cut into pieces, one operation after the other.
//
// Nobody is given a piece: whoever is running takes the next one. A helper that the system has put aside between two
// pieces holds up nobody, and whoever finishes the last piece of an operation opens the next.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace regard {

// What is to be done: `pieces(op)`, at least 1, and `run(op, piece, pieces)`.
struct Job {
    int operations = 0;
    virtual int pieces(int operation) = 0;
    virtual void run(int operation, int piece, int pieces) = 0;
    virtual ~Job() = default;
};

class Pool {
   public:
    // The job, done by this thread and at most `threads` − 1 others. Where those are busy with another job, alone.
    void run(Job& job, int threads) {
        if (threads <= 1 || busy_.exchange(true, std::memory_order_acquire)) {
            for (int op = 0; op < job.operations; op++)
                for (int piece = 0, n = job.pieces(op); piece < n; piece++) job.run(op, piece, n);
            return;
        }
        hire(threads - 1);
        helpers_.store(threads - 1, std::memory_order_relaxed);
        job_ = &job;
        open(job, 0);
        wake();
        for (int idle = 0; !over(ticket_.load(std::memory_order_acquire));) idle = take() ? 0 : wait(idle);
        busy_.store(false, std::memory_order_release);
    }

   private:
    // A ticket: which operation is open (its number in all the jobs there were, 28 bits, and in this one, 12), how many
    // pieces it has (12) and which is next (12). Whoever counts it up owns that piece, and the job stays until that is
    // done; whoever comes late with an old ticket gets nothing.
    static constexpr int BITS = 12;
    static constexpr uint64_t FIELD = (1u << BITS) - 1;
    static int next(uint64_t t) { return t & FIELD; }
    static int total(uint64_t t) { return t >> BITS & FIELD; }
    static int operation(uint64_t t) { return t >> (2 * BITS) & FIELD; }
    static bool over(uint64_t t) { return operation(t) == (int)FIELD; }

    // Opens an operation, after doing those of one piece at once: to hand them over would take longer.
    void open(Job& job, int op) {
        int n = 0;
        for (; op < job.operations && (n = job.pieces(op)) == 1; op++) job.run(op, 0, 1);
        bool end = op >= job.operations;
        done_.store(0, std::memory_order_relaxed);
        uint64_t fields = end ? FIELD << (2 * BITS) : (uint64_t)op << (2 * BITS) | (uint64_t)n << BITS;
        ticket_.store(++opened_ << (3 * BITS) | fields, std::memory_order_seq_cst);
    }

    // Does one piece of what is open, if there is any left.
    bool take() {
        uint64_t t = ticket_.load(std::memory_order_acquire);
        if (over(t) || next(t) >= total(t)) return false;
        if (!ticket_.compare_exchange_strong(t, t + 1, std::memory_order_acq_rel)) return true;
        Job& job = *job_;
        job.run(operation(t), next(t), total(t));
        if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == total(t)) open(job, operation(t) + 1);
        return true;
    }

    // Somebody else has the last piece: a moment of spinning, then the processor goes to whoever wants it.
    static int wait(int idle) {
        if (idle < 2000) {
            relax();
        } else if (idle < 4000) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        return idle + 1;
    }

    static void relax() {
#if defined(__x86_64__)
        _mm_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    void hire(int helpers) {
        try {
            for (; hired_ < helpers; hired_++) std::thread(&Pool::help, this, hired_).detach();
        } catch (const std::system_error&) {  // the system has no more threads: those there are do it
        }
    }

    void help(int number) {
        using Clock = std::chrono::steady_clock;
        constexpr auto PATIENCE = std::chrono::microseconds(150);  // about what is done in Python between two steps
        auto last = Clock::now();
        while (true) {
            bool wanted = number < helpers_.load(std::memory_order_relaxed);
            if (wanted && take()) {
                last = Clock::now();
                continue;
            }
            for (int i = 0; i < 32; i++) relax();
            if (Clock::now() - last < PATIENCE) continue;
            sleep();
            last = Clock::now();
        }
    }

    void sleep() {
        std::unique_lock lock(mutex_);
        sleeping_.fetch_add(1, std::memory_order_seq_cst);
        uint64_t seen = ticket_.load(std::memory_order_seq_cst);
        if (over(seen) || next(seen) >= total(seen))
            woken_.wait(lock, [&] { return ticket_.load(std::memory_order_seq_cst) != seen; });
        sleeping_.fetch_sub(1, std::memory_order_seq_cst);
    }

    void wake() {
        if (!sleeping_.load(std::memory_order_seq_cst)) return;
        std::lock_guard lock(mutex_);
        woken_.notify_all();
    }

    alignas(64) std::atomic<uint64_t> ticket_{FIELD << (2 * BITS)};
    alignas(64) std::atomic<int> done_{0};
    alignas(64) std::atomic<bool> busy_{false};
    std::atomic<int> helpers_{0}, sleeping_{0};
    uint64_t opened_ = 0;  // only ever touched by who opens
    Job* job_ = nullptr;   // read by who owns a piece of it
    int hired_ = 0;
    std::mutex mutex_;
    std::condition_variable woken_;
};

// Never destroyed: at exit helpers may still be waiting.
inline Pool& pool() {
    static Pool* only = new Pool;
    return *only;
}

}  // namespace regard
