// A sampler: how a kernel turns coordinates into values of an image.
#pragma once

#include "../abi/handle.h"

namespace anyzero {

class Context;
class Device;

// Threading: immutable, so any thread.
class Sampler : public Object<Sampler, Kind::Sampler> {
 public:
  static ze_result_t create(Context& context, Device& device, const ze_sampler_desc_t* desc, ze_sampler_handle_t* handle);
  ze_result_t destroy();

  // What a kernel needs of a sampler. Bindless images carry one of their own.
  struct State {
    ze_sampler_address_mode_t address_mode = ZE_SAMPLER_ADDRESS_MODE_NONE;
    ze_sampler_filter_mode_t filter_mode = ZE_SAMPLER_FILTER_MODE_NEAREST;
    bool normalized = false;
  };
  // Checks a descriptor that may come from a pNext chain, where nothing else has looked at it.
  static ze_result_t read(const ze_sampler_desc_t& desc, State* state);

  const State& state() const { return state_; }
  Device& device() const { return device_; }

  Sampler(Context& context, Device& device, const State& state);

 private:
  Ref<Context> context_;
  Device& device_;
  State state_;
};

}  // namespace anyzero
