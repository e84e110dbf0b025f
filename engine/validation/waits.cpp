// A wait can never end when all queues that could end it are stuck and no thread of the program is left to submit or signal
// anything. Queues are played through from where they are: each goes on as far as its waits allow.
#include "waits.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../abi/handle.h"
#include "../check/address_text.h"
#include "../check/finding.h"
#include "../exec/bounds.h"
#include "../exec/program.h"
#include "../objects/sync/event.h"
#include "../objects/sync/fence.h"
#include "callers.h"
#include "commands.h"

namespace anyzero {

namespace {

struct Waiting {
  const void* event = nullptr;
  uint64_t queue = 0;
  uint64_t position = 0;
  bool over = false;
  bool unsure = false;
};

struct Command {
  std::string text;
  const void* signals = nullptr;
  uint64_t position = 0;
  bool unsure = false;  // what it does is unknown: it may signal anything
  std::vector<Waiting> waits;
};

struct Queue {
  std::vector<Command> commands;
  size_t next = 0;
  uint64_t reached = 0;
};

using Queues = std::map<uint64_t, Queue>;

Waiting waiting_for(const WaitFor& wait) {
  Waiting made;
  const Awaited what = awaited(wait);
  made.over = !what.signal || what.signal->state(what.target) != Signal::State::Pending;
  if (wait.event) {
    made.event = wait.event;
    made.unsure = wait.event->shared();
  } else if (wait.point.ring) {
    made.queue = wait.point.ring->number();
    made.position = wait.point.position;
  }
  return made;
}

// `used`: how many of its targets the command has.
Command command_of(const SubmittedCommand& submitted, const Ring& ring, uint32_t* used) {
  const Packet& packet = submitted.packet;
  Command command;
  command.position = submitted.position;
  command.text = command_text(packet, ring, submitted.position);
  command.signals = packet.signal;
  if (packet.op == Op::SignalFence) command.signals = static_cast<const SignalFencePacket&>(packet).fence;
  command.unsure = packet.op == Op::HostFunction || packet.op == Op::AwaitSemaphores;
  const WaitFor* targets = submitted.targets;
  for (uint32_t i = 0; i < packet.n_waits; ++i) command.waits.push_back(waiting_for(settled(packet.waits()[i], &targets)));
  *used = static_cast<uint32_t>(targets - submitted.targets);
  return command;
}

// False when a queue is at work, so that it is not stuck yet.
bool read(Driver& driver, Queues* queues) {
  for (RingPoint& point : busy_rings(driver)) {
    Ring& ring = point.ring();
    Queue queue;
    queue.reached = ring.completed().value.load(std::memory_order_acquire);
    const auto look = [&](const SubmittedCommand& each) {
      uint32_t used = 0;
      queue.commands.push_back(command_of(each, ring, &used));
      return used;
    };
    if (!ring.each_upcoming(look)) return false;
    (*queues)[ring.number()] = std::move(queue);
  }
  return true;
}

class Play {
 public:
  explicit Play(Queues& queues) : queues_(queues) {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [number, queue] : queues_)
        while (queue.next < queue.commands.size() && !blocker(queue)) {
          const Command& command = queue.commands[queue.next++];
          unsure_ = unsure_ || command.unsure;
          if (command.signals) signalled_.insert(command.signals);
          queue.reached = std::max(queue.reached, command.position);
          moved = true;
        }
    }
  }

  bool unsure() const { return unsure_; }
  bool ends(const Awaiting& what) const {
    if (what.object) return signalled_.contains(what.object);
    const auto found = queues_.find(what.queue);
    return found == queues_.end() || found->second.reached >= what.position;
  }
  // The wait that keeps the next command of a queue from running.
  const Waiting* blocker(const Queue& queue) {
    for (const Waiting& wait : queue.commands[queue.next].waits) {
      if (wait.over || (wait.event && signalled_.contains(wait.event))) continue;
      if (wait.unsure) {
        unsure_ = true;
        continue;
      }
      const auto found = queues_.find(wait.queue);
      if (!wait.event && (found == queues_.end() || found->second.reached >= wait.position)) continue;
      return &wait;
    }
    return nullptr;
  }

 private:
  Queues& queues_;
  std::set<const void*> signalled_;
  bool unsure_ = false;
};

