// Requests to the planner and its replies: messages that spec/layouts.toml describes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../abi/gen/ze_api.h"
#include "../layouts/bytes.h"

namespace anyzero {

// Owns its bytes, which texts of messages point into.
class Reply {
 public:
  Reply() = default;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  ze_result_t status = ZE_RESULT_ERROR_UNKNOWN;
  uint32_t origin = 0;  // a ReplyOrigin
  std::string log;

  // Reads the next message; false if the bytes are damaged. Only a successful reply has messages.
  template <class Message>
  bool read(Message* to) {
    ByteReader reader(rest_);
    decode(reader, *to);
    rest_ = reader.rest();
    return reader.good();
  }
  // Everything that has not been read yet.
  std::string_view rest() const { return rest_; }

 private:
  friend void ask_planner(const char* function, std::string_view request, Reply* reply, std::string_view kernel);
  friend bool ask_for_better_code(std::string_view request, Reply* reply, std::string_view kernel);
  void read_head();

  std::string bytes_;
  std::string_view rest_;
};

// The bytes of a request.
template <class Message>
std::string encoded(const Message& request) {
  ByteWriter bytes;
  encode(bytes, request);
  return bytes.done();
}

// Calls anyzero.driver.modules.requests.`function`, or that of another package of anyzero.driver by `package.function`. The reply
// has a status and a log in any case. The caller must hold no lock: this acquires the GIL. `kernel` is the subject, for recordings.
void ask_planner(const char* function, std::string_view request, Reply* reply, std::string_view kernel = {});

// Lets another process, which has no plans, compile the second stage of a kernel, whichever Python plans. Waits, but not for the
// GIL. False if that process ended without a reply, or cannot be started.
bool ask_for_better_code(std::string_view request, Reply* reply, std::string_view kernel);

// Releases a module's plan. The planner is not called, because its process may have ended: the next request carries it.
void release_plan(uint64_t plan);

}  // namespace anyzero
