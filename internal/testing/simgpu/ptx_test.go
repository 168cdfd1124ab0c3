package simgpu

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/dl"
)

var updatePTX = flag.Bool("update-ptx", false, "write testdata/ptx/*.ptx anew, with the NVRTC that HALYARD_NVRTC_LIBRARY names")

// The functions of testdata/ptx.c.
type ptxLibrary struct {
	Parse      dl.Proc `sym:"test_parse"`
	Free       dl.Proc `sym:"test_free"`
	Find       dl.Proc `sym:"test_find"`
	Properties dl.Proc `sym:"test_properties"`
	Param      dl.Proc `sym:"test_param"`
	Run        dl.Proc `sym:"test_run"`
	Variable   dl.Proc `sym:"test_variable"`
	Target     dl.Proc `sym:"test_target"`
	Entries    dl.Proc `sym:"test_entries"`
}

var interpreter struct {
	sync.Once
	lib ptxLibrary
	err error
}

// loadInterpreter builds the interpreter of PTX as a library, once.
func loadInterpreter(t testing.TB) *ptxLibrary {
	t.Helper()
	interpreter.Do(func() { interpreter.err = buildInterpreter() })
	if errors.Is(interpreter.err, ErrNoCompiler) || errors.Is(interpreter.err, ErrNotLinux) {
		t.Skip("the interpreter of PTX cannot be built here: ", interpreter.err)
	}
	require.NoError(t, interpreter.err)
	return &interpreter.lib
}

func buildInterpreter() error {
	if runtime.GOOS != "linux" {
		return ErrNotLinux
	}
	cc, err := Compiler()
	if err != nil {
		return err
	}
	glue, err := os.ReadFile(filepath.Join("testdata", "ptx.c"))
	if err != nil {
		return err
	}
	key, err := contentKey(cc, []string{"ptx", string(glue)})
	if err != nil {
		return err
	}
	final, err := filepath.Abs(filepath.Join(simCache, key))
	if err != nil {
		return err
	}
	err = once(simCache, final, func(tmp string) error {
		folder, err := objects(cc, simCache)
		if err != nil {
			return err
		}
		args := append([]string{"-shared", "-Wl,-z,defs"}, compileFlags...)
		return run(".", cc, append(args, "-o", filepath.Join(tmp, "ptx.so"), filepath.Join("testdata", "ptx.c"),
			filepath.Join(folder, "ptx_parse.o"), filepath.Join(folder, "ptx_run.o"), "-lm")...)
	})
	if err != nil {
		return err
	}
	lib, err := dl.Open("", filepath.Join(final, "ptx.so"))
	if err != nil {
		return err
	}
	_, err = lib.Fill(&interpreter.lib)
	return err
}

// ptxModule is PTX that was parsed.
type ptxModule struct {
	t   testing.TB
	lib *ptxLibrary
	m   uintptr
}

// parsePTX parses a text. If it is refused, the module is nil and the reason is returned.
func parsePTX(t testing.TB, text string) (*ptxModule, string) {
	t.Helper()
	lib := loadInterpreter(t)
	reason := make([]byte, 512)
	b := dl.CString(text)
	m := lib.Parse.Call3(uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&reason[0])), uintptr(len(reason)))
	if m == 0 {
		return nil, cut(reason)
	}
	mod := &ptxModule{t, lib, m}
	t.Cleanup(func() { lib.Free.Call1(m) })
	return mod, ""
}

func cut(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// loadPTX parses a file of testdata/ptx.
func loadPTX(t testing.TB, name string) *ptxModule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "ptx", name+".ptx"))
	require.NoError(t, err)
	m, reason := parsePTX(t, string(text))
	require.NotNil(t, m, "%s: %s", name, reason)
	return m
}

type ptxKernel struct {
	*ptxModule
	name          string
	entry         uintptr
	params        []ptxParam
	size          uint64 // of the parameters
	shared, local uint64
	req, max      [3]uint64

	seed, steps uint64
}

type ptxParam struct{ size, align, offset, pointer uint64 }

