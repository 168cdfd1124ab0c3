package dl_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// libc opens the C library, which every system that has a dynamic loader has.
func libc(t testing.TB) *dl.Library {
	t.Helper()
	names := map[string][]string{
		"darwin":  {"/usr/lib/libSystem.B.dylib"},
		"windows": {"msvcrt.dll"},
	}[runtime.GOOS]
	if names == nil {
		names = []string{"libc.so.6", "libc.so"}
	}
	l, err := dl.Open("", names...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type cTable struct {
	Qsort   dl.Proc `sym:"qsort"`
	Strlen  dl.Proc `sym:"strlen"`
	Memcpy  dl.Proc `sym:"memcpy"`
	Toupper dl.Proc `sym:"toupper"`
}

func cTableOf(t testing.TB) *cTable {
	t.Helper()
	var table cTable
	if missing, err := libc(t).Fill(&table); err != nil || len(missing) > 0 {
		t.Fatalf("missing %v: %v", missing, err)
	}
	return &table
}

func TestOpenTriesNamesInOrder(t *testing.T) {
	good := libc(t).Name()
	l, err := dl.Open("", "libhalyard-absent.so.1", good, "libhalyard-absent.so.2")
	if err != nil {
		t.Fatal(err)
	}
	if l.Name() != good {
		t.Errorf("loaded %q, want %q", l.Name(), good)
	}
}

func TestOpenNamesEveryAttempt(t *testing.T) {
	const env = "HALYARD_DL_TEST_LIBRARY"
	names := []string{"libhalyard-absent.so.2", "libhalyard-absent.so.1"}
	_, err := dl.Open(env, names...)
	if !errors.Is(err, driver.ErrUnavailable) {
		t.Fatalf("error %v is not ErrUnavailable", err)
	}
	var load *dl.LoadError
	if !errors.As(err, &load) {
		t.Fatalf("error is a %T, want *dl.LoadError", err)
	}
	var tried []string
	for _, a := range load.Tried {
		tried = append(tried, a.Name)
		if a.Reason == "" {
			t.Errorf("%s has no reason", a.Name)
		}
	}
	if !slices.Equal(tried, names) {
		t.Errorf("tried %q, want %q", tried, names)
	}
	text := err.Error()
	for _, want := range append(names, env) {
		if !strings.Contains(text, want) {
			t.Errorf("error %q does not mention %q", text, want)
		}
	}
	if strings.Contains(text, "\n") {
		t.Errorf("error %q has more than one line", text)
	}
}

func TestEnvironmentReplacesNames(t *testing.T) {
	const env = "HALYARD_DL_TEST_LIBRARY"
	good := libc(t).Name()

	t.Setenv(env, "libhalyard-absent.so.9")
	_, err := dl.Open(env, good)
	var load *dl.LoadError
	if !errors.As(err, &load) || len(load.Tried) != 1 || load.Tried[0].Name != "libhalyard-absent.so.9" {
		t.Errorf("with a library that is absent: %v", err)
	}

	t.Setenv(env, good)
	if l, err := dl.Open(env, "libhalyard-absent.so.1"); err != nil || l.Name() != good {
		t.Errorf("with a library that is there: %v", err)
	}

	t.Setenv(env, "")
	if _, err := dl.Open(env, good); err != nil {
		t.Errorf("with an empty variable: %v", err)
	}
}

func TestFill(t *testing.T) {
	type inner struct {
		Strcmp dl.Proc `sym:"strcmp"`
	}
	table := struct {
		Strlen  dl.Proc `sym:"halyard_absent_v2,strlen"`
		Gone    dl.Proc `sym:"halyard_gone,optional"`
		Gone2   dl.Proc `sym:"halyard_gone2,halyard_gone2_old,optional"`
		Kept    dl.Proc `sym:"strlen"`
		Inner   inner
		NoTag   dl.Proc
		Another int `sym:"strlen"`
		hidden  dl.Proc
	}{Kept: 42}
	missing, err := libc(t).Fill(&table)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"halyard_gone", "halyard_gone2"}; !slices.Equal(missing, want) {
		t.Errorf("missing %q, want %q", missing, want)
	}
	if !table.Strlen.Valid() || !table.Inner.Strcmp.Valid() {
		t.Error("a symbol that exists was not found")
	}
	if table.Gone.Valid() || table.Gone2.Valid() || table.NoTag.Valid() || table.hidden.Valid() {
		t.Error("a field without a symbol was filled")
	}
	if table.Kept != 42 {
		t.Error("a field that was valid was replaced")
	}

	required := struct {
		Strlen dl.Proc `sym:"strlen"`
		One    dl.Proc `sym:"halyard_one"`
		Opt    dl.Proc `sym:"halyard_opt,optional"`
		Two    dl.Proc `sym:"halyard_two,halyard_two_old"`
	}{}
	missing, err = libc(t).Fill(&required)
	var lack *dl.MissingError
	if !errors.Is(err, driver.ErrUnavailable) || !errors.As(err, &lack) {
		t.Fatalf("error %v is not a *MissingError of kind ErrUnavailable", err)
	}
	if want := []string{"halyard_one", "halyard_two"}; !slices.Equal(lack.Symbols, want) {
		t.Errorf("error names %q, want %q", lack.Symbols, want)
	}
	if want := []string{"halyard_one", "halyard_opt", "halyard_two"}; !slices.Equal(missing, want) {
		t.Errorf("missing %q, want %q", missing, want)
	}
	if !required.Strlen.Valid() {
		t.Error("what is there was not filled")
	}

	var extension struct {
		Compare dl.Proc `sym:"strcmp"`
		Gone    dl.Proc `sym:"halyard_gone,optional"`
	}
	if err := dl.FillBy(libc(t).Proc, &extension); err != nil || !extension.Compare.Valid() || extension.Gone.Valid() {
		t.Errorf("FillBy: %v, %+v", err, extension)
	}
	if err := dl.FillBy(func(string) dl.Proc { return 0 }, new(struct {
		Compare dl.Proc `sym:"strcmp"`
	})); !errors.As(err, &lack) {
		t.Errorf("FillBy without the function: %v", err)
	}

	for _, bad := range []any{nil, 7, required, (*cTable)(nil), new(int)} {
		if _, err := libc(t).Fill(bad); !errors.Is(err, driver.ErrInvalidArgument) {
			t.Errorf("Fill(%T): %v", bad, err)
		}
	}
}

func TestStringsCrossTheBorder(t *testing.T) {
	c := cTableOf(t)
	s := dl.CString("halyard")
	if n := c.Strlen.Call1(uintptr(unsafe.Pointer(&s[0]))); n != 7 {
		t.Errorf("C sees %d bytes, want 7", n)
	}
	buf := make([]byte, 16)
	addr := c.Memcpy.Call3(uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&s[0])), uintptr(len(s)))
	if got := dl.GoString(addr); got != "halyard" {
		t.Errorf("GoString = %q", got)
	}
	runtime.KeepAlive(buf)
	if got := dl.GoString(0); got != "" {
		t.Errorf("GoString(0) = %q", got)
	}
	if got := c.Toupper.Call1('x'); int32(got) != 'X' {
		t.Errorf("toupper = %d", int32(got))
	}
}

