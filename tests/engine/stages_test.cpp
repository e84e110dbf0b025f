// Code of two stages: better code takes over for launches from then on, recorded ones as well, while others run.
#include <atomic>
#include <thread>

#include "exec/improvement.h"
#include "kernels.h"

using namespace scene;
using namespace kernels;
using anyzero::Code;
using anyzero::Improvement;

namespace {

// Counts the groups that run.
const Facts kCount{.name = "count", .parameters = {kPointer}};

Code& code_of(const KernelHandle& kernel) { return anyzero::checked<anyzero::Kernel>(kernel)->code(); }

void others_run_meanwhile(const Scene& scene) {
  KernelHandle kernel(scene, kCount);
  Code& code = code_of(kernel);
  const uintptr_t first = code.current().address();
  auto* to = reinterpret_cast<uint64_t*>(scene.memory(2 * sizeof(uint64_t)));
  *to = 0;
  kernel.set(0, to);
  ze_command_list_handle_t list = scene.immediate(kCompute);
  std::atomic<uint64_t> launched{0};
  std::atomic<bool> enough{false};
  std::thread other([&] {
    do {
      launch(list, kernel, 64);
      OK(zeCommandListHostSynchronize(list, kSoon));
      launched.fetch_add(64);
    } while (!enough.load());
  });
  while (!launched.load()) std::this_thread::yield();
  Code* better = load(kCount);
  const uintptr_t second = better->address();
  assert(code.publish(better));
  const uint64_t then = launched.load();
  while (launched.load() == then) std::this_thread::yield();
  enough.store(true);
  other.join();
  assert(*to == launched.load());
  assert(first != second && code.current().address() == second && code.address() == first);
  // Faults in either are faults of this kernel.
  size_t offset;
  assert(code.offset_of(first, &offset) && code.offset_of(second, &offset) && code.holds(first) && code.holds(second));
  OK(zeCommandListDestroy(list));
  scene.free(to);
}

// Code for one size of groups serves launches of that size alone.
void groups_of_one_size_have_code_of_their_own() {
  constexpr uint32_t kThis[] = {8, 8, 1}, kThat[] = {8, 8, 2};
  Code* code = load(kCount);
  code->may_improve(std::make_shared<const std::string>("a module"), false, true);
  code->note_work(Improvement::kWorthFitting - 1, kThis);
  code->note_work(Improvement::kWorthFitting - 1, kThat);
  code->note_work(1, kThis);
  Improvement* found = anyzero::improvement_line().take();
  assert(found->code == code && anyzero::Improvements::unpacked(found->group) == (std::array<uint32_t, 3>{8, 8, 1}));
  code->release();  // by the thread that took it
  assert(&code->current_for(kThis) == code);
  // Lanes are its own affair, but not its arguments.
  Code* fitting = load({.name = "count", .parameters = {kPointer}, .lanes = 4});
  assert(!code->publish_for(*found, load({.name = "count", .parameters = {kPointer, kU32}})));
  assert(code->publish_for(*found, fitting) && !code->publish_for(*found, load(kCount)));
  assert(&code->current_for(kThis) == fitting && &code->current_for(kThat) == code && &code->current() == code);
  size_t offset;
  assert(code->offset_of(fitting->address(), &offset) && code->holds(fitting->address()));
  // With more sizes than there is room for, the others go on with the general code.
  for (uint32_t x = 1; x < 100; ++x) {
    const uint32_t size[] = {x, 1, 1};
    code->note_work(1, size);
    assert(&code->current_for(size) == code);
  }
  code->release();
}

void only_the_same_kernel_may_follow() {
  Code* code = load(kCount);
  assert(!code->publish(load({.name = "number", .parameters = {kPointer}})));
  assert(!code->publish(load({.name = "count", .parameters = {kPointer, kU32}})));
  assert(!code->publish(load({.name = "count", .parameters = {kPointer}, .local_bytes = 64})));
  assert(!code->publish(load({.name = "count", .parameters = {kPointer}, .required_group = {8, 1, 1}})));
  assert(&code->current() == code);
  // How much scratch memory it takes is its own affair.
  assert(code->publish(load({.name = "count", .parameters = {kPointer}, .scratch_fixed = 64})));
  assert(!code->publish(load(kCount)) && code->current().facts().scratch_fixed == 64);
  code->release();
}

void code_that_has_worked_enough_gets_in_line() {
  Code *code = load(kCount), *other = load(kCount), *final = load(kCount);
  for (Code* each : {code, other}) each->may_improve(std::make_shared<const std::string>("a module"));
  constexpr uint32_t kAny[] = {1, 1, 1};
  final->note_work(UINT64_MAX / 2, kAny);
  code->note_work(Improvement::kWorth - 1, kAny);
  other->note_work(Improvement::kWorth, kAny);
  other->note_work(Improvement::kWorth, kAny);
  assert(anyzero::improvement_line().take()->code == other);
  code->note_work(1, kAny);
  assert(anyzero::improvement_line().take()->code == code);
  for (Code* each : {code, other}) each->release();  // by the thread that took it
  for (Code* each : {code, other, final}) each->release();
}

// From the line of one thread to another.
void a_thread_waits_for_its_turn() {
  Code* code = load(kCount);
  code->may_improve(std::make_shared<const std::string>("a module"));
  Improvement* found = nullptr;
  std::thread taker([&] { found = anyzero::improvement_line().take(); });
  constexpr uint32_t kAny[] = {1, 1, 1};
  code->note_work(Improvement::kWorth, kAny);
  taker.join();
  assert(found->code == code && found->group == 0 && *code->improvements()->build == "a module");
  code->release();
  code->release();
}

}  // namespace

int main() {
  Scene scene;
  others_run_meanwhile(scene);
  only_the_same_kernel_may_follow();
  groups_of_one_size_have_code_of_their_own();
  code_that_has_worked_enough_gets_in_line();
  a_thread_waits_for_its_turn();
  std::puts("stages_test: ok");
  return 0;
}
