// Package encode presents buffers to the standard library as bytes: [Bytes] is an [io.ReaderAt],
// [io.WriterAt], [io.WriterTo] and [io.ReaderFrom].
//
//	x := encode.Of(ctx, buf)
//	n, err := x.WriteTo(file)
//	part := io.NewSectionReader(x, 4096, 512)    // moves only these 512 bytes
//
// The methods move these elements to the host, if they are not current there:
//
//	ReadAt the elements that have a byte in the range
//	WriteAt   at most two: the first and the last, if only a part of it is written
//	WriteTo   all elements
//	ReadFrom  nothing
//
// [Pixels] is the other way round: it makes a buffer of the memory of an image.
//
// The bytes are in this machine's byte order and do not contain the type of the elements. An .npy file contains both:
// see Array.WriteNPY of package array.
package encode