var compareHook struct {
	sync.Mutex
	fn func()
}

// compare is a static entry for qsort: it compares two 32-bit numbers and runs the
// hook, on the goroutine that called qsort.
var compare = sync.OnceValue(func() uintptr {
	return dl.NewEntry2(func(a, b uintptr) uintptr {
		compareHook.fn()
		x, y := *(*int32)(dl.Pointer(a)), *(*int32)(dl.Pointer(b))
		return uintptr(int(x) - int(y))
	})
})

//go:noinline
func deep(n int) int {
	var pad [256]byte
	pad[n%256] = 1
	if n == 0 {
		return int(pad[0])
	}
	return deep(n-1) + int(pad[n%256])
}

// A local array is handed to C, which calls back into Go, which makes the
// goroutine's stack grow and so move, and C goes on to sort the array. Were the
// array on the stack, C would sort the bytes of the stack that was left behind.
func TestArgumentsSurviveStackGrowth(t *testing.T) {
	c := cTableOf(t)
	compareHook.Lock()
	defer compareHook.Unlock()
	compareHook.fn = func() { deep(4000) }
	entry := compare()
	for round := range 20 {
		failed := make(chan string)
		// A new goroutine starts with a small stack.
		go func() {
			defer close(failed)
			numbers := [8]int32{7, 3, 5, 1, 8, 2, 6, 4}
			c.Qsort.Call4(uintptr(unsafe.Pointer(&numbers)), 8, 4, entry)
			for i := range numbers {
				if numbers[i] != int32(i+1) {
					failed <- fmt.Sprint("the array is not sorted at ", i, ": ", numbers[i])
					return
				}
			}
		}()
		if why, bad := <-failed; bad {
			t.Fatalf("round %d: %s", round, why)
		}
	}
}

//go:noinline
func store(c *cTable, p unsafe.Pointer, between func()) {
	kept := dl.Address(p)
	between()
	value := int32(42)
	c.Memcpy.Call3(kept, uintptr(unsafe.Pointer(&value)), 4)
}

