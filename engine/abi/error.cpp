#include "error.h"

#include <pthread.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace anyzero {

namespace {

constexpr size_t kLongest = 8192;

// A library loaded with dlopen gets little static TLS, so only a pointer is stored there.
thread_local char* text = nullptr;

void forget(void* memory) {
  text = nullptr;
  std::free(memory);
}

char* room() {
  if (text) return text;
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, forget);
    return made;
  }();
  text = static_cast<char*>(std::calloc(1, kLongest));
  pthread_setspecific(key, text);
  return text;
}

}  // namespace

ze_result_t fail(ze_result_t result, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (char* to = room()) vsnprintf(to, kLongest, format, arguments);
  va_end(arguments);
  return result;
}

ze_result_t bad_handle(ze_result_t result, const char* function, const char* parameter, const void* value) {
  if (!value) return fail(result, "%s: %s is null", function, parameter);
  return fail(result, "%s: %s (%p) is not a live handle of that kind; was it destroyed, or is it another kind of object?", function,
              parameter, value);
}

const char* last_error() { return text ? text : ""; }

}  // namespace anyzero
