// Package translate turns kernels that are written in Go into the portable C dialect of package kernel, into SPIR-V, and into a Go file that launches them.
//
// Package load finds and type-checks packages, and writes functions with barriers into the kernels that call them. [Package.Translate] in emit.go translates
// the functions that are marked //halyard:kernel, and the functions that they call. Everything for devices comes from one representation of them, of
// package ir:
//
//   - Package build makes it from the syntax tree, with the types that go/types found. It refuses what has no translation.
//   - Package facts finds out what is known about it, and package footprint what a launch touches.
//   - Package edges finds checks that the threads of a row do not need, for the loops that run kernels on the host.
//   - Package passes changes it for devices, so that kernels are faster. What follows for devices starts from the changed copy.
//   - Package cprint prints it in C, and package spirv in SPIR-V. Package vulkan has the functions that Vulkan lacks. Package lanes prints it in Go, with
//     vectors.
//
// The files of this package write the Go files:
//
//   - kernel.go has a kernel as the generated file needs it: its parameters, and what is known of its representation. emit.go writes the file.
//   - rows.go, within.go and phases.go write the loops in it that run kernels on the host. They cut the text of the author, and walk the syntax tree
//     for that. phases.go asks package facts how a kernel is divided at its barriers, and says why one cannot be divided.
//   - vectors.go writes the functions of package lanes into a file of its own, and phases_vector.go makes kernels of the parts between barriers for it.
//   - vulkan.go writes the file with SPIR-V for devices of Vulkan.
//   - nesting.go finds kernels that are nested too deeply for some drivers, and sources.go what a kernel depends on.
//
// Names of Go get a prefix in C, such as h_NAME or k_KERNEL, so that none of them is a word of a C dialect. Messages of package kernel have the names of Go;
// tools of vendors show those of C.
//
// If something has no translation, the error is a [load.Errors]. It contains the position, and a sentence that says what to write
// instead.
//
// # The way of a kernel
//
// examples/gokernels/saxpy is the smallest kernel. "halyard kernels --ir" prints its representation, "--print" its C, and "--print=spirv" its SPIR-V. The
// functions on the way are, in the order of the calls:
//
//   - [Package.Translate] calls build.Program. For the kernel and each function that it calls, program.function in build/function.go makes an ir.Function.
//     Its statements come from function.statement in build/statement.go, their values from values.expr in build/expression.go.
//   - [Package.Translate] calls passes.Devices, which changes nothing in saxpy.
//   - [Package.Translate] calls cprint.Print. printer.function in cprint/function.go asks package quirks for the table of the function, and prints the head.
//     The statements come from function.statement in cprint/statement.go, their values from values.computed in cprint/expression.go, an element such as
//     y[i] from values.place in cprint/call.go.
//   - Package.generate writes the C into saxpy_kernels.go, as kernel.Source.Portable. At run time package kernel puts a header of kernel/prelude before it
//     (kernel.Prelude). So macros such as GLOBAL get their meaning in OpenCL from kernel/prelude/opencl.h. The text has a guarded and an unguarded half: see
//     quirks.Guard.
//   - Package.vulkan in vulkan.go calls vulkan.ModulesOf, and that calls spirv.Module. emitter.kernel in spirv/module.go declares the parameters. The
//     statements come from function.statement in spirv/statement.go, their values from values.compute in spirv/value.go, an element from values.at there.
//
// # Where things go
//
// Each package says under this title what it needs for something new. To begin with:
//
//   - A new statement of Go: function.statement in build/statement.go. If it needs a new kind of statement in the representation, see package ir, which
//     lists the other places. Loops for the host walk the syntax tree, so the files that begin with rows and phases, and within.go must
//     know it as well.
//   - A new target: for a compiler of C, a header in kernel/prelude and a case in kernel.Prelude. For another language, a package beside cprint and spirv
//     that prints an ir.Program; a file beside vulkan.go that writes the result into a Go file, with its name in package load; and a call of it in
//     [Package.Translate].
//   - A new pass, which makes kernels faster on devices and leaves their results alone: package passes. Loops for the host are cut from
//     the author's text, so no pass changes them.
//   - A new quirk, which is a form of the text that avoids a fault of a compiler: package quirks for compilers of C, spirv/quirk.go for drivers of Vulkan.
//   - A new function of package math: [ir.Functions], cprint/math.go, and spirv/math.go or package vulkan.
//
// # What differs from Go
//
// On devices four things differ from Go. Only with HALYARD_CHECK=bounds are indexes, divisors and counts of shifts checked: otherwise an index out of range
// reads or writes anywhere. Division by zero is 0. A shift by a negative count shifts everything out. If an integer cannot hold a converted float, the result
// is that of Go on amd64.
package translate
