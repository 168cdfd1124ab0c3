package main

import "slices"

// nvidia is the platform of NVIDIA's OpenCL, and a part of the names of its devices.
const nvidia = "NVIDIA"

// toNVIDIA makes places, sizes and variants those of an NVIDIA GPU.
func toNVIDIA() {
	places, variants = [][]string{{nvidia}}, nvidiaVariants
	for name, size := range map[string]struct {
		n, steps int
		what     string
	}{
		"stream":     {1 << 23, 6, "five kernels and dot on arrays of 2²³ doubles, each waited for"},
		"mandelbrot": {2048, 256, "2048×2048 points, up to 256 steps, and the picture on the host"},
		"nbody":      {8192, 3, "8192 bodies, 3 steps"},
		"cg":         {1024, 60, "1024×1024 points, 60 steps"},
		"heat":       {2048, 100, "2048×2048 points, 100 steps"},
		"kmeans":     {1 << 19, 10, "2¹⁹ points of eight numbers, 32 clusters, 10 steps"},
		"pathtracer": {384, 16, "384×384 points of a picture of spheres, 16 rays each"},
	} {
		a := &apps[slices.IndexFunc(apps, func(a app) bool { return a.Name == name })]
		a.N, a.Steps, a.Repeats, a.What = size.n, size.steps, 9, size.what
	}
}

// nvidiaVariants are the ways to write a program for an NVIDIA GPU. All ratios are to the first.
var nvidiaVariants = []variant{
	{Name: "OpenCL C by hand", Short: "OpenCL C", command: variants[0].command, files: variants[0].files, has: every},
	{Name: "CUDA C by hand", Short: "CUDA C", command: built("cuda-%s"), files: func(app string) []string {
		if ofExample[app] != "" {
			return nil
		}
		return []string{"c/device_cuda.h", "c/" + app + ".c", "c/" + app + "_kernels.h"}
	}, has: func(r *row) bool { return ofExample[r.App.Name] == "" }},
	frontdoorOn("CUDA", "cuda:0"), recordedOn("CUDA", "cuda:0"), frontdoorOn("OpenCL", "opencl:gpu:0"), frontdoorOn("Vulkan", "vulkan:0"), recordedOn("Vulkan", "vulkan:0"),
	{Name: "numba.cuda", Short: "numba.cuda", command: inPython("numbacuda"), files: func(app string) []string { return []string{"numbacuda/" + app + ".py"} },
		has: func(r *row) bool { return slices.Contains([]string{"heat", "cg", "nbody", "mandelbrot"}, r.App.Name) }, missing: module("numba")},
}

func every(*row) bool { return true }

// frontdoorOn returns the programs of package halyard on a device of a backend.
func frontdoorOn(backend, device string) variant {
	return variant{Name: "Halyard on " + backend, Short: backend, on: device, command: built("frontdoor", "%s"), files: inFrontdoor, has: every}
}

// recordedOn is frontdoorOn with steps that are recorded once.
func recordedOn(backend, device string) variant {
	return variant{Name: "Halyard on " + backend + ", recorded", Short: backend + " recorded", on: device,
		command: built("frontdoor", "%s-recorded"), files: recordedFiles, has: func(r *row) bool { return r.App.Ranks }}
}

const aboutNVIDIA = `# Whole programs on an NVIDIA GPU

` + "`scripts/nvidia-report`" + ` writes this page on a machine with an NVIDIA GPU. The programs do the same work: by hand in OpenCL C and with CUDA's driver interface
and NVRTC, with package halyard and kernels in Go on the backends for CUDA, OpenCL and Vulkan, and with numba.cuda.

- **Checked.** Every run's result is compared with that of plain Go: the Mandelbrot set to the bit, the others to a tolerance.
- **In turns.** The programs of a row run in turns, each in a process of its own. Each process takes the median of its runs; a figure is the median of these
  over the rounds. In parentheses is the ratio to OpenCL C by hand in the same round, as the median over the rounds: ×0.9 is faster, ×1.1 slower.
- **From host to host.** Except for BabelStream, a run begins with the input in the host's memory and ends with the result there. The time includes no
  compilation, because the first run does not count. BabelStream waits for each of its kernels, as its description requires.
- **Products and sums.** Kernels in Go round each operation, as Go does, on every backend, and divide and take roots exactly. By hand and with numba compilers fuse
  products with sums, but for the Mandelbrot set.

`
