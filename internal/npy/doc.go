// Package npy reads and writes the files of NumPy's save and load. A file has one array of numbers or records: a
// header that names the element type, the byte order, the memory order and the shape, and then the
// elements as they are in memory.
//
// The package reads versions 1.0, 2.0 and 3.0 of the format. It writes 1.0, which can represent every array of numbers. The format
// is described in NumPy's documentation of numpy.lib.format. Elements are Go's numbers of fixed size, and Float16 of package
// kernel/half, NumPy's float16; booleans are read as uint8. Structures of them, and of arrays of them, are records; the names of
// fields may differ in case. For strings, dates and pickled objects, and for BFloat16, which NumPy does not have, the error is of
// kind ErrUnsupported. Numbers in the other byte order are converted while they are read; records in it are not supported.
//
// Package array reads and writes arrays with it, package encode buffers, and comm/part buffers that are divided among ranks.
package npy
