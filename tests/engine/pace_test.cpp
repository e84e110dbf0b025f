// What a kernel's pace becomes of measurements of which some are disturbed.
#include "../../engine/exec/pace.h"

#include <cassert>
#include <cstdio>
#include <initializer_list>

using anyzero::Pace;

namespace {

uint64_t after(std::initializer_list<uint64_t> measurements) {
  Pace pace;
  for (uint64_t each : measurements) pace.learn(each);
  return pace.value();
}

}  // namespace

int main() {
  Pace fresh;
  assert(fresh.value() == 0);
  fresh.learn(500);
  assert(fresh.value() == 500 && !fresh.settled());  // the first run may be a cold one
  fresh.learn(510);
  assert(fresh.value() == 500 && fresh.settled());

  assert(after({5000, 100}) == 100);               // a cold start
  assert(after({100, 100, 900'000, 100}) == 100);  // one disturbed run, however much
  assert(after({100, 100, 900'000}) == 100);
  for (uint64_t i = 0, seen = 0; i < 50; ++i, seen = after({100, 100, 7000 * i, 101, 9000, 99})) assert(seen <= 100);

  assert(after({100, 100, 5000, 4000}) == 4000);  // it has really become slower: the second run tells
  assert(after({100, 100, 4000, 900'000}) == 4000);
  assert(after({100, 100, 4000, 90}) == 90);
  assert(after({100, 100, 20}) == 20);  // faster is believed at once
  assert(after({100, 100, 80, 120, 110}) == 100);

  Pace doubtful;
  for (uint64_t each : {100, 100, 5000}) doubtful.learn(each);
  assert(!doubtful.settled());
  doubtful.learn(100);
  assert(doubtful.settled());
  std::puts("pace: ok");
  return 0;
}
