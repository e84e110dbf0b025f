// One infer request with memory for each of its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../abi/gen/ze_npu_ext.h"
#include "manifest.h"
#include "openvino.h"

namespace anyzero {

class CompiledGraph;
struct Fault;

// The time of a layer in the last run.
struct LayerTime {
  enum class Status : uint32_t { NotRun, OptimizedOut, Executed };
  std::string name;
  std::string type;
  std::string exec_type;  // which implementation OpenVINO chose
  Status status = Status::NotRun;
  uint64_t real_us = 0;
  uint64_t cpu_us = 0;
};

// Threading: one thread at a time. Inputs are read and outputs written where the caller has them, unless they overlap, have
// strides of their own, or cannot be known to be large enough.
class Execution {
 public:
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // `pointer` is used by every later run. `byte_strides`, outermost dimension first, for memory that is not packed.
  bool bind(uint32_t argument, void* pointer, const uint32_t* byte_strides, std::string* reason);
  // False, with the reason, when an argument has no memory or bad memory, when a shape is out of bounds, or when OpenVINO fails.
  // Allocates nothing unless a shape or an argument has changed.
  bool run(std::string* reason);
  // After a run of a graph that was compiled for profiling; empty otherwise.
  std::vector<LayerTime> layers() const;

 private:
  friend class CompiledGraph;

  static constexpr size_t kMostDims = ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE;

  struct Freed {
    void operator()(unsigned char* pages) const;
  };

  struct Slot {
    const GraphArgument* argument = nullptr;
    uint32_t rank = 0;
    uint32_t element = 0;  // bytes; 0 for types smaller than one
    bool dynamic = false;
    bool strided = false;
    bool staged = false;   // the model computes with `stage` instead of `memory`
    bool kept = false;     // an output that stays in the library's own tensor, and is copied from there
    bool trusted = false;  // all of it is known to be there, so it need not be checked
    bool stale = true;     // the request does not have the tensor for `memory` and `dims` yet
    unsigned char* memory = nullptr;
    int64_t dims[kMostDims] = {};  // what they are in this run
    uint32_t strides[kMostDims] = {};
    std::unique_ptr<unsigned char[], Freed> stage;
    OpenVino::Tensor* tensor = nullptr;
    const unsigned char* result = nullptr;  // of what is kept: where the library has it after a run

    bool input() const { return argument->input(); }
    bool shape() const { return argument->role == GraphRole::Shape; }
    bool weights() const { return argument->role == GraphRole::Weights; }  // the model has them already
    uint64_t packed() const;                                               // bytes of `dims`
    uint64_t extent() const;                                               // bytes from the first to the last that belongs to it
  };

  Execution(std::shared_ptr<CompiledGraph> graph, OpenVino::Request* request);

  bool complete(std::string* reason) const;
  bool settle(std::string* reason);
  bool hand_over(Slot& slot, std::string* reason);
  bool fetch_inputs(std::string* reason);
  bool read_shape(Slot& slot);
  bool read_out_shape(Slot& slot, std::string* reason);
  bool find_kept(Slot& slot, std::string* reason);
  bool in_an_input(const Slot& slot) const;
  bool deliver_outputs(std::string* reason);
  uint32_t index_of(const Slot& slot) const { return static_cast<uint32_t>(&slot - slots_.data()); }
  void blame(const Slot& slot, const Fault& fault, std::string* reason) const;

  std::shared_ptr<CompiledGraph> graph_;
  const OpenVino* openvino_;
  OpenVino::Request* request_;
  std::vector<Slot> slots_;
  bool changed_ = true;    // an argument was bound since the last run
  bool delivers_ = false;  // something is left to do after the inference
};

}  // namespace anyzero
