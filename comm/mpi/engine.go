package mpi

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/siglib"
)

// engine is this process's part in an MPI job.
type engine struct {
	lib      *library
	info     driver.Info
	world    driver.Comm
	launcher launcher
	foreign  bool // other code in the process initialised MPI, and finalizes it

	serialized bool
	turn       sync.Mutex // if serialized: held during each call of MPI

	thread chan func() // to the goroutine on the thread that initialised MPI

	memory   memory
	slots    pool[slot]
	scratch  pool[scratch]
	requests requests
	inboxes  inboxes
	chunk    atomic.Uintptr // the datatype of chunkBytes bytes, 0 before it is needed
	chunkMu  sync.Mutex
	own      [driver.Max + 1][driver.Float32]ownOp // of integers

	closed atomic.Bool
}

var _ driver.Engine = (*engine)(nil)

// process has the one engine that a process can have: MPI cannot be initialised twice.
var process struct {
	sync.Mutex
	engine *engine
}

// Start loads the MPI library and initialises it. It can succeed once in a process. All ranks of the job call it. If no library can be
// used, the error is of kind ErrUnavailable and names each library that was tried. The same holds if the launcher of another MPI has
// started the process, because each process would then be a job of one rank. If that is what you want, as for the runs of a parameter
// sweep, set HALYARD_MPI_ALONE.
//
// After Start the process must end through [Exit]. [Run] does both.
func Start() (driver.Engine, error) {
	e, err := start()
	if err != nil {
		return nil, err // not the nil engine, which would not be a nil interface
	}
	return e, nil
}

func start() (*engine, error) {
	process.Lock()
	defer process.Unlock()
	if process.engine != nil {
		return nil, driver.Errorf("Start", driver.ErrInvalidArgument, "MPI was started before; a process can start it only once")
	}
	l := detectLauncher()
	if os.Getenv(envAlone) == "1" {
		l.size = 1
	}
	lib, err := load(l)
	if err != nil {
		return nil, err
	}
	if l.size > 1 && !l.fits(lib.text) {
		return nil, mismatch(l, lib, "each process would be alone")
	}
	e := &engine{lib: lib, launcher: l, thread: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for f := range e.thread {
			f()
		}
	}()
	e.announce()
	e.onThread(func() { err = e.init() })
	if err != nil {
		close(e.thread)
		return nil, err
	}
	process.engine = e
	return e, nil
}

func mismatch(l launcher, lib *library, detail string) error {
	return driver.Errorf("Start", driver.ErrUnavailable,
		"%s has started this process as one of %d, and the library %s is %s: %s; use the launcher of that library, or set %s, or set %s=1 if each process is meant to be alone",
		l.name, l.size, lib.name, lib.text, detail, EnvLibrary, envAlone)
}

// announce names the library on the standard error, if its initialisation may end the process with a message that does not say which
// library it was. Open MPI 4 does that if no launcher has started the process and the program orted is missing, which Debian has in a
// package of its own. With the word comm in HALYARD_DEBUG announce always names the library.
func (e *engine) announce() {
	lacking := ""
	if e.launcher.name == "" && strings.Contains(e.lib.text, "Open MPI v4") {
		lacking = "; it needs the program orted (Debian's openmpi-bin), which was not found"
		for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), filepath.Join(os.Getenv("OPAL_PREFIX"), "bin"),
			filepath.Join(filepath.Dir(e.lib.path), "..", "bin")) {
			if _, err := os.Stat(filepath.Join(dir, "orted")); err == nil {
				lacking = ""
			}
		}
	}
	if lacking != "" || debug.Has("comm") {
		fmt.Fprintf(os.Stderr, "Start: MPI_Init_thread of %s (%s)%s\n", e.lib.path, e.lib.text, lacking)
	}
}

// onThread runs f on the thread that initialises and finalizes MPI (MPI 4.1, section 11.2.2, wants one thread for both).
func (e *engine) onThread(f func()) {
	done := make(chan struct{})
	e.thread <- func() { defer close(done); f() }
	<-done
}

