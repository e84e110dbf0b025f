// The cache of models: what it finds, what it gives up, and that neither a damaged folder nor any number of users disturbs it.
#include "../../engine/npu/model_cache.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "graph_bytes.h"

using anyzero::ContentHash;
using anyzero::MappedBlob;
using anyzero::ModelCache;
namespace fs = std::filesystem;

namespace {

// A folder that is gone afterwards.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "anyzero-models-XXXXXX").string();
    assert(mkdtemp(name.data()));
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

MappedBlob make(uint64_t weights_size, unsigned char content) {
  graph_bytes::Graph graph = graph_bytes::of_every_kind();
  graph.weights_size = weights_size;
  MappedBlob blob;
  std::string reason;
  auto fill = [&](std::span<unsigned char> weights, std::string*) {
    std::memset(weights.data(), content, weights.size());
    return true;
  };
  assert(anyzero::make_blob(graph_bytes::manifest(graph), weights_size, fill, &blob, &reason));
  return blob;
}

ContentHash key(uint64_t number) { return {number, ~number}; }

fs::path file_of(const fs::path& folder, uint64_t number) { return folder / (key(number).hex() + ".blob"); }

bool holds(const ModelCache& cache, uint64_t number, unsigned char content) {
  const auto found = cache.find(key(number));
  return found && !found->view.weights.empty() && found->view.weights.front() == content && found->view.weights.back() == content;
}

uint64_t bytes_in(const fs::path& folder) {
  uint64_t total = 0;
  for (const auto& each : fs::directory_iterator(folder))
    if (each.is_regular_file()) total += each.file_size();
  return total;
}

void age(const fs::path& file, int seconds) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

void what_is_kept_is_found() {
  const Folder top;
  const fs::path folder = top.path / "not" / "there" / "yet";
  const ModelCache cache(folder, 1 << 20);
  assert(!cache.find(key(1)));
  const MappedBlob blob = make(5000, 'a');
  cache.keep(key(1), blob.view.all);
  const auto found = cache.find(key(1));
  assert(found && found->view.all.size() == blob.view.all.size());
  assert(std::memcmp(found->view.all.data(), blob.view.all.data(), blob.view.all.size()) == 0);
  assert(found->view.manifest.model_name == "tiny" && reinterpret_cast<uintptr_t>(found->view.weights.data()) % 4096 == 0);
  assert(!cache.find(key(2)));
  cache.keep(key(1), make(6000, 'b').view.all);
  assert(holds(cache, 1, 'b'));
  // Who has found it keeps it, whatever becomes of the file.
  fs::remove_all(folder);
  assert(found->view.weights.back() == 'a' && found->view.manifest.xml.starts_with("<net"));
  assert(!cache.find(key(1)));
  struct stat about;
  cache.keep(key(1), blob.view.all);
  assert(stat(folder.c_str(), &about) == 0 && (about.st_mode & 0777) == 0700);
  assert(stat(file_of(folder, 1).c_str(), &about) == 0 && (about.st_mode & 0777) == 0600);
}

void off_is_off() {
  const Folder top;
  const MappedBlob blob = make(5000, 'a');
  const ModelCache off(top.path, 0), nowhere("", 1 << 20), small(top.path, blob.view.all.size() - 1);
  for (const ModelCache* each : {&off, &nowhere, &small}) {
    each->keep(key(1), blob.view.all);
    each->keep(key(2), {});
    assert(!each->find(key(1)));
  }
  assert(fs::is_empty(top.path));
}

void the_least_recently_used_goes() {
  const Folder top;
  const MappedBlob blob = make(4096, 'a');
  const uint64_t size = blob.view.all.size();
  const ModelCache cache(top.path, 3 * size);
  for (uint64_t i = 1; i <= 3; ++i) {
    cache.keep(key(i), blob.view.all);
    age(file_of(top.path, i), static_cast<int>(100 - i));
  }
  assert(cache.find(key(1)));  // and so it is used
  cache.keep(key(4), blob.view.all);
  assert(cache.find(key(1)) && !cache.find(key(2)) && cache.find(key(3)) && cache.find(key(4)));
  assert(bytes_in(top.path) == 3 * size && cache.bytes() == 3 * size);
  // One that needs all the room, from a cache with a smaller limit.
  const ModelCache smaller(top.path, size);
  smaller.keep(key(5), blob.view.all);
  assert(bytes_in(top.path) == size && smaller.find(key(5)));
}

void damage_is_removed() {
  const Folder top;
  const ModelCache cache(top.path, 1 << 20);
  const MappedBlob blob = make(5000, 'a');
  const fs::path file = file_of(top.path, 1);
  auto damaged = [&](auto&& change) {
    cache.keep(key(1), blob.view.all);
    assert(holds(cache, 1, 'a'));
    change();
    assert(!cache.find(key(1)) && !fs::exists(file));
    cache.keep(key(1), blob.view.all);
    assert(holds(cache, 1, 'a'));
  };
  damaged([&] { fs::resize_file(file, 0); });
  damaged([&] { fs::resize_file(file, 10); });
  damaged([&] { fs::resize_file(file, blob.view.all.size() - 1); });
  damaged([&] { fs::resize_file(file, blob.view.all.size() + 1); });
  damaged([&] { std::ofstream(file) << "something else"; });
  damaged([&] { std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(6000).put('b'); });
}

void what_others_put_there_stays() {
  const Folder top, elsewhere;
  const MappedBlob blob = make(4096, 'a');
  const ModelCache cache(top.path, blob.view.all.size());
  const std::string digits = key(9).hex();
  const std::string names[] = {
      "notes.txt", "x.blob", digits + ".blob.bak", digits + "0.blob", "G" + digits.substr(1) + ".blob", digits + ".1.2.part"};
  for (const std::string& name : names) {
    std::ofstream(top.path / name) << std::string(10'000, 'x');
    age(top.path / name, name.ends_with(".part") ? 10 : 10'000);
  }
  std::ofstream(elsewhere.path / "mine") << "mine";
  fs::create_symlink(elsewhere.path / "mine", file_of(top.path, 2));
  fs::create_directory(file_of(top.path, 3));
  assert(mkfifo(file_of(top.path, 4).c_str(), 0600) == 0);
  for (uint64_t i = 1; i <= 5; ++i) cache.keep(key(i), blob.view.all);
  for (uint64_t i = 2; i <= 4; ++i) assert(!cache.find(key(i)));
  assert(cache.find(key(5)) && !cache.find(key(1)));
  for (const std::string& name : names) assert(fs::file_size(top.path / name) == 10'000);
  assert(cache.bytes() == blob.view.all.size());
  assert(fs::is_symlink(file_of(top.path, 2)) && fs::is_directory(file_of(top.path, 3)) && fs::is_fifo(file_of(top.path, 4)));
  assert(fs::file_size(elsewhere.path / "mine") == 4);
  // Nobody will finish it anymore.
  age(top.path / names[5], 10'000);
  cache.keep(key(6), blob.view.all);
  assert(!fs::exists(top.path / names[5]) && fs::exists(top.path / names[0]));
}

void folders_that_others_can_write_are_not_trusted() {
  const Folder top;
  const fs::path folder = top.path / "a" / "b";
  const ModelCache cache(folder, 1 << 20);
  const MappedBlob blob = make(4096, 'a');
  cache.keep(key(1), blob.view.all);
  for (const fs::path& part : {folder, top.path / "a", top.path})
    for (const unsigned mode : {0777u, 0770u, 0720u}) {
      fs::permissions(part, fs::perms(mode));
      cache.keep(key(2), blob.view.all);
      assert(!cache.find(key(1)) && !fs::exists(file_of(folder, 2)));
      fs::permissions(part, fs::perms(0700));
      assert(cache.find(key(1)));
    }
  // As /tmp is; but in the folder itself others could put entries.
  fs::permissions(top.path, fs::perms(01777));
  assert(cache.find(key(1)));
  fs::permissions(folder, fs::perms(01777));
  assert(!cache.find(key(1)));
}

void entries_that_others_can_write_are_not_trusted() {
  const Folder top;
  const ModelCache cache(top.path, 1 << 20);
  const fs::path file = file_of(top.path, 1);
  const MappedBlob blob = make(4096, 'a');
  cache.keep(key(1), blob.view.all);
  for (const unsigned mode : {0620u, 0602u}) {
    fs::permissions(file, fs::perms(mode));
    assert(!cache.find(key(1)));
  }
  fs::permissions(file, fs::perms(0600));
  fs::create_hard_link(file, top.path / "again");
  assert(!cache.find(key(1)));
  fs::remove(top.path / "again");
  assert(cache.find(key(1)));
}

void links_are_followed_by_their_owner() {
  const Folder top;
  const MappedBlob blob = make(4096, 'a');
  fs::create_directories(top.path / "real" / "inner");
  fs::create_directory_symlink("real", top.path / "relative");
  fs::create_directory_symlink(top.path / "relative", top.path / "home");
  const ModelCache cache(top.path / "home" / "inner", 1 << 20);
  cache.keep(key(1), blob.view.all);
  assert(cache.find(key(1)) && fs::exists(file_of(top.path / "real" / "inner", 1)));
  fs::create_directory_symlink("circle", top.path / "circle");
  const ModelCache endless(top.path / "circle" / "inner", 1 << 20);
  endless.keep(key(1), blob.view.all);
  assert(!endless.find(key(1)));
  if (geteuid() != 0) {
    std::puts("  skipped: folders, links and entries of another user, for only root can make them");
    return;
  }
  constexpr uid_t kSomebody = 54321;
  for (const fs::path& part : {top.path / "real", top.path / "home", top.path / "relative", top.path / "real" / "inner",
                               file_of(top.path / "real" / "inner", 1)}) {
    assert(lchown(part.c_str(), kSomebody, static_cast<gid_t>(-1)) == 0 && !cache.find(key(1)));
    assert(lchown(part.c_str(), 0, static_cast<gid_t>(-1)) == 0 && cache.find(key(1)));
  }
}

void the_umask_has_no_say() {
  const Folder top;
  const fs::path folder = top.path / "a" / "b";
  const mode_t before = umask(0777);
  const ModelCache cache(folder, 1 << 20);
  cache.keep(key(1), make(4096, 'a').view.all);
  umask(before);
  assert(cache.find(key(1)));
  assert(fs::status(folder).permissions() == fs::perms(0700) && fs::status(file_of(folder, 1)).permissions() == fs::perms(0600));
}

void impossible_folders_cost_nothing() {
  const Folder top;
  const MappedBlob blob = make(4096, 'a');
  std::ofstream(top.path / "file") << "x";
  for (const std::string& folder : {(top.path / "file").string(), (top.path / "file" / "below").string(),
                                    std::string("/proc/nothing/here"), std::string(5000, 'x'), std::string("/dev/null")}) {
    const ModelCache cache(folder, 1 << 20);
    cache.keep(key(1), blob.view.all);
    assert(!cache.find(key(1)));
  }
}

template <class F>
int in_a_process(F&& run) {
  const pid_t child = fork();
  assert(child >= 0);
  if (child == 0) {
    run();
    _exit(0);
  }
  return child;
}

bool ended_well(int child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void limits_on_files_are_kept() {
  const Folder top;
  assert(ended_well(in_a_process([&] {
    const struct rlimit most = {5000, 5000};
    assert(setrlimit(RLIMIT_FSIZE, &most) == 0);
    const ModelCache cache(top.path, 1 << 20);
    cache.keep(key(1), make(9000, 'a').view.all);
    assert(!cache.find(key(1)) && fs::is_empty(top.path));
  })));
}

// In a namespace of this process alone.
bool become_root() {
  const std::string user = std::to_string(geteuid()), group = std::to_string(getegid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) return false;
  std::ofstream("/proc/self/uid_map") << "0 " + user + " 1";
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/gid_map") << "0 " + group + " 1";
  return geteuid() == 0 && getegid() == 0;
}

// On a disk of its own, where the system lets a program have one.
void a_full_or_read_only_disk_costs_nothing() {
  const Folder top;
  const int child = in_a_process([&] {
    if (unshare(CLONE_NEWNS) && !become_root()) _exit(77);
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr)) _exit(77);
    if (mount("tmpfs", top.path.c_str(), "tmpfs", 0, "size=64k,mode=0700")) _exit(77);
    const ModelCache cache(top.path, 1 << 20);
    cache.keep(key(1), make(4096, 'a').view.all);
    cache.keep(key(2), make(90'000, 'b').view.all);
    assert(holds(cache, 1, 'a') && !cache.find(key(2)));
    assert(std::distance(fs::directory_iterator(top.path), fs::directory_iterator()) == 1);  // nothing half done
    if (mount(nullptr, top.path.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, "size=64k,mode=0700")) _exit(77);
    cache.keep(key(3), make(4096, 'c').view.all);
    assert(holds(cache, 1, 'a') && !cache.find(key(3)));
  });
  int status = 0;
  assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    std::puts("  skipped: a full disk and a read-only one, for this needs the right to mount");
  else
    assert(WEXITSTATUS(status) == 0);
}

// Keeps, finds and damages a few keys at random; whatever is found must be right.
void hammer(const fs::path& folder, uint64_t limit, uint32_t seed, int rounds) {
  const ModelCache cache(folder, limit);
  std::mt19937 random(seed);
  for (int i = 0; i < rounds; ++i) {
    const uint64_t number = random() % 8;
    const auto content = static_cast<unsigned char>('a' + number);
    const MappedBlob blob = make(3000 + 1000 * number, content);
    if (const auto found = cache.find(key(number))) {
      assert(found->view.all.size() == blob.view.all.size());
      assert(std::memcmp(found->view.all.data(), blob.view.all.data(), blob.view.all.size()) == 0);
    } else {
      cache.keep(key(number), blob.view.all);
    }
    if (random() % 16 == 0) {
      // Another file with that name, never a change of one that somebody may have mapped.
      const fs::path broken = folder / ("broken" + std::to_string(getpid()) + "-" + std::to_string(seed));
      std::ofstream(broken) << "damaged";
      std::error_code ignored;
      fs::rename(broken, file_of(folder, number), ignored);
    }
  }
}

void everybody_at_once() {
  const Folder top;
  const uint64_t limit = 4 * make(10'000, 'a').view.all.size();
  std::vector<int> children;
  for (uint32_t i = 0; i < 3; ++i) children.push_back(in_a_process([&, i] { hammer(top.path, limit, 100 + i, 300); }));
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 3; ++i) threads.emplace_back([&, i] { hammer(top.path, limit, i, 300); });
  for (std::thread& each : threads) each.join();
  for (int each : children) assert(ended_well(each));
  ModelCache(top.path, limit).keep(key(8), make(100, 'z').view.all);
  assert(bytes_in(top.path) <= limit);
  for (const auto& each : fs::directory_iterator(top.path)) assert(each.path().extension() == ".blob");
}

}  // namespace

int main() {
  what_is_kept_is_found();
  off_is_off();
  the_least_recently_used_goes();
  damage_is_removed();
  what_others_put_there_stays();
  folders_that_others_can_write_are_not_trusted();
  entries_that_others_can_write_are_not_trusted();
  links_are_followed_by_their_owner();
  the_umask_has_no_say();
  impossible_folders_cost_nothing();
  limits_on_files_are_kept();
  a_full_or_read_only_disk_costs_nothing();
  everybody_at_once();
  std::puts("model_cache_test: ok");
  return 0;
}
