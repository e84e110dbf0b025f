#include "graph_image.h"

#include <cstring>
#include <mutex>

#include "../abi/error.h"
#include "../exec/trap.h"
#include "../planning/request.h"
#include "../system/settings.h"
#include "compiled_graph.h"
#include "content_hash.h"
#include "form_keeper.h"
#include "graph_record.h"
#include "inference.h"
#include "model_cache.h"
#include "model_key.h"
#include "openvino.h"
#include "sealed_blob.h"
#include "serialized_model.h"

namespace anyzero {

namespace {

const ModelCache& model_cache() {
  static const auto* cache = new ModelCache(settings.npu_cache, settings.npu_cache_bytes);  // leaked: any thread may create graphs
  return *cache;
}

// Constants that the planner found in the program's memory, with the offset of each in the weights.
struct BlobParts {
  std::vector<WeightsPiece> pieces;
  std::string manifest;
  uint64_t weights_size = 0;
};

ze_result_t ask_for_manifest(const SerializedModel& model, const char* build_flags, GraphPurpose purpose, BlobParts* parts,
                             std::string* log) {
  const GraphRequest request{build_flags ? build_flags : "", static_cast<uint32_t>(model.serializer),
                             static_cast<uint32_t>(purpose), model.weights.size(), model.xml};
  Reply reply;
  ask_planner("graphs.manifest", encoded(request), &reply);
  *log += reply.log;
  if (reply.status) return reply.status;
  GraphReply found;
  const bool good = reply.read(&found);
  parts->pieces = std::move(found.pieces);
  parts->manifest = reply.rest();
  Manifest manifest;
  std::string reason;
  if (!good || !Manifest::read(parts->manifest, &manifest, &reason)) {
    *log += "the planner's reply is damaged: " + reason;
    return ZE_RESULT_ERROR_UNKNOWN;
  }
  parts->weights_size = manifest.weights_size;
  return ZE_RESULT_SUCCESS;
}

bool inside(std::span<const unsigned char> bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

// Copies all weights unchanged; of a weightless graph only the constants that stay in it.
bool gather_whole(const SerializedModel& model, const BlobParts& parts, std::span<unsigned char> weights, std::string* reason) {
  if (parts.pieces.empty() && model.weights.size() != weights.size()) {
    *reason = "the planner changed the size of the weights";
    return false;
  }
  if (parts.pieces.empty() && !weights.empty()) std::memcpy(weights.data(), model.weights.data(), weights.size());
  for (const WeightsPiece& piece : parts.pieces) {
    if (!inside(weights, piece.offset, piece.size) || !inside(model.weights, piece.address, piece.size)) {
      *reason = "a constant lies outside of the weights";
      return false;
    }
    if (piece.size) std::memcpy(weights.data() + piece.offset, model.weights.data() + piece.address, piece.size);
  }
  return true;
}

bool gather(const SerializedModel& model, const BlobParts& parts, std::span<unsigned char> weights, std::string* reason) {
  if (model.serializer == ModelSerializer::Whole) return gather_whole(model, parts, weights, reason);
  // Embedded constants come before those given by address.
  if (model.weights.size() > weights.size()) {
    *reason = "the planner left constants out";
    return false;
  }
  if (!model.weights.empty()) std::memcpy(weights.data(), model.weights.data(), model.weights.size());
  for (const WeightsPiece& piece : parts.pieces) {
    if (!inside(weights, piece.offset, piece.size)) {
      *reason = "a constant lies outside of the weights";
      return false;
    }
    // The address comes from the model's text and may be invalid.
    const Fault fault = trapped([&] {
      if (piece.size) std::memcpy(weights.data() + piece.offset, reinterpret_cast<const void*>(piece.address), piece.size);
    });
    if (fault.signal) {
      *reason = "a constant of the model points to invalid memory";
      return false;
    }
  }
  return true;
}

ze_result_t lay_out(const SerializedModel& model, const char* build_flags, GraphPurpose purpose, MappedBlob* blob,
                    std::string* log) {
  BlobParts parts;
  std::string reason;
  if (ze_result_t r = ask_for_manifest(model, build_flags, purpose, &parts, log)) return r;
  auto fill = [&](std::span<unsigned char> weights, std::string* why) { return gather(model, parts, weights, why); };
  if (make_blob(parts.manifest, parts.weights_size, fill, blob, &reason)) return ZE_RESULT_SUCCESS;
  *log += reason;
  return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
}

ze_result_t split(const ze_graph_desc_2_t& desc, SerializedModel* model, std::string* log) {
  std::string reason;
  if (SerializedModel::split({desc.pInput, desc.inputSize}, model, &reason)) return ZE_RESULT_SUCCESS;
  *log += reason;
  return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
}

}  // namespace

uint64_t cached_model_bytes() { return model_cache().bytes(); }

ze_result_t lay_out_model(const ze_graph_desc_2_t& desc, MappedBlob* blob, std::string* log) {
  SerializedModel model;
  if (ze_result_t r = split(desc, &model, log)) return r;
  return lay_out(model, desc.pBuildFlags, GraphPurpose::Query, blob, log);
}

ze_result_t GraphImage::make(const ze_graph_desc_2_t& desc, std::shared_ptr<GraphImage>* image, std::string* log) {
  auto made = std::make_shared<GraphImage>();
  made->secure_ = desc.flags & ZE_GRAPH_FLAG_SECURE_COMPILE;
  // Checked now rather than when the program saves a graph that took long to compile.
  if (made->secure_ && !can_seal(log)) return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
  if (ze_result_t r = desc.format == ZE_GRAPH_FORMAT_NATIVE ? made->adopt(desc, log) : made->build(desc, log)) return r;
  if (made->manifest().profiling()) made->flags_ |= ZE_GRAPH_PROPERTIES_FLAG_PROFILING_ENABLED;
  *image = std::move(made);
  return ZE_RESULT_SUCCESS;
}

// A native blob: used in place if its memory stays valid, otherwise copied.
ze_result_t GraphImage::adopt(const ze_graph_desc_2_t& desc, std::string* log) {
  std::string reason;
  std::span<const unsigned char> bytes = {desc.pInput, desc.inputSize};
  std::shared_ptr<const Mapping> unsealed;
  if (is_sealed(bytes)) {
    secure_ = true;
    unsealed = unseal(bytes, &reason);
    if (!unsealed) {
      *log += reason;
      return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    }
    bytes = unsealed->bytes();
  }
  if (!read_blob(bytes, &blob_, &reason)) {
    *log += "the native blob cannot be loaded: " + reason;
    return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  }
  flags_ = ZE_GRAPH_PROPERTIES_FLAG_PRE_COMPILED;
  if (unsealed) {
    memory_ = std::move(unsealed);
    flags_ |= ZE_GRAPH_PROPERTIES_FLAG_NO_STANDARD_ALLOCATION;
  } else if (!(desc.flags & ZE_GRAPH_FLAG_INPUT_GRAPH_PERSISTENT)) {
    MappedBlob owned;
    if (!copy_blob(blob_, &owned, &reason)) {
      *log += reason;
      return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    blob_ = std::move(owned.view);
    memory_ = std::move(owned.memory);
    flags_ |= ZE_GRAPH_PROPERTIES_FLAG_NO_STANDARD_ALLOCATION;
  }
  return compile(log);
}

bool GraphImage::find_in_cache(const ContentHash& key) {
  auto found = model_cache().find(key);
  if (!found) return false;
  blob_ = std::move(found->view);
  memory_ = std::move(found->memory);
  flags_ = ZE_GRAPH_PROPERTIES_FLAG_LOADED_FROM_CACHE;
  return true;
}

// A serialised model: loaded from the cache, or laid out and compiled.
ze_result_t GraphImage::build(const ze_graph_desc_2_t& desc, std::string* log) {
  SerializedModel model;
  if (ze_result_t r = split(desc, &model, log)) return r;
  ContentHash key{};
  bool cached = !secure_ && !(desc.flags & ZE_GRAPH_FLAG_DISABLE_CACHING);
  if (cached) {
    GraphStep step("cache lookup");
    cached = model_key(model, desc.pBuildFlags, &key);
    if (cached && find_in_cache(key)) step.found(manifest().model_name, blob_.all.size());
  }
  if (memory_) return compile(log);
  MappedBlob made;
  if (ze_result_t r = lay_out(model, desc.pBuildFlags, GraphPurpose::Execution, &made, log)) return r;
  blob_ = std::move(made.view);
  memory_ = std::move(made.memory);
  flags_ = ZE_GRAPH_PROPERTIES_FLAG_COMPILED;
  if (ze_result_t r = compile(log)) return r;
  if (!cached) return ZE_RESULT_SUCCESS;
  {
    const GraphStep step("cache write", manifest().model_name, blob_.all.size());
    model_cache().keep(key, blob_.all);
  }
  if (manifest().weightless()) return ZE_RESULT_SUCCESS;
  keep_form_later([image = shared_from_this(), compiled = compiled_, key] {
    const GraphStep step("export to the cache", image->manifest().model_name, image->blob_.all.size());
    MappedBlob extended;
    if (image->extend(*compiled, &extended)) model_cache().keep(key, extended.view.all);
  });
  return ZE_RESULT_SUCCESS;
}

// Copies the blob and adds the compiled form. False if there is no form or not enough memory.
bool GraphImage::extend(const CompiledGraph& compiled, MappedBlob* extended) const {
  if (!blob_.form.empty() || manifest().weightless()) return false;  // a form contains weights
  const std::shared_ptr<const Mapping> form = compiled.form();
  std::string ignored;
  return form && extend_blob(blob_, form->bytes(), compiled.form_identity(), extended, &ignored);
}

uint64_t GraphImage::bytes_held() {
  std::lock_guard lock(mutex_);
  const uint64_t weights = compiled_ && manifest().weightless() ? manifest().weights_extent() : 0;
  return blob_.all.size() + extended_.view.all.size() + (sealed_ ? sealed_->bytes().size() : 0) + weights;
}

ze_result_t GraphImage::native_binary(std::span<const unsigned char>* bytes) {
  std::lock_guard lock(mutex_);
  if (!extended_.memory && !sealed_ && compiled_) extend(*compiled_, &extended_);
  *bytes = extended_.memory ? extended_.view.all : blob_.all;
  if (!secure_) return ZE_RESULT_SUCCESS;
  std::string reason;
  if (!sealed_) sealed_ = seal(*bytes, &reason);
  extended_ = {};
  if (!sealed_) return fail(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, "%s", reason.c_str());
  *bytes = sealed_->bytes();
  return ZE_RESULT_SUCCESS;
}

// Describes a weightless graph. Weights that do not determine a shape can be zeros, and untouched zero pages need no memory.
ze_result_t GraphImage::describe(std::string* log) {
  const std::shared_ptr<Mapping> weights = allocate_mapping(manifest().weights_extent());
  if (!weights) {
    *log += "not enough memory for " + std::to_string(manifest().weights_extent()) + " bytes of weights";
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  if (!blob_.weights.empty()) std::memcpy(weights->address(), blob_.weights.data(), blob_.weights.size());
  return CompiledGraph::describe(manifest(), weights->bytes(), &arguments_, log);
}

ze_result_t GraphImage::compile(std::string* log) {
  if (manifest().weightless()) return describe(log);
  if (ze_result_t r = CompiledGraph::load(blob_, memory_, &compiled_, log)) return r;
  // Recompilation after an eviction gives the same arguments, and other threads may be reading them.
  if (arguments_.empty()) arguments_ = compiled_->arguments();
  return ZE_RESULT_SUCCESS;
}

ze_result_t GraphImage::compiled(std::shared_ptr<CompiledGraph>* compiled) {
  std::lock_guard lock(mutex_);
  std::string log;
  if (!compiled_)
    if (ze_result_t r = compile(&log)) return fail(r, "the graph was evicted, and compiling it again failed: %s", log.c_str());
  *compiled = compiled_;
  return ZE_RESULT_SUCCESS;
}

ze_result_t GraphImage::compiled_with(const std::vector<ArgumentValue>& values, bool recompile,
                                      std::shared_ptr<CompiledGraph>* compiled, std::string* log) {
  std::vector<const void*> at;
  for (size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].role == GraphRole::Weights) at.push_back(values[i].pointer);
  std::lock_guard lock(mutex_);
  if (!recompile && compiled_ && at == weights_at_) {
    *compiled = compiled_;
    return ZE_RESULT_SUCCESS;
  }
  const std::shared_ptr<Mapping> weights = allocate_mapping(manifest().weights_extent());
  if (!weights) {
    *log = "not enough memory for " + std::to_string(manifest().weights_extent()) + " bytes of weights";
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  TrapPause not_device_work;
  if (!blob_.weights.empty()) std::memcpy(weights->address(), blob_.weights.data(), blob_.weights.size());
  const GraphArgument* volatile current = nullptr;
  const Fault fault = trapped([&] {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const GraphArgument& argument = arguments_[i];
      if (argument.role != GraphRole::Weights) continue;
      current = &argument;
      std::memcpy(weights->address() + argument.place, values[i].pointer, argument.bytes);
    }
  });
  if (fault.signal) {
    *log = "the weights " + current->name + " (" + std::to_string(current->bytes) +
           " bytes) cannot be read at the address of the value";
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  }
  std::shared_ptr<CompiledGraph> made;
  if (ze_result_t r = CompiledGraph::compile(manifest(), weights->bytes(), weights, &made, log)) return r;
  compiled_ = made;
  weights_at_ = std::move(at);
  if (recompile) initializations_.fetch_add(1, std::memory_order_release);
  *compiled = std::move(made);
  return ZE_RESULT_SUCCESS;
}

void GraphImage::evict() {
  std::shared_ptr<CompiledGraph> gone;
  std::lock_guard lock(mutex_);
  gone.swap(compiled_);
}

}  // namespace anyzero
