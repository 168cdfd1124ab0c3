package cudahip

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-halyard/halyard/internal/dl"
)

// compiler is the C compiler for the architecture that this program is built for.
func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "cc"
}

// abiLibrary builds the C functions of testdata/abi.c.
var abiLibrary = sync.OnceValues(func() (*dl.Library, error) {
	dir, err := os.MkdirTemp("", "halyard-abi")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	so := filepath.Join(dir, "libabi.so")
	cc := exec.Command(compiler(), "-shared", "-fPIC", "-O1", "-o", so, "testdata/abi.c")
	if out, err := cc.CombinedOutput(); err != nil {
		return nil, &exec.Error{Name: compiler() + ": " + strings.TrimSpace(string(out)), Err: err}
	}
	return dl.Open("", so)
})

var callback1 = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(1, 0) })

// abiTable is a table whose calls are functions of testdata/abi.c.
func abiTable(t testing.TB) *Table {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the functions to call are built for Linux")
	}
	if _, err := exec.LookPath(compiler()); err != nil {
		if strings.Contains(os.Getenv("HALYARD_REQUIRE"), "cuda") {
			t.Fatal(err)
		}
		t.Skip("no C compiler to build the functions to call: ", err)
	}
	lib, err := abiLibrary()
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(lib, &Symbols{
		CallMakeCurrent:  {Name: "abi_bind"},
		CallStreamQuery:  {Name: "abi_current"},
		CallCopyIn:       {Name: "abi_six"},
		CallMemAlloc:     {Name: "abi_make"},
		CallEventElapsed: {Name: "abi_elapsed"},
		CallIPCOpen:      {Name: "abi_open"},
		CallIPCExport:    {Name: "abi_export"},
		CallHostCall:     {Name: "abi_call"},
		CallDeviceName:   {Name: "abi_text"},
		CallDeviceBus:    {Name: "abi_text"},
	}, callback1())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// do makes a call with the arguments.
func (t *Table) do(c Call, ctx Context, args ...uintptr) Code {
	f := t.Frame(c, ctx)
	defer f.Put()
	copy(f.Args[:], args)
	return f.Call()
}

// result makes a call whose first argument is the address of n words, which it returns.
func (t *Table) result(c Call, n int, args ...uintptr) ([]uint64, Code) {
	f := t.Frame(c, 1)
	defer f.Put()
	clear(f.Out[:])
	f.Args[0] = f.OutAddr(0)
	copy(f.Args[1:], args)
	code := f.Call()
	return slices.Clone(f.Out[:n]), code
}

func (t *Table) text(c Call, size int, arg uintptr) string {
	f := t.Unbound(c)
	defer f.Put()
	f.Args[0], f.Args[1], f.Args[2] = f.TextAddr(), uintptr(size), arg
	f.Call()
	return f.TextString(size)
}

func TestCallMakesTheContextCurrentOnItsThread(t *testing.T) {
	table := abiTable(t)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			ctx := Context(1000 + g)
			for range 200 {
				if got := table.do(CallStreamQuery, ctx); got != Code(ctx) {
					t.Errorf("the call ran with context %d current, want %d", got, ctx)
					return
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
}

func TestCallIsNotMadeWithoutItsContext(t *testing.T) {
	table := abiTable(t)
	code := table.do(CallStreamQuery, 13)
	if code.Value() != 201 || !code.Unbound() {
		t.Errorf("code %d, unbound %t; want 201 and true", code.Value(), code.Unbound())
	}
	if code := table.do(CallStreamQuery, 14); code != 14 {
		t.Errorf("the next call returned %d, want 14", code)
	}
}

func TestArgumentsReachTheCall(t *testing.T) {
	table := abiTable(t)
	minus4 := int32(-4)
	if code := table.do(CallCopyIn, 1, 1<<40, 2, 3<<40, uintptr(minus4), 5, 6<<40); code != Success {
		t.Errorf("six arguments arrived in another order or width: %d", code)
	}
	if got, code := table.result(CallMemAlloc, 1, 1<<40, 7, 1<<50); got[0] != 1<<40+7+1<<50 || code != Success {
		t.Errorf("the result is %#x, %d", got, code)
	}
	if ms, code := table.result(CallEventElapsed, 1, 10, 15); math.Float32frombits(uint32(ms[0])) != 1.25 || code != Success {
		t.Errorf("the result is %#x, %d; want the bits of 1.25", ms, code)
	}
	whole, part := table.text(CallDeviceName, textSize, 2), table.text(CallDeviceBus, 32, 3)
	if whole != strings.Repeat("c", textSize) || part != strings.Repeat("d", 32) {
		t.Errorf("texts %q and %q", whole, part)
	}
}

func TestHandlesPassByValue(t *testing.T) {
	table := abiTable(t)
	var h IPCHandle
	for i := range h {
		h[i] = byte(i)
	}
	table.SetIPCFlags(5)
	if addr, code := table.IPCOpen(1, &h); addr != 0x1005 || code != Success {
		t.Errorf("IPCOpen = %#x, %d; want 0x1005", addr, code)
	}
	words, code := table.result(CallIPCExport, handleSize/8, 0x1234)
	if code != Success || words[7] != 0x1234 || words[0] != 0 {
		t.Errorf("the handle is %x, %d", words, code)
	}
}

func TestCallbackMayGrowTheStack(t *testing.T) {
	table := abiTable(t)
	var deep func(int) int
	deep = func(n int) int {
		var pad [256]byte
		if n == 0 {
			return int(pad[0])
		}
		return deep(n-1) + int(pad[n%256])
	}
	called := make(chan struct{})
	go func() {
		defer close(called)
		ran := false
		if _, code := table.HostCall(1, 0, func() { deep(1000); ran = true }); code != Success || !ran {
			t.Errorf("HostCall = %d, ran %t", code, ran)
		}
	}()
	<-called
}

func TestCallsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	table := abiTable(t)
	n := testing.AllocsPerRun(200, func() {
		table.do(CallCopyIn, 1, 1, 2, 3, 4, 5, 6)
	})
	if n != 0 {
		t.Errorf("%v allocations for a call", n)
	}
}

func TestMissingSymbolsAreNamed(t *testing.T) {
	abiTable(t)
	lib, err := abiLibrary()
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewTable(lib, &Symbols{
		CallInit:    {Name: "abi_absent"},
		CallMemFree: {Name: "abi_gone", Optional: true},
		CallVersion: {Name: "abi_lost"},
	}, callback1())
	if err == nil || !strings.Contains(err.Error(), "abi_absent, abi_lost") || strings.Contains(err.Error(), "abi_gone") {
		t.Errorf("error %v", err)
	}
}

func BenchmarkCall(b *testing.B) {
	table := abiTable(b)
	raw := dl.ProcAt(table.procs[CallCopyIn])
	bind := dl.ProcAt(table.procs[CallMakeCurrent])
	b.Run("raw", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			raw.Call6(1, 2, 3, 4, 5, 6)
		}
	})
	b.Run("raw-with-bind", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			runtime.LockOSThread()
			bind.Call1(1)
			raw.Call6(1, 2, 3, 4, 5, 6)
			runtime.UnlockOSThread()
		}
	})
	b.Run("table", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			table.do(CallCopyIn, 1, 1, 2, 3, 4, 5, 6)
		}
	})
}
