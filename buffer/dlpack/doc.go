// Package dlpack exchanges buffers and arrays with other libraries in the same process through DLPack, the C structs with
// which NumPy, PyTorch, CuPy, JAX and others lend each other tensors without copying.
//
//	m, err := dlpack.Export(ctx, buf)               // m.Address is a DLManagedTensorVersioned *
//	buf, arr, err := dlpack.Import[float32](ctx, m)
//
// The program passes the address to the other library. For Python it puts the address into a capsule with the name
// [Managed.CapsuleName]. A consumer takes the address out of the capsule, and puts "used_" before the capsule's name. If a capsule still
// has its first name when Python deletes it, no consumer took the tensor, and the capsule's destructor calls the deleter.
//
// # Lending
//
// [Export] takes a lease on the elements, on the host or on a device. The struct's deleter releases the lease. Until then
// the rules for leases at [buffer.Buffer.TryAcquire] apply to the consumer and to other accesses. C calls
// the deleter once, from any thread. Until then the buffer is in use, and closing it fails with an error of kind
// hal.ErrBusy; a program that needs the buffer only for the loan closes it in the function of [WithDone]. The addresses of the
// struct, its shape and the elements do not change during the loan. The deleter briefly takes locks of the buffer and waits for
// nothing else.
//
// On a device, work that C enqueues on the stream that [WithStream] names is ordered with the buffer's work. A
// consumer that uses any other stream must finish its work before it calls the deleter.
//
// The structs have version 1.0, which every consumer of DLPack 1 reads; legacy structs have no version. They always
// have strides, in elements. A tensor of no elements is exported with a null pointer; when one is imported its pointer is not looked
// at. The device type depends on the backend and the kind of memory:
//
//	host                             CPU
//	cuda   device, host, shared      CUDA, CUDAHost, CUDAManaged
//	hip    device, host, shared      ROCm, ROCmHost, ROCm
//	opencl buffer                    OpenCL: a cl_mem and an offset, for consumers in the same context
//	opencl usm, svm                  CPU if the host can access it, else OneAPI for usm
//
// DLPack has no device type for coarse-grained SVM; export such a buffer from the host.
//
// # Importing
//
// [Import] makes a buffer over the tensor's memory. It first checks the struct as far as that is possible without
// reading the memory. The struct's deleter is called once, when the buffer is closed and no
// work uses the memory any more. A deleter of a Python library waits for the interpreter lock. Calls through ctypes.PyDLL, and calls of
// extension modules, hold that lock. Such a call must release it before it waits for a buffer that another thread closes.
//
// # Platforms
//
// The package works on Linux, macOS and Windows with amd64 or arm64, with and without cgo. Elsewhere it compiles, and
// every call returns an error of kind ErrUnsupported.
//
// # Concurrency
//
// Functions and methods may be called concurrently for different structs.
package dlpack
