// Package translate turns kernels that are written in Go into the portable C dialect of package kernel, into SPIR-V, and into a Go file that launches them.
//
// Package load finds and type-checks packages. [Package.Translate] translates the functions that are marked //halyard:kernel, and the functions that they
// call. Everything for devices comes from one representation of them, of package ir:
//
//   - Package build makes it from the syntax tree, with the types that go/types found. It refuses what has no translation.
//   - Package facts finds out what is known about it, and package footprint what a launch touches.
//   - Package cprint prints it in C, and package spirv in SPIR-V. Package vulkan has the functions that Vulkan lacks.
//
// The files of this package write the Go files:
//
//   - kernel.go has a kernel as the generated file needs it: its parameters, and what is known of its representation. emit.go writes the file.
//   - rows.go, within.go and phases.go write the loops in it that run kernels on the host. They cut the text of the author, and walk the syntax tree
//     for that. phases.go refuses barriers that not all threads of a block come to, because such a kernel cannot be divided into loops.
//   - vector.go and the files beside it write the loops again with vectors, into a file of its own.
//   - vulkan.go writes the file with SPIR-V for devices of Vulkan.
//   - nesting.go finds kernels that are nested too deeply for some drivers, and sources.go what a kernel depends on.
//
// Names of Go get a prefix in C, such as h_NAME or k_KERNEL, so that none of them is a word of a C dialect. Messages of package kernel have the names of Go;
// tools of vendors show those of C.
//
// If something has no translation, the error is a [load.Errors]. It contains the position, and a sentence that says what to write
// instead.
//
// On devices three things differ from Go. Indexes are checked only with HALYARD_CHECK=bounds: otherwise an index out of range reads or writes
// anywhere. Division by zero is 0. A shift by a negative count shifts everything out. If an integer cannot hold a converted float, the result is that
// of Go on amd64.
package translate
