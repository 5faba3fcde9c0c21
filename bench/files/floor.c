// The floor of a set operation on files of lines: the least that any program does which reads them, hashes every line and
// looks it up in a filter.
//
//   floor THREADS FILTER_BYTES FILE...   one pass over each FILE, one after the other, by THREADS threads together
//   floor copy FILE                      how fast the system copies a file to memory, by where the memory begins
//
// A pass reads 256 KiB at a time into memory that begins at a page, finds the ends of lines, hashes each line once, and
// reads one random cache line of FILTER_BYTES per line, prefetched 32 lines ahead. It keeps no line, compares none, writes
// none. A line that crosses two reads counts as two.
//
//   cc -O3 -march=native -pthread floor.c -o floor
#define _GNU_SOURCE
#include <fcntl.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 256 << 10, AHEAD = 32, HUGE = 2 << 20, PAGE = 4096 };

static int file;
static _Atomic size_t next_chunk;
static size_t chunks, filter_bytes;
static char *filter;
static _Atomic uint64_t lines, sum;

static void fail(const char *what) {
  perror(what);
  exit(2);
}

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec + at.tv_nsec * 1e-9;
}

static void *pages(size_t bytes) {
  void *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  return memory;
}

static uint64_t fold(uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// One multiplication per 16 bytes, as wyhash has; reads up to 16 bytes beyond the line.
static uint64_t hash(const char *line, size_t length) {
  uint64_t state = length ^ 0x9e3779b97f4a7c15, part[2];
  size_t at = 0;
  do {
    memcpy(part, line + at, 16);
    state = fold(part[0] ^ 0xa0761d6478bd642f, part[1] ^ state);
    at += 16;
  } while (at < length);
  return fold(state, 0xe7037ed1a0b428db);
}

// The ends of lines in 64 bytes, as a mask.
static uint64_t ends(const char *bytes) {
#ifdef __AVX2__
  const __m256i end = _mm256_set1_epi8('\n');
  uint64_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)bytes), end));
  uint64_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(bytes + 32)), end));
  return low | high << 32;
#else
  uint64_t mask = 0;
  for (int i = 0; i < 64; i++) mask |= (uint64_t)(bytes[i] == '\n') << i;
  return mask;
#endif
}

static void *work(void *unused) {
  char *bytes = pages(CHUNK + PAGE);
  uint64_t places[2 * AHEAD] = {0}, found = 0, count = 0;
  for (size_t chunk; (chunk = next_chunk++) < chunks;) {
    ssize_t read = pread(file, bytes, CHUNK, chunk * (off_t)CHUNK);
    if (read < 0) fail("read");
    memset(bytes + read, 0, 64);
    size_t start = 0;
    for (ssize_t at = 0; at < read; at += 64)
      for (uint64_t mask = ends(bytes + at); mask; mask &= mask - 1) {
        size_t end = at + __builtin_ctzll(mask);
        uint64_t line = hash(bytes + start, end - start);
        uint64_t place = ((unsigned __int128)line * (filter_bytes / 64) >> 64) * 64;
        __builtin_prefetch(filter + place);
        found += *(volatile uint64_t *)(filter + places[(count + AHEAD) % (2 * AHEAD)]);
        places[count++ % (2 * AHEAD)] = place;
        start = end + 1;
      }
  }
  lines += count;
  sum += found;
  munmap(bytes, CHUNK + PAGE);
  return unused;
}

static void pass(const char *path, int threads) {
  struct stat meta;
  if ((file = open(path, O_RDONLY)) < 0 || fstat(file, &meta)) fail(path);
  chunks = (meta.st_size + CHUNK - 1) / CHUNK;
  next_chunk = 0;
  pthread_t others[256];
  for (int i = 1; i < threads; i++)
    if (pthread_create(&others[i], 0, work, 0)) fail("thread");
  work(0);
  for (int i = 1; i < threads; i++) pthread_join(others[i], 0);
  close(file);
}

// Bytes per second of reads of 1 MiB, the best of five, into memory that begins some bytes behind a page.
static void copies(const char *path) {
  static const size_t behind[] = {0, 1, 16, 32, 64};
  char *memory = pages((1 << 20) + PAGE);
  if ((file = open(path, O_RDONLY)) < 0) fail(path);
  for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
    double best = 0;
    for (int round = 0; round < 5; round++) {
      double begin = now();
      size_t all = 0;
      for (ssize_t read; all < 256 << 20 && (read = pread(file, memory + behind[i], 1 << 20, all)) > 0;) all += read;
      double rate = all / (now() - begin);
      best = rate > best ? rate : best;
    }
    printf("%2zu bytes behind a page: %5.2f GB/s\n", behind[i], best / 1e9);
  }
}

int main(int count, char **words) {
  if (count == 3 && !strcmp(words[1], "copy")) {
    copies(words[2]);
    return 0;
  }
  int threads = count < 4 ? 0 : atoi(words[1]);
  filter_bytes = count < 4 ? 0 : strtoull(words[2], 0, 10);
  if (threads < 1 || threads > 256 || filter_bytes < 64) {
    fprintf(stderr, "usage: floor THREADS FILTER_BYTES FILE..., or floor copy FILE\n");
    return 2;
  }
  filter = pages(filter_bytes + HUGE);
  filter += -(uintptr_t)filter % HUGE;
  madvise(filter, filter_bytes, MADV_HUGEPAGE);
  double begin = now();
  memset(filter, 1, filter_bytes);
  for (int i = 3; i < count; i++) pass(words[i], threads);
  double seconds = now() - begin;
  printf("%d passes, %d threads: %.3f s, %.1f ns of each thread per line and pass (%lu lines, %lx)\n", count - 3, threads, seconds,
         seconds * 1e9 * threads / lines, (unsigned long)lines, (unsigned long)sum);
  return 0;
}
