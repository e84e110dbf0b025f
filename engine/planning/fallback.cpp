#include "fallback.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "environment.h"
#include "interpreter.h"

namespace anyzero {

namespace {

// The placeholders that anyzero.driver.devices.boot.anywhere() writes for numbers of the machine.
constexpr uint64_t kMemory = 0x0005A5A5A5A5'A000;
constexpr uint32_t kThreads = 0x5A5A5A5A;

constexpr off_t kLargest = off_t{64} << 20;

uint64_t memory_of_machine() {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * page;
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    unsigned long long limit = 0;
    FILE* file = std::fopen(path, "re");
    // It may also hold the word "max".
    if (file && std::fscanf(file, "%llu", &limit) == 1 && limit) memory = std::min<uint64_t>(memory, limit);
    if (file) std::fclose(file);
  }
  return memory / page * page;
}

uint32_t threads_of_machine() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // It fails if there are more processors than the set can hold.
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return CPU_SETSIZE;
  return static_cast<uint32_t>(std::max(1, CPU_COUNT(&allowed)));
}

// Structures have the compiler's layout, so numbers are aligned.
template <class T>
void replace(std::vector<unsigned char>& bytes, T from, T to) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(uint32_t))
    if (std::memcmp(&bytes[at], &from, sizeof(T)) == 0) std::memcpy(&bytes[at], &to, sizeof(T));
}

}  // namespace

bool describe_by_file(const std::string& path, std::vector<unsigned char>* description, std::string* reason) {
  // Opening a pipe would wait for a writer, and reading a device might never end.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat found = {};
  const char* wrong = nullptr;
  if (file < 0 || fstat(file, &found) != 0) {
    wrong = std::strerror(errno);
  } else if (!S_ISREG(found.st_mode)) {
    wrong = "is not a regular file";
  } else if (found.st_size > kLargest) {
    wrong = "is too large for a description";
  } else {
    description->resize(static_cast<size_t>(found.st_size));
    size_t have = 0;
    for (ssize_t got = 1; have < description->size() && got > 0; have += got > 0 ? static_cast<size_t>(got) : 0)
      got = read(file, description->data() + have, description->size() - have);
    if (have < description->size()) wrong = "cannot be read to its end";
  }
  if (file >= 0) close(file);
  if (wrong) *reason = shortened(path) + ": " + wrong;
  return !wrong;
}

bool describe_without_python(std::vector<unsigned char>* description, std::string* reason) {
  for (const char* variable :
       {"ANYZERO_DEVICES", "ANYZERO_PROFILE", "ANYZERO_THREADS", "ANYZERO_MEMORY", "ANYZERO_KEPT_MEMORY", "ANYZERO_SPIN_US",
        "ANYZERO_INLINE_BYTES", "ANYZERO_LOG", "ANYZERO_SLOW_WAIT", "ANYZERO_KERNEL_TIMEOUT", "ANYZERO_STRICT"})
    if (const char* value = std::getenv(variable); value && *value) {
      *reason = std::string(variable) + " cannot take effect: there is " + *reason;
      return false;
    }
  const std::string path = library_folder() + "/description";
  std::string wrong;
  if (!describe_by_file(path, description, &wrong)) {
    *reason = wrong + ", and there is " + *reason;
    return false;
  }
  replace(*description, kMemory, memory_of_machine());
  replace(*description, kThreads, threads_of_machine());
  return true;
}

}  // namespace anyzero
