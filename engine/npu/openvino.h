// OpenVINO's C library, opened when the first graph needs it, and the gate between it and a process that forks or ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../exec/trap.h"

namespace anyzero {

// Its calls run as the program's own code: whoever makes them from device work steps out of the trap first, because a jump out of
// the library would leave its locks taken. They never touch Python.
//
// Threading: any thread; what it makes keeps its own rules.
struct OpenVino {
  // Objects of the library; only pointers to them are seen.
  struct Core;
  struct Model;
  struct Compiled;
  struct Request;
  struct Tensor;
  struct Port;

  using Status = int;  // 0 for success
  static constexpr Status kCancelled = -13;
  static constexpr uint32_t kByte = 16;  // the element type of plain bytes

  struct Shape {
    int64_t rank;
    int64_t* dims;
  };
  struct Dimension {
    int64_t least, most;  // most is -1 where there is no bound
  };
  struct PartialShape {
    Dimension rank;
    Dimension* dims;
  };
  struct Version {
    const char* number;
    const char* description;
  };
  struct NodeTime {
    int status;  // 0 not run, 1 optimised out, 2 executed
    int64_t real_us, cpu_us;
    const char *node_name, *exec_type, *node_type;
  };
  struct NodeTimes {
    NodeTime* nodes;
    size_t count;
  };

  // Opens the library and makes the one core of the process. nullptr, with a reason that says what to do, when there is none, or
  // in the child of a process that had opened it.
  static const OpenVino* open(std::string* reason);
  // The library's message about the last failure.
  std::string explain(Status status) const;
  // The whole number of its build: a compiled model of one build is no other's.
  const std::string& version() const { return version_; }
  Core* core() const { return core_; }

  // Properties that compile() takes; the library's function is a variadic one.
  static constexpr size_t kMostProperties = 16;

  Status (*get_version)(Version*);
  void (*version_free)(Version*);
  const char* (*error_info)(Status);
  const char* (*last_error)();
  void (*free_text)(const char*);
  Status (*core_create)(Core**);
  Status (*read_model)(const Core*, const char* xml, size_t size, const Tensor* weights, Model**);
  Status (*compile_model)(const Core*, const Model*, const char* device, size_t property_args, Compiled**, ...);
  Status (*export_model)(const Compiled*, const char* path);
  Status (*import_model)(const Core*, const char* content, size_t size, const char* device, Compiled**);
  void (*model_free)(Model*);
  Status (*inputs_size)(const Model*, size_t*);
  Status (*outputs_size)(const Model*, size_t*);
  Status (*input_port)(const Model*, size_t, Port**);
  Status (*output_port)(const Model*, size_t, Port**);
  Status (*port_type)(const Port*, uint32_t*);
  Status (*port_shape)(const Port*, PartialShape*);
  void (*port_free)(Port*);
  void (*partial_shape_free)(PartialShape*);
  Status (*compiled_inputs_size)(const Compiled*, size_t*);
  Status (*compiled_outputs_size)(const Compiled*, size_t*);
  Status (*compiled_input_port)(const Compiled*, size_t, Port**);
  Status (*compiled_output_port)(const Compiled*, size_t, Port**);
  void (*compiled_free)(Compiled*);
  Status (*create_request)(const Compiled*, Request**);
  void (*request_free)(Request*);
  Status (*set_input)(Request*, size_t, const Tensor*);
  Status (*set_output)(Request*, size_t, const Tensor*);
  Status (*get_input)(const Request*, size_t, Tensor**);
  Status (*get_output)(const Request*, size_t, Tensor**);
  Status (*infer)(Request*);
  Status (*cancel)(Request*);
  Status (*profile)(const Request*, NodeTimes*);
  void (*profile_free)(NodeTimes*);
  Status (*tensor_over)(uint32_t type, Shape, void* memory, Tensor**);
  Status (*tensor_data)(const Tensor*, void**);
  Status (*tensor_shape)(const Tensor*, Shape*);
  Status (*shape_free)(Shape*);
  void (*tensor_free)(Tensor*);

 private:
  bool load(const std::string& path, std::string* reason);

  Core* core_ = nullptr;
  std::string version_;
};

// A call into the library that the end of the process waits for. At exit the library's own destructors take apart what a running
// inference uses, beside engine threads that nobody stops; so the gate is closed first, and later calls are refused.
class OpenVinoCall {
 public:
  // `request`, if given, is told to stop when the process ends and it has not done so by itself.
  explicit OpenVinoCall(OpenVino::Request* request = nullptr);
  ~OpenVinoCall();
  OpenVinoCall(const OpenVinoCall&) = delete;
  OpenVinoCall& operator=(const OpenVinoCall&) = delete;

  // False when the library must not be called anymore: the process ends, or it is a forked child, or a model has made the library
  // fault. What belongs to the library is then leaked.
  explicit operator bool() const { return entered_; }
  static std::string refusal();

  // Runs `work`, which calls the library and owns nothing. False when it faulted, on this thread: there are models that OpenVINO
  // falls over. It was torn from whatever it did, locks and all, so it is not called any more; but the process lives.
  template <class Work>
  static bool survived(Work&& work) {
    const Fault fault = trapped(work);
    if (fault.signal == 0) return true;
    give_up(fault);
    return false;
  }
  static bool given_up();

 private:
  static void give_up(const Fault& fault);

  bool entered_;
  int seat_ = -1, outer_ = -1;
};

// To be called after the library has done something new: what it sets up then it takes apart at exit before anything older, so the
// gate has to close before that.
void close_gate_first();

}  // namespace anyzero
