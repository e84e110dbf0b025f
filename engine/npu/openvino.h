// OpenVINO's C library, opened when the first graph needs it, and a gate that keeps it safe at fork and process exit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../exec/trap.h"

namespace anyzero {

// Calls run outside of the fault trap: device work leaves the trap first, because a jump out of the library would leave its locks
// taken. They never touch Python.
//
// Threading: any thread; the library's objects have their own rules.
struct OpenVino {
  // Opaque types of the library.
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
    int64_t least, most;  // most is -1 if unbounded
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

  // Opens the library and creates the one core of the process. nullptr, with a reason that tells the user what to do, if it is
  // missing, or in the child of a process that had opened it.
  static const OpenVino* open(std::string* reason);
  // The library's message about the last failure.
  std::string explain(Status status) const;
  // The full build number: a compiled model is valid only for one build.
  const std::string& version() const { return version_; }
  Core* core() const { return core_; }

  // Maximum number of properties for compile(); the library's function is variadic.
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

// A call into the library; process exit waits for it. At exit the library's destructors free objects that a running inference uses,
// and engine threads are not stopped then; so the gate closes first, and later calls are refused.
class OpenVinoCall {
 public:
  // `request`, if given, is cancelled at process exit if it does not end by itself.
  explicit OpenVinoCall(OpenVino::Request* request = nullptr);
  ~OpenVinoCall();
  OpenVinoCall(const OpenVinoCall&) = delete;
  OpenVinoCall& operator=(const OpenVinoCall&) = delete;

  // False if the library must not be called anymore: at process exit, in a forked child, or after a fault inside the library.
  // Objects of the library are then leaked.
  explicit operator bool() const { return entered_; }
  static std::string refusal();

  // Runs `work`, which calls the library and owns nothing. False if it faulted on this thread, as OpenVINO does on some models. The
  // fault may leave the library's locks taken, so the library is not called anymore; but the process lives.
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

// Call this after the library has done something for the first time. Destructors that it registers then run before older exit
// handlers, so the gate is registered again to close before them.
void close_gate_first();

}  // namespace anyzero
