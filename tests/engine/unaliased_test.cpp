// Which launches are unaliased: arguments lead to separate allocations, and no other address leads to the same bytes.
#include <span>

#include "exec/bounds.h"
#include "scene.h"

using namespace scene;

namespace {

constexpr size_t kBytes = 1 << 16;

// Arguments of which the first is written and the others are read.
bool unaliased(std::initializer_list<const void*> pointers) {
  const std::vector<const void*> args(pointers);
  std::vector<uint32_t> written{0}, read;
  for (uint32_t i = 1; i < args.size(); ++i) read.push_back(i * 8);
  return anyzero::are_unaliased(reinterpret_cast<const unsigned char*>(args.data()), written, read);
}

void separate_allocations(const Scene& scene) {
  unsigned char *one = scene.memory(kBytes), *two = scene.memory(kBytes), *three = scene.memory(64);
  for (int twice = 0; twice < 2; ++twice) {
    assert(unaliased({one, two, three}) && unaliased({one + 100, two + kBytes - 1, three}));
    // What is only read may be read twice.
    assert(unaliased({one, two, two + 8}));
    assert(!unaliased({one, two, one}) && !unaliased({one + kBytes / 2, two, one}));
    assert(unaliased({one, nullptr, two}) && unaliased({nullptr, one, two}));
  }
  const void* args[] = {one, two, three};
  const uint32_t all[] = {0, 8, 16};
  assert(anyzero::are_unaliased(reinterpret_cast<unsigned char*>(args), all, {}));
  args[2] = two + 1;
  assert(!anyzero::are_unaliased(reinterpret_cast<unsigned char*>(args), all, {}));
  assert(anyzero::are_unaliased(reinterpret_cast<unsigned char*>(args), std::span(all, 1), std::span(all + 1, 2)));
  for (unsigned char* each : {one, two, three}) scene.free(each);
  assert(!unaliased({one, two, three}));
}

void memory_that_others_may_lead_to(const Scene& scene) {
  unsigned char* own = scene.memory(kBytes);
  static unsigned char program[64];
  assert(!unaliased({own, program}) && !unaliased({program, own}));
  assert(!unaliased({own, reinterpret_cast<const void*>(64)}));

  // The same physical memory at two addresses.
  ze_physical_mem_desc_t desc = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, nullptr, 0, kBytes};
  ze_physical_mem_handle_t physical;
  OK(zePhysicalMemCreate(scene.context, scene.device, &desc, &physical));
  void* windows[2];
  for (void*& each : windows) {
    OK(zeVirtualMemReserve(scene.context, nullptr, kBytes, &each));
    OK(zeVirtualMemMap(scene.context, each, kBytes, physical, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
  }
  assert(!unaliased({windows[0], windows[1]}) && !unaliased({own, windows[0]}));
  for (void* each : windows) {
    OK(zeVirtualMemUnmap(scene.context, each, kBytes));
    OK(zeVirtualMemFree(scene.context, each, kBytes));
  }
  OK(zePhysicalMemDestroy(scene.context, physical));
  scene.free(own);
}

void more_arguments_than_are_compared(const Scene& scene) {
  std::vector<const void*> args;
  std::vector<uint32_t> written;
  for (uint32_t i = 0; i < 100; ++i) {
    args.push_back(scene.memory(64));
    written.push_back(i * 8);
  }
  const auto* block = reinterpret_cast<unsigned char*>(args.data());
  assert(anyzero::are_unaliased(block, std::span(written).first(8), std::span(written).subspan(8)));
  assert(!anyzero::are_unaliased(block, written, {}));
  for (const void* each : args) scene.free(const_cast<void*>(each));
}

}  // namespace

int main() {
  Scene scene;
  separate_allocations(scene);
  memory_that_others_may_lead_to(scene);
  more_arguments_than_are_compared(scene);
  std::puts("unaliased_test: ok");
  std::fflush(stdout);
  std::_Exit(0);  // engine threads are never joined
  return 0;
}
