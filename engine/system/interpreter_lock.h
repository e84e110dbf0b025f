// Python's interpreter lock, as far as the engine knows it: no thread holds it while it sleeps or helps. The only file that calls
// Python, planning/planner.cpp, implements this.
#pragma once

namespace anyzero {

// Gives up the interpreter's lock for as long as it lives, if the calling thread holds it. Where there is no Python it costs a look
// at the clock.
class GilPause {
 public:
  GilPause();
  ~GilPause() noexcept(false);  // a dying interpreter ends the thread here, by unwinding it
  GilPause(const GilPause&) = delete;
  GilPause& operator=(const GilPause&) = delete;

 private:
  void* state_;
};

}  // namespace anyzero
