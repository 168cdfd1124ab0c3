// Package dlpack exchanges buffers and arrays with other libraries of the same process by DLPack, the C structs with
// which NumPy, PyTorch, CuPy, JAX and others lend each other tensors without copying them.
//
//	m, err := dlpack.Export(ctx, buf, dlpack.Options{})             // m.Address is a DLManagedTensorVersioned *
//	buf, arr, err := dlpack.Import[float32](ctx, m, dlpack.ImportOptions{})
//
// How an address comes to the other library is the program's affair. For Python it goes into a capsule of the name
// [Managed.CapsuleName]; a consumer takes the address out and renames the capsule to [Managed.UsedName] once it
// has taken the tensor, and the capsule of another name calls the deleter when it goes.
//
// # Lending
//
// [Export] takes a lease on the elements, at the host or on a device, which the struct's deleter releases: what
// C may do meanwhile, and what others may, is what [buffer.Buffer.TryAcquire] says of leases. C calls
// the deleter once, from any thread. Until then the buffer is in use, and closing it fails with an error of kind
// hal.ErrBusy; Options.Done is where a program closes a buffer that it has given away. The struct, its shape and the
// elements stay where they are. The deleter takes locks of the buffer for a moment and waits for nothing.
//
// On a device, work that C enqueues on the stream that Options.Consumer names is in order with the buffer's. A
// consumer on any other stream has finished its work before it calls the deleter.
//
// The structs carry version 1.0, which every consumer of DLPack 1 reads, or none if they are legacy. Strides are
// always there, in elements. Memory is named by its backend:
//
//	host                             CPU
//	cuda   device, host, shared      CUDA, CUDAHost, CUDAManaged
//	hip    device, host, shared      ROCm, ROCmHost, ROCm
//	opencl buffer                    OpenCL: a cl_mem and an offset, for consumers in the same context
//	opencl usm, svm                  CPU if the host can touch it, else OneAPI for usm
//
// Coarse-grained SVM has no name, and is lent from the host.
//
// # Taking
//
// [Import] makes a buffer over the tensor's memory. What the struct says is checked before anything is touched, as
// far as a program can check C's word. The struct's deleter is called once, when the buffer is closed and no
// work uses the memory any more. A deleter of Python's waits for its interpreter lock: a thread that holds
// it, as ctypes.PyDLL and extension modules do, lets it go before it waits for a buffer that another thread closes.
//
// # Platforms
//
// C calls Go, and structs are as they should be, on Linux, macOS and Windows with amd64 or arm64, with and without
// cgo. Elsewhere the package compiles, and everything is of kind ErrUnsupported.
//
// # Concurrency
//
// All functions and methods are safe for concurrent use, on different structs.
package dlpack
