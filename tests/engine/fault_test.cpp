// Faults in device work, on every thread that may run it, and other contexts, which must not be affected.
#include <signal.h>
#include <sys/mman.h>

#include "exec/pool.h"
#include "exec/trap.h"
#include "scene.h"
#include "system/settings.h"

using namespace scene;

// The engine's handler comes before the sanitizer's, and what lies behind a fault is not run to its end.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() { return "allow_user_segv_handler=1:detect_leaks=0:handle_segv=1"; }
#endif

namespace {

auto* const kNowhere = reinterpret_cast<unsigned char*>(0x7000'0000'1000);

// The sanitizers check the addresses of memcpy and friends before they use them; plain loads they leave to us.
[[gnu::noinline, gnu::no_sanitize("address", "thread", "undefined")]] void touch(const volatile unsigned char* at) { (void)*at; }

void traps_nest() {
  using namespace anyzero;
  int reached = 0;
  Fault outer = trapped([&] {
    Fault inner = trapped([&] { touch(kNowhere); });
    assert(inner.signal == SIGSEGV && inner.address == reinterpret_cast<uintptr_t>(kNowhere));
    ++reached;
    touch(kNowhere + 8);
    ++reached;
  });
  assert(outer.signal == SIGSEGV && outer.address == reinterpret_cast<uintptr_t>(kNowhere) + 8 && reached == 1);
  assert(trapped([] {}).signal == 0);
}

// A fault in one chunk of many, on whichever thread: the caller learns of it, once, after all chunks are over.
void faults_in_the_pool() {
  using namespace anyzero;
  struct Job {
    std::atomic<int> ran{0};
    uint32_t bad;
  };
  for (uint32_t bad = 0; bad < 40; ++bad) {
    Job job{.bad = bad};
    Fault fault = trapped([&] {
      parallel(
          40,
          [](void* argument, uint32_t chunk) {
            auto& job = *static_cast<Job*>(argument);
            ++job.ran;
            if (chunk == job.bad) touch(kNowhere + chunk);
          },
          &job);
    });
    assert(fault.signal == SIGSEGV && fault.address == reinterpret_cast<uintptr_t>(kNowhere) + bad);
    assert(job.ran >= 1 && job.ran <= 40);
  }
}

// Each command has an address of its own: two threads that write to the same one are a race, also where nothing is.
unsigned char* somewhere_bad() {
  static std::atomic<size_t> next{0};
  return kNowhere + 64 * next++;
}

void bad_command(ze_command_list_handle_t list, ze_event_handle_t signal, ze_event_handle_t wait) {
  uint32_t waits = wait ? 1 : 0;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // The interceptors of memset and memcpy report bad addresses themselves, before any fault. A timestamp is a plain store.
  zeCommandListAppendWriteGlobalTimestamp(list, reinterpret_cast<uint64_t*>(somewhere_bad()), signal, waits, &wait);
#else
  unsigned char value = 1;
  zeCommandListAppendMemoryFill(list, somewhere_bad(), &value, 1, 1 << 20, signal, waits, &wait);
#endif
}

// Queues die one after another, on both engines and from many threads; the neighbours' results stay right.
void neighbours(Scene& scene) {
  threads(4, [&](int index) {
    Scene mine = scene;
    mine.context = scene.new_context();
    ze_command_list_handle_t good = mine.immediate(index % 2);
    unsigned char* row = mine.memory(4096);
    for (int i = 0; i < 20; ++i) {
      Scene doomed = scene;
      doomed.context = scene.new_context();
      ze_command_list_handle_t bad = doomed.immediate(static_cast<uint32_t>(i % 2));
      auto events = doomed.events(3);
      bad_command(bad, events[1], events[0]);
      barrier(bad, events[2], {});
      fill(good, row, static_cast<unsigned char>(i), 4096);
      OK(zeEventHostSignal(events[0]));
      assert(zeEventHostSynchronize(events[2], kSoon) == ZE_RESULT_ERROR_DEVICE_LOST);
      assert(zeEventHostSynchronize(events[1], kSoon) == ZE_RESULT_ERROR_DEVICE_LOST);
      assert(zeCommandListHostSynchronize(bad, kSoon) == ZE_RESULT_ERROR_DEVICE_LOST);
      assert(zeContextGetStatus(doomed.context) == ZE_RESULT_ERROR_DEVICE_LOST);
      OK(zeCommandListHostSynchronize(good, kSoon));
      assert(all(row, static_cast<unsigned char>(i), 4096));
      OK(zeCommandListDestroy(bad));
      for (ze_event_handle_t event : events) OK(zeEventDestroy(event));
      OK(zeContextDestroy(doomed.context));
    }
    OK(zeContextGetStatus(mine.context));
  });
}

// A line of queues, each waiting for the one before it: the loss of the first goes through all of them.
void losses_travel(Scene& scene) {
  constexpr uint32_t kLine = 30;
  Scene doomed = scene;
  doomed.context = scene.new_context();
  auto events = doomed.events(kLine + 1);
  std::vector<ze_command_list_handle_t> lists;
  for (uint32_t i = 0; i < kLine; ++i) lists.push_back(doomed.immediate(i % 2));
  for (uint32_t i = kLine; i-- > 1;) barrier(lists[i], events[i + 1], {events[i]});
  bad_command(lists[0], events[1], events[0]);
  OK(zeEventHostSignal(events[0]));
  assert(zeEventHostSynchronize(events[kLine], kSoon) == ZE_RESULT_ERROR_DEVICE_LOST);
  for (ze_command_list_handle_t list : lists) assert(zeCommandListHostSynchronize(list, kSoon) == ZE_RESULT_ERROR_DEVICE_LOST);
}

}  // namespace

int main() {
  Scene scene;
  anyzero::settings.log_level = 0;  // the losses are the point; nobody need read of each
  traps_nest();
  faults_in_the_pool();
  neighbours(scene);
  losses_travel(scene);
  std::puts("fault_test: ok");
  return 0;
}