// The command of a stuck queue that would signal the event.
const Command* signaller(const Queues& queues, const void* event) {
  for (const auto& [number, queue] : queues)
    for (size_t i = queue.next; i < queue.commands.size(); ++i)
      if (queue.commands[i].signals == event) return &queue.commands[i];
  return nullptr;
}

std::string object_text(const void* object) {
  const char* kind = checked<Fence>(object) ? "fence " : "event ";
  const std::string made = where_made(object);
  return kind + address_text(object) + (made.empty() ? "" : " (" + made.substr(2) + ")");
}

// The wait-for graph: each stuck queue with what it waits for.
std::string graph(const Queues& queues, Play& play, bool* cycle) {
  std::string text;
  *cycle = false;
  for (const auto& [number, queue] : queues) {
    if (queue.next == queue.commands.size()) continue;
    const Waiting* wait = play.blocker(queue);
    if (!wait) continue;
    text += text.empty() ? "" : "; ";
    text += queue.commands[queue.next].text + " waits for ";
    const Command* source = wait->event ? signaller(queues, wait->event) : nullptr;
    if (wait->event) {
      text += object_text(wait->event) + (source ? ", which only " + source->text + " signals" : ", which nothing signals");
    } else {
      text += "command " + std::to_string(wait->position) + " of queue " + std::to_string(wait->queue);
    }
    *cycle = *cycle || source || !wait->event;
  }
  return text;
}

void report_stuck(const Queues& queues, Play& play, const Awaiting& what) {
  bool cycle;
  std::string stuck = graph(queues, play, &cycle);
  const Command* source = what.object ? signaller(queues, what.object) : nullptr;
  const Rule rule = cycle ? Rule::EventCycle : Rule::WaitNeverEnds;
  const uint64_t place = CallPlace().number;
  if (seen(rule, place)) return;
  std::string message = "the host waits for ";
  message += what.object ? object_text(what.object)
                         : "command " + std::to_string(what.position) + " of queue " + std::to_string(what.queue);
  message += source        ? ", which " + source->text + " would signal, but its queue is stuck"
             : what.object ? ", which nothing signals"
                           : ", which is stuck";
  report({rule, place, message, "", "", "", "", stuck});
}

}  // namespace

ze_result_t wait_if_it_can_end(Driver& driver, const Awaiting& what, const std::function<ze_result_t(uint64_t)>& wait) {
  // Nothing depends on this time but how soon a report comes: whether a wait can end is seen from the queues.
  constexpr uint64_t kBetweenLooks = 50'000'000;
  // Most waits are short: other threads need not know of them.
  if (wait(kBetweenLooks) != ZE_RESULT_NOT_READY) return ZE_RESULT_SUCCESS;
  if (!what.object && host_function_queue && what.queue == host_function_queue) {
    const uint64_t place = CallPlace().number;
    if (!seen(Rule::WaitNeverEnds, place))
      report({Rule::WaitNeverEnds, place, "a host function waits for its own queue, which goes on when the function has returned",
              "", "", "", "", ""});
    return ZE_RESULT_NOT_READY;
  }
  WaitingCaller waiting;
  for (;;) {
    const ze_result_t result = wait(kBetweenLooks);
    if (result != ZE_RESULT_NOT_READY) return ZE_RESULT_SUCCESS;
    if (what.unsure || another_thread_may_act()) continue;
    Queues queues;
    if (!read(driver, &queues)) continue;
    Play play(queues);
    if (play.unsure() || play.ends(what)) continue;
    // Another thread may have come while the queues were read.
    if (another_thread_may_act() || wait(0) != ZE_RESULT_NOT_READY) continue;
    report_stuck(queues, play, what);
    return ZE_RESULT_NOT_READY;
  }
}

namespace {

// The waits in other calls: of synchronous lists and queues, for a device, in front of a free.
[[gnu::constructor]] void observe_waits() {
  endless_wait_observer.store([](Ring& ring, uint64_t position) {
    const Awaiting what{nullptr, ring.number(), position};
    return wait_if_it_can_end(ring.context().driver(), what, [&](uint64_t time) { return ring.wait(position, time); });
  });
}

}  // namespace

}  // namespace anyzero
