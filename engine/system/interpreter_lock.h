// Python's GIL in the engine: no thread holds it while it sleeps or helps. planning/planner.cpp, the only file that calls Python,
// implements this.
#pragma once

namespace anyzero {

// Releases the GIL while it lives, if the calling thread holds it. Without Python it costs one read of the clock.
class GilPause {
 public:
  GilPause();
  ~GilPause() noexcept(false);  // an interpreter that is being finalized ends the thread here, by unwinding it
  GilPause(const GilPause&) = delete;
  GilPause& operator=(const GilPause&) = delete;

 private:
  void* state_;
};

}  // namespace anyzero
