#include "second_stage.h"

#include <atomic>
#include <new>
#include <vector>

#include "../../exec/improvement.h"
#include "../../layouts/gen/module_requests.h"
#include "../../layouts/gen/planner.h"
#include "../../planning/request.h"
#include "../../system/mutex.h"
#include "../../system/thread.h"

namespace anyzero {

namespace {

// Failures in a row after which compilation in another process is given up.
constinit std::atomic<uint32_t> failures{0};

struct Thread {
  bool runs = false;
};

// In a forked child: the queue belongs to the parent, whose thread does not exist here.
const bool watching_forks = (at_fork_child([] { improvement_line().forget(); }), true);

// True if no attempt is left.
bool improve(Code& code, Improvement& improvement) {
  Reply reply;
  const uint64_t group = improvement.group.load(std::memory_order_relaxed);
  const auto [x, y, z] = Improvements::unpacked(group);
  const ImproveRequest request{code.facts().name, x, y, z, *code.improvements()->build};
  if (!ask_for_better_code(encoded(request), &reply, code.facts().name)) {
    failures.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  failures.store(0, std::memory_order_relaxed);
  BytesReply made;
  if (reply.status != ZE_RESULT_SUCCESS || !reply.read(&made)) return true;
  auto none = [](uint64_t, GlobalBlock*) { return false; };
  std::string reason;
  Code* better = Code::load(std::vector<unsigned char>(made.data.begin(), made.data.end()), code.globals(), none, &reason);
  if (better) group ? code.publish_for(improvement, better) : code.publish(better);
  return true;
}

// No caller waits for this thread, and it holds no lock while it waits, so a program may exit at any time.
void* run(void*) {
  for (;;) {
    Improvement& improvement = *improvement_line().take();
    Code* code = improvement.code;
    try {
      if (!improve(*code, improvement) && improvement.tries.fetch_add(1) + 1 < Improvement::kTries) {
        improvement.worked.store(0, std::memory_order_relaxed);
        improvement.asked.store(false, std::memory_order_relaxed);
      }
    } catch (const std::bad_alloc&) {
      // The kernel keeps its current code.
    }
    code->release();
  }
}

}  // namespace

bool can_improve() { return failures.load(std::memory_order_relaxed) < Improvement::kTries; }

void improve_when_it_pays(Code& code, std::shared_ptr<const std::string> build, bool provisional, bool fits) {
  static auto* thread = new Guarded<Thread>;  // leaked, as all that threads of ours use; anew in a forked child
  {
    auto open = thread->open();
    if (!open->runs) open->runs = start_thread(run, nullptr, "anyzero-stage2");
    if (!open->runs) return;
  }
  code.may_improve(std::move(build), provisional, fits);
}

}  // namespace anyzero
