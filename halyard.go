// Package halyard is the short way to run kernels and to share data with them: a queue that remembers the first error, buffers that belong
// to it, and the launchers that the command "halyard kernels" writes.
//
//	//halyard:kernel
//	func saxpy(t grid.Thread, a float32, x, y []float32) {
//		if i := t.Global(0); i < len(y) {
//			y[i] += float32(a * x[i])
//		}
//	}
//
// A kernel is a function that many threads run at once, each for one element. A queue is a device with a stream, a list of work whose entries
// run one after the other. The conversion float32(a * x[i]) rounds the product. Devices round it in any case, but Go may not: on some processors
// it computes the product and the sum by one instruction. So with the conversion results have the same bits everywhere.
//
//	q := halyard.Open(ctx)                          // the best device; Open(ctx, "cuda:0") for another, "all" for all GPUs together
//	x := halyard.From(q, []float32{1, 2, 3})
//	y := halyard.From(q, []float32{10, 20, 30})
//	Saxpy(q, 2, x, y)                               // a thread for each element of y; it does not wait
//	fmt.Println(q, y)                               // waits, and copies back: "host:0 [12 24 36]"
//	err := q.Close()                                // the first error of all calls; frees everything
//
// # Errors
//
// Only Err and Close return errors. The queue keeps the first one, together with the line of the program that made the call,
// and from then on every call on the queue and on its buffers does nothing: New and From return buffers without memory, Values and At
// return zeros, View and Update do not run their function. So a program may check once, at its end. If a queue with an error becomes
// unreachable before the program has called Err or Close, the error is reported as leaks are (see [hal.SetLeakHandler]).
//
// Devices do not check the indexes of a kernel as the host does, unless HALYARD_CHECK=bounds is set in the environment.
//
// HALYARD_TRACE=FILE writes what is copied, when and why, and HALYARD_DEBUG=log logs it: see package buffer/trace.
//
// # Going further down
//
// The objects below are accessible: [Queue.Device] and [Queue.Stream] return those of package hal, [Buffer.Buffer] the coherent buffer of
// package buffer, and [On] makes a queue of a stream that the program has. These packages return every error where it happens, and have
// streams, events, leases and pools.
//
// The package links the backends that the build tags select, as package backends does: build with -tags "cuda opencl hip vulkan". Without
// tags there is only the host.
package halyard
