//go:build opencl && linux

package opencl

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/siglib"
)

// The OpenCL library reads its environment once, so these tests start themselves again with
// another one. roleEnv says what the child does.
const roleEnv = "HALYARD_OPENCL_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		os.Exit(m.Run())
	case "list":
		list()
	case "signals":
		signals()
	case "compile":
		compile()
	}
}

// compile compiles, loads and looks up kernels on PoCL, one program after the other, each begun when the parent says so.
func compile() {
	b := newBackend(bindTable)
	d, err := b.Open(context.Background(), 0)
	for i := 1; err == nil && d.(*device).hw.platformText != pocl; i++ {
		d, err = b.Open(context.Background(), i)
	}
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	start := bufio.NewScanner(os.Stdin)
	name := dl.CString("POCL_CACHE_DIR")
	fmt.Println("open", dl.GoString(dl.Process().Proc("getenv").Call1(uintptr(unsafe.Pointer(&name[0])))))
	for start.Scan() {
		text := fmt.Sprintf("kernel void a(global float *x) { x[get_global_id(0)] = %s; } kernel void b(global int *x, int y) { x[y] = y; }", start.Text())
		image, err := d.(*device).Compile("", &driver.Source{Name: "a.cl", Text: text})
		if err == nil {
			var m driver.Module
			if m, err = d.(*device).Load(image); err == nil {
				_, err = m.Kernel("a")
			}
		}
		if err != nil {
			fmt.Println("error:", err)
		}
		fmt.Println("made")
	}
}

// list prints the devices and the problems.
func list() {
	b := newBackend(bindTable)
	infos, err := b.Devices(context.Background())
	if err != nil {
		fmt.Println("error:", err)
	}
	for _, info := range infos {
		fmt.Println("device:", info.Model)
		if d, err := b.Open(context.Background(), info.Ordinal); err != nil {
			fmt.Println("not open:", err)
		} else if err := d.Close(); err != nil {
			fmt.Println("not closed:", err)
		}
	}
	for _, p := range b.Problems(context.Background()) {
		fmt.Println("problem:", p)
	}
}

// signals uses every device and then checks whether the program's own signals still arrive.
func signals() {
	caught := make(chan os.Signal, 1)
	all := []os.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGPIPE}
	signal.Notify(caught, all...)
	b := newBackend(bindTable)
	infos, err := b.Devices(context.Background())
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	for _, info := range infos {
		d, err := b.Open(context.Background(), info.Ordinal)
		if err != nil {
			fmt.Println("error:", err)
			return
		}
		if err := build(d.(*device)); err != nil {
			fmt.Println("error:", err)
			return
		}
		fmt.Println("device:", info.Model)
	}
	for _, sig := range all {
		if err := syscall.Kill(os.Getpid(), sig.(syscall.Signal)); err != nil {
			fmt.Println("error:", err)
		}
		select {
		case got := <-caught:
			if got != sig {
				fmt.Println("lost:", sig, "came as", got)
			}
		case <-time.After(5 * time.Second):
			fmt.Println("lost:", sig)
		}
	}
	for name, fault := range map[string]func(){
		"division by zero": func() { fmt.Fprint(os.Stderr, 1/zero) },
		"nil pointer":      func() { fmt.Fprint(os.Stderr, *nothing) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					fmt.Println("lost:", name)
				}
			}()
			fault()
		}()
	}
	fmt.Println("done")
}

// build compiles a kernel, as a program would with the device's context.
func build(d *device) error {
	lib, err := dl.Open(libraryEnv, libraryNames()...)
	if err != nil {
		return err
	}
	source := dl.CString("kernel void one(global float *x) { x[get_global_id(0)] = 1; }")
	lines := &[1]unsafe.Pointer{unsafe.Pointer(&source[0])}
	w := dl.GetWords()
	defer w.Put()
	program := lib.Proc("clCreateProgramWithSource").Call5(d.ctx.cl, 1, uintptr(unsafe.Pointer(lines)), 0, w.At(0))
	if st := status(w[0]); st != success {
		return d.check("build", "clCreateProgramWithSource", st)
	}
	defer lib.Proc("clReleaseProgram").Call1(program)
	return d.check("build", "clBuildProgram", status(lib.Proc("clBuildProgram").Call6(program, 1, uintptr(unsafe.Pointer(&d.hw.id)), 0, 0, 0)))
}

var (
	zero    int
	nothing *int
)

// child runs this test binary in a role. Drivers are those of the given lines, one file each, or
// those of the environment if there are none.
func child(t *testing.T, role string, drivers []string, env ...string) string {
	t.Helper()
	exe, err := os.Executable()
	ok(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "POCL_SIGFPE_HANDLER=") })
	cmd.Env = append(cmd.Env, roleEnv+"="+role)
	cmd.Env = append(cmd.Env, env...)
	if drivers != nil {
		dir := t.TempDir()
		for i, line := range drivers {
			ok(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.icd", i)), []byte(line), 0o644))
		}
		cmd.Env = append(cmd.Env, "OCL_ICD_VENDORS="+dir)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the child ended with %v:\n%s", err, out)
	}
	return string(out)
}

