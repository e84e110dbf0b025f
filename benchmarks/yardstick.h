// The hand-written copies and fills that ours are held against: what the memory gives to two threads that write past the caches.
#pragma once

#include <cstddef>

namespace bench {

// Two threads of which the second sleeps between calls, so that it takes no processor from the others' turns.
class TwoThreads {
 public:
  TwoThreads();
  ~TwoThreads();
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;

  // Wakes the second thread and returns when it is ready to begin at once.
  void arm();
  void copy(void* to, const void* from, size_t size);
  void fill(void* to, unsigned char value, size_t size);

 private:
  struct Shared;
  Shared* shared_;
};

}  // namespace bench
