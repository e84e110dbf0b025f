#include "connection.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include "../layouts/gen/frame.h"

namespace anyzero {

namespace {

constexpr uint64_t kLargest = uint64_t{1} << 32;
constexpr uint64_t kPatience = 60'000;     // milliseconds within which a started interpreter must send its first bytes
constexpr uint64_t kLongestSlice = 1'000;  // milliseconds after which a silent process is checked
constexpr const char* kGone =
    "the planning process ended before it answered; it may have been killed, or have run out of memory. The next call starts "
    "another";

}  // namespace

Connection::Connection(int descriptor, pid_t process, std::string program, uint64_t limit_ms)
    : descriptor_(descriptor),
      process_(process),
      program_(std::move(program)),
      limit_ms_(limit_ms),
      slice_ms_(limit_ms ? std::clamp<uint64_t>(limit_ms / 4, 1, kLongestSlice) : kLongestSlice),
      owner_(getpid()) {
  fstat(descriptor, &identity_);
  const timeval slice = {static_cast<time_t>(slice_ms_ / 1000), static_cast<suseconds_t>(slice_ms_ % 1000 * 1000)};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice);
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof slice);
}

Connection::~Connection() {
  if (ours()) close(descriptor_);
}

// Programs may close descriptors that they do not know, and reuse the number for a file of their own.
bool Connection::ours() const {
  struct stat found;
  return owner_ == getpid() && fstat(descriptor_, &found) == 0 && found.st_ino == identity_.st_ino &&
         found.st_dev == identity_.st_dev;
}

void Connection::abandon() {
  struct stat found;
  if (fstat(descriptor_, &found) == 0 && found.st_ino == identity_.st_ino && found.st_dev == identity_.st_dev) close(descriptor_);
}

bool Connection::alive() {
  // In a forked child: the connection belongs to the parent.
  if (owner_ != getpid()) return false;
  {
    std::lock_guard lock(mutex_);
    if (broken_) return false;
    if (reading_) return true;  // the reading thread will notice
  }
  char byte;
  return ours() && (recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0 || errno == EAGAIN || errno == EWOULDBLOCK);
}

