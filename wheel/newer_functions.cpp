// Functions that the compiler's headers and its C++ library expect of the C library, and that glibc 2.28 lacks. They are linked
// into each library of a wheel and are not exported; without them the linker reports what is missing (wheel/old_glibc.py).
#include <fcntl.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

extern "C" {

// Since 2.36; std::random_device calls it, and cannot handle a failure.
uint32_t arc4random() {
  uint32_t value;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
    if (errno != EINTR) abort();
  }
  return value;
}

// Since 2.32, a promise that there are no other threads. The engine always has some.
char __libc_single_threaded = 0;

// Since 2.30.
pid_t gettid() { return static_cast<pid_t>(syscall(SYS_gettid)); }

// Since 2.33 in the library itself; before, headers called functions of other names. The structure is the kernel's on 64-bit
// machines.
int fstatat(int folder, const char* path, struct stat* result, int flags) {
  return static_cast<int>(syscall(SYS_newfstatat, folder, path, result, flags));
}
int stat(const char* path, struct stat* result) { return fstatat(AT_FDCWD, path, result, 0); }
int lstat(const char* path, struct stat* result) { return fstatat(AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW); }
int fstat(int file, struct stat* result) { return static_cast<int>(syscall(SYS_fstat, file, result)); }

// Since 2.30. The older function knows the clock that may be set only, so a limit is converted when the wait begins.
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* limit) {
  timespec now, wall;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &wall) != 0) return EINVAL;
  wall.tv_sec += limit->tv_sec - now.tv_sec;
  wall.tv_nsec += limit->tv_nsec - now.tv_nsec;
  if (wall.tv_nsec < 0) {
    wall.tv_nsec += 1'000'000'000;
    --wall.tv_sec;
  } else if (wall.tv_nsec >= 1'000'000'000) {
    wall.tv_nsec -= 1'000'000'000;
    ++wall.tv_sec;
  }
  return pthread_mutex_timedlock(mutex, &wall);
}
}
