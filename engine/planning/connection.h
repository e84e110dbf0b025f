// The connection to a planning process: many threads send requests at once, and answers come in any order.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "../system/mutex.h"
#include "watched_process.h"

namespace anyzero {

// Frames, in both directions: u32 number; u32 kind; u64 size; the bytes. A request's kind is the length of the function's name,
// which its bytes begin with; request number 0 has no answer. An answer's kind is 0, or 1 for a failure, whose bytes are the
// reason; answer number 0 is the final message of a process that cannot serve. Threading: any thread. Belongs to the process that
// made it; in a forked child it counts as broken.
class Connection {
 public:
  // A process that is silent and idle for so long is ended; 0 for never.
  Connection(int descriptor, pid_t process, std::string program, uint64_t limit_ms);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  enum class Outcome { Answered, Refused, Broken, Unheard, Useless };
  // Waits for the answer, with no lock held. Refused: the function failed, with a reason. Broken: the process has ended. Unheard:
  // it ended before it read the request, or was stopped from outside, so another one may be asked. Useless: it ended without ever
  // having answered.
  Outcome ask(std::string_view function, std::string_view request, std::string* answer, std::string* reason);

  // Sends a request without an answer, which the process handles before any later request.
  bool tell(std::string_view function, std::string_view request);

  // True if the connection seems usable, as far as it is known without a request.
  bool alive();

  // In a forked child, from the fork handler: closes the descriptor, so that the connection ends with the parent.
  void abandon();

 private:
  struct Call {
    std::atomic<uint32_t> bell{0};
    bool done = false;
    Outcome outcome = Outcome::Broken;
    std::string bytes;
  };
  class Waiting;
  friend class Waiting;

  bool ours() const;
  bool send(uint32_t number, std::string_view function, std::string_view request);
  bool receive(void* to, size_t size);
  bool give_up(Vigil::Verdict verdict);
  bool read_one();
  void finish(Call& call, Outcome outcome, std::string bytes);
  void wake_a_reader();
  void break_off(std::string reason);

  const int descriptor_;
  const WatchedProcess process_;
  const std::string program_;
  const uint64_t limit_ms_, slice_ms_;
  const pid_t owner_;
  struct stat identity_ = {};
  bool greeted_ = false;  // has anything been received?

  Mutex sending_;
  Mutex mutex_;  // guards what follows
  uint32_t last_ = 0;
  bool reading_ = false;
  bool broken_ = false;
  bool spoke_ = false;    // has it answered anything?
  bool reset_ = false;    // did it end with unread requests?
  bool stopped_ = false;  // was it ended because it had been stopped from outside?
  std::string given_up_;  // why it was ended
  std::string last_word_;
  std::map<uint32_t, Call*> calls_;
};

}  // namespace anyzero
