//go:build vulkan

package vulkan

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// mock is a driver without a device: what is submitted is done at once, and does nothing. Some of its answers are not what they should
// be. What it cannot be is one that gives addresses where no memory is: against that there is no help.
type mock struct {
	mu      sync.Mutex
	rng     *rand.Rand
	worse   float64 // the part of the answers that are
	answers int
	next    uintptr
	made    map[uintptr]string // what exists
	mapped  map[uintptr][]byte
	sizes   map[uintptr]uint64 // of buffers
	done    map[uintptr]uint64 // values of semaphores
	queues  uint32             // of the device; 0 for one to three
	slow    bool               // what is submitted is done when the test says so
	waits   []waited           // of submissions, for other queues

	finished  *sync.Cond // with mu
	recorded  string     // since the last command buffer began: l is a launch, f a fill, | a barrier
	submitted []string   // what each submission has recorded, or "-" for none
	refuses   []status   // what the next submissions fail with
}

// waited is what a submission waits for.
type waited struct {
	semaphore uintptr
	value     uint64
}

func newMock(rng *rand.Rand) *mock {
	m := &mock{rng: rng, made: map[uintptr]string{}, mapped: map[uintptr][]byte{}, sizes: map[uintptr]uint64{}, done: map[uintptr]uint64{}}
	m.finished = sync.NewCond(&m.mu)
	return m
}

// finish has the submissions to the queue of a stream done, up to a number, on a mock that is slow.
func (m *mock) finish(s *stream, number uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done[s.q.semaphore] = number
	m.finished.Broadcast()
}

// table returns the calls of the mock.
func (m *mock) table() *table {
	t := hostile(m.facts())
	t.createDevice = func(uintptr, unsafe.Pointer) (uintptr, status) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if st := m.status(); st < success {
			return 0, st
		}
		return m.add("createDevice"), success
	}
	t.deviceProc = func(uintptr, string) uintptr { return 1 }
	t.wrapped = func(d *deviceTable) {
		calls := reflect.ValueOf(d).Elem()
		for i := range calls.NumField() {
			f := calls.Field(i)
			f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
			name, kind := calls.Type().Field(i).Name, f.Type()
			f.Set(reflect.MakeFunc(kind, func(args []reflect.Value) []reflect.Value {
				c, ok := args[0].Interface().(*dl.Chain)
				if !ok {
					return m.call(name, kind, args)
				}
				c.Go(name, func() int32 { return m.chained(name, args[1:]) })
				return nil
			}))
		}
	}
	return t
}

// facts are those of a device that has nearly all, or anything else.
func (m *mock) facts() *facts {
	kind := []uint32{deviceCPU, deviceDiscreteGPU, deviceIntegratedGPU, m.rng.Uint32N(9)}[m.rng.IntN(4)]
	f := madeUp(kind, memoryType{local | cachedHost, 0}, memoryType{onHost, 0})
	f.heaps = []memoryHeap{{size: m.number(8 << 30)}}
	f.maxAllocation = m.number(2 << 30)
	if f.families[0].n = m.queues; m.queues == 0 {
		f.families[0].n = 1 + m.rng.Uint32N(3)
	}
	if m.bad() {
		for range m.rng.IntN(40) {
			f.types = append(f.types, memoryType{m.rng.Uint32(), m.rng.Uint32N(20)})
			f.heaps = append(f.heaps, memoryHeap{size: m.rng.Uint64()})
		}
	}
	if m.bad() {
		f.families[0] = queueFamily{flags: m.rng.Uint32(), n: m.rng.Uint32N(3), timestampBits: m.rng.Uint32N(80)}
	}
	for _, w := range wanted {
		if m.bad() {
			*w.at(&f.features) = m.rng.Uint32N(2)
		}
	}
	return f
}

func (m *mock) bad() bool { m.answers++; return m.rng.Float64() < m.worse }

// number returns n, or any other number.
func (m *mock) number(n uint64) uint64 {
	if m.bad() {
		return []uint64{0, 1, n - 1, 1 << 32, 1<<63 - 1, ^uint64(0), m.rng.Uint64()}[m.rng.IntN(7)]
	}
	return n
}

func (m *mock) status() status {
	if !m.bad() {
		return success
	}
	if m.rng.IntN(2) == 0 {
		return statuses[m.rng.IntN(len(statuses))].code
	}
	return status(m.rng.Uint32())
}

func (m *mock) add(name string) uintptr {
	m.next += 64
	m.made[m.next] = name
	return m.next
}

