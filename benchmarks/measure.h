// How every item is measured: rounds of many operations each, of which the best and the median are reported.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

inline double now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// One of several that do the same work and take turns, so that a disturbance of the machine meets all of them.
struct Contestant {
  const char* item;
  std::function<void()> prepare;  // before its turn, not measured
  std::function<void()> wake;     // right before the clock starts
  std::function<void()> run;
  std::function<void()> check;  // after its turn, not measured: did it do all of the work this time?
};

// One of several ways to do the same, measured in rounds that take turns.
struct Turn {
  const char* item;
  size_t count;  // operations of a round
  std::function<void()> operation;
  std::function<void()> between = {};  // after each round, not measured
  size_t parts = 1;                    // commands of an operation: times are of one
};

inline constexpr double kJudgeable = 250e6;  // the kernel's books go by hundredths of a second

// How busy the rest of the machine was: a neighbour that takes a core makes two threads take turns, and then nothing measured with
// two threads means what it says. Judged by the kernel's books, which no fault of ours can bend.
class Bystanders {
 public:
  // Cores that other processes, or the machine below this one, have used since this was made; 0 when that was too short to tell.
  double cores() const {
    double wall = now_ns() - wall_;
    if (wall < kJudgeable) return 0;
    return std::max(0.0, (busy() - busy_ - (own() - own_)) / wall);
  }

 private:
  static double own() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  }
  static double busy() {
    FILE* file = std::fopen("/proc/stat", "r");
    if (!file) return 0;
    unsigned long long user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft = 0, stolen = 0;
    int n = std::fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &waiting, &irq, &soft,
                        &stolen);
    std::fclose(file);
    double tick = 1e9 / static_cast<double>(sysconf(_SC_CLK_TCK));
    return n == 8 ? static_cast<double>(user + nice + system + irq + soft + stolen) * tick : 0;
  }

  double wall_ = now_ns(), own_ = own(), busy_ = busy();
};

inline constexpr double kQuiet = 0.1;  // cores
inline constexpr int kAttempts = 3;
inline constexpr int kTurns = 25;

// Reads more than any cache holds, so that what was there before is written back and gone.
class EqualStart {
 public:
  void start() {
    if (memory_.empty()) memory_.resize((size_t{96} << 20) / sizeof(uint64_t), 1);
    uint64_t sum = 0;
    for (size_t i = 0; i < memory_.size(); i += 8) sum += memory_[i];
    sink_ = sum;
  }

 private:
  std::vector<uint64_t> memory_;
  volatile uint64_t sink_ = 0;
};

class Report {
 public:
  // Arguments: the number of rounds, the milliseconds of a round, then the items wanted (none: all).
  Report(int argc, char** argv)
      : rounds_(argc > 1 ? std::atoi(argv[1]) : 15), round_ns_((argc > 2 ? std::atof(argv[2]) : 3) * 1e6) {
    for (int i = 3; i < argc; ++i) wanted_.emplace_back(argv[i]);
  }

  bool wanted(const char* item) const {
    return wanted_.empty() || std::find(wanted_.begin(), wanted_.end(), item) != wanted_.end();
  }

  bool any_wanted(std::initializer_list<const char*> items) const {
    return std::any_of(items.begin(), items.end(), [&](const char* item) { return wanted(item); });
  }

  // One line of JSON: `samples` are nanoseconds per operation, one for each round.
  void add(const char* item, const std::vector<double>& samples, size_t operations, size_t bytes, double others) const {
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    std::printf(
        "{\"item\": \"%s\", \"best\": %.2f, \"median\": %.2f, \"operations\": %zu, \"bytes\": %zu, \"others\": %.2f, \"samples\": "
        "[",
        item, sorted.front(), sorted[sorted.size() / 2], operations, bytes, others);
    for (size_t i = 0; i < samples.size(); ++i) std::printf(i ? ", %.2f" : "%.2f", samples[i]);
    std::printf("]}\n");
    std::fflush(stdout);
  }

  // `operation` as often as fills a round.
  template <class Operation>
  void time(const char* item, Operation operation) const {
    if (!wanted(item)) return;
    size_t count = 1;
    for (;;) {
      double begin = now_ns();
      for (size_t i = 0; i < count; ++i) operation();
      double took = now_ns() - begin;
      if (took >= round_ns_ / 2) break;
      count = took * 16 < round_ns_ ? count * 8 : count * 2;
    }
    time_batches(item, count, operation, [] {});
  }

