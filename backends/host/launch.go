package host

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/callsite"
	"github.com/go-halyard/halyard/internal/crash"
)

const (
	maxThreads  = 1 << 16  // threads of a block: iterations of a loop
	suggested   = 4096     // threads of a block; a block costs one call
	fewer       = 512      // threads of a block whose threads have loops: some thousands are work for several processors
	maxShared   = 16 << 20 // bytes
	sharedAlign = 64       // bytes
	mostThreads = 1 << 15  // of a launch whose steps hold

	// Launches that the caller runs, in steps (driver.Function.Steps). Few are at most some 20 µs. More may be less than that, or much more
	// where each element comes from memory: up to mostSteps, earlier launches of the kernel decide whether it takes longer than to hand it
	// over to goroutines.
	fewSteps  = 20000
	mostSteps = 400000
	smallTime = 10 * time.Microsecond
	firstPace = 1000 // picoseconds for a step, before anything was measured
)

// compute describes what the device runs: Go functions, one call for each block.
func compute() driver.Compute {
	return driver.Compute{
		Units:      runtime.GOMAXPROCS(0),
		MaxThreads: maxThreads,
		MaxBlock:   [3]uint32{maxThreads, maxThreads, maxThreads},
		MaxGrid:    [3]uint32{math.MaxInt32, math.MaxUint16, math.MaxUint16},
		MaxGlobal:  math.MaxInt >> 1, // the place of a thread is an int
		Warp:       1,
		Shared:     maxShared,
		Float64:    true,
	}
}

func (d *device) Formats() []driver.Format { return []driver.Format{driver.FormatGo} }

func (d *device) Load(image *driver.Image) (driver.Module, error) {
	m := &module{dev: d, kernels: make(map[string]*kernel, len(image.Functions))}
	for name, f := range image.Functions {
		for i := range f.Params {
			switch p := &f.Params[i]; {
			case p.Kind == driver.ParamUnknown, p.Kind == driver.ParamShared:
				return nil, d.failure("load", driver.ErrInvalidArgument,
					"function %s: parameter %d must be declared as a value or a pointer", name, i)
			case p.Kind == driver.ParamValue && p.Size == 0:
				return nil, d.failure("load", driver.ErrInvalidArgument, "function %s: parameter %d is a value of unknown size", name, i)
			}
		}
		k := &kernel{run: f.Run, steps: f.Steps, info: driver.KernelInfo{
			Name: name, Params: slices.Clone(f.Params), Known: f.Params != nil, Checks: f.Params == nil,
			MaxThreads: maxThreads, Suggested: suggestedFor(f.Steps), MaxShared: maxShared,
		}}
		k.pace.Store(firstPace)
		m.kernels[name] = k
	}
	return m, nil
}

// suggestedFor returns the threads of a block for a function with these steps (driver.Function.Steps).
func suggestedFor(steps []uint32) uint32 {
	for i, n := range steps {
		if i > 0 && n > 0 {
			return fewer
		}
	}
	return suggested
}

// module is a set of Go functions.
type module struct {
	dev     *device
	kernels map[string]*kernel
}

func (m *module) Kernel(name string) (driver.Kernel, error) {
	if k := m.kernels[name]; k != nil {
		return k, nil
	}
	return nil, m.dev.failure("kernel", driver.ErrNotFound, "no function %q", name)
}

func (m *module) Names() []string {
	names := make([]string, 0, len(m.kernels))
	for name := range m.kernels {
		names = append(names, name)
	}
	return names
}

func (m *module) Close() error { return nil }

// kernel is one Go function.
type kernel struct {
	info  driver.KernelInfo
	run   func(*driver.Block)
	steps []uint32      // driver.Function.Steps
	pace  atomic.Uint64 // picoseconds that a step took, of a goroutine: the most of the last launches
}

// paced notes how long a launch took, with the number of its steps and of the goroutines that ran it.
func (k *kernel) paced(steps uint64, took time.Duration, workers int) {
	if steps > fewSteps {
		pace := k.pace.Load()
		now := uint64(max(took, 0)) * 1000 * uint64(workers) / steps
		k.pace.Store(max(now, pace-min(pace, max(pace/8, 1)))) // one of several that end at once is enough
	}
}

func (k *kernel) Info() *driver.KernelInfo { return &k.info }

