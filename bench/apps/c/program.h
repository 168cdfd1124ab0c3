// What every C program here does in the same way and no figure counts: arguments, the clock, files and what it prints.
// Usage: PROGRAM N STEPS REPEATS IN OUT DEVICE..., where a device is a part of the name of an OpenCL platform.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int n, steps, repeats, devices;
static const char *in_file, *out_file;
static char **platforms;

static void fail(const char *what, long code) {
	fprintf(stderr, "%s: %ld\n", what, code);
	exit(1);
}

static void arguments(int argc, char **argv) {
	if (argc < 7) fail("usage: PROGRAM N STEPS REPEATS IN OUT DEVICE...; arguments", argc - 1);
	n = atoi(argv[1]), steps = atoi(argv[2]), repeats = atoi(argv[3]);
	in_file = argv[4], out_file = argv[5], platforms = argv + 6, devices = argc - 6;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * t.tv_sec + t.tv_nsec;
}

static void sample(const char *name, double ns) { printf("{\"case\":\"%s\",\"ns\":%.0f}\n", name, ns); }

static void *memory(size_t bytes) {
	void *p = calloc(bytes, 1);
	if (!p) fail("no memory, bytes", bytes);
	return p;
}

// input is the file of the input, so many bytes from an offset.
static void *input(size_t offset, size_t bytes) {
	void *p = memory(bytes);
	FILE *f = fopen(in_file, "rb");
	if (!f || fseek(f, offset, SEEK_SET) || fread(p, 1, bytes, f) != bytes) fail("cannot read the input, bytes", bytes);
	fclose(f);
	return p;
}

// output writes a part of the result, which the command compares.
static void output(size_t offset, const void *p, size_t bytes) {
	FILE *f = fopen(out_file, "r+b");
	if (!f || fseek(f, offset, SEEK_SET) || fwrite(p, 1, bytes, f) != bytes || fclose(f)) fail("cannot write the result, bytes", bytes);
}
