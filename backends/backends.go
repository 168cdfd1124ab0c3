// Package backends links backends into a program. It is imported only for that effect:
//
//	import _ "github.com/go-halyard/halyard/backends"
//
// The host backend is always linked. The build tags cuda, opencl, hip and vulkan add one backend
// each, and can be combined. None of them needs a vendor's headers or libraries to build; the libraries are
// looked for when the program runs. With the further tag linked, and cgo, the CUDA and OpenCL backends
// use gorgonia.org/cu and github.com/go-gl/cl. Then building needs the vendors' headers and libraries.
package backends

import _ "github.com/go-halyard/halyard/backends/host" // always there
