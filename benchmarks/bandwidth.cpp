#include "bandwidth.h"

#include <cstring>
#include <memory>

#include "yardstick.h"

namespace bench {

namespace {

constexpr size_t kLarge = size_t{64} << 20;
constexpr size_t kLine = 64;

// A word here and there that differs from turn to turn: bytes that arrived in an earlier turn cannot pass for this one's.
constexpr size_t kStride = size_t{16} << 10;

struct Pair {
  unsigned char* to;
  unsigned char* from;

  // Touched once, or the first copy would measure the kernel handing out pages.
  void touch() const {
    std::memset(to, 1, kLarge);
    for (size_t i = 0; i < kLarge; ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 4096);
  }
  void stamp() const {
    static uint64_t turn = 0;
    ++turn;
    for (size_t at = 0; at < kLarge; at += kStride) {
      uint64_t word = turn << 32 | at;
      std::memcpy(from + at, &word, sizeof word);
    }
  }
  void check_stamps() const {
    for (size_t at = 0; at < kLarge; at += kStride)
      if (std::memcmp(to + at, from + at, sizeof(uint64_t)) != 0) give_up_at(at);
  }
  // A fill: spoil what is there, then look whether it is gone.
  void spoil() const {
    for (size_t at = 0; at < kLarge; at += kStride) to[at] = static_cast<unsigned char>(~kFill);
  }
  void check_fill() const {
    for (size_t at = 0; at < kLarge; at += kStride)
      if (to[at] != kFill) give_up_at(at);
  }
  void free(const Rig& rig) const {
    rig.free(to);
    rig.free(from);
  }

  static constexpr unsigned char kFill = 0x5a;

 private:
  [[noreturn]] static void give_up_at(size_t offset) {
    std::fprintf(stderr, "error: byte %zu of a copy or fill did not arrive\n", offset);
    std::exit(1);
  }
};

Pair device_pair(const Rig& rig) {
  return {static_cast<unsigned char*>(rig.memory(kLarge)), static_cast<unsigned char*>(rig.memory(kLarge))};
}

class Ours {
 public:
  explicit Ours(const Rig& rig)
      : immediate_(rig.immediate(rig.compute, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)), queue_(rig.queue()), list_(rig.list()) {}

  void copy(Pair pair) { ok(zeCommandListAppendMemoryCopy(immediate_, pair.to, pair.from, kLarge, nullptr, 0, nullptr)); }
  void fill(Pair pair) {
    const uint32_t pattern = 0x5a5a5a5a;
    ok(zeCommandListAppendMemoryFill(immediate_, pair.to, &pattern, sizeof pattern, kLarge, nullptr, 0, nullptr));
  }
  void record_copy(Pair pair) {
    ok(zeCommandListReset(list_));
    ok(zeCommandListAppendMemoryCopy(list_, pair.to, pair.from, kLarge, nullptr, 0, nullptr));
    ok(zeCommandListClose(list_));
  }
  void replay() {
    ok(zeCommandQueueExecuteCommandLists(queue_, 1, &list_, nullptr));
    ok(zeCommandQueueSynchronize(queue_, kForever));
  }

 private:
  ze_command_list_handle_t immediate_;
  ze_command_queue_handle_t queue_;
  ze_command_list_handle_t list_;
};

Contestant copy_turn(const char* item, Pair pair, TwoThreads* woken, std::function<void(Pair)> copy) {
  auto wake = [=] {
    if (woken) woken->arm();
  };
  return {item, [=] { pair.stamp(); }, wake, [=] { copy(pair); }, [=] { pair.check_stamps(); }};
}

void own_buffers(const Rig& rig, const Report& report, Ours& ours, TwoThreads& by_hand) {
  // The last pair is what a program gets without Level Zero.
  std::unique_ptr<unsigned char[]> heap(new unsigned char[2 * kLarge + kLine]);
  auto* aligned = heap.get() + -reinterpret_cast<uintptr_t>(heap.get()) % kLine;
  std::vector<Pair> pairs;
  for (int i = 0; i < 4; ++i) pairs.push_back(device_pair(rig));
  pairs.push_back({aligned, aligned + kLarge});
  for (const Pair& pair : pairs) pair.touch();
  ours.record_copy(pairs[1]);

  report.contest({copy_turn("copy_immediate", pairs[0], nullptr, [&](Pair p) { ours.copy(p); }),
                  copy_turn("copy_queue", pairs[1], nullptr, [&](Pair) { ours.replay(); }),
                  copy_turn("memcpy", pairs[2], nullptr, [](Pair p) { std::memcpy(p.to, p.from, kLarge); }),
                  copy_turn("stream_copy", pairs[3], &by_hand, [&](Pair p) { by_hand.copy(p.to, p.from, kLarge); }),
                  copy_turn("stream_copy_heap", pairs[4], &by_hand, [&](Pair p) { by_hand.copy(p.to, p.from, kLarge); })},
                 kLarge);
  for (int i = 0; i < 4; ++i) pairs[i].free(rig);
}

void same_buffers(const Rig& rig, const Report& report, Ours& ours, TwoThreads& by_hand) {
  Pair pair = device_pair(rig);
  pair.touch();
  ours.record_copy(pair);
  report.contest({copy_turn("copy_immediate_same", pair, nullptr, [&](Pair p) { ours.copy(p); }),
                  copy_turn("copy_queue_same", pair, nullptr, [&](Pair) { ours.replay(); }),
                  copy_turn("memcpy_same", pair, nullptr, [](Pair p) { std::memcpy(p.to, p.from, kLarge); }),
                  copy_turn("stream_copy_same", pair, &by_hand, [&](Pair p) { by_hand.copy(p.to, p.from, kLarge); })},
                 kLarge);
  auto spoil = [&] { pair.spoil(); };
  auto check = [&] { pair.check_fill(); };
  report.contest({{"fill_immediate", spoil, [] {}, [&] { ours.fill(pair); }, check},
                  {"memset", spoil, [] {}, [&] { std::memset(pair.to, Pair::kFill, kLarge); }, check},
                  {"stream_fill", spoil, [&] { by_hand.arm(); }, [&] { by_hand.fill(pair.to, Pair::kFill, kLarge); }, check}},
                 kLarge);
  pair.free(rig);
}

}  // namespace

void bandwidth(const Rig& rig, const Report& report) {
  Ours ours(rig);
  TwoThreads by_hand;
  if (report.any_wanted({"copy_immediate", "copy_queue", "memcpy", "stream_copy", "stream_copy_heap"}))
    own_buffers(rig, report, ours, by_hand);
  if (report.any_wanted(
          {"copy_immediate_same", "copy_queue_same", "memcpy_same", "stream_copy_same", "fill_immediate", "memset", "stream_fill"}))
    same_buffers(rig, report, ours, by_hand);
}

}  // namespace bench
