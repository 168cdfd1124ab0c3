// Package array gives coherent buffers a shape. An [Array] is a buffer of package buffer, or part of one,
// with an extent and a stride for each axis, all counted in elements. Views of it (slices, transposes,
// reshapes) share its elements, so they are coherent with it. There is no arithmetic.
//
//	a, err := array.From(data, 480, 640)
//	window, err := a.Slice(array.Between(10, 20), array.Between(100, 200))   // a view
//	err = window.Update(ctx, func(g array.Accessor[float32]) error { ... }) // moves at most 10 times 100 elements
//	block, err := window.Pack(ctx)                                      // a copy without gaps
//	elements, err := block.Buffer()                                     // for a lease or a kernel
//
// # What is copied, and what is moved to the host
//
//	call                                 copies                  moves to the host, if not current there
//	Slice, Select, Transpose             no                      nothing
//	Reshape                              no, or ErrUnsupported   nothing
//	FromBuffer, FromStrides              no                      nothing
//	Buffer, Want                         no, or ErrUnsupported   nothing
//	New                                  no                      nothing
//	From                                 yes                     nothing
//	At, View, Update                     no                      the elements (see View for very many ranges)
//	Set                                  no                      nothing
//	Overwrite, unbroken range            no                      nothing
//	Overwrite, with gaps                 from temporary memory   nothing
//	CopyFrom, unbroken, in one order     at the current place    nothing
//	CopyFrom, otherwise                  yes                     the elements of the source
//	Pack, row-major without gaps         at the current place    nothing
//	Pack, otherwise                      yes                     the elements
//	Values                               yes                     the elements
//	WriteNPY, contiguous                 no                      the elements
//	WriteNPY, with gaps                  yes                     the elements
//	ReadNPY                              yes                     nothing
//
// # Shapes
//
// An extent may be 0; such an array has no elements, counts as contiguous, and has the offset 0. An array without axes has a single
// element, which At and Set access without indices. New arrays are row-major (the last index varies fastest, as in C and NumPy), except
// those of ReadNPY, which keep the order of the file. An array in column-major order, as in Fortran, is the [Array.Transpose] of a row-major
// one.
//
// # Devices
//
// [Array.Buffer] is the memory of a row-major array, for a lease; the program passes the kernel the array's [Array.Shape]. For an array in
// another order or with gaps use [Array.AcquireStrided], or pack it first.
//
// # Exclusion
//
// Accesses exclude each other by elements, as those of buffers do: two goroutines may update different columns
// of one matrix at once. A function that an access runs must not access the same elements through another view:
// the second access would wait for the first until the context of the second ends.
//
// # Concurrency
//
// All methods of all types are safe for concurrent use.
package array
