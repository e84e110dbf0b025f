#include "execution.h"

#include <sys/mman.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "../exec/trap.h"
#include "../objects/memory/allocation.h"
#include "caller_memory.h"
#include "compiled_graph.h"
#include "strided_copy.h"

namespace anyzero {

namespace {

constexpr size_t kPage = 4096;
constexpr uint64_t kMostBytes = uint64_t{1} << 47;  // size of the address space of a process

}  // namespace

void Execution::Freed::operator()(unsigned char* pages) const { ::operator delete[](pages, std::align_val_t(kPage)); }

uint64_t Execution::Slot::packed() const {
  uint64_t elements = 1;
  for (uint32_t i = 0; i < rank; ++i) elements *= static_cast<uint64_t>(dims[i]);
  return (elements * element_bits(argument->element_type) + 7) / 8;
}

uint64_t Execution::Slot::extent() const {
  if (!strided) return packed();
  uint64_t bytes = element;
  for (uint32_t i = 0; i < rank; ++i) {
    if (dims[i] == 0) return 0;
    bytes += static_cast<uint64_t>(dims[i] - 1) * strides[i];
  }
  return bytes;
}

Execution::Execution(std::shared_ptr<CompiledGraph> graph, OpenVino::Request* request)
    : graph_(std::move(graph)), openvino_(graph_->openvino_), request_(request), slots_(graph_->arguments().size()) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    const GraphArgument& argument = graph_->arguments()[i];
    slot.argument = &argument;
    slot.rank = static_cast<uint32_t>(argument.shape.size());
    slot.element = element_bits(argument.element_type) / 8;
    slot.dynamic = argument.dynamic();
    slot.kept = argument.aliased;
    slot.stale = !slot.weights();
    for (uint32_t d = 0; d < slot.rank; ++d) slot.dims[d] = argument.dims[d];
  }
}

Execution::~Execution() {
  TrapPause not_device_work;
  if (OpenVinoCall call; call) {
    openvino_->request_free(request_);
    for (Slot& slot : slots_)
      if (slot.tensor) openvino_->tensor_free(slot.tensor);
  } else {
    for (Slot& slot : slots_) (void)slot.stage.release();  // the leaked request still uses them
    new std::shared_ptr<CompiledGraph>(std::move(graph_));
  }
}

bool Execution::bind(uint32_t argument, void* pointer, const uint32_t* byte_strides, std::string* reason) {
  if (argument >= slots_.size()) {
    *reason = "the graph has " + std::to_string(slots_.size()) + " arguments";
    return false;
  }
  Slot& slot = slots_[argument];
  if (!pointer) {
    *reason = "the pointer for " + slot.argument->name + " is null";
    return false;
  }
  if (slot.weights()) return true;
  bool strided = false;
  if (byte_strides) {
    uint64_t packed = slot.element;
    for (uint32_t i = slot.rank; i-- > 0; packed *= slot.argument->dims[i])
      strided |= byte_strides[i] != packed && (slot.argument->dims[i] > 1 || slot.dynamic);
    if (slot.dynamic) strided = true;
    if (strided && (slot.element == 0 || slot.shape())) {
      *reason = slot.argument->name + " must be packed";
      return false;
    }
  }
  auto* memory = static_cast<unsigned char*>(pointer);
  if (slot.memory == memory && slot.strided == strided &&
      (!strided || std::equal(slot.strides, slot.strides + slot.rank, byte_strides)))
    return true;
  Slot wanted;
  wanted.argument = slot.argument;
  wanted.rank = slot.rank;
  wanted.element = slot.element;
  wanted.strided = strided;
  for (uint32_t i = 0; i < slot.rank; ++i) wanted.dims[i] = slot.argument->dims[i];
  if (strided) std::copy_n(byte_strides, slot.rank, wanted.strides);
  if (reinterpret_cast<uintptr_t>(memory) >= kMostBytes || wanted.extent() > kMostBytes - reinterpret_cast<uintptr_t>(memory)) {
    *reason = slot.argument->name + " would end beyond the address space";
    return false;
  }
  slot.memory = memory;
  slot.strided = strided;
  std::copy_n(wanted.strides, kMostDims, slot.strides);
  slot.stale = changed_ = true;
  return true;
}

