/* A program in C that takes tensors and makes them, for the tests of package dlpack. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tensor.h"

/* What C makes of the structs: sizes and offsets, in the order of the test's list. */
void peer_layout(uint64_t *out)
{
	uint64_t all[] = {
		sizeof(DLTensor), offsetof(DLTensor, data), offsetof(DLTensor, device), offsetof(DLTensor, ndim),
		offsetof(DLTensor, dtype), offsetof(DLTensor, shape), offsetof(DLTensor, strides), offsetof(DLTensor, byte_offset),
		sizeof(DLManagedTensor), offsetof(DLManagedTensor, dl_tensor), offsetof(DLManagedTensor, manager_ctx),
		offsetof(DLManagedTensor, deleter),
		sizeof(DLManagedTensorVersioned), offsetof(DLManagedTensorVersioned, version),
		offsetof(DLManagedTensorVersioned, manager_ctx), offsetof(DLManagedTensorVersioned, deleter),
		offsetof(DLManagedTensorVersioned, flags), offsetof(DLManagedTensorVersioned, dl_tensor),
		sizeof(DLPackVersion), offsetof(DLPackVersion, minor),
		sizeof(DLDevice), offsetof(DLDevice, device_id),
		sizeof(DLDataType), offsetof(DLDataType, code), offsetof(DLDataType, bits), offsetof(DLDataType, lanes),
		kDLCPU, kDLCUDA, kDLCUDAHost, kDLOpenCL, kDLROCM, kDLROCMHost, kDLCUDAManaged, kDLOneAPI,
		kDLInt, kDLUInt, kDLFloat, kDLComplex, kDLBool,
	};
	memcpy(out, all, sizeof all);
}

static DLTensor *tensor(void *managed, int legacy)
{
	if (legacy)
		return &((DLManagedTensor *)managed)->dl_tensor;
	return &((DLManagedTensorVersioned *)managed)->dl_tensor;
}

static int64_t walk(DLTensor *t, int axis, char *at, int64_t weight, int write)
{
	if (axis == t->ndim) {
		int32_t *e = (int32_t *)at;
		int64_t sum = weight * *e;
		if (write)
			*e += 100;
		return sum;
	}
	int64_t sum = 0;
	for (int64_t i = 0; i < t->shape[axis]; i++)
		sum += walk(t, axis + 1, at + 4 * i * t->strides[axis], weight * 10 + i + 1, write);
	return sum;
}

/* The sum of the int32 elements, each times a number that its indices make; with write, 100 is added to each. */
int64_t peer_weigh(void *managed, int legacy, int write)
{
	DLTensor *t = tensor(managed, legacy);
	if (t->device.device_type != kDLCPU || t->dtype.code != kDLInt || t->dtype.bits != 32 || t->dtype.lanes != 1)
		return -1;
	return walk(t, 0, (char *)t->data + t->byte_offset, 0, write);
}

uint64_t peer_flags(DLManagedTensorVersioned *m) { return m->version.major == 1 ? m->flags : ~0ull; }

static void *delete_versioned(void *p)
{
	DLManagedTensorVersioned *m = p;
	m->deleter(m);
	return NULL;
}

static void *delete_legacy(void *p)
{
	DLManagedTensor *m = p;
	m->deleter(m);
	return NULL;
}

/* Calls the deleter on a thread that C made. */
int peer_delete(void *managed, int legacy)
{
	pthread_t t;
	int err = pthread_create(&t, NULL, legacy ? delete_legacy : delete_versioned, managed);
	return err ? err : pthread_join(t, NULL);
}

/* A tensor that C owns: everything in one allocation, and the deleter counts its calls. */
typedef struct {
	union {
		DLManagedTensor legacy;
		DLManagedTensorVersioned versioned;
	} managed;
	int64_t shape[8];
	int64_t strides[8];
	uint64_t *deleted;
	_Alignas(64) char data[4096];
} owned;

static void free_versioned(DLManagedTensorVersioned *m)
{
	owned *o = m->manager_ctx;
	__atomic_add_fetch(o->deleted, 1, __ATOMIC_SEQ_CST);
	memset(o, 0xfb, sizeof *o);
	free(o);
}

static void free_legacy(DLManagedTensor *m)
{
	owned *o = m->manager_ctx;
	__atomic_add_fetch(o->deleted, 1, __ATOMIC_SEQ_CST);
	memset(o, 0xfb, sizeof *o);
	free(o);
}

/* A tensor of 1024 int32, 0, 1, 2 and so on, under a shape and, unless they are NULL, strides; skip is where in the
 * data the tensor begins, in bytes. deleted counts the deleter's calls. */
void *peer_make(int legacy, int32_t ndim, const int64_t *shape, const int64_t *strides, uint64_t skip, uint64_t flags,
		uint32_t major, uint64_t *deleted)
{
	owned *o = aligned_alloc(64, sizeof *o);
	memset(o, 0, sizeof *o);
	o->deleted = deleted;
	for (int32_t i = 0; i < 1024; i++)
		memcpy(o->data + 4 * i, &i, 4);
	DLTensor t = {.data = o->data, .device = {kDLCPU, 0}, .ndim = ndim, .dtype = {kDLInt, 32, 1}, .byte_offset = skip};
	if (ndim > 0) {
		t.shape = o->shape;
		memcpy(o->shape, shape, sizeof(int64_t) * ndim);
		if (strides) {
			t.strides = o->strides;
			memcpy(o->strides, strides, sizeof(int64_t) * ndim);
		}
	}
	if (legacy)
		o->managed.legacy = (DLManagedTensor){.dl_tensor = t, .manager_ctx = o, .deleter = free_legacy};
	else
		o->managed.versioned = (DLManagedTensorVersioned){.version = {major, 0}, .manager_ctx = o,
			.deleter = free_versioned, .flags = flags, .dl_tensor = t};
	return o;
}

/* What a tensor of peer_make has at a place of its data. */
int32_t peer_data(owned *o, int i)
{
	int32_t e;
	memcpy(&e, o->data + 4 * i, 4);
	return e;
}

/* The tensor itself, for tests that spoil it. */
DLTensor *peer_tensor(void *managed, int legacy) { return tensor(managed, legacy); }