// installed returns the registered drivers that can be loaded.
func installed(t *testing.T) []string {
	t.Helper()
	if _, err := loadTable(); err != nil {
		absent(t, err.Error())
	}
	files, err := filepath.Glob(filepath.Join(driverRegistry(), "*.icd"))
	ok(t, err)
	var drivers []string
	for _, f := range files {
		if driverProblem(f) == "" {
			text, err := os.ReadFile(f)
			ok(t, err)
			drivers = append(drivers, string(text))
		}
	}
	if len(drivers) == 0 {
		absent(t, "no driver is registered in "+driverRegistry())
	}
	return drivers
}

func TestEachDriverAlone(t *testing.T) {
	for _, driver := range installed(t) {
		out := child(t, "list", []string{driver})
		wantWords(t, out, "device: ")
		if strings.Contains(out, "problem: ") || strings.Contains(out, "error: ") || strings.Contains(out, "not ") {
			t.Errorf("with %s alone:\n%s", strings.TrimSpace(driver), out)
		}
	}
}

func TestNoDriver(t *testing.T) {
	if _, err := loadTable(); err != nil {
		absent(t, err.Error())
	}
	out := child(t, "list", []string{})
	wantWords(t, out, "error: ", "backend unavailable", "holds no .icd file", "OCL_ICD_VENDORS")
	out = child(t, "list", nil, "OCL_ICD_VENDORS=/nonexistent/vendors")
	wantWords(t, out, "error: ", "backend unavailable", "/nonexistent/vendors")
}

func TestBrokenDrivers(t *testing.T) {
	good := installed(t)
	out := child(t, "list", []string{"libhalyard-broken.so\n", "\n", "libc.so.6"})
	wantWords(t, out, "error: ", "backend unavailable", "libhalyard-broken.so, which does not load", "names no library")

	out = child(t, "list", append([]string{"libhalyard-broken.so\n"}, good[0]))
	wantWords(t, out, "device: ", "problem: ", "libhalyard-broken.so, which does not load")
}

func TestMissingLibraryInAChild(t *testing.T) {
	out := child(t, "list", nil, libraryEnv+"=/nonexistent/libOpenCL.so")
	wantWords(t, out, "error: opencl: ", "backend unavailable", "/nonexistent/libOpenCL.so")
}

// Processes that start together on an empty cache of PoCL, as the ranks of a job do, compile the same programs at the same time.
func TestProcessesCompileTogether(t *testing.T) {
	drivers := installed(t)
	exe, err := os.Executable()
	ok(t, err)
	dir, cache := t.TempDir(), t.TempDir()
	at := slices.IndexFunc(drivers, func(line string) bool { return strings.Contains(line, "pocl") })
	if at < 0 {
		t.Skip("PoCL is not registered")
	}
	for i, driver := range drivers { // with others, the loader asks each for its devices before it lists the platforms
		ok(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.icd", i)), []byte(driver), 0o644))
	}
	type process struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Scanner
	}
	var list []*process
	for range 4 {
		p := &process{cmd: exec.CommandContext(t.Context(), exe)}
		p.cmd.Env = append(os.Environ(), roleEnv+"=compile", "OCL_ICD_VENDORS="+dir, "POCL_CACHE_DIR="+cache)
		p.cmd.Stderr = os.Stderr
		p.in, err = p.cmd.StdinPipe()
		ok(t, err)
		out, err := p.cmd.StdoutPipe()
		ok(t, err)
		p.out = bufio.NewScanner(out)
		ok(t, p.cmd.Start())
		list = append(list, p)
	}
	answer := func(p *process, want string) string {
		if !p.out.Scan() {
			t.Fatalf("a process ended: %v", p.cmd.Wait())
		}
		rest, found := strings.CutPrefix(p.out.Text(), want)
		if !found {
			t.Fatal(p.out.Text())
		}
		return rest
	}
	folders := map[string]bool{}
	for _, p := range list {
		folders[answer(p, "open ")] = true
	}
	if len(folders) != len(list) || !folders[cache] {
		t.Errorf("%d processes at once use the folders %v", len(list), folders)
	}
	for round := range 3 {
		for _, p := range list {
			_, err := fmt.Fprintln(p.in, round)
			ok(t, err)
		}
		for _, p := range list {
			answer(p, "made")
		}
	}
	for _, p := range list {
		ok(t, p.in.Close())
		ok(t, p.cmd.Wait())
	}
	for folder := range folders {
		if files, err := os.ReadDir(folder); err != nil || len(files) < 2 {
			t.Errorf("PoCL has not used %s: %v %v", folder, files, err)
		}
	}
}

// A program's own signal handlers survive the drivers, and the program can still recover from
// faults.
func TestSignalsSurvive(t *testing.T) {
	if !siglib.Works {
		t.Skip("signal handlers are not kept on this system")
	}
	installed(t)
	out := child(t, "signals", nil)
	wantWords(t, out, "device: ", "done")
	if strings.Contains(out, "lost: ") || strings.Contains(out, "error: ") {
		t.Error(out)
	}
}