func (m *ptxModule) kernel(name string) *ptxKernel {
	m.t.Helper()
	b := dl.CString(name)
	e := m.lib.Find.Call2(m.m, uintptr(unsafe.Pointer(&b[0])))
	require.NotZero(m.t, e, "there is no kernel %s", name)
	var p [10]uint64
	m.lib.Properties.Call2(e, uintptr(unsafe.Pointer(&p)))
	k := &ptxKernel{ptxModule: m, name: name, entry: e, size: p[1], shared: p[2], local: p[3]}
	copy(k.req[:], p[4:7])
	copy(k.max[:], p[7:10])
	for i := range p[0] {
		var q ptxParam
		m.lib.Param.Call3(e, uintptr(i), uintptr(unsafe.Pointer(&q)))
		k.params = append(k.params, q)
	}
	return k
}

// constant is an argument that the kernel may only read.
type constant struct{ slice any }

type ptxRange struct {
	addr, size                       uint64
	data                             unsafe.Pointer
	writable, reads, writes, atomics uint64
}

type ptxJob struct {
	entry        uintptr
	params       unsafe.Pointer
	grid, block  [3]uint32
	shared       uint64
	seed, steps  uint64
	ranges       unsafe.Pointer
	n            uint64
	reason       unsafe.Pointer
	reasonLength uint64
}

// What test_run returns.
const (
	ptxOK = iota
	ptxLaunch
	ptxMemory
	ptxAddress
	ptxMisaligned
	ptxTrap
	ptxEndless
	ptxUndefined
)

// launch runs the kernel. A slice as argument becomes memory at an invented address, and the kernel works on its elements.
func (k *ptxKernel) launch(grid, block [3]uint32, shared int, args ...any) (fault int, reason string) {
	k.t.Helper()
	require.Len(k.t, args, len(k.params), "arguments of %s", k.name)
	params := make([]byte, k.size+1)
	ranges := make([]ptxRange, len(args)+1)
	for i, arg := range args {
		writable := uint64(1)
		if c, ok := arg.(constant); ok {
			arg, writable = c.slice, 0
		}
		v := reflect.ValueOf(arg)
		var from unsafe.Pointer
		var size uintptr
		if v.Kind() == reflect.Slice {
			ranges[i] = ptxRange{addr: uint64(i+1) << 32, size: uint64(v.Len()) * uint64(v.Type().Elem().Size()), data: v.UnsafePointer(), writable: writable}
			from, size = unsafe.Pointer(&ranges[i].addr), 8
		} else {
			p := reflect.New(v.Type())
			p.Elem().Set(v)
			from, size = p.UnsafePointer(), v.Type().Size()
		}
		require.EqualValues(k.t, k.params[i].size, size, "parameter %d of %s", i, k.name)
		copy(params[k.params[i].offset:], unsafe.Slice((*byte)(from), size))
	}
	text := make([]byte, 1024)
	job := &ptxJob{entry: k.entry, params: unsafe.Pointer(&params[0]), grid: grid, block: block, shared: uint64(shared), seed: k.seed, steps: k.steps,
		ranges: unsafe.Pointer(&ranges[0]), n: uint64(len(args)), reason: unsafe.Pointer(&text[0]), reasonLength: uint64(len(text))}
	fault = int(int32(k.lib.Run.Call1(uintptr(unsafe.Pointer(job)))))
	runtime.KeepAlive(args)
	return fault, cut(text)
}

// must runs the kernel, which has to succeed.
func (k *ptxKernel) must(grid, block [3]uint32, shared int, args ...any) {
	k.t.Helper()
	fault, reason := k.launch(grid, block, shared, args...)
	require.Zero(k.t, fault, "%s", reason)
}

func line(n uint32) [3]uint32 { return [3]uint32{n, 1, 1} }

// nvrtcLibrary is the part of NVRTC's interface that compiles to PTX.
type nvrtcLibrary struct {
	Create  dl.Proc `sym:"nvrtcCreateProgram"`
	Compile dl.Proc `sym:"nvrtcCompileProgram"`
	Size    dl.Proc `sym:"nvrtcGetPTXSize"`
	PTX     dl.Proc `sym:"nvrtcGetPTX"`
	LogSize dl.Proc `sym:"nvrtcGetProgramLogSize"`
	Log     dl.Proc `sym:"nvrtcGetProgramLog"`
	Destroy dl.Proc `sym:"nvrtcDestroyProgram"`
}