// launch is one launch of a function. Its blocks are taken by a few goroutines, one piece of the grid at a time.
type launch struct {
	dev    *device
	crew   *crew // of the stream
	kernel *kernel
	grid   [3]uint32
	block  [3]uint32
	shared uint64 // bytes of each block
	args   []driver.Arg
	bytes  [][]byte
	large  []byte // values that do not fit into an argument
	key    uint64 // this and the next two are those of driver.Launch
	caller callsite.Site
	told   func(error)

	total   uint64        // blocks
	steps   uint64        // an upper bound, 0 if none is known or it is more than mostSteps
	workers uint64        // goroutines
	began   time.Duration // by clock
	next    atomic.Uint64 // first block that nobody has taken
	first   func()        // kept so that starting it does not allocate
	active  sync.WaitGroup
	failed  atomic.Pointer[driver.Error]

	seats []seat // one for each goroutine
	taken atomic.Int32
	ended atomic.Int32 // goroutines that have left their seats
}

// seat holds the memory that one goroutine needs to run blocks.
type seat struct {
	block driver.Block
	room  []byte // for shared memory
}

var launches = sync.Pool{New: func() any {
	l := &launch{}
	l.first = func() { l.crew.serve(l) }
	return l
}}

// work runs blocks on one of the launch's goroutines, and reports whether it was the last of them.
func (l *launch) work() (last bool) {
	defer func() { // even if the function ends its goroutine
		last = l.ended.Add(1) == int32(l.workers)
		l.active.Done() // from here on the launch may be another one
	}()
	l.share(&l.seats[l.taken.Add(1)-1])
	return false
}

func (s *stream) Launch(k driver.Kernel, how *driver.Launch) error {
	l := launches.Get().(*launch)
	l.dev, l.crew = s.dev, &s.crew
	l.kernel, l.grid, l.block, l.shared = k.(*kernel), how.Grid, how.Block, how.Shared
	l.key, l.caller, l.told = how.Key, how.Caller, how.Failed
	large := 0
	for i := range how.Args {
		if a := &how.Args[i]; a.Ptr != nil {
			large += (int(a.Size) + 15) &^ 15
		}
	}
	if cap(l.large) < large {
		l.large = make([]byte, large)
	}
	used := 0
	for i := range how.Args {
		a := how.Args[i]
		var b []byte
		switch {
		case a.Kind == driver.ParamPointer && a.Region.Mem != nil:
			m := a.Region.Mem.(*memory)
			at := m.base
			if a.Region.Off < m.size { // else the address may be that of another object of the Go heap
				at = unsafe.Add(at, a.Region.Off)
			}
			b = unsafe.Slice((*byte)(at), a.Region.Len)
		case a.Ptr != nil:
			copied := l.large[used : used+int(a.Size)]
			copy(copied, unsafe.Slice((*byte)(a.Ptr), a.Size))
			used += (int(a.Size) + 15) &^ 15
			a.Ptr = unsafe.Pointer(unsafe.SliceData(copied))
		}
		l.args, l.bytes = append(l.args, a), append(l.bytes, b)
	}
	l.total = uint64(l.grid[0]) * uint64(l.grid[1]) * uint64(l.grid[2])
	l.steps = l.count()
	s.mu.Lock()
	if !l.small() || !s.idle() {
		s.enqueue(op{kind: opLaunch, obj: l})
		s.mu.Unlock()
		return nil
	}
	s.issued.Add(1)
	s.running = true
	s.mu.Unlock()
	s.runHere(l)
	return nil
}

// count returns how many steps the launch has at most, 0 if that is not known or more than mostSteps.
func (l *launch) count() uint64 {
	if len(l.kernel.steps) == 0 {
		return 0
	}
	each, threads := uint64(l.kernel.steps[0]), l.total
	for i, per := range l.kernel.steps[1:] {
		if per == 0 {
			continue
		}
		if i >= len(l.args) || l.args[i].Kind != driver.ParamValue {
			return 0 // the function itself will report the wrong argument
		}
		times := l.args[i].Bits[0]
		if l.args[i].Size == 4 {
			times = uint64(*(*uint32)(l.args[i].Value()))
		}
		if times > mostSteps { // a negative number, too
			return 0
		}
		each += uint64(per) * times
	}
	for _, n := range l.block {
		if threads > mostThreads {
			return 0
		}
		threads *= uint64(n)
	}
	if threads > mostThreads || each > mostSteps || threads*each > mostSteps {
		return 0
	}
	return threads * each
}

// small reports whether the launch is so little work that the caller runs it, if the stream has nothing to do.
func (l *launch) small() bool {
	return l.steps > 0 && (l.steps <= fewSteps || l.steps*l.kernel.pace.Load() <= uint64(smallTime)*1000)
}

