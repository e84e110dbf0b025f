/* Stands in for the front end that compiles OpenCL C: its result is the file that the option -DFILE= names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct result {
  const void *const *table;
  char *data;
  size_t size;
};

static size_t size_of(const struct result *r) { return r->size; }
static const void *data_of(const struct result *r) { return r->data; }
static const char *name_of(const struct result *r) { return r ? "1" : 0; }
static int kind_of(const struct result *r) { return r ? 3 : 0; }
static const char *log_of(const struct result *r) { return r->size ? "" : "error: no such source"; }
static void release(struct result *r) {
  free(r->data);
  free(r);
}
static const void *const table[] = {(void *)size_of, (void *)data_of, (void *)name_of,
                                    (void *)kind_of, (void *)log_of,  (void *)release};

int Compile(const char *source, const char **headers, unsigned count, const char **names, const char *precompiled, size_t precompiled_size,
            const char *options, const char *more, const char *version, struct result **to) {
  struct result *made = calloc(1, sizeof *made);
  const char *named = strstr(options, "-DFILE=");
  char path[4096] = "";
  FILE *file;
  if (named) sscanf(named, "-DFILE=%4095s", path);
  made->table = table;
  if ((file = fopen(path, "rb"))) {
    made->data = malloc(1 << 20);
    made->size = fread(made->data, 1, 1 << 20, file);
    fclose(file);
  }
  *to = made;
  (void)source, (void)headers, (void)count, (void)names, (void)precompiled, (void)precompiled_size, (void)more, (void)version;
  return made->size ? 0 : 1;
}
