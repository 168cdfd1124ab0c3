// Package pipeline processes data that is larger than a device's memory, chunk by chunk. While one chunk is processed on
// the device, the next is read and copied there, and the results of the previous chunk are copied back and written.
//
//	err := pipeline.Run(ctx, dev, 1<<20,
//		pipeline.Reader[float32](file),
//		func(w pipeline.Work) (int, error) {
//			return w.N, w.Stream.Launch(k, hal.Over(w.N), hal.At(w.In.Region()), hal.At(w.Results.Region()), hal.Value(uint64(w.N)))
//		},
//		pipeline.Writer[float32](result))
//
// Here k is a kernel of package kernel on the device, from kernel.Kernel.Of. A launcher of another kind takes w.In.Pointer() and
// w.Stream.Handle(). To write an .npy file, write a header with Header.Append of package npy before the pipeline runs.
//
// Chunks keep their order. A few sets of coherent buffers are reused in turn, and reading waits while all are in use.
// Leases order the steps of each chunk.
package pipeline
