#include "openvino.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string_view>

#include "../system/clock.h"
#include "../system/mutex.h"
#include "../system/settings.h"
#include "../system/thread.h"

namespace anyzero {

namespace {

constexpr const char* kRemedy = "install it with: pip install 'anyzero[npu]'";

// Leaked, like everything that engine threads may touch during exit.
std::atomic<const OpenVino*> opened{nullptr};
uint32_t opened_in = 0;  // the fork generation

// Threads that are inside the library. A request is stored so that it can be cancelled; other calls store one of the marks.
constexpr size_t kSeats = 256;
struct alignas(64) Seat {
  std::atomic<OpenVino::Request*> request{nullptr};
};
Seat seats[kSeats];
std::atomic<bool> closed{false};
OpenVino::Request* const kNoRequest = reinterpret_cast<OpenVino::Request*>(1);
OpenVino::Request* const kSettingUp = reinterpret_cast<OpenVino::Request*>(2);
std::atomic<bool> set_up{false};  // true once a model has been compiled
std::atomic<int> faulted{0};      // the signal
thread_local int own_seat __attribute__((tls_model("initial-exec"))) = -1;

bool forked_since() { return fork_generation.load(std::memory_order_relaxed) != opened_in; }

template <class F>
size_t each_other_seat(F&& look) {
  size_t taken = 0;
  for (int i = 0; i < static_cast<int>(kSeats); ++i)
    if (OpenVino::Request* request = seats[i].request.load(std::memory_order_seq_cst); request && i != own_seat) {
      ++taken;
      look(request);
    }
  return taken;
}

// Ends the process without running further exit handlers.
[[noreturn]] void leave(int status) {
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(status);
}

// Waits for short inferences, so that their results are written; cancels long ones.
void close_gate(int status, void*) {
  constexpr uint64_t kPatience = 1'000'000'000, kLimit = 5'000'000'000;
  constexpr timespec kPause = {0, 200'000};
  if (closed.exchange(true) || forked_since()) return;
  if (OpenVinoCall::given_up()) leave(status);  // the library's destructors may wait for locks that are never released
  const uint64_t begin = now_ns();
  bool cancelled = false;
  for (;;) {
    bool setting_up = false;
    if (each_other_seat([&](OpenVino::Request* request) { setting_up |= request == kSettingUp; }) == 0) return;
    // Either the library is being loaded or compiles for the first time: it has registered destructors after this gate, and those
    // have already run. Or a model takes long to compile, which cannot be cancelled. Waiting or returning would crash.
    const uint64_t waited = now_ns() - begin;
    if (setting_up || waited > kLimit) leave(status);
    if (!cancelled && waited > kPatience) {
      cancelled = true;
      // No request is freed from now on: a thread that leaves its seat is not admitted again to free it.
      each_other_seat([&](OpenVino::Request* request) {
        if (request != kNoRequest) opened.load(std::memory_order_acquire)->cancel(request);
      });
    }
    nanosleep(&kPause, nullptr);
  }
}

void register_gate() {
  constexpr uint32_t kEnough = 64;
  static std::atomic<uint32_t> times{0};
  if (times.load(std::memory_order_relaxed) < kEnough && times.fetch_add(1) < kEnough) on_exit(close_gate, nullptr);
}

}  // namespace

void close_gate_first() {
  set_up.store(true, std::memory_order_relaxed);
  register_gate();
}

OpenVinoCall::OpenVinoCall(OpenVino::Request* request) : entered_(false) {
  if (forked_since()) return;
  OpenVino::Request* const mark = request ? request : set_up.load(std::memory_order_relaxed) ? kNoRequest : kSettingUp;
  // A thread tries its previous seat first, which is usually free.
  static std::atomic<uint32_t> next{0};
  thread_local uint32_t usual __attribute__((tls_model("initial-exec"))) = UINT32_MAX;
  if (usual == UINT32_MAX) usual = next.fetch_add(1, std::memory_order_relaxed) % kSeats;
  for (uint32_t tries = 0;; ++tries) {
    OpenVino::Request* free = nullptr;
    const uint32_t i = (usual + tries) % kSeats;
    if (seats[i].request.compare_exchange_strong(free, mark, std::memory_order_seq_cst)) {
      seat_ = static_cast<int>(i);
      break;
    }
    if (tries >= kSeats) relax_long(tries);
  }
  // The seat is stored before the gate is read; the thread that closes the gate does the opposite. So one of the two sees the
  // other.
  if (closed.load(std::memory_order_seq_cst) || given_up()) {
    seats[seat_].request.store(nullptr, std::memory_order_release);
    seat_ = -1;
    return;
  }
  entered_ = true;
  outer_ = own_seat;
  own_seat = seat_;
}

OpenVinoCall::~OpenVinoCall() {
  if (!entered_) return;
  own_seat = outer_;
  seats[seat_].request.store(nullptr, std::memory_order_release);
}

void OpenVinoCall::give_up(const Fault& fault) { faulted.store(fault.signal, std::memory_order_relaxed); }

bool OpenVinoCall::given_up() { return faulted.load(std::memory_order_relaxed) != 0; }

std::string OpenVinoCall::refusal() {
  if (forked_since())
    return "OpenVINO was loaded before this process was forked, and its threads do not exist in the child; start a new process "
           "instead "
           "(multiprocessing: the start method \"spawn\")";
  if (given_up())
    return "a model made OpenVINO " + std::string(faulted == SIGFPE ? "divide by zero" : "use bad memory") +
           ", so it can no longer be used in this process; restart the process without that model";
  return "the process is ending";
}

std::string OpenVino::explain(Status status) const {
  // The text is per process, not per thread: of two concurrent failures one may get the other's text.
  const char* text = last_error();
  const std::string_view all = text ? text : "";
  std::string kept;
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find('\n', at), all.size());
    const std::string_view line = all.substr(at, end - at);
    at = end + 1;
    // The position in the library's sources does not help users.
    if (line.empty() || line.starts_with("Exception from ")) continue;
    if (!kept.empty()) kept += '\n';
    kept += line;
  }
  if (text) free_text(text);
  if (!kept.empty()) return kept;
  const char* known = error_info(status);
  return "OpenVINO's status " + std::to_string(status) + (known ? std::string(" (") + known + ")" : "");
}

