#include "offered.h"

#include <cmath>
#include <cstring>

#include "../backends/cpu/image_access.h"
#include "kernel_calls.h"

// Routines of the compiler's runtime; only their addresses are of interest, so they need no prototypes.
#define RUNTIME(apply)                                                                                                        \
  apply(__truncdfhf2) apply(__truncsfhf2) apply(__extendhfsf2) apply(__extendhfdf2) apply(__udivti3) apply(__divti3)          \
      apply(__umodti3) apply(__modti3) apply(__multi3) apply(__ashlti3) apply(__ashrti3) apply(__lshrti3) apply(__fixsfti)    \
          apply(__fixdfti) apply(__fixunssfti) apply(__fixunsdfti) apply(__floattisf) apply(__floattidf) apply(__floatuntisf) \
              apply(__floatuntidf)

#define DECLARE(name) void runtime_##name() asm(#name);
extern "C" {
RUNTIME(DECLARE)
}

namespace anyzero {

namespace {

struct Offer {
  const char* name;
  void* address;
};

template <class F>
void* address_of(F* function) {
  return reinterpret_cast<void*>(function);
}

const Offer kOffers[] = {{"memcpy", address_of(static_cast<void* (*)(void*, const void*, size_t)>(std::memcpy))},
                         {"memmove", address_of(static_cast<void* (*)(void*, const void*, size_t)>(std::memmove))},
                         {"memset", address_of(static_cast<void* (*)(void*, int, size_t)>(std::memset))},
                         {"memcmp", address_of(static_cast<int (*)(const void*, const void*, size_t)>(std::memcmp))},
                         // For processors without such instructions.
                         {"fma", address_of(static_cast<double (*)(double, double, double)>(std::fma))},
                         {"fmaf", address_of(static_cast<float (*)(float, float, float)>(std::fma))},
                         {"az_printf", address_of(az_printf)},
                         {"az_fault", address_of(az_fault)},
                         {"az_check_load", address_of(az_check_load)},
                         {"az_check_store", address_of(az_check_store)},
                         {"az_bounds_of", address_of(az_bounds_of)},
                         {"az_note", address_of(az_note)},
                         {"az_meet", address_of(az_meet)},
                         {"az_group", address_of(az_group)},
                         {"az_barrier", address_of(az_barrier)},
                         {"az_filled", address_of(az_filled)},
                         {"az_resident", address_of(az_resident)},
                         {"az_resident_apart", address_of(az_resident_apart)},
                         {"__stack_chk_fail", address_of(az_private_overrun)},
                         {"az_image_read", address_of(az_image_read)},
                         {"az_image_write", address_of(az_image_write)},
                         {"az_image_query", address_of(az_image_query)},
                         {"az_image_block_read", address_of(az_image_block_read)},
                         {"az_image_block_write", address_of(az_image_block_write)},
#define OFFER(name) {#name, address_of(runtime_##name)},
                         RUNTIME(OFFER)
#undef OFFER
};

}  // namespace

uintptr_t find_offered(const std::string& name) {
  for (const Offer& offer : kOffers)
    if (name == offer.name) return reinterpret_cast<uintptr_t>(offer.address);
  return 0;
}

}  // namespace anyzero