// runHere runs a small launch on the caller's goroutine, which has the right to run the stream.
func (s *stream) runHere(l *launch) {
	defer func() { // a function that was said not to end its goroutine might do so
		bad := l.end()
		s.mu.Lock()
		s.finish(bad)
		s.pass() // other goroutines may have enqueued something
		s.mu.Unlock()
	}()
	l.begin(1)
	l.share(&l.seats[0])
}

// give returns the launch to the pool.
func (l *launch) give() {
	clear(l.args)
	clear(l.bytes)
	l.crew, l.kernel, l.args, l.bytes, l.told = nil, nil, l.args[:0], l.bytes[:0], nil
	l.failed.Store(nil)
	launches.Put(l)
}

// clock returns the time, for [kernel.paced], or 0 if it is not needed.
func (l *launch) clock() time.Duration {
	if l.steps <= fewSteps {
		return 0
	}
	return time.Since(epoch)
}

// run runs the launch: on this goroutine if one is enough, else on others. An idle processor takes these sooner if this goroutine does
// not run beside them. The function may end this goroutine; end has to be called in any case.
func (l *launch) run() {
	workers := int(min(uint64(runtime.GOMAXPROCS(0)), l.total))
	l.begin(workers)
	if workers == 1 {
		l.share(&l.seats[0])
		return
	}
	l.active.Add(workers)
	l.crew.start(l, workers)
	l.active.Wait()
}

// begin prepares the launch for a number of goroutines.
func (l *launch) begin(workers int) {
	l.workers, l.began = uint64(workers), l.clock()
	l.next.Store(0)
	l.taken.Store(0)
	l.ended.Store(0)
	for len(l.seats) < workers {
		l.seats = append(l.seats, seat{})
	}
}

// end waits for the launch's other goroutines, gives it back, and returns its first error, which has no number yet.
func (l *launch) end() (bad fault) {
	l.active.Wait()
	l.kernel.paced(l.steps, l.clock()-l.began, int(l.workers))
	if err := l.failed.Load(); err != nil {
		err.Site = l.caller.Outside("github.com/go-halyard/halyard/hal")
		bad = fault{key: l.key, err: err, told: l.told != nil}
		if bad.told {
			l.told(err)
		}
	}
	l.give()
	return bad
}

// share runs blocks until all are taken or one has failed.
func (l *launch) share(own *seat) {
	b := &own.block
	*b = driver.Block{Grid: l.grid, Size: l.block, Args: l.args, Bytes: l.bytes}
	defer func() { *b = driver.Block{} }()
	if l.shared > 0 {
		if uint64(len(own.room)) < l.shared+sharedAlign {
			own.room = make([]byte, l.shared+sharedAlign)
		}
		skip := -uintptr(unsafe.Pointer(unsafe.SliceData(own.room))) & (sharedAlign - 1)
		b.Shared = own.room[skip : uint64(skip)+l.shared : uint64(skip)+l.shared]
	}
	for l.failed.Load() == nil {
		from := l.next.Load()
		if from >= l.total {
			return
		}
		// Large pieces first, so that few are taken, and single blocks last, so that no goroutine is left alone with much.
		if to := from + max((l.total-from)/(4*l.workers), 1); l.next.CompareAndSwap(from, to) {
			l.blocks(b, from, to)
		}
	}
}

// failure is why a kernel failed. An index out of range is of kind ErrOutOfRange, too, as on devices.
type failure struct{ crash *crash.Crash }

func (f failure) Error() string { return "the function " + f.crash.Error() }

func (f failure) Is(target error) bool {
	return target == driver.ErrOutOfRange && strings.Contains(f.crash.What, "out of range")
}

// blocks runs the blocks with numbers from from up to to. A panic of the function is the launch's error.
func (l *launch) blocks(b *driver.Block, from, to uint64) {
	returned := false
	defer func() {
		if returned {
			return
		}
		why := &crash.Crash{What: "ended its goroutine"}
		if p := recover(); p != nil {
			why = crash.Recovered(p)
		}
		failed := l.dev.failure("launch", driver.ErrKernel, "kernel %s, block %d,%d,%d",
			l.kernel.info.Name, b.Index[0], b.Index[1], b.Index[2]).(*driver.Error)
		failed.Err = failure{why}
		l.failed.CompareAndSwap(nil, failed)
	}()
	row := uint64(l.grid[0])
	plane := row * uint64(l.grid[1])
	x, y, z := uint32(from%row), uint32(from%plane/row), uint32(from/plane)
	for range to - from {
		b.Index = [3]uint32{x, y, z} // the function may have changed it
		l.kernel.run(b)
		if x++; x == l.grid[0] {
			x, y = 0, y+1
			if y == l.grid[1] {
				y, z = 0, z+1
			}
		}
	}
	returned = true
}