func (e *engine) init() error {
	lib, c := e.lib, &e.lib.call
	siglib.Enter()
	var had, over, provided int32
	c.Finalized.Call1(uintptr(unsafe.Pointer(&over)))
	c.Initialized.Call1(uintptr(unsafe.Pointer(&had)))
	var code int32
	switch {
	case over != 0:
	case had != 0:
		e.foreign = true
		code = int32(c.QueryThread.Call1(uintptr(unsafe.Pointer(&provided))))
	default:
		level := lib.number(threadMultiple)
		if os.Getenv(envThreads) == "serialized" {
			level = lib.number(threadSerialized)
		}
		code = int32(c.InitThread.Call4(0, 0, uintptr(level), uintptr(unsafe.Pointer(&provided))))
	}
	e.info.SignalsRestored = siglib.Leave()
	if over != 0 {
		return driver.Errorf("Start", driver.ErrClosed, "MPI has been finalized in this process")
	}
	if err := lib.failure("Start", "MPI_Init_thread", code); err != nil {
		err.Kind = driver.ErrUnavailable
		return err
	}
	if err := e.afterInit(int(provided)); err != nil {
		if !e.foreign {
			c.Finalize.Call0()
		}
		return err
	}
	return nil
}

func (e *engine) afterInit(provided int) error {
	lib, c := e.lib, &e.lib.call
	for _, comm := range []object{commWorld, commSelf} {
		if err := lib.failure("Start", "MPI_Comm_set_errhandler", int32(c.CommSetErrhandler.Call2(lib.handles[comm],
			lib.handles[errorsReturn]))); err != nil {
			return err
		}
	}
	e.serialized = provided != lib.number(threadMultiple) || os.Getenv(envThreads) == "serialized"
	info := driver.Info{Name: "mpi", Library: lib.text, Path: lib.path, ABI: [...]string{abiOpenMPI: "openmpi", abiMPICH: "mpich",
		abiStandard: "standard"}[lib.abi],
		Launcher: e.launcher.name}
	switch provided {
	case lib.number(threadMultiple):
		info.Thread = driver.ThreadMultiple
	case lib.number(threadSerialized):
		info.Thread = driver.ThreadSerialized
	default:
		return driver.Errorf("Start", driver.ErrUnsupported,
			"%s supports threads only at level %d; Go programs have several threads, and need at least MPI_THREAD_SERIALIZED (%d)",
			lib.text, provided, lib.number(threadSerialized))
	}
	if err := lib.verify(); err != nil {
		return err
	}
	lib.signs = lib.comparesSigns()
	var major, minor int32
	c.GetVersion.Call2(uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))
	info.Version = fmt.Sprintf("%d.%d", major, minor)
	lib.textAfter = major >= 4
	info.MaxTag = 32767
	var bound uintptr
	var found int32
	c.CommGetAttr.Call4(lib.handles[commWorld], uintptr(lib.number(tagUB)), uintptr(unsafe.Pointer(&bound)),
		uintptr(unsafe.Pointer(&found)))
	if found != 0 && bound != 0 {
		info.MaxTag = max(info.MaxTag, int(*(*int32)(dl.Pointer(bound))))
	}
	info.Revokes, info.SignalsRestored = c.CommRevoke.Valid(), e.info.SignalsRestored
	e.info = info
	world := lib.handles[commWorld]
	if e.foreign { // messages must not mix with those of the code that initialised MPI
		var w uint64
		if err := lib.failure("Start", "MPI_Comm_dup", int32(c.CommDup.Call2(world, uintptr(unsafe.Pointer(&w))))); err != nil {
			return err
		}
		world = lib.loadHandle(unsafe.Pointer(&w))
	}
	comm, err := e.newComm("Start", world)
	if err != nil {
		return err
	}
	if e.launcher.size > 1 && comm.Size() == 1 {
		return mismatch(e.launcher, lib, "this process found itself alone")
	}
	e.world = comm
	return nil
}

