// Answers that are kept: found by the whole question, bounded in number and bytes, and safe to ask for from many threads.
#include "objects/modules/recent.h"

#include <atomic>
#include <cassert>
#include <cstdio>
#include <thread>

using namespace anyzero;

namespace {

std::atomic<int> alive{0};

struct Answer {
  explicit Answer(int value) : value(value) { alive.fetch_add(1); }
  ~Answer() { alive.fetch_sub(1); }
  int value;
};

using Answers = Recent<Answer>;

std::string question(int number, size_t size = 8) { return std::to_string(number) + std::string(size, '.'); }

void found_by_the_whole_question() {
  Answers answers;
  assert(!answers.find(question(1)));
  answers.keep(question(1), std::make_shared<Answer>(1));
  answers.keep(question(2), std::make_shared<Answer>(2));
  assert(answers.find(question(1))->value == 1);
  assert(answers.find(question(2))->value == 2);
  assert(!answers.find(question(1, 9)));
  // The later one counts.
  answers.keep(question(1), std::make_shared<Answer>(3));
  assert(answers.find(question(1))->value == 3);
  assert(alive.load() == 2);
}

void the_ones_used_last_stay() {
  Answers answers;
  const int most = Answers::kMost;
  for (int i = 0; i < most; ++i) answers.keep(question(i), std::make_shared<Answer>(i));
  std::shared_ptr<Answer> held = answers.find(question(1));
  assert(answers.find(question(0)));
  for (int i = 0; i < most - 1; ++i) answers.keep(question(1000 + i), std::make_shared<Answer>(i));
  assert(answers.find(question(0)) && !answers.find(question(1)) && !answers.find(question(2)));
  assert(alive.load() == most + 1 && held->value == 1);
}

void bytes_are_bounded() {
  Answers answers;
  answers.keep(question(0, Answers::kMostBytes / 2), std::make_shared<Answer>(0));
  assert(alive.load() == 0);  // too large to be kept at all
  const size_t large = Answers::kMostBytes / 5;
  for (int i = 0; i < 8; ++i) answers.keep(question(i, large), std::make_shared<Answer>(i));
  assert(alive.load() == 4);
  assert(!answers.find(question(3, large)) && answers.find(question(4, large)));
}

void many_threads() {
  Answers answers;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&answers, t] {
      for (int i = 0; i < 2000; ++i) {
        const int number = (i * 7 + t) % 100;
        std::shared_ptr<Answer> found = answers.find(question(number));
        if (!found) answers.keep(question(number), found = std::make_shared<Answer>(number));
        assert(found->value == number);
      }
    });
  for (std::thread& thread : threads) thread.join();
  assert(alive.load() <= static_cast<int>(Answers::kMost));
}

}  // namespace

int main() {
  found_by_the_whole_question();
  the_ones_used_last_stay();
  bytes_are_bounded();
  many_threads();
  assert(alive.load() == 0);
  std::puts("recent: ok");
  return 0;
}
