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

// Time of a layer in the last run.
struct LayerTime {
  enum class Status : uint32_t { NotRun, OptimizedOut, Executed };
  std::string name;
  std::string type;
  std::string exec_type;  // the implementation that OpenVINO chose
  Status status = Status::NotRun;
  uint64_t real_us = 0;
  uint64_t cpu_us = 0;
};

// Threading: one thread at a time. Inputs are read and outputs written in the caller's memory, unless they overlap, are strided, or
// may be too small.
class Execution {
 public:
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // `pointer` is used by all later runs. `byte_strides`, outermost dimension first, is for memory that is not packed.
  bool bind(uint32_t argument, void* pointer, const uint32_t* byte_strides, std::string* reason);
  // False, with the reason, if an argument has no memory or invalid memory, if a shape is out of bounds, or if OpenVINO fails.
  // Allocates only after a change of a shape or an argument.
  bool run(std::string* reason);
  // Layer times of the last run of a graph that was compiled for profiling; empty otherwise.
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
    uint32_t element = 0;  // in bytes; 0 for types smaller than a byte
    bool dynamic = false;
    bool strided = false;
    bool staged = false;   // the model uses `stage` instead of `memory`
    bool kept = false;     // an output that stays in the library's own tensor and is copied from it
    bool trusted = false;  // known to be mapped completely, so it is not checked
    bool stale = true;     // the request's tensor does not match `memory` and `dims` yet
    unsigned char* memory = nullptr;
    int64_t dims[kMostDims] = {};  // in this run
    uint32_t strides[kMostDims] = {};
    std::unique_ptr<unsigned char[], Freed> stage;
    OpenVino::Tensor* tensor = nullptr;
    const unsigned char* result = nullptr;  // if `kept`: address in the library after a run

    bool input() const { return argument->input(); }
    bool shape() const { return argument->role == GraphRole::Shape; }
    bool weights() const { return argument->role == GraphRole::Weights; }  // already part of the model
    uint64_t packed() const;                                               // bytes of `dims`
    uint64_t extent() const;                                               // bytes from the first to the last element
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
  bool delivers_ = false;  // outputs have to be copied or shapes written after the inference
};

}  // namespace anyzero
