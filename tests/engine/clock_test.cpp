// Vector clocks of check mode against sets of commands.
#include "../../engine/validation/clock.h"

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <random>
#include <set>
#include <utility>

using namespace anyzero;

namespace {

using Commands = std::set<std::pair<uint64_t, uint64_t>>;  // ring and position

// `more`: the clock may have others, too.
void compare(const Clock& clock, const Commands& model, uint64_t rings, uint64_t positions, bool more) {
  for (uint64_t ring = 1; ring <= rings; ++ring)
    for (uint64_t position = 1; position <= positions; ++position) {
      const bool wanted = model.contains({ring, position});
      assert(clock.has(ring, position) == wanted || (more && !wanted));
    }
}

void join(Commands& model, uint64_t ring, uint64_t position) {
  for (uint64_t each = 1; each <= position; ++each) model.emplace(ring, each);
}

void agrees_with_sets(std::mt19937& random) {
  constexpr uint64_t kRings = 3, kPositions = 40;
  Clock clocks[2];
  Commands models[2];
  for (int step = 0; step < 60; ++step) {
    const uint64_t ring = random() % kRings + 1, position = random() % kPositions + 1;
    const size_t which = random() % 2;
    switch (random() % 8) {
      case 0:
        clocks[which].join(ring, position / 4);
        join(models[which], ring, position / 4);
        break;
      case 1:
        clocks[which].join(clocks[1 - which]);
        models[which].insert(models[1 - which].begin(), models[1 - which].end());
        break;
      default:
        clocks[which].add(ring, position);
        models[which].emplace(ring, position);
    }
    compare(clocks[which], models[which], kRings, kPositions, false);
    const uint64_t first = random() % position + 1;
    bool all = true;
    for (uint64_t each = first; each <= position; ++each) all = all && models[which].contains({ring, each});
    assert(clocks[which].has_all(ring, first, position) == all);
  }
}

// Of many single commands, gaps are taken for done, the oldest first; those of other rings stay.
void keeps_few_runs() {
  Clock clock;
  Commands model;
  clock.add(1, 2);
  clock.add(3, 5);
  for (uint64_t position = 2; position <= 400; position += 2) {
    clock.add(2, position);
    model.emplace(2, position);
  }
  assert(clock.has(2, 3) && !clock.has(2, 399) && !clock.has(2, 1));
  assert(clock.has(1, 2) && !clock.has(1, 1) && clock.has(3, 5) && !clock.has(3, 4) && !clock.has(3, 6));
  model.emplace(1, 2);
  model.emplace(3, 5);
  compare(clock, model, 3, 400, true);
}

}  // namespace

int main() {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    agrees_with_sets(random);
  }
  assert(Clock().has_all(1, 5, 4) && !Clock().has_all(1, 1, 1));
  keeps_few_runs();
  std::puts("clock: ok");
  return 0;
}