bool Execution::complete(std::string* reason) const {
  for (const Slot& slot : slots_)
    if (!slot.memory && slot.argument->bytes && !slot.weights()) {
      *reason = "argument " + std::to_string(index_of(slot)) + " (" + slot.argument->name +
                ") has no memory: set its value before the graph is executed";
      return false;
    }
  return true;
}

// Decides, after a change of arguments, which of them the model may use in place.
bool Execution::settle(std::string* reason) {
  if (!complete(reason)) return false;
  delivers_ = false;
  // The maximum extent counts, not that of the last run.
  for (Slot& slot : slots_)
    if (slot.dynamic) {
      std::copy_n(slot.argument->dims.begin(), slot.rank, slot.dims);
      slot.stale = true;
    }
  for (Slot& slot : slots_) {
    if (slot.weights()) continue;
    if (slot.shape()) {
      delivers_ |= !slot.input();
      continue;
    }
    bool staged = slot.strided;
    if (!slot.input()) {
      // The model writes an output while it still reads its inputs, so an output must not overlap an input (such as the old value
      // of a state).
      for (const Slot& other : slots_)
        staged |= other.input() && !other.shape() && !other.weights() && other.memory < slot.memory + slot.extent() &&
                  slot.memory < other.memory + other.extent();
      // The size written is known only after the run: the memory must be large enough for the maximum, or be written after the run.
      staged |= slot.dynamic && !slot.kept && !of_our_heap(slot.memory, slot.argument->bytes);
      delivers_ |= staged || slot.dynamic || slot.kept;
    }
    if (staged && !slot.stage) {
      const size_t bytes = (std::max<uint64_t>(slot.argument->bytes, 1) + kPage - 1) / kPage * kPage;
      slot.stage.reset(static_cast<unsigned char*>(::operator new[](bytes, std::align_val_t(kPage), std::nothrow)));
      if (!slot.stage) {
        *reason = "not enough memory for a copy of argument " + slot.argument->name;
        return false;
      }
    }
    slot.stale |= staged != slot.staged;
    slot.staged = staged;
  }
  changed_ = false;
  return true;
}

// Makes the request use the slot's memory in the slot's shape.
bool Execution::hand_over(Slot& slot, std::string* reason) {
  alignas(64) static unsigned char nothing[64];
  unsigned char* memory = slot.staged ? slot.stage.get() : slot.memory ? slot.memory : nothing;
  OpenVino::Tensor* fresh = nullptr;
  // An output's tensor starts with its maximum shape; the library shrinks it.
  if (!slot.input()) std::copy_n(slot.argument->dims.begin(), slot.rank, slot.dims);
  int status = openvino_->tensor_over(slot.argument->element_type, {slot.rank, slot.dims}, memory, &fresh);
  if (status == 0) status = (slot.input() ? openvino_->set_input : openvino_->set_output)(request_, slot.argument->port, fresh);
  if (status) {
    *reason = "OpenVINO rejects argument " + slot.argument->name + ": " + openvino_->explain(status);
    if (fresh) openvino_->tensor_free(fresh);
    return false;
  }
  if (slot.tensor) openvino_->tensor_free(slot.tensor);
  slot.tensor = fresh;
  slot.stale = false;
  return true;
}

// Reads the dimensions of an input from the caller's shape argument. Called inside a trap; false if they are invalid.
bool Execution::read_shape(Slot& slot) {
  int32_t given[kMostDims];
  const Slot& source = slots_[slot.argument->companion];
  read_each_page(source.memory, slot.rank * sizeof(int32_t));
  std::memcpy(given, source.memory, slot.rank * sizeof(int32_t));
  for (uint32_t i = 0; i < slot.rank; ++i) {
    const int64_t dim = given[slot.rank - 1 - i];
    const bool fixed = slot.argument->shape[i] != kDynamicDimension;
    if (dim < 0 || dim > slot.argument->dims[i] || (fixed && dim != slot.argument->dims[i])) return false;
    if (slot.dims[i] != dim) slot.stale = true;
    slot.dims[i] = dim;
  }
  return true;
}