func compileCUDA(t *testing.T, source string, options ...string) string {
	t.Helper()
	path := os.Getenv("HALYARD_NVRTC_LIBRARY")
	if path == "" {
		t.Skip("HALYARD_NVRTC_LIBRARY does not name NVIDIA's compiler")
	}
	lib, err := dl.Open("", path)
	require.NoError(t, err)
	var rtc nvrtcLibrary
	_, err = lib.Fill(&rtc)
	require.NoError(t, err)
	var program, size uintptr
	text := dl.CString(source)
	require.Zero(t, int32(rtc.Create.Call6(uintptr(unsafe.Pointer(&program)), uintptr(unsafe.Pointer(&text[0])), 0, 0, 0, 0)))
	defer rtc.Destroy.Call1(uintptr(unsafe.Pointer(&program)))
	var list []unsafe.Pointer
	for _, o := range options {
		list = append(list, unsafe.Pointer(&dl.CString(o)[0]))
	}
	status := int32(rtc.Compile.Call3(program, uintptr(len(list)), uintptr(unsafe.Pointer(&list[0]))))
	require.Zero(t, int32(rtc.LogSize.Call2(program, uintptr(unsafe.Pointer(&size)))))
	log := make([]byte, size+1)
	require.Zero(t, int32(rtc.Log.Call2(program, uintptr(unsafe.Pointer(&log[0])))))
	require.Zero(t, status, "%s", log)
	require.Zero(t, int32(rtc.Size.Call2(program, uintptr(unsafe.Pointer(&size)))))
	ptx := make([]byte, size+1)
	require.Zero(t, int32(rtc.PTX.Call2(program, uintptr(unsafe.Pointer(&ptx[0])))))
	return cut(ptx)
}

// Each PTX file is the output of NVIDIA's compiler for the source beside it.
func TestTextsAreCompiledFromTheSources(t *testing.T) {
	sources, err := filepath.Glob(filepath.Join("testdata", "ptx", "*.cu"))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, path := range sources {
		t.Run(filepath.Base(path), func(t *testing.T) {
			source, err := os.ReadFile(path)
			require.NoError(t, err)
			got := compileCUDA(t, string(source), "--gpu-architecture=compute_70", "--device-int128", "--jump-table-density=10")
			to := strings.TrimSuffix(path, ".cu") + ".ptx"
			if *updatePTX {
				require.NoError(t, os.WriteFile(to, []byte(got), 0o666))
			}
			want, err := os.ReadFile(to)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// The simulated driver reports that it has no table of private functions. NVRTC looks for the table, and reads address 0 if the call
// for it is missing.
func TestPrivateTablesAreRefused(t *testing.T) {
	cuda, _ := libraries(t)
	v := newVendor(t, "CUDA", cuda)
	id, table := [16]byte{1}, uintptr(1)
	get := dl.ProcAt(v.symbol("cuGetExportTable"))
	require.EqualValues(t, 500, int32(get.Call2(uintptr(unsafe.Pointer(&table)), uintptr(unsafe.Pointer(&id)))))
	require.Zero(t, table)
	require.EqualValues(t, 1, int32(get.Call2(0, uintptr(unsafe.Pointer(&id)))))
}

// The interpreter knows the compiler's output for all of these options. The compiler finds the simulated driver, which is loaded.
func TestEveryTargetIsUnderstood(t *testing.T) {
	cuda, _ := libraries(t)
	newVendor(t, "CUDA", cuda)
	sources, err := filepath.Glob(filepath.Join("testdata", "ptx", "*.cu"))
	require.NoError(t, err)
	for _, options := range [][]string{{"compute_60"}, {"compute_80", "--use_fast_math"}, {"compute_90", "--generate-line-info"}, {"compute_121"}, {"compute_90", "--device-debug"}} {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			options[0] = "--gpu-architecture=" + options[0]
			for _, path := range sources {
				source, err := os.ReadFile(path)
				require.NoError(t, err)
				text := compileCUDA(t, string(source), append(options, "--device-int128")...)
				m, reason := parsePTX(t, text)
				require.NotNil(t, m, "%s: %s", path, reason)
			}
		})
	}
}

func (m *ptxModule) variable(name string, size uint64) unsafe.Pointer {
	m.t.Helper()
	var n uint64
	b := dl.CString(name)
	addr := m.lib.Variable.Call3(m.m, uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&n)))
	require.NotZero(m.t, addr, "there is no variable %s", name)
	require.Equal(m.t, size, n)
	return dl.Pointer(addr)
}
