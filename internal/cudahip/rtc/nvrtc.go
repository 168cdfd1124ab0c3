package rtc

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// EnvNVRTC is the environment variable that names NVRTC's library.
const EnvNVRTC = "HALYARD_NVRTC_LIBRARY"

// nvrtc is NVIDIA's compiler.
var nvrtc = &vendor{
	name: "NVRTC", backend: "cuda", env: EnvNVRTC, prefix: "nvrtc",
	libraries: nvrtcLibraries,
	folders:   nvrtcFolders,
	beside:    []string{"libnvrtc-builtins.so*", "nvrtc-builtins*.dll"},
	bind:      (*Compiler).bindNVIDIA,
	plan:      (*Compiler).planNVIDIA,
}

// nvrtcLibraries returns the usual names. From CUDA 11.2 on, the name is that of 11.2 in all releases of CUDA 11.
func nvrtcLibraries() []string {
	if runtime.GOOS == "windows" {
		return []string{"nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll", "nvrtc64_111_0.dll", "nvrtc64_110_0.dll"}
	}
	return []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so.11.1", "libnvrtc.so.11.0", "libnvrtc.so"}
}

func nvrtcFolders() []string {
	if runtime.GOOS == "windows" {
		list := under("CUDA_HOME", "bin", "bin/x64")
		list = append(list, under("CUDA_PATH", "bin", "bin/x64")...)
		return append(list, wheels("nvidia/cuda_nvrtc/bin", "nvidia/cu13/bin/x86_64")...)
	}
	inside := []string{"lib64", "lib", "targets/*-linux/lib"}
	list := append(under("CUDA_HOME", inside...), under("CUDA_PATH", inside...)...)
	list = append(list, "/usr/local/cuda/lib64")
	list = append(list, under("CONDA_PREFIX", "lib")...)
	return append(list, wheels("nvidia/cuda_nvrtc/lib", "nvidia/cu13/lib")...)
}

func (c *Compiler) bindNVIDIA() (missing []string) {
	t := c.calls
	if t.ptxSize == nil || t.ptx == nil {
		missing = append(missing, "nvrtcGetPTX")
	}
	if t.numArchs == nil || t.archs == nil {
		return missing
	}
	n, st := t.numArchs()
	if st != 0 || n <= 0 || n > 1000 {
		return missing
	}
	archs := make([]int32, n)
	if t.archs(unsafe.Pointer(&archs[0])) == 0 {
		for _, a := range archs {
			c.archs = append(c.archs, int(a))
		}
		slices.Sort(c.archs)
	}
	return missing
}

// nvidiaTarget matches a target, such as sm_90 or compute_90. A letter at the end means a variant: sm_90a, sm_100f.
var nvidiaTarget = regexp.MustCompile(`^(sm|compute)_([1-9][0-9]{0,3})([af]?)$`)

// planNVIDIA compiles for the target. If the compiler is older than the target, it compiles to PTX for the newest
// architecture that the compiler knows.
func (c *Compiler) planNVIDIA(target string) (plan, error) {
	t := c.calls
	parts := nvidiaTarget.FindStringSubmatch(target)
	if parts == nil {
		return plan{}, c.vendor.refuse(driver.ErrUnsupported, "%q is not a target of %s; targets are names such as sm_90 and compute_90",
			target, c.vendor.name)
	}
	binary, name := parts[1] == "sm", parts[2]+parts[3]
	number, _ := strconv.Atoi(parts[2]) // at most four digits
	if c.archs != nil && !slices.Contains(c.archs, number) {
		newest := c.archs[len(c.archs)-1]
		if !binary || number < newest {
			return plan{}, c.vendor.refuse(driver.ErrUnsupported, "%s %s does not know the target %s; it knows %s", c.vendor.name,
				c.version, target, list(c.archs))
		}
		binary, name = false, strconv.Itoa(newest)
	}
	ptx := product{driver.FormatPTX, t.ptxSize, t.ptx, "GetPTX"}
	if binary && t.cubinSize != nil && t.cubin != nil {
		p := plan{target: "sm_" + name, made: []product{{driver.FormatCubin, t.cubinSize, t.cubin, "GetCUBIN"}, ptx}}
		p.option = "--gpu-architecture=" + p.target
		return p, nil
	}
	p := plan{target: "compute_" + name, made: []product{ptx}}
	p.option = "--gpu-architecture=" + p.target
	return p, nil
}

func list(archs []int) string {
	names := make([]string, len(archs))
	for i, a := range archs {
		names[i] = fmt.Sprint(a)
	}
	return strings.Join(names, ", ")
}

// under returns folders within the folder that an environment variable names.
func under(env string, inside ...string) (list []string) {
	root := getenv(env)
	if root == "" {
		return nil
	}
	for _, i := range inside {
		list = append(list, filepath.Join(root, filepath.FromSlash(i)))
	}
	return list
}

// wheels returns folders of Python packages in the virtual environment in which the program was started.
func wheels(inside ...string) (list []string) {
	for _, i := range inside {
		list = append(list, under("VIRTUAL_ENV", "lib/python3*/site-packages/"+i, "Lib/site-packages/"+i)...)
	}
	return list
}