bool Connection::send(uint32_t number, std::string_view function, std::string_view request) {
  Frame frame = {number, static_cast<uint32_t>(function.size()), function.size() + request.size()};
  iovec parts[] = {{&frame, sizeof frame},
                   {const_cast<char*>(function.data()), function.size()},
                   {const_cast<char*>(request.data()), request.size()}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 3;
  std::lock_guard lock(sending_);
  if (!ours()) return false;
  Vigil vigil(process_, limit_ms_);
  while (message.msg_iovlen) {
    ssize_t sent = sendmsg(descriptor_, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (give_up(vigil.pass(slice_ms_))) return false;
      continue;
    }
    if (sent < 0) return false;
    while (message.msg_iovlen && static_cast<size_t>(sent) >= message.msg_iov->iov_len) {
      sent -= static_cast<ssize_t>(message.msg_iov->iov_len);
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (!message.msg_iovlen) break;
    message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + sent;
    message.msg_iov->iov_len -= static_cast<size_t>(sent);
  }
  return true;
}

bool Connection::tell(std::string_view function, std::string_view request) { return send(0, function, request); }

// Ends the process after the time limit, and records the reason.
bool Connection::give_up(Vigil::Verdict verdict) {
  if (verdict == Vigil::Verdict::Alive) return false;
  process_.kill();
  std::lock_guard lock(mutex_);
  stopped_ = verdict == Vigil::Verdict::Stopped;
  given_up_ = std::string("the planning process ") +
              (stopped_ ? "was stopped from outside and not continued" : "neither answered nor used the processor") + " for " +
              std::to_string((limit_ms_ + 999) / 1000) +
              " s (ANYZERO_PLANNER_TIMEOUT), and was ended. The next call starts another";
  return true;
}

bool Connection::receive(void* to, size_t size) {
  auto* at = static_cast<char*>(to);
  Vigil vigil(process_, limit_ms_);
  uint64_t waited = 0;
  while (size) {
    ssize_t got = recv(descriptor_, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (give_up(vigil.pass(slice_ms_))) return false;
      if (greeted_ || (waited += slice_ms_) < kPatience) continue;
      // The program may not be an interpreter at all.
      process_.kill();
      std::lock_guard lock(mutex_);
      last_word_ = program_ + " has not answered for a minute";
      return false;
    }
    if (got <= 0) {
      std::lock_guard lock(mutex_);
      reset_ = got < 0 && errno == ECONNRESET;
      return false;
    }
    greeted_ = true;
    at += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

// Called by the reading thread only.
bool Connection::read_one() {
  Frame frame;
  if (!ours() || !receive(&frame, sizeof frame) || frame.size > kLargest) return false;
  std::string bytes(frame.size, '\0');
  if (!receive(bytes.data(), bytes.size())) return false;
  std::lock_guard lock(mutex_);
  if (frame.number == 0) {
    last_word_ = std::move(bytes);
    return false;
  }
  spoke_ = true;
  if (auto found = calls_.find(frame.number); found != calls_.end())
    finish(*found->second, frame.kind == static_cast<uint32_t>(FrameKind::Reply) ? Outcome::Answered : Outcome::Refused,
           std::move(bytes));
  return true;
}

// With the mutex held. Once it is released, the caller may have returned.
void Connection::finish(Call& call, Outcome outcome, std::string bytes) {
  call.outcome = outcome;
  call.bytes = std::move(bytes);
  call.done = true;
  call.bell.store(1, std::memory_order_release);
  futex_wake(&call.bell, 1);
}

// With the mutex held.
void Connection::wake_a_reader() {
  for (auto& [number, call] : calls_)
    if (!call->done) {
      call->bell.fetch_add(2, std::memory_order_release);
      futex_wake(&call->bell, 1);
      return;
    }
}

void Connection::break_off(std::string reason) {
  std::lock_guard lock(mutex_);
  broken_ = true;
  if (!given_up_.empty())
    reason = given_up_;
  else if (!spoke_)
    reason = last_word_.empty() ? program_ + " ended without an answer" : last_word_;
  const Outcome outcome = stopped_ ? Outcome::Unheard : !spoke_ ? Outcome::Useless : reset_ ? Outcome::Unheard : Outcome::Broken;
  for (auto& [number, call] : calls_)
    if (!call->done) finish(*call, outcome, reason);
}

// Registers a call while its thread waits for it. If the thread fails in between, for lack of memory, other calls continue.
class Connection::Waiting {
 public:
  explicit Waiting(Connection& connection) : connection_(connection) {
    std::lock_guard lock(connection.mutex_);
    if (++connection.last_ == 0) ++connection.last_;
    number_ = connection.last_;
    connection.calls_[number_] = &call;
  }
  ~Waiting() {
    std::lock_guard lock(connection_.mutex_);
    connection_.calls_.erase(number_);
    // The stream ended in the middle of a frame, so the begin of the next one is unknown.
    if (std::exchange(reads_, false)) {
      connection_.reading_ = false;
      connection_.broken_ = true;
      for (auto& [number, each] : connection_.calls_)
        if (!each->done) connection_.finish(*each, Outcome::Broken, kGone);
    }
    if (!connection_.reading_) connection_.wake_a_reader();
  }

  // Waits until the call is done. One of the waiting threads reads for all.
  void wait() {
    for (;;) {
      uint32_t seen;
      {
        std::lock_guard lock(connection_.mutex_);
        if (call.done) return;
        seen = call.bell.load(std::memory_order_acquire);
        if (!connection_.reading_) reads_ = connection_.reading_ = true;
      }
      if (!reads_) {
        FutexWord word{&call.bell, seen};
        futex_sleep_any(&word, 1, kForever);
        continue;
      }
      const bool good = connection_.read_one();
      {
        std::lock_guard lock(connection_.mutex_);
        reads_ = connection_.reading_ = false;
      }
      if (!good) connection_.break_off(kGone);
    }
  }

  uint32_t number() const { return number_; }
  Call call;

 private:
  Connection& connection_;
  uint32_t number_;
  bool reads_ = false;
};

Connection::Outcome Connection::ask(std::string_view function, std::string_view request, std::string* answer, std::string* reason) {
  Waiting waiting(*this);
  // Even if the request cannot be sent, there may be a final message to read.
  const bool sent = send(waiting.number(), function, request);
  if (!sent && !ours()) break_off("the program has closed the socket to its planning process. The next call starts another");
  waiting.wait();
  if (!sent && waiting.call.outcome == Outcome::Broken) waiting.call.outcome = Outcome::Unheard;
  if (waiting.call.outcome == Outcome::Answered)
    *answer = std::move(waiting.call.bytes);
  else
    *reason = std::move(waiting.call.bytes);
  return waiting.call.outcome;
}

}  // namespace anyzero