const OpenVino* OpenVino::open(std::string* reason) {
  static Mutex mutex;
  const OpenVino* library = opened.load(std::memory_order_acquire);
  if (!library) {
    TrapPause not_device_work;
    std::lock_guard lock(mutex);
    library = opened.load(std::memory_order_acquire);
    if (!library) {
      auto* fresh = new OpenVino;
      if (!fresh->load(settings.openvino, reason)) {
        delete fresh;
        return nullptr;
      }
      opened.store(library = fresh, std::memory_order_release);
    }
  }
  if (!forked_since()) return library;
  *reason = OpenVinoCall::refusal();
  return nullptr;
}

bool OpenVino::load(const std::string& path, std::string* reason) {
  if (path.empty()) {
    reason->assign("OpenVINO, which compiles and runs graphs, is not installed; ").append(kRemedy);
    return false;
  }
  opened_in = fork_generation.load(std::memory_order_relaxed);
  register_gate();
  OpenVinoCall call;
  if (!call) {
    *reason = OpenVinoCall::refusal();
    return false;
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char* why = dlerror();
    *reason = "OpenVINO's C library cannot be loaded (" + std::string(why ? why : path) + "); " + kRemedy;
    return false;
  }
  const char* missing = nullptr;
  auto find = [&](auto& function, const char* name) {
    void* found = dlsym(library, name);
    if (!found && !missing) missing = name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  find(get_version, "ov_get_openvino_version");
  find(version_free, "ov_version_free");
  find(error_info, "ov_get_error_info");
  find(last_error, "ov_get_last_err_msg");
  find(free_text, "ov_free");
  find(core_create, "ov_core_create");
  find(read_model, "ov_core_read_model_from_memory_buffer");
  find(compile_model, "ov_core_compile_model");
  find(export_model, "ov_compiled_model_export_model");
  find(import_model, "ov_core_import_model");
  find(model_free, "ov_model_free");
  find(inputs_size, "ov_model_inputs_size");
  find(outputs_size, "ov_model_outputs_size");
  find(input_port, "ov_model_const_input_by_index");
  find(output_port, "ov_model_const_output_by_index");
  find(port_type, "ov_port_get_element_type");
  find(port_shape, "ov_port_get_partial_shape");
  find(port_free, "ov_output_const_port_free");
  find(partial_shape_free, "ov_partial_shape_free");
  find(compiled_inputs_size, "ov_compiled_model_inputs_size");
  find(compiled_outputs_size, "ov_compiled_model_outputs_size");
  find(compiled_input_port, "ov_compiled_model_input_by_index");
  find(compiled_output_port, "ov_compiled_model_output_by_index");
  find(compiled_free, "ov_compiled_model_free");
  find(create_request, "ov_compiled_model_create_infer_request");
  find(request_free, "ov_infer_request_free");
  find(set_input, "ov_infer_request_set_input_tensor_by_index");
  find(set_output, "ov_infer_request_set_output_tensor_by_index");
  find(get_input, "ov_infer_request_get_input_tensor_by_index");
  find(get_output, "ov_infer_request_get_output_tensor_by_index");
  find(infer, "ov_infer_request_infer");
  find(cancel, "ov_infer_request_cancel");
  find(profile, "ov_infer_request_get_profiling_info");
  find(profile_free, "ov_profiling_info_list_free");
  find(tensor_over, "ov_tensor_create_from_host_ptr");
  find(tensor_data, "ov_tensor_data");
  find(tensor_shape, "ov_tensor_get_shape");
  find(shape_free, "ov_shape_free");
  find(tensor_free, "ov_tensor_free");
  if (missing) {
    *reason = path + " has no " + missing + ": it is too old, or not OpenVINO's C library; " + kRemedy;
    return false;
  }
  register_gate();
  Version version{};
  if (get_version(&version) == 0) {
    version_ = version.number ? version.number : "";
    version_free(&version);
  }
  if (Status status = core_create(&core_)) {
    *reason = "OpenVINO " + version_ + " does not start: " + explain(status);
    return false;
  }
  return true;
}

}  // namespace anyzero