void Execution::blame(const Slot& slot, const Fault& fault, std::string* reason) const {
  char where[256], text[512];
  describe_address(fault.address, where, sizeof where);
  std::snprintf(text, sizeof text, "%#zx (%s), where argument %u (%s) has its %s, cannot be %s", static_cast<size_t>(fault.address),
                where, index_of(slot), slot.argument->name.c_str(), slot.shape() ? "dimensions" : "data",
                slot.input() ? "read" : "written");
  *reason = text;
}

// Checks all of the caller's memory here, because a fault inside the library would be fatal.
bool Execution::fetch_inputs(std::string* reason) {
  for (Slot& slot : slots_) {
    const uint64_t bytes = slot.argument->bytes;
    slot.trusted = bytes >= kWorthAsking && !slot.strided && !slot.weights() && of_our_heap(slot.memory, bytes);
  }
  Slot* volatile at = slots_.data();
  bool volatile shaped = true;
  const Fault fault = trapped([&] {
    for (Slot& slot : slots_) {
      if (slot.weights()) continue;
      if (slot.dynamic && slot.input() && slot.argument->companion != GraphArgument::kNone) {
        at = &slots_[slot.argument->companion];
        shaped = read_shape(slot);
      }
      at = &slot;
      if (!shaped) return;
      // A dynamic output is written later, once its size is known.
      const uint64_t bytes = slot.dynamic && !slot.input() ? 0 : slot.extent();
      if (bytes == 0) continue;
      if (!slot.trusted) {
        if (slot.input()) {
          read_each_page(slot.memory, bytes);
        } else {
          write_each_page(slot.memory, bytes);
        }
      }
      if (slot.input() && slot.staged) gather(slot.stage.get(), slot.memory, {slot.dims, slot.strides, slot.rank, slot.element});
    }
  });
  if (fault.signal) {
    blame(*at, fault, reason);
    return false;
  }
  if (shaped) return true;
  const Slot& slot = *at;
  *reason = "argument " + slots_[slot.argument->companion].argument->name + " names a shape that " + slot.argument->name +
            " cannot have: its dimensions, the last one first, go up to [";
  for (uint32_t i = slot.rank; i-- > 0;) *reason += std::to_string(slot.argument->dims[i]) + (i ? "," : "]");
  return false;
}

bool Execution::run(std::string* reason) {
  OpenVinoCall call(request_);
  if (!call) {
    *reason = OpenVinoCall::refusal();
    return false;
  }
  TrapPause not_device_work;
  if (changed_ && !settle(reason)) return false;
  if (!fetch_inputs(reason)) return false;
  for (Slot& slot : slots_)
    if (slot.stale && !slot.shape() && !slot.kept && !hand_over(slot, reason)) return false;
  // Kernels that run on this thread later rely on its MXCSR.
  const unsigned rounding = _mm_getcsr();
  int status = 0;
  const bool survived = OpenVinoCall::survived([&] { status = openvino_->infer(request_); });
  _mm_setcsr(rounding);
  if (!survived) {
    *reason = OpenVinoCall::refusal();
    return false;
  }
  if (status) {
    *reason = status == OpenVino::kCancelled ? OpenVinoCall::refusal() : "OpenVINO failed: " + openvino_->explain(status);
    return false;
  }
  static std::atomic<bool> first{true};
  if (first.load(std::memory_order_relaxed) && first.exchange(false)) close_gate_first();
  return !delivers_ || deliver_outputs(reason);
}

// The actual shape of a dynamic output.
bool Execution::read_out_shape(Slot& slot, std::string* reason) {
  OpenVino::Shape shape{};
  if (int status = openvino_->tensor_shape(slot.tensor, &shape)) {
    *reason = "OpenVINO does not report the shape of " + slot.argument->name + ": " + openvino_->explain(status);
    return false;
  }
  bool same = shape.rank == slot.rank;
  for (uint32_t i = 0; same && i < slot.rank; ++i) {
    same = shape.dims[i] >= 0 && shape.dims[i] <= slot.argument->dims[i];
    slot.dims[i] = shape.dims[i];
  }
  openvino_->shape_free(&shape);
  if (!same) *reason = "the model computed a shape for " + slot.argument->name + " that exceeds its bounds";
  return same;
}

