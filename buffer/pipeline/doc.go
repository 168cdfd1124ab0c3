// Package pipeline processes data that is larger than a device's memory, chunk by chunk. While one chunk is processed on
// the device, the next is read and copied there, and the results of the previous chunk are copied back and written.
//
//	err := pipeline.Run(ctx, dev, 1<<20,
//		pipeline.Reader[float32](file),
//		func(w pipeline.Work) (int, error) { launch(kernel, w.In.Pointer(), w.Results.Pointer(), w.N, w.Stream.Handle()); return w.N, nil },
//		pipeline.Writer[float32](result))
//
// Chunks keep their order. A few sets of coherent buffers are reused in turn, and reading waits while all are in use.
// Leases order the steps of each chunk.
package pipeline
