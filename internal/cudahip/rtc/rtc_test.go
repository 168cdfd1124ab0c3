package rtc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip/image"
	"github.com/go-halyard/halyard/internal/siglib"
)

// required skips the test, or fails it if HALYARD_REQUIRE has the name of what is missing.
func required(t testing.TB, name, why string) {
	t.Helper()
	if slices.Contains(strings.FieldsFunc(os.Getenv("HALYARD_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' }), name) {
		t.Fatalf("HALYARD_REQUIRE asks for %s, but %s", name, why)
	}
	t.Skip(why)
}

// compiler returns a vendor's compiler, if it is installed.
func compiler(t testing.TB, of Vendor) *Compiler {
	t.Helper()
	c, err := Load(of)
	if err != nil {
		required(t, map[Vendor]string{NVRTC: "nvrtc", HIPRTC: "hiprtc"}[of], err.Error())
	}
	return c
}

// each runs a test with every installed compiler and one of its targets.
func each(t *testing.T, fn func(t *testing.T, c *Compiler, target string)) {
	t.Run("NVRTC", func(t *testing.T) { fn(t, compiler(t, NVRTC), "sm_90") })
	t.Run("hipRTC", func(t *testing.T) { fn(t, compiler(t, HIPRTC), "gfx906") })
}

// kernels are the same in CUDA C++ and in HIP C++.
const kernels = `
extern "C" __global__ void saxpy(float a, const float* __restrict__ x, float* y, unsigned n) {
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void __launch_bounds__(256) block_sum(const float* x, float* sum, int n) {
	__shared__ float part[256];
	unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	part[t] = i < n ? x[i] : 0;
	__syncthreads();
	for (unsigned k = 128; k; k >>= 1) {
		if (t < k) part[t] += part[t + k];
		__syncthreads();
	}
	if (!t) atomicAdd(sum, part[0]);
}

struct Scaling { float4 by; int n; unsigned char flag; };

extern "C" __global__ void scale(Scaling s, float4* y) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < s.n) { y[i].x *= s.by.x; y[i].y *= s.by.y; y[i].z *= s.by.z; y[i].w *= s.by.w; }
}
`

func TestKernels(t *testing.T) {
	for _, c := range []struct {
		of     Vendor
		target string
		format driver.Format
		arch   string
	}{
		{NVRTC, "compute_75", driver.FormatPTX, "sm_75"},
		{NVRTC, "sm_90", driver.FormatCubin, "sm_90"},
		{NVRTC, "sm_90a", driver.FormatCubin, "sm_90a"},
		{NVRTC, "sm_120", driver.FormatCubin, "sm_120"},
		{HIPRTC, "gfx906", driver.FormatCodeObject, "gfx906"},
	} {
		t.Run(c.target, func(t *testing.T) {
			img, err := compiler(t, c.of).Compile(c.target, &driver.Source{Name: "kernels.cu", Text: kernels})
			if err != nil {
				t.Fatal(err)
			}
			if arch := target(img); img.Format != c.format || arch != c.arch {
				t.Errorf("%v for %s", img.Format, arch)
			}
			// PTX, and cubins for targets before sm_100, do not say which parameters are pointers.
			number, pointer := driver.Param{Kind: driver.ParamValue, Size: 4}, driver.Param{Size: 8}
			if c.of == HIPRTC || c.target == "sm_120" {
				pointer.Kind = driver.ParamPointer
			}
			input := pointer
			input.Const = c.of == HIPRTC
			want := map[string][]driver.Param{
				"saxpy":     {number, input, pointer, number},
				"block_sum": {pointer, pointer, number},
				"scale":     {{Kind: driver.ParamValue, Size: 32}, pointer},
			}
			if !reflect.DeepEqual(img.Params, want) {
				t.Errorf("the kernels take\n%v, want\n%v", img.Params, want)
			}
			read, err := image.Read(img.Format, img.Data)
			if err != nil {
				t.Fatal(err)
			}
			if names := slices.Sorted(maps.Keys(read)); !slices.Equal(names, []string{"block_sum", "saxpy", "scale"}) {
				t.Errorf("the kernels are %v", names)
			}
		})
	}
}

// Other properties of kernels, with NVRTC because it is fast.
func TestDetailsOfCubins(t *testing.T) {
	const text = `
struct Big { int v[2000]; };
extern "C" __global__ void nothing() {}
extern "C" __global__ void big(const Big b, int* o) { o[threadIdx.x] = b.v[threadIdx.x]; }
__noinline__ __device__ int helper(int* p, int k) { return p[k] * 3; }
extern "C" __global__ void mixed(double d, short h, char c, int* p) {
	int l[64];
	for (int i = 0; i < 64; i++) l[i] = p[i * c];
	p[0] = helper(l, h) + (int)d;
}
#if __CUDA_ARCH__ >= 900 // since there are clusters, a block can be required to have a shape
extern "C" __global__ void __block_size__((32, 4, 1))
#else
extern "C" __global__ void __launch_bounds__(128)
#endif
shaped(int* p) { __shared__ char s[7]; s[threadIdx.x % 7] = p[0]; __syncthreads(); p[0] = s[0]; }
template<class T> __global__ void templated(T v, T* p) { *p = v; }
template __global__ void templated<int>(int, int*);
`
	c := compiler(t, NVRTC)
	for _, target := range []string{"sm_75", "sm_80", "sm_90", "sm_100", "compute_90"} {
		shape := [3]uint32{32, 4, 1}
		if target == "sm_75" || target == "sm_80" {
			shape = [3]uint32{}
		}
		img, err := c.Compile(target, &driver.Source{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		got, err := image.Read(img.Format, img.Data)
		if err != nil {
			t.Fatal(err)
		}
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"_Z9templatedIiEvT_PS0_", "big", "mixed", "nothing", "shaped"}) {
			t.Errorf("%s: the kernels are %v", target, names)
		}
		sizes := func(k *driver.KernelInfo) (list []uint32) {
			for _, p := range k.Params {
				list = append(list, p.Size)
			}
			return list
		}
		if k := got["nothing"]; !k.Known || len(k.Params) != 0 {
			t.Errorf("%s: %+v", target, k)
		}
		if k := got["big"]; !k.Known || !slices.Equal(sizes(k), []uint32{8000, 8}) {
			t.Errorf("%s: %+v", target, k)
		}
		if k := got["mixed"]; !k.Known || !slices.Equal(sizes(k), []uint32{8, 2, 1, 8}) {
			t.Errorf("%s: %+v", target, k)
		}
		if k := got["shaped"]; k.RequiredBlock != shape {
			t.Errorf("%s: %+v", target, k)
		}
	}
}

func TestSourceThatDoesNotCompile(t *testing.T) {
	each(t, func(t *testing.T, c *Compiler, target string) {
		_, err := c.Compile(target, &driver.Source{Name: "wrong.cu", Text: "\nextern \"C\" __global__ void f(int* p) { p[0] = absent; }\n", Options: []string{"-DUNUSED=1"}})
		var build *driver.BuildError
		if !errors.Is(err, driver.ErrBuild) || !errors.As(err, &build) {
			t.Fatal(err)
		}
		for _, want := range []string{"wrong.cu", "absent", "^"} {
			if !strings.Contains(build.Log, want) {
				t.Errorf("the log has no %q:\n%s", want, build.Log)
			}
		}
		if at := map[Vendor]string{NVRTC: "wrong.cu(2)", HIPRTC: "wrong.cu:2:"}[of(c)]; !strings.Contains(build.Log, at) {
			t.Errorf("the log does not say %q:\n%s", at, build.Log)
		}
		if build.Source != "wrong.cu" || !slices.Contains(build.Options, "-DUNUSED=1") || !slices.ContainsFunc(build.Options, func(o string) bool { return strings.Contains(o, target) }) {
			t.Errorf("%q with %q", build.Source, build.Options)
		}
		var e *driver.Error
		if !errors.As(err, &e) || e.Vendor.Code != codeCompilation || !strings.HasSuffix(e.Vendor.API, "CompileProgram") || !strings.HasSuffix(e.Vendor.Name, "_ERROR_COMPILATION") {
			t.Errorf("the call that failed is %+v", e.Vendor)
		}
	})
}

func of(c *Compiler) Vendor {
	if c.vendor == nvrtc {
		return NVRTC
	}
	return HIPRTC
}

const nothing = `extern "C" __global__ void nothing() {}`

func TestUnknownTargets(t *testing.T) {
	for of, targets := range map[Vendor][]string{
		NVRTC:  {"", "sm_", "sm_1", "sm_55", "sm_90x", "sm_090", "sm_-1", "sm_+90", "compute_999", "gfx906", "lto_90", "sm_90 -G", "sm_75a"},
		HIPRTC: {"", "gfx", "gfx901", "gfx9999", "gfx906:bogus+", "gfx1030:xnack-", "gfx906 -g", "sm_90"},
	} {
		t.Run(vendors[of].name, func(t *testing.T) {
			c := compiler(t, of)
			for _, target := range targets {
				if img, err := c.Compile(target, &driver.Source{Text: nothing}); !errors.Is(err, driver.ErrUnsupported) || img != nil {
					t.Errorf("%q: %v", target, err)
				}
				if target == "sm_75a" {
					continue // only the compiler itself knows that there is no such variant
				}
				if id, err := c.ID(target); !errors.Is(err, driver.ErrUnsupported) || id != "" {
					t.Errorf("%q is named %q, %v", target, id, err)
				}
			}
		})
	}
}

// target returns the architecture that an image names in its text, in the flags of its ELF header, or in its metadata.
func target(img *driver.Image) string {
	pattern := `\.target (sm_\w+)`
	switch img.Format {
	case driver.FormatCubin:
		flags := binary.LittleEndian.Uint32(img.Data[48:])
		sm, variant := flags&0xff, flags&0x800 != 0
		if img.Data[8] >= 8 { // the version of the ABI in which the flags moved
			sm, variant = flags>>8&0xff, flags&8 != 0
		}
		return fmt.Sprintf("sm_%d%s", sm, map[bool]string{true: "a"}[variant])
	case driver.FormatCodeObject:
		pattern = `amdhsa--(gfx\w+)`
	}
	if found := regexp.MustCompile(pattern).FindSubmatch(img.Data); found != nil {
		return string(found[1])
	}
	return ""
}

// A device that is newer than the compiler gets code that its driver translates.
func TestNewerTargets(t *testing.T) {
	c := compiler(t, NVRTC)
	img, err := c.Compile("sm_999a", &driver.Source{Text: nothing})
	if err != nil {
		t.Fatal(err)
	}
	newest := c.archs[len(c.archs)-1]
	if want := "sm_" + list([]int{newest}); img.Format != driver.FormatPTX || target(img) != want {
		t.Errorf("%v for %s, want PTX for %s", img.Format, target(img), want)
	}
	if img.Data[len(img.Data)-1] == 0 {
		t.Error("the text ends with a zero byte")
	}
}

func TestHeadersAndOptions(t *testing.T) {
	each(t, func(t *testing.T, c *Compiler, target string) {
		src := &driver.Source{Text: "#include \"first.h\"\n#include \"more/second.h\"\nextern \"C\" __global__ void KERNEL(Second s, int* p) { p[0] = FIRST + s.v[0]; }",
			Headers: map[string]string{"first.h": "#define FIRST 3\n", "more/second.h": "struct Second { int v[N]; };\n"}, Options: []string{"-DN=5", "-DKERNEL=named"}}
		img, err := c.Compile(target, src)
		if err != nil {
			t.Fatal(err)
		}
		if got := img.Params["named"]; len(got) != 2 || got[0].Size != 20 {
			t.Errorf("the kernel takes %v", img.Params)
		}
		delete(src.Headers, "more/second.h")
		if _, err := c.Compile(target, src); !errors.Is(err, driver.ErrBuild) || !strings.Contains(err.Error(), "more/second.h") {
			t.Errorf("without a header: %v", err)
		}
	})
}

func TestUnknownOption(t *testing.T) {
	_, err := compiler(t, NVRTC).Compile("sm_90", &driver.Source{Text: nothing, Options: []string{"-bogus"}})
	if !errors.Is(err, driver.ErrInvalidArgument) || !strings.Contains(err.Error(), "-bogus") {
		t.Error(err)
	}
	// Output that is only for the linker cannot be loaded.
	_, err = compiler(t, NVRTC).Compile("sm_90", &driver.Source{Text: nothing, Options: []string{"-dlto"}})
	if !errors.Is(err, driver.ErrInvalidArgument) || !strings.Contains(err.Error(), "-dlto") {
		t.Error(err)
	}
}

func TestZeroBytes(t *testing.T) {
	each(t, func(t *testing.T, c *Compiler, target string) {
		for what, src := range map[string]*driver.Source{
			"source":  {Text: nothing + "\x00 void more();"},
			"name":    {Name: "a\x00b", Text: nothing},
			"header":  {Text: nothing, Headers: map[string]string{"a": "\x00"}},
			"header ": {Text: nothing, Headers: map[string]string{"\x00": ""}},
			"option":  {Text: nothing, Options: []string{"-DA\x00"}},
		} {
			if _, err := c.Compile(target, src); !errors.Is(err, driver.ErrInvalidArgument) || !strings.Contains(err.Error(), strings.TrimSpace(what)) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func TestGoroutines(t *testing.T) {
	each(t, func(t *testing.T, c *Compiler, target string) {
		const whole = 8
		goroutines := whole
		if c.vendor.one && testing.Short() {
			goroutines = 2
		}
		var all sync.WaitGroup
		for i := range goroutines {
			all.Go(func() {
				name := "kernel" + string(rune('a'+i))
				img, err := c.Compile(target, &driver.Source{Text: `extern "C" __global__ void ` + name + `(int* p) { p[0] = 1; }`})
				switch {
				case err != nil:
					t.Error(err)
				case len(img.Params) != 1 || len(img.Params[name]) != 1:
					t.Errorf("%s got %v", name, img.Params)
				}
				if _, err := c.Compile(target, &driver.Source{Text: name}); !errors.Is(err, driver.ErrBuild) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		all.Wait()
		t.Logf("did %d of %d goroutines", goroutines, whole)
	})
}

// Both compilers replace the signal handlers with which Go turns the use of a nil pointer into a
// panic.
func TestNilPointersPanicAfterwards(t *testing.T) {
	if !siglib.Works {
		t.Skip("handlers cannot be restored on this system")
	}
	each(t, func(t *testing.T, c *Compiler, target string) {
		if _, err := c.Compile(target, &driver.Source{Text: nothing}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if p, ok := recover().(runtime.Error); !ok {
				t.Error("recovered ", p)
			}
		}()
		var p *int
		*p = 1
	})
}

func TestID(t *testing.T) {
	each(t, func(t *testing.T, c *Compiler, target string) {
		id, err := c.ID(target)
		if err != nil {
			t.Fatal(err)
		}
		library := c.path()
		info, err := os.Stat(library)
		if err != nil {
			t.Fatalf("the library %q: %v", library, err)
		}
		for _, want := range []string{c.vendor.name, c.version, target, strings.TrimSpace(list([]int{int(info.Size())})), "builtins"} {
			if !strings.Contains(id, want) {
				t.Errorf("%q has no %q", id, want)
			}
		}
		other := map[Vendor]string{NVRTC: "compute_90", HIPRTC: "gfx1030"}[of(c)]
		if second, err := c.ID(other); err != nil || second == id {
			t.Errorf("%s is named %q, %v", other, second, err)
		}
		if c.vendor == hiprtc && !strings.Contains(id, "comgr") {
			t.Errorf("%q does not name the library that compiles", id)
		}
	})
}

func TestAbsentLibrary(t *testing.T) {
	for of, env := range map[Vendor]string{NVRTC: EnvNVRTC, HIPRTC: EnvHIPRTC} {
		path := filepath.Join(t.TempDir(), "absent.so")
		t.Setenv(env, path)
		_, err := Load(of)
		var e *driver.Error
		if !errors.Is(err, driver.ErrUnavailable) || !errors.As(err, &e) || e.Backend == "" {
			t.Fatal(err)
		}
		for _, want := range []string{env, path} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not name %s", err, want)
			}
		}
		if Found(of) {
			t.Errorf("%s is found", path)
		}
	}
}

// The usual names are tried, then the folders that the environment names.
func TestWhatIsTried(t *testing.T) {
	root := t.TempDir()
	for _, env := range []string{EnvNVRTC, EnvHIPRTC, "CUDA_PATH", "CONDA_PREFIX", "HIP_PATH", "LD_LIBRARY_PATH"} {
		t.Setenv(env, "")
	}
	t.Setenv("CUDA_HOME", root)
	t.Setenv("ROCM_PATH", root)
	t.Setenv("VIRTUAL_ENV", filepath.Join(root, "venv"))
	for _, v := range vendors[NVRTC:] {
		s := v.search()
		s.names = []string{"libhalyard-absent.so.2", "libhalyard-absent.so.1"}
		if s.file() {
			t.Errorf("%s: there is a file %v", v.name, s.names)
		}
		_, err := v.load(s)
		if !errors.Is(err, driver.ErrUnavailable) {
			t.Fatal(err)
		}
		for _, want := range append(s.names, root, filepath.Join(root, "venv"), v.env) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not name %s", v.name, err, want)
			}
		}
		// A file that is no library, and one that is no compiler.
		inside := filepath.Join(root, "lib")
		if err := os.MkdirAll(inside, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(inside, s.names[1])
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		if !s.file() {
			t.Errorf("%s: %s is not found", v.name, path)
		}
		if _, err := v.load(s); !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v does not name %s", v.name, err, path)
		}
		if runtime.GOOS == "linux" {
			s.names = []string{"libc.so.6"}
			if _, err := v.load(s); !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), v.prefix+"CreateProgram") {
				t.Errorf("%s: %v does not say what the library lacks", v.name, err)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFound(t *testing.T) {
	each(t, func(t *testing.T, c *Compiler, _ string) {
		if !Found(of(c)) {
			t.Errorf("%s is loaded and not found", c.lib.Name())
		}
		// Without loading it.
		if s := c.vendor.search(); !s.file() {
			t.Errorf("the file of %s is not found", c.lib.Name())
		}
	})
}