// Gets the library's own tensor for an output.
bool Execution::find_kept(Slot& slot, std::string* reason) {
  if (slot.tensor) openvino_->tensor_free(std::exchange(slot.tensor, nullptr));
  void* data = nullptr;
  int status = openvino_->get_output(request_, slot.argument->port, &slot.tensor);
  if (status == 0 && slot.dynamic && !read_out_shape(slot, reason)) return false;
  if (status == 0 && slot.packed()) status = openvino_->tensor_data(slot.tensor, &data);
  slot.result = static_cast<const unsigned char*>(data);
  if (status == 0) return true;
  *reason = "OpenVINO does not return the output " + slot.argument->name + ": " + openvino_->explain(status);
  return false;
}

bool Execution::in_an_input(const Slot& slot) const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& other) {
    const unsigned char* begin = other.staged ? other.stage.get() : other.memory;
    return other.input() && !other.shape() && !other.weights() && begin <= slot.result && slot.result < begin + other.packed();
  });
}

bool Execution::deliver_outputs(std::string* reason) {
  for (Slot& slot : slots_)
    if (slot.kept ? !find_kept(slot, reason) : slot.dynamic && !slot.input() && !read_out_shape(slot, reason)) return false;
  Slot* volatile at = slots_.data();
  const Fault fault = trapped([&] {
    // An output may share memory with an input that is overwritten below.
    for (Slot& slot : slots_)
      if (slot.kept && slot.staged && slot.packed()) std::memcpy(slot.stage.get(), slot.result, slot.packed());
    for (Slot& slot : slots_) {
      at = &slot;
      if (slot.input()) continue;
      if (slot.shape()) {
        const Slot& owner = slots_[slot.argument->companion];
        int32_t dims[kMostDims];
        for (uint32_t i = 0; i < owner.rank; ++i) dims[owner.rank - 1 - i] = static_cast<int32_t>(owner.dims[i]);
        std::memcpy(slot.memory, dims, owner.rank * sizeof(int32_t));
      } else if (slot.kept && !slot.staged) {
        if (slot.packed() == 0) continue;
        if (slot.dynamic) write_each_page(slot.memory, slot.packed());
        std::memcpy(slot.memory, slot.result, slot.packed());
      } else if (slot.staged) {
        if (slot.dynamic && slot.extent()) write_each_page(slot.memory, slot.extent());
        if (slot.strided) {
          scatter(slot.memory, slot.stage.get(), {slot.dims, slot.strides, slot.rank, slot.element});
        } else {
          std::memcpy(slot.memory, slot.stage.get(), slot.packed());
        }
      }
    }
  });
  if (fault.signal) {
    blame(*at, fault, reason);
    return false;
  }
  for (Slot& slot : slots_)
    if (slot.kept && slot.dynamic && slot.packed() && !in_an_input(slot)) {
      slot.kept = false;  // the output is not aliased after all
      slot.stale = changed_ = true;
    }
  return true;
}

std::vector<LayerTime> Execution::layers() const {
  std::vector<LayerTime> layers;
  OpenVinoCall call;
  if (!graph_->profiling() || !call) return layers;
  TrapPause not_device_work;
  OpenVino::NodeTimes times{};
  if (openvino_->profile(request_, &times)) return layers;
  auto text = [](const char* given) { return std::string(given ? given : ""); };
  for (size_t i = 0; i < times.count; ++i) {
    const OpenVino::NodeTime& node = times.nodes[i];
    layers.push_back({text(node.node_name), text(node.node_type), text(node.exec_type),
                      static_cast<LayerTime::Status>(std::clamp(node.status, 0, 2)),
                      static_cast<uint64_t>(std::max<int64_t>(node.real_us, 0)),
                      static_cast<uint64_t>(std::max<int64_t>(node.cpu_us, 0))});
  }
  openvino_->profile_free(&times);
  return layers;
}

}  // namespace anyzero
