// Package staging copies ordinary, pageable host memory to and from a device through a few pieces
// of page-locked memory.
//
// A driver that is handed pageable memory copies it into a page-locked buffer of its own first, on one
// thread, a little at a time, and holds the caller up. A [Ring] does the same
// better: several goroutines fill one piece while the device fetches the one before it, and the caller goes on as soon
// as its memory has been read.
//
//	ring, err := staging.New(dev, staging.Options{})
//	err = ring.Upload(ctx, stream, mem.All(), data)   // data may change again
//	err = ring.Download(ctx, stream, data, mem.All()) // data is there
//
// It does not pay everywhere: on a device that works on host memory, or whose memory is host memory, it only adds
// a copy. [Worthwhile] tells by what the device says of itself, [Tune] by measuring.
//
// All sizes are in bytes.
package staging