// chained is a call that begins, records or makes a submission.
func (m *mock) chained(name string, args []reflect.Value) int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	st := success
	switch name {
	case "beginCommandBuffer":
		m.recorded = ""
	case "barrier":
		m.recorded += "|"
	case "cmdDispatch":
		m.recorded += "l"
	case "cmdFillBuffer":
		m.recorded += "f"
	case "submit":
		if len(m.refuses) > 0 {
			st, m.refuses = m.refuses[0], m.refuses[1:]
			return int32(st)
		}
	}
	if name == "beginCommandBuffer" || name == "endCommandBuffer" || name == "submit" {
		st = m.status()
	}
	if name == "submit" && st >= success {
		info := (*submitInfo)(args[1].Interface().(unsafe.Pointer))
		values := (*timelineSubmitInfo)(info.next)
		m.submitted = append(m.submitted, cmp.Or(m.recorded, "-"))
		m.recorded = ""
		if info.waits > 0 {
			m.waits = append(m.waits, waited{*(*uintptr)(info.waitOn), *(*uint64)(values.waitFor)})
		}
		if !m.slow {
			m.done[*(*uintptr)(info.signalled)] = *(*uint64)(values.values)
		}
	}
	return int32(st)
}

// call is a call of a device.
func (m *mock) call(name string, kind reflect.Type, args []reflect.Value) (results []reflect.Value) {
	m.mu.Lock()
	defer m.mu.Unlock()
	results = make([]reflect.Value, kind.NumOut())
	for i := range results {
		results[i] = reflect.New(kind.Out(i)).Elem()
	}
	ptr := func(i int) unsafe.Pointer { return args[i].Interface().(unsafe.Pointer) }
	if n := len(results); n > 0 && results[n-1].Type() == reflect.TypeFor[status]() {
		st := m.status()
		results[n-1].SetInt(int64(st))
		if st < success {
			return results
		}
	}
	switch name {
	case "waitSemaphores":
		info := (*semaphoreWaitInfo)(ptr(1))
		for m.slow && m.done[*(*uintptr)(info.semaphores)] < *(*uint64)(info.values) {
			m.finished.Wait()
		}
	case "createBuffer":
		at := m.add(name)
		m.sizes[at] = (*bufferCreateInfo)(ptr(1)).size
		results[0].SetUint(uint64(at))
	case "createCommandPool", "createShader", "createLayout", "createPipelineCache", "createPipeline", "createQueryPool",
		"createSemaphore", "allocateCommandBuffer":
		results[0].SetUint(uint64(m.add(name)))
	case "allocateMemory":
		if size := (*memoryAllocateInfo)(ptr(1)).size; size > 64<<20 {
			results[1].SetInt(-2)
		} else {
			at := m.add(name)
			m.mapped[at] = make([]byte, size)
			results[0].SetUint(uint64(at))
		}
	case "mapMemory":
		if b := m.mapped[uintptr(args[1].Uint())]; len(b) > 0 && !m.bad() {
			results[0].SetUint(uint64(uintptr(unsafe.Pointer(&b[0]))))
		}
	case "freeMemory", "destroyBuffer", "destroyCommandPool", "destroyShader", "destroyLayout", "destroyPipelineCache", "destroyPipeline",
		"destroyQueryPool", "destroySemaphore", "destroyDevice":
		at := uintptr(args[len(args)-1].Uint())
		if m.made[at] == "" {
			panic("a second " + name)
		}
		delete(m.made, at)
		delete(m.mapped, at)
	case "freeCommandBuffer":
		delete(m.made, uintptr(args[2].Uint()))
	case "getQueue":
		results[0].SetUint(1)
	case "bufferRequirements":
		*(*requirements)(ptr(2)) = requirements{m.number(m.sizes[uintptr(args[1].Uint())]), m.number(64), uint32(m.number(3))}
	case "bufferAddress":
		results[0].SetUint(m.number(1 << 40))
	case "hostPointerProperties":
		(*hostPointerProperties)(ptr(3)).typeBits = uint32(m.number(1))
	case "semaphoreValue":
		results[0].SetUint(m.number(m.done[uintptr(args[1].Uint())]))
	case "queryResult":
		results[0].SetUint(m.number(5))
	case "pipelineCacheData":
		*(*uintptr)(ptr(2)) = uintptr(m.number(100))
	}
	return results
}

// Whatever a driver answers, the backend goes on or says in an error of a kind what is wrong, and leaves nothing behind.
func TestHostileDriver(t *testing.T) {
	t.Setenv("HALYARD_KERNEL_CACHE", "off")
	least := 100_000
	if testing.Short() || raceEnabled {
		least = 10_000
	}
	code := suiteKernels(t)
	var host [3][]byte
	for i := range host {
		host[i] = make([]byte, 200<<10)
	}
	opened, answers := 0, 0
	for seed := uint64(1); answers < least; seed++ {
		m := newMock(rand.New(rand.NewPCG(seed, 7)))
		m.worse = []float64{0, 0.002, 0.02, 0.2}[seed%4]
		check := func(err error) bool {
			var e *driver.Error
			if err != nil && (!errors.As(err, &e) || e.Kind == nil || e.Op == "" || e.Backend != backendName) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			return err == nil
		}
		b := newBackend(func() (*table, error) { return m.table(), nil })
		infos, err := b.Devices(t.Context())
		if check(err); len(infos) > 0 {
			if i := infos[0]; i.MaxAlloc > i.TotalMemory {
				t.Fatalf("seed %d: %d bytes at once of %d", seed, i.MaxAlloc, i.TotalMemory)
			}
			if opens, err := b.Open(t.Context(), 0); check(err) {
				opened++
				use(m, opens.(*device), code, host, check)
				check(opens.Close())
			}
		}
		for at, name := range m.made {
			if name != "allocateCommandBuffer" { // they go with their pool
				t.Fatalf("seed %d: %d objects are left; one is of %s (%d)", seed, len(m.made), name, at)
			}
		}
		answers += m.answers
	}
	t.Logf("%d answers; %d devices were opened", answers, opened)
}