// verify compares the table of constants with what the library answers.
func (l *library) verify() error {
	wrong := func(what string, got, want int32) error {
		return driver.Errorf("Start", driver.ErrUnavailable, "%s differs from the %s ABI: %s is %d, not %d", l.text, l.abi, what, got, want)
	}
	for i := typeByte; i <= typeComplex128; i++ {
		want := int32(1)
		if i > typeByte {
			want = int32(driver.Type(i - typeInt8).Size())
		}
		got := int32(-1)
		if code := int32(l.call.TypeSize.Call2(l.handles[i], uintptr(unsafe.Pointer(&got)))); code != 0 || got != want {
			return wrong("the size of "+handles[i].name, got, want)
		}
	}
	size := int32(-1)
	if code := int32(l.call.CommSize.Call2(l.handles[commSelf], uintptr(unsafe.Pointer(&size)))); code != 0 || size != 1 {
		return wrong("the size of MPI_COMM_SELF", size, 1)
	}
	// MPI_COMM_SELF has no rank 1, so this send must fail, and the class of its error must be the ABI's value of MPI_ERR_RANK.
	var request uint64
	code := int32(l.call.Isend.Call7(0, 0, l.handles[typeByte], 1, 0, l.handles[commSelf], uintptr(unsafe.Pointer(&request))))
	class := int32(-1)
	l.call.ErrorClass.Call2(uintptr(code), uintptr(unsafe.Pointer(&class)))
	if code == 0 || l.abi.classOf(int(class)) != classRank {
		return wrong("the class of the error for an invalid rank", class, 6)
	}
	return nil
}

// enter and leave enclose each call of MPI.
func (e *engine) enter() {
	if e.serialized {
		e.turn.Lock()
	}
}

func (e *engine) leave() {
	if e.serialized {
		e.turn.Unlock()
	}
}

// Info describes the engine.
func (e *engine) Info() driver.Info { return e.info }

// World is the communicator of all ranks of the job.
func (e *engine) World() driver.Comm { return e.world }

// Alloc returns n bytes of mapped memory. It is not unmapped before the process ends.
func (e *engine) Alloc(n uint64) (unsafe.Pointer, error) {
	if n == 0 {
		return nil, driver.Errorf("Alloc", driver.ErrInvalidArgument, "0 bytes")
	}
	return e.memory.alloc("Alloc", n)
}

// Free makes memory of Alloc available to later calls of Alloc.
func (e *engine) Free(p unsafe.Pointer, n uint64) { e.memory.release(p, n) }

// Close finalizes MPI, unless other code in the process had initialised it. Receives that are not done are cancelled.
func (e *engine) Close() error {
	if e.closed.Swap(true) {
		return driver.Errorf("Close", driver.ErrClosed, "the engine was closed before")
	}
	e.abandon()
	if e.foreign {
		return nil
	}
	return e.finalize(func() int32 { return int32(e.lib.call.Finalize.Call0()) })
}

// finalize calls MPI_Finalize, and returns the error for the code that it returns. If the library cannot say after MPI_Finalize what a code
// means, finalize asks it before that call.
func (e *engine) finalize(call func() int32) error {
	const op, api = "Close", "MPI_Finalize"
	var err *driver.Error
	e.onThread(func() {
		var known map[int32]*driver.Error
		if !e.lib.textAfter {
			known = e.lib.classFailures(op, api)
		}
		siglib.Enter()
		code := call()
		siglib.Leave()
		switch {
		case code == 0:
		case e.lib.textAfter:
			err = e.lib.failure(op, api, code)
		case known[code] != nil:
			err = known[code]
		default:
			err = driver.Errorf(op, driver.ErrEngine, "MPI_Finalize returned %d", code)
		}
	})
	return asError(err)
}

// asError keeps a nil *driver.Error from becoming an error that is not nil.
func asError(err *driver.Error) error {
	if err == nil {
		return nil
	}
	return err
}

var errGoexit = errors.New("the function of Run called runtime.Goexit")
