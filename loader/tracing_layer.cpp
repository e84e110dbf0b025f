#include "tracing_layer.h"

#include <new>
#include <type_traits>

#include "init.h"
#include "tracer.h"

namespace anyzero::loader {

namespace {

// One call with the callbacks around it. Prologues may change the arguments. A tracer that is disabled meanwhile still gets its
// epilogue, because it got its prologue.
template <FunctionIndex Index, class F, auto Next>
struct Traced;
template <FunctionIndex Index, class R, class... A, auto Next>
struct Traced<Index, R (*)(A...), Next> {
  using Callback = void (*)(void* parameters, R result, void* user, void** instance);

  static R call(A... arguments) {
    const HeldTracers held(Index);
    if (!held) return Next(arguments...);
    // The API's ze_..._params_t: a pointer to each argument.
    void* parameters[] = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
    constexpr auto index = static_cast<size_t>(Index);
    const auto& tracers = held->tracers;
    auto** instances = static_cast<void**>(__builtin_alloca(tracers.size() * sizeof(void*)));
    for (size_t i = 0; i < tracers.size(); ++i) {
      instances[i] = nullptr;
      if (auto* callback = reinterpret_cast<Callback>(tracers[i]->before[index]))
        callback(parameters, R{}, tracers[i]->user, &instances[i]);
    }
    const R result = Next(arguments...);
    for (size_t i = 0; i < tracers.size(); ++i)
      if (auto* callback = reinterpret_cast<Callback>(tracers[i]->after[index]))
        callback(parameters, result, tracers[i]->user, &instances[i]);
    return result;
  }
};

// Calls a member of the table below the layer, untraced.
template <auto Member, class F>
struct Beneath;
template <auto Member, class R, class... A>
struct Beneath<Member, R (*)(A...)> {
  static R call(A... arguments) { return (beneath.load(std::memory_order_acquire)->*Member)(arguments...); }
};

// Whether a function belongs to the core API or the runtime API: ze or zer before a capital.
constexpr bool is_traceable(const char* name) {
  const auto is_capital = [](char letter) { return letter >= 'A' && letter <= 'Z'; };
  return is_capital(name[2]) || (name[2] == 'r' && is_capital(name[3]));
}

// Tracers of the older, experimental API are the same objects.
ze_result_t create_experimental(zet_context_handle_t context, const zet_tracer_exp_desc_t* desc, zet_tracer_exp_handle_t* tracer) {
  if (!context) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (!desc) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  return create_tracer(desc->pUserData, reinterpret_cast<zel_tracer_handle_t*>(tracer));
}

auto* as_tracer(zet_tracer_exp_handle_t tracer) { return reinterpret_cast<zel_tracer_handle_t>(tracer); }

constexpr Functions make() {
  Functions made{
#define FUNCTION(name, ...)                                                                                                      \
  .name = std::conditional_t<is_traceable(#name),                                                                                \
                             Traced<FunctionIndex::name, decltype(&::name), Beneath<&Functions::name, decltype(&::name)>::call>, \
                             Beneath<&Functions::name, decltype(&::name)>>::call,
#include "gen/functions.inc"
  };
  made.zeInit = Traced<FunctionIndex::zeInit, decltype(&::zeInit), init>::call;
  made.zeInitDrivers = Traced<FunctionIndex::zeInitDrivers, decltype(&::zeInitDrivers), init_drivers>::call;
  made.zesInit = init_sysman;
  made.zetTracerExpCreate = create_experimental;
  made.zetTracerExpDestroy = [](zet_tracer_exp_handle_t tracer) { return destroy_tracer(as_tracer(tracer)); };
  made.zetTracerExpSetPrologues = [](zet_tracer_exp_handle_t tracer, zet_core_callbacks_t* callbacks) {
    return set_callbacks(as_tracer(tracer), ZEL_REGISTER_PROLOGUE, callbacks);
  };
  made.zetTracerExpSetEpilogues = [](zet_tracer_exp_handle_t tracer, zet_core_callbacks_t* callbacks) {
    return set_callbacks(as_tracer(tracer), ZEL_REGISTER_EPILOGUE, callbacks);
  };
  made.zetTracerExpSetEnabled = [](zet_tracer_exp_handle_t tracer, ze_bool_t enabled) {
    return enable_tracer(as_tracer(tracer), enabled);
  };
  return made;
}

}  // namespace

constinit const Functions traced = make();

Tables& traced_tables() {
  static Tables* const tables = [] {
    auto* made = new Tables;
#define FUNCTION(name, place, ...) made->place = traced.name;
#include "gen/functions.inc"
    return made;
  }();
  return *tables;
}

}  // namespace anyzero::loader
