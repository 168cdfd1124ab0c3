// Package dlpack exchanges buffers and arrays with other libraries in the same process through DLPack, the C structs with
// which NumPy, PyTorch, CuPy, JAX and others lend each other tensors without copying.
//
//	m, err := dlpack.Export(ctx, buf)               // m.Address is a DLManagedTensorVersioned *
//	buf, arr, err := dlpack.Import[float32](ctx, m)
//
// How an address comes to the other library is the program's affair. For Python it goes into a capsule of the name
// [Managed.CapsuleName]; a consumer takes the address out and renames the capsule to "used_" and that name once it
// has taken the tensor, and the capsule of another name calls the deleter when it goes.
//
// # Lending
//
// [Export] takes a lease on the elements, on the host or on a device, which the struct's deleter releases. The rules
// for leases at [buffer.Buffer.TryAcquire] say what C and others may do meanwhile. C calls
// the deleter once, from any thread. Until then the buffer is in use, and closing it fails with an error of kind
// hal.ErrBusy; a program that has given a buffer away closes it in the function of [WithDone]. The addresses of the struct, its
// shape and the elements do not change meanwhile. The deleter takes locks of the buffer briefly and waits for nothing else.
//
// On a device, work that C enqueues on the stream that [WithStream] names is in order with the buffer's work. A
// consumer that uses any other stream must finish its work before it calls the deleter.
//
// The structs have version 1.0, which every consumer of DLPack 1 reads; legacy structs have no version. They always
// have strides, in elements. The device type depends on the backend and the kind of memory:
//
//	host                             CPU
//	cuda   device, host, shared      CUDA, CUDAHost, CUDAManaged
//	hip    device, host, shared      ROCm, ROCmHost, ROCm
//	opencl buffer                    OpenCL: a cl_mem and an offset, for consumers in the same context
//	opencl usm, svm                  CPU if the host can touch it, else OneAPI for usm
//
// DLPack has no device type for coarse-grained SVM; export such a buffer from the host.
//
// # Taking
//
// [Import] makes a buffer over the tensor's memory. It first checks the struct as far as that is possible without
// reading the memory. The struct's deleter is called once, when the buffer is closed and no
// work uses the memory any more. A deleter of Python's waits for the interpreter lock. So a thread that holds that lock,
// as in calls through ctypes.PyDLL and of extension modules, must release it before it waits for a buffer that another
// thread closes.
//
// # Platforms
//
// The package works on Linux, macOS and Windows with amd64 or arm64, with and without cgo. Elsewhere it compiles, and
// every call returns an error of kind ErrUnsupported.
//
// # Concurrency
//
// All functions and methods are safe for concurrent use with different structs.
package dlpack
