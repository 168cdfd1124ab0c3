// Package gridgen has what the files that "halyard kernels" writes call, beside package grid. Programs do not use it.
//
// Rows and phases run a kernel's threads on the host as loops. An [Interval] computes which elements the threads of a box use.
package gridgen
