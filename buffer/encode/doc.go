// Package encode presents buffers to the standard library as bytes: [Bytes] is an [io.ReaderAt],
// [io.WriterAt], [io.WriterTo], [io.ReaderFrom], [encoding.BinaryMarshaler] and
// [encoding.BinaryUnmarshaler].
//
//	x := encode.Of(ctx, buf)
//	n, err := x.WriteTo(file)
//	part := io.NewSectionReader(x, 4096, 512)    // moves these 512 bytes alone
//
// The methods move these elements to the host, if they are not current there:
//
//	ReadAt                  the elements that the range touches
//	WriteAt                 at most one element at either end, of which only a part is written
//	WriteTo, MarshalBinary  all elements
//	ReadFrom, Unmarshal*    nothing
//
// Raw bytes are in this machine's byte order and do not say which elements they are. MarshalBinary returns an .npy
// file, of package npy, which does.
package encode