  // `count` operations a round; what `between` does after each round is not measured.
  template <class Operation, class Between>
  void time_batches(const char* item, size_t count, Operation operation, Between between) const {
    if (!wanted(item)) return;
    std::vector<double> samples;
    Bystanders bystanders;
    for (int round = -1; round < rounds_; ++round) {
      double begin = now_ns();
      for (size_t i = 0; i < count; ++i) operation();
      double took = now_ns() - begin;
      between();
      // The first round pays for page faults and sleeping threads; users pay for that once.
      if (round >= 0) samples.push_back(took / static_cast<double>(count));
    }
    add(item, samples, count, 0, bystanders.cores());
  }

  // One round of each, then the next, in another order each time.
  void turns(std::vector<Turn> turns) const {
    std::erase_if(turns, [&](const Turn& turn) { return !wanted(turn.item); });
    std::vector<std::vector<double>> times(turns.size());
    std::vector<size_t> order(turns.size());
    std::iota(order.begin(), order.end(), 0);
    std::minstd_rand random;  // the same order in every run
    Bystanders bystanders;
    for (int round = -1; round < rounds_; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (size_t at : order) {
        const Turn& turn = turns[at];
        double begin = now_ns();
        for (size_t i = 0; i < turn.count; ++i) turn.operation();
        double took = now_ns() - begin;
        if (turn.between) turn.between();
        if (round >= 0) times[at].push_back(took / static_cast<double>(turn.count * turn.parts));
      }
    }
    for (size_t i = 0; i < turns.size(); ++i) add(turns[i].item, times[i], turns[i].count * turns[i].parts, 0, bystanders.cores());
  }

  // Each contestant once a round, in another order each time. All begin with the same caches: one that leaves them full of lines to
  // be written back would otherwise be paid for by whoever comes next.
  void contest(std::vector<Contestant> contestants, size_t bytes) const {
    std::erase_if(contestants, [&](const Contestant& contestant) { return !wanted(contestant.item); });
    size_t n = contestants.size();
    if (n == 0) return;
    double others = 0;
    auto samples = in_quiet(&others, [&] {
      std::vector<std::vector<double>> times(n);
      std::vector<size_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      std::minstd_rand random;  // the same order in every run
      for (int round = -1; round < std::min(rounds_, kTurns); ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (size_t turn : order) {
          const Contestant& contestant = contestants[turn];
          contestant.prepare();
          equal_.start();
          contestant.wake();
          double begin = now_ns();
          contestant.run();
          double took = now_ns() - begin;
          contestant.check();
          if (round >= 0) times[turn].push_back(took);
        }
      }
      return times;
    });
    for (size_t i = 0; i < n; ++i) add(contestants[i].item, samples[i], 1, bytes, others);
  }

  // Work of several threads: `round` returns nanoseconds per operation, or 0 when it was not what it should have been.
  template <class Round>
  void time_rounds(const char* item, size_t operations, Round round) const {
    if (!wanted(item)) return;
    double others = 0;
    auto samples = in_quiet(&others, [&] {
      std::vector<double> times;
      double begin = now_ns();
      round();
      for (int tries = 0; tries < 20 * rounds_ && (times.size() < static_cast<size_t>(rounds_) || now_ns() - begin < kJudgeable);
           ++tries)
        if (double time = round(); time > 0) times.push_back(time);
      return times;
    });
    if (samples.empty()) {
      std::printf("{\"item\": \"%s\", \"error\": \"its threads never ran at the same time\"}\n", item);
      std::fflush(stdout);
      return;
    }
    add(item, samples, operations, 0, others);
  }

 private:
  // Measures again while others are busy, and keeps the least disturbed attempt.
  template <class Attempt>
  std::invoke_result_t<Attempt> in_quiet(double* others, Attempt attempt) const {
    std::invoke_result_t<Attempt> kept;
    for (int i = 0; i < kAttempts; ++i) {
      Bystanders bystanders;
      auto times = attempt();
      double cores = bystanders.cores();
      if (i == 0 || cores < *others) {
        kept = std::move(times);
        *others = cores;
      }
      if (*others <= kQuiet) break;
    }
    return kept;
  }

  int rounds_;
  double round_ns_;
  std::vector<std::string> wanted_;
  mutable EqualStart equal_;
};

}  // namespace bench
