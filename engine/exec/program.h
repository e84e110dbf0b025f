// A program: the recorded commands of a list. A list that is reset while a queue still runs it gets a new program.
#pragma once

#include <atomic>
#include <vector>

#include "overlap.h"
#include "stream.h"

namespace anyzero {

// Threading: written by one thread until sealed, then read by any number.
class Program {
 public:
  // `in_order`: for check mode, each of its commands is to begin when the one before is done.
  explicit Program(bool in_order = true) : in_order_(in_order) {}
  void retain() { users_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  bool shared() const { return users_.load(std::memory_order_acquire) > 1; }

  Stream& stream() { return stream_; }
  uint64_t count() const { return count_; }
  // Estimated nanoseconds. The times of kernels are measured as they run, so a short program is estimated again each time.
  uint64_t cost() const;
  // Resolves waits and signals whose ring positions differ in every execution: those of counting events and of commands of other
  // branches. Called when the program is about to be submitted to `ring`, behind `before` commands: each signal moves its event
  // there, and the target of each wait, in order, is written to `targets`. Returns the end of these. The last binary event gets its
  // ring position, so that its waiters can help. `branches`: the begin of each branch, for a graph.
  WaitFor* settle(Ring& ring, uint64_t before, WaitFor* targets, const Point* branches = nullptr) const;
  size_t settled_waits() const { return settled_waits_; }
  // The cost of all commands but launches, whose cost the kernels know.
  uint64_t cost_without_launches() const { return cost_; }
  void add_cost(uint64_t cost) { cost_ = cost > UINT64_MAX - cost_ ? UINT64_MAX : cost_ + cost; }

  // Adds the packet at the end of the stream, which acquires the objects it names.
  void added(Packet& packet, uint64_t cost) {
    hold(packet);
    added_held(packet, cost);
  }
  // The same for a packet that already holds the objects it names.
  void added_held(Packet& packet, uint64_t cost) {
    if (packet.n_waits || packet.signal) note_unsettled(packet, count_);
    if (names_next()) [[unlikely]]
      named_.back().packet = &packet;
    stream_.commit(packet.size);
    ++count_;
    if (packet.op == Op::Launch) {
      ++launches_;
    } else {
      add_cost(cost);
    }
  }

  // Makes the next packet mutable and returns its identifier; `may_change` are the mutable parts (ze_mutable_command_exp_flags_t).
  uint64_t name_next(uint32_t may_change);
  // True if the next packet has an identifier already.
  bool names_next() const { return !named_.empty() && !named_.back().packet; }
  struct Named {
    Packet* packet;  // nullptr until it is added
    uint32_t may_change;
  };
  // nullptr for an unknown identifier, or one without a command.
  const Named* named(uint64_t id) const;
  // Updates the program after a change of a packet's events.
  void events_changed();

  // Seals the program with relaxed ordering: commands that no event or barrier orders may run at the same time.
  void relax_order() {
    overlaps_ = find_overlaps({stream_.first(), 0}, count_);
    overlaps_any_ = !overlaps_.empty();
  }
  bool in_order() const { return in_order_; }
  // The overlap that begins with the command at that index.
  const Overlap* overlap_at(uint64_t command) const;
  bool overlaps() const { return overlaps_any_; }

  // Forgets every packet but keeps the memory. Only while the program has no other user.
  void clear();

 private:
  ~Program() {
    clear();
    stream_.free_from(stream_.first());
  }

  std::atomic<uint32_t> users_{1};
  Stream stream_;
  uint64_t count_ = 0;
  uint64_t cost_ = 0;  // without launches
  uint64_t launches_ = 0;
  const bool in_order_;
  bool overlaps_any_ = false;  // in the cache line of the count, which every step of an execution reads
  // A point that an execution has to resolve: a signal or a wait of a counting event, or a wait for a command of another branch.
  struct Unsettled {
    Event* event;
    bool signal;
    uint64_t command;   // index in the program, of a signal
    GraphPlace source;  // where there is no event
  };
  void note_unsettled(Packet& packet, uint64_t command);
  std::vector<Unsettled> unsettled_;
  Event* last_signal_ = nullptr;  // the last binary event, and the command that signals it
  uint64_t last_signal_at_ = 0;
  size_t settled_waits_ = 0;
  std::vector<Named> named_;
  std::vector<Overlap> overlaps_;  // by their first commands
};

}  // namespace anyzero