// A function that takes a pointer hands C its address, and C writes there later, when
// the stack of the caller has moved.
func TestAddressSurvivesStackGrowth(t *testing.T) {
	c := cTableOf(t)
	for range 20 {
		done := make(chan int32)
		go func() {
			var local int32
			store(c, unsafe.Pointer(&local), func() { deep(4000) })
			done <- local
		}()
		if got := <-done; got != 42 {
			t.Fatalf("the variable is %d, want 42", got)
		}
	}
}

// While C holds the addresses of two buffers that nothing else refers to, many
// goroutines allocate and collect: the buffers must neither move nor be reused.
func TestArgumentsSurviveCollection(t *testing.T) {
	c := cTableOf(t)
	compareHook.Lock()
	defer compareHook.Unlock()
	compareHook.fn = runtime.GC
	entry := compare()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 4 {
				numbers := make([]int32, 6)
				for k := range numbers {
					numbers[k] = int32((k*5 + g + i) % 6)
				}
				last := &numbers[5]
				c.Qsort.Call4(uintptr(unsafe.Pointer(&numbers[0])), 6, 4, entry)
				if *last != 5 {
					t.Errorf("the last number is %d, want 5", *last)
				}
				junk := make([]byte, 64)
				binary.LittleEndian.PutUint64(junk, ^uint64(0))
			}
		})
	}
	wg.Wait()
}

func TestWordsAreZeroed(t *testing.T) {
	c := cTableOf(t)
	for range 100 {
		w := dl.GetWords()
		if *w != (dl.Words{}) {
			t.Fatal("a block from the pool holds old values")
		}
		src := uint64(0x0123456789abcdef)
		c.Memcpy.Call3(w.At(3), uintptr(unsafe.Pointer(&src)), 8)
		if w[3] != src {
			t.Fatalf("C wrote %#x", w[3])
		}
		w.Put()
	}
}

func TestCallsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop blocks at random")
	}
	c := cTableOf(t)
	s := dl.CString("halyard")
	n := testing.AllocsPerRun(1000, func() {
		w := dl.GetWords()
		c.Memcpy.Call3(w.At(0), uintptr(unsafe.Pointer(&s[0])), 8)
		w.Put()
	})
	if n != 0 {
		t.Errorf("%v allocations for each call", n)
	}
}

func TestZeroProcIsNotValid(t *testing.T) {
	if dl.ProcAt(0).Valid() || libc(t).Proc("halyard_absent").Valid() {
		t.Error("a function that does not exist is valid")
	}
	if !libc(t).Proc("strlen").Valid() {
		t.Error("strlen is not valid")
	}
}

func TestProcessHasTheCLibrary(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no C library that all parts of a program share")
	}
	setenv, getenv := dl.Process().Proc("setenv"), dl.Process().Proc("getenv")
	if !setenv.Valid() || !getenv.Valid() {
		t.Fatal("setenv or getenv is missing")
	}
	name, value := dl.CString("HALYARD_DL_TEST_C_ENVIRONMENT"), dl.CString("set")
	setenv.Call3(uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&value[0])), 1)
	if got := dl.GoString(getenv.Call1(uintptr(unsafe.Pointer(&name[0])))); got != "set" {
		t.Errorf("C reads %q", got)
	}
}

func TestPathOfALibrary(t *testing.T) {
	var p dl.Proc
	if path := p.Path(); path != "" {
		t.Errorf("no function is in %q", path)
	}
	p = dl.Process().Proc("abs")
	if !p.Valid() {
		t.Skip("the program's own symbols cannot be looked up on this system")
	}
	path := p.Path()
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the C library is %q: %v", path, err)
	}
}

// First goes on after a library that is absent and one that is not accepted, and an error has both reasons.
func TestFirstGoesOnUntilOneIsAccepted(t *testing.T) {
	const env = "HALYARD_TEST_FIRST"
	good := libc(t).Name()
	names := []string{"libhalyard-absent.so.1", good, good}
	asked := 0
	got, err := dl.First(env, names, func(l *dl.Library) (string, error) {
		if asked++; asked == 1 {
			return "refused", errors.New("it is too old")
		}
		return l.Name(), nil
	})
	if got != good || err != nil || asked != 2 {
		t.Errorf("%q, %v after %d libraries", got, err, asked)
	}
	none := func(l *dl.Library) (string, error) { return l.Name(), errors.New("it is too old") }
	got, err = dl.First(env, names[:2], none)
	if text := fmt.Sprint(err); got != "" || !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(text, names[0]+": ") ||
		!strings.Contains(text, good+": it is too old") || !strings.Contains(text, "set "+env) {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv(env, "libhalyard-absent.so.2")
	if _, err = dl.First(env, names, none); !strings.Contains(fmt.Sprint(err), "libhalyard-absent.so.2: ") || strings.Contains(fmt.Sprint(err), good) {
		t.Error(err)
	}
}
