// A program that looks closely at itself before and after: the driver starts a process, and nothing else shows it.
#include "host.h"

static volatile sig_atomic_t children;
static void on_child(int number) {
  (void)number;
  ++children;
}

static void nothing(int number) { (void)number; }

static unsigned long long status_mask(pid_t process, const char* name) {
  char path[64], line[256];
  unsigned long long mask = ~0ULL;
  snprintf(path, sizeof path, "/proc/%d/status", process);
  FILE* file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, name, strlen(name))) mask = strtoull(line + strlen(name) + 1, NULL, 16);
  if (file) fclose(file);
  return mask;
}

static void descriptors_of(pid_t process) {
  char folder[64], text[400], where[300];
  snprintf(folder, sizeof folder, "/proc/%d/fd", process);
  int most = -1;
  bool sound = true;
  DIR* all = opendir(folder);
  for (struct dirent* entry; all && (entry = readdir(all));) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    int number = atoi(entry->d_name);
    if (number > most) most = number;
    snprintf(text, sizeof text, "%s/%s", folder, entry->d_name);
    ssize_t size = readlink(text, where, sizeof where - 1);
    where[size < 0 ? 0 : size] = 0;
    if (number == 0) sound = sound && !strcmp(where, "/dev/null");
    if (number == 3) sound = sound && !strncmp(where, "socket:", 7);
    // Files that it has open itself while it imports.
    if (number > 3) sound = sound && (strstr(where, ".py") || strstr(where, "/lib/") || !strncmp(where, "/proc", 5));
    if (!sound) fprintf(stderr, "descriptor %d of the planning process is %s\n", number, where);
  }
  if (all) closedir(all);
  prove(most >= 3 && sound, "the planning process has an empty standard input, its socket, and nothing of ours");
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  struct sigaction action = {.sa_handler = on_child};
  sigaction(SIGCHLD, &action, NULL);
  action.sa_handler = nothing;
  sigaction(SIGHUP, &action, NULL);
  action.sa_handler = SIG_IGN;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGUSR2, &action, NULL);
  sigset_t blocked, mask;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_SETMASK, &blocked, NULL);
  struct sigaction before[NSIG] = {0}, after;
  for (int i = 1; i < NSIG; ++i) sigaction(i, NULL, &before[i]);
  setlocale(LC_ALL, "C.UTF-8");
  char locale[200];
  snprintf(locale, sizeof locale, "%s", setlocale(LC_ALL, NULL));
  int pipe_ends[2];
  if (pipe(pipe_ends)) return 2;
  const int open_before = open_descriptors();
  const mode_t shade = umask(027);
  const pid_t group = getpgrp(), session = getsid(0);

  setup_t s = set_up();
  prove(open_descriptors() == open_before + 1, "one descriptor more");
  prove(build_and_run(s, argv[1]), "the kernel ran");

  prove(open_descriptors() <= open_before + 2, "no further descriptor but the cooperation of engines");
  pid_t planner = 0;
  prove(planning_processes(&planner) == 1, "there is one planning process");
  prove(wait(NULL) < 0 && errno == ECHILD, "wait() knows of no child");
  prove(waitpid(planner, NULL, WNOHANG) < 0 && errno == ECHILD, "waitpid() does not know it either");
  prove(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD, "nor does one that looks for clones");
  prove(getsid(planner) == planner && getpgid(planner) == planner, "it has a session of its own");
  prove(getpgrp() == group && getsid(0) == session, "we are in the session we were in");
  // A thread that starts another one blocks them for a moment.
  for (int i = 0; i < 20000 && status_mask(planner, "SigBlk:"); ++i) usleep(10000);
  prove(status_mask(planner, "SigBlk:") == 0, "it blocks no signal");
  // Python itself ignores SIGPIPE and SIGXFSZ; what it imports meanwhile may ignore others for a moment.
  const unsigned long long always = 1ULL << (SIGPIPE - 1) | 1ULL << (SIGXFSZ - 1);
  for (int i = 0; i < 20000 && status_mask(planner, "SigIgn:") & ~always; ++i) usleep(10000);
  if (status_mask(planner, "SigIgn:") & ~always) printf("ignored: %llx\n", (unsigned long long)status_mask(planner, "SigIgn:"));
  prove((status_mask(planner, "SigIgn:") & ~always) == 0, "it ignores none that we ignore");
  descriptors_of(planner);
  char path[64], where[300];
  snprintf(path, sizeof path, "/proc/%d/cwd", planner);
  ssize_t size = readlink(path, where, sizeof where);
  prove(size == 1 && where[0] == '/', "it keeps no folder busy");

  bool same = true;
  for (int i = 1; i < NSIG; ++i) {
    // Faults of kernels are caught.
    if (i == SIGSEGV || i == SIGBUS || i == SIGFPE || i == SIGILL || i == SIGTRAP) continue;
    memset(&after, 0, sizeof after);
    sigaction(i, NULL, &after);
    const bool kept = after.sa_handler == before[i].sa_handler && after.sa_flags == before[i].sa_flags;
    if (!kept) fprintf(stderr, "signal %d has changed\n", i);
    same = same && kept;
  }
  prove(same, "signals do what they did");
  sigprocmask(SIG_SETMASK, NULL, &mask);
  prove(!memcmp(&mask, &blocked, 8), "blocked signals are the same");
  prove(!strcmp(locale, setlocale(LC_ALL, NULL)), "the locale is the same");
  prove(umask(shade) == 027, "the mask of new files is the same");
  kill(planner, SIGKILL);
  for (int i = 0; i < 20000 && planning_processes(NULL); ++i) usleep(10000);
  prove(planning_processes(NULL) == 0 && children == 0, "no SIGCHLD, not even when it was killed");
  prove(wait(NULL) < 0 && errno == ECHILD, "and no child");
  prove(build_and_run(s, argv[1]), "the kernel ran again");
  prove(planning_processes(NULL) == 1, "there is one planning process again");
  prove(children == 0, "no SIGCHLD in the end");
  return 0;
}
