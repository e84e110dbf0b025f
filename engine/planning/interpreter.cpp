#include "interpreter.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "environment.h"

namespace anyzero {

namespace {

std::string resolved(const char* path) {
  char* real = realpath(path, nullptr);
  std::string text = real ? real : "";
  std::free(real);
  return text;
}

// A relative name is the one that was passed to dlopen, and the working directory may have changed since.
std::string mapped_file(uintptr_t address) {
  FILE* maps = std::fopen("/proc/self/maps", "re");
  std::string found;
  char line[4096 + 256];
  while (maps && found.empty() && std::fgets(line, sizeof line, maps)) {
    unsigned long from = 0, to = 0;
    if (std::sscanf(line, "%lx-%lx", &from, &to) != 2 || address < from || address >= to) continue;
    if (const char* path = std::strchr(line, '/')) found.assign(path, std::strcspn(path, "\n"));
  }
  if (maps) std::fclose(maps);
  return found;
}

std::string find_library() {
  Dl_info info;
  std::string path;
  if (dladdr(reinterpret_cast<void*>(&library_folder), &info) && info.dli_fname && *info.dli_fname == '/')
    path = resolved(info.dli_fname);
  return path.empty() ? mapped_file(reinterpret_cast<uintptr_t>(&library_folder)) : path;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string_view name_of(const std::string& path) { return std::string_view(path).substr(path.rfind('/') + 1); }

bool runs(const std::string& path) {
  struct stat found;
  // Checked with the effective ids, which it will be started with, not the caller's.
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 && stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

// Symbolic links are kept: a virtual environment is found by the name that its interpreter is started with.
std::string absolute(const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  char* here = getcwd(nullptr, 0);
  std::string full = here ? std::string(here) + "/" + path : path;
  std::free(here);
  return full;
}

std::string on_path(const std::string& name) {
  const std::string path = search_path();
  std::string_view rest = path;
  for (;;) {
    const size_t end = rest.find(':');
    const std::string folder(rest.substr(0, end));
    const std::string candidate = absolute(folder + "/" + name);
    // An empty entry means the working directory, which is never intended.
    if (!folder.empty() && runs(candidate)) return candidate;
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
}

std::string first_line(const std::string& path) {
  std::string line;
  if (FILE* file = std::fopen(path.c_str(), "re")) {
    char text[4096];
    if (std::fgets(text, sizeof text, file)) line.assign(text, std::strcspn(text, "\r\n"));
    std::fclose(file);
  }
  return line;
}

// For PREFIX/lib/python3.12/site-packages/anyzero/lib: the name python3.12, and the places of such an interpreter.
std::vector<std::string> neighbours(const std::string& library) {
  const std::string versioned = folder_of(folder_of(folder_of(library)));
  const std::string name(name_of(versioned));
  if (name.rfind("python3.", 0) != 0) return {};
  const std::string prefix = folder_of(folder_of(versioned));
  return {prefix + "/bin/" + name, "/usr/local/bin/" + name, "/usr/bin/" + name, on_path(name)};
}

// Leaked: it may be set again while others read it.
constinit std::atomic<const std::string*> preferred{nullptr};

}  // namespace

const std::string& library_folder() {
  static const auto* folder = new std::string(folder_of(find_library()));  // leaked: programs call from exit handlers
  return *folder;
}

void prefer_interpreter(const char* path) { preferred.store(new std::string(path), std::memory_order_release); }

std::string find_interpreter(std::string* tried) {
  if (const char* named = path_variable("ANYZERO_PYTHON")) {
    const std::string path = std::strchr(named, '/') ? absolute(named) : on_path(named);
    if (runs(path)) return path;
    *tried = "ANYZERO_PYTHON=" + shortened(named) + " is not a program";
    return {};
  }
  // A program that embeds Python has another name, and must not be started. With more privileges than its caller, the name is not
  // trusted.
  const std::string* own = preferred.load(std::memory_order_acquire);
  if (own && getauxval(AT_SECURE) == 0 && name_of(*own).starts_with("python") && runs(*own)) return *own;
  const std::string& library = library_folder();
  const std::string recorded = first_line(library + "/python");
  if (!recorded.empty() && runs(recorded)) return recorded;
  for (const std::string& path : neighbours(library))
    if (!path.empty() && runs(path)) return path;
  *tried = recorded.empty() ? "ANYZERO_PYTHON is not set, and no Python belongs to the folder " + library
                            : "ANYZERO_PYTHON is not set, and " + recorded + ", for which " + library + " was built, is gone";
  return {};
}

}  // namespace anyzero