// use does on a device what programs do, in an order of its own.
func use(m *mock, d *device, code []byte, host [3][]byte, check func(error) bool) {
	rng := rand.New(rand.NewPCG(m.rng.Uint64(), 1)) // the mock has its own, under its lock
	var memories []driver.Memory
	var events []driver.Event
	var modules []driver.Module
	var kernels []driver.Kernel
	var sequences []driver.Sequence
	var streams []driver.Stream
	for range 3 {
		s, err := d.NewStream(driver.StreamOptions{})
		if check(err) {
			streams = append(streams, s)
		}
	}
	// A memory is used by one stream, with host memory that no other uses.
	some := func() (driver.Region, *stream, []byte) {
		at := rng.IntN(len(memories))
		r := memories[at]
		at %= len(streams)
		return driver.Region{Mem: r, Len: 1 + rng.Uint64N(r.Size())}, streams[at].(*stream), host[at]
	}
	for range 60 {
		if len(memories) == 0 || rng.IntN(5) == 0 {
			mem, err := d.Alloc(driver.KindDevice+driver.Kind(rng.IntN(2)), 1+rng.Uint64N(200<<10), 0)
			if check(err) {
				memories = append(memories, mem)
			}
		}
		if len(memories) == 0 || len(streams) == 0 {
			continue
		}
		r, s, own := some()
		switch rng.IntN(10) {
		case 0:
			check(s.Fill(r, driver.Pattern{Bits: rng.Uint64(), Width: 8}))
		case 1:
			check(s.CopyIn(r, start(own)))
		case 2:
			check(s.CopyOut(start(own), r))
		case 3:
			to, same, _ := some()
			r.Len = min(r.Len, to.Len)
			to.Len = r.Len
			if to.Mem != r.Mem && same == s {
				check(s.Copy(to, r))
			}
		case 4:
			if mod, err := d.Load(&driver.Image{Format: driver.FormatVulkan, Data: code}); check(err) {
				modules = append(modules, mod)
				if k, err := mod.Kernel("put"); check(err) {
					kernels = append(kernels, k)
				}
			}
		case 5:
			if len(kernels) > 0 {
				check(s.Launch(kernels[rng.IntN(len(kernels))], &driver.Launch{Grid: [3]uint32{1, 1, 1},
					Block: [3]uint32{1 + rng.Uint32N(100), 1, 1}, Args: putting(r.Mem, 0, 1, 1)}))
			}
		case 6:
			if e, err := d.NewEvent(driver.EventOptions{Timing: rng.IntN(2) == 0}); check(err) {
				events = append(events, e)
				check(s.Record(e))
				_, other, _ := some()
				check(other.Wait(e))
			}
		case 7:
			if len(events) > 1 {
				_, err := events[0].(driver.Timer).Elapsed(events[len(events)-1])
				check(err)
			}
			_, err := s.Query()
			check(err)
		case 8:
			if g, err := s.Gate(); check(err) {
				check(s.Fill(r, driver.Pattern{Bits: 1, Width: 1}))
				check(g.Open())
			}
			_, _, err := d.MemInfo()
			check(err)
		case 9:
			if len(kernels) == 0 {
				continue
			}
			launches := make([]driver.Launch, rng.IntN(30))
			for i := range launches {
				launches[i] = launchOf(putting(r.Mem, 0, uint32(i), 1))
			}
			if made, err := s.Prepare(slices.Repeat(kernels[:1], len(launches)), launches); check(err) {
				sequences = append(sequences, made)
				for range 3 {
					n, err := made.Enqueue()
					if check(err) != (n == len(launches)) && n > 0 {
						panic("a sequence in part")
					}
				}
			}
		}
	}
	for _, s := range streams {
		for err := s.Sync(); err != nil && !errors.Is(err, driver.ErrDeviceLost); err = s.Sync() {
			check(err)
		}
		check(s.Close())
	}
	for _, e := range events {
		check(e.Close())
	}
	for _, made := range sequences {
		check(made.Close())
	}
	for _, mod := range modules {
		check(mod.Close())
	}
	for _, mem := range memories {
		check(mem.Free())
	}
}
