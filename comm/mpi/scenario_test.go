//go:build linux

package mpi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// rank is what a scenario has: this process's part in the job.
type rank struct {
	ctx context.Context
	e   *engine
	w   driver.Comm
}

// scenarios are run by all ranks of a job, which goes on after them. Each returns an error if something is not as it should be.
var scenarios = map[string]func(*rank) error{
	"ring": ring, "order": order, "wildcards": wildcards, "truncation": truncation, "deadline": deadline, "goroutines": goroutines,
	"collections": collections, "signals": signalsKept, "collectives": collectives, "communicators": communicators, "long": long, "errors": errorsReturned,
	"level": level, "many": many, "streams": streams, "prompts": prompts,
}

// large are scenarios that take gigabytes.
var large = map[string]func(*rank) error{"beyond": beyond}

// endings are ways in which one rank ends badly.
var endings = map[string]func(*rank) error{
	"panic":           badly(func() { panic("on purpose") }),
	"panic-elsewhere": badly(func() { go func() { panic("on purpose") }(); select {} }),
	"error":           nil, "goexit": badly(runtime.Goexit),
	"exit-early": badly(func() { Exit(0) }),
	"os-exit":    badly(func() { os.Exit(3) }),
	"kill":       badly(func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }),
}

func init() {
	endings["error"] = func(r *rank) error {
		if r.w.Rank() == 1 {
			return errors.New("this rank gives up")
		}
		return badly(func() {})(r)
	}
	endings["drain"] = func(r *rank) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-r.ctx.Done()
		slog.Info("saved")
		return r.barrier()
	}
	// MPI's text of a code of MPI_Finalize is known, though MPI has been finalized. The library itself finalizes without an error.
	endings["finalize-fails"] = func(r *rank) error {
		r.e.closed.Store(true)
		err := r.e.finalize(func() int32 {
			r.e.lib.call.Finalize.Call0()
			return int32(r.e.lib.abi.valueOf(classComm))
		})
		fmt.Println("rank:", err)
		return nil
	}
	endings["os-exit-0"] = badly(func() { os.Exit(0) })
}

// badly has rank 1 end, and the others wait for a message from it that never comes.
func badly(end func()) func(*rank) error {
	return func(r *rank) error {
		if r.w.Rank() == 1 {
			end()
		}
		req, err := r.w.Irecv(r.alloc(8), 8, min(1, r.w.Size()-1), 0)
		if err != nil {
			return err
		}
		return r.wait(req).Err
	}
}

func keysOf[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

func (r *rank) alloc(n uint64) unsafe.Pointer {
	p, err := r.e.Alloc(max(n, 1))
	if err != nil {
		panic(err)
	}
	return p
}

func view[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

func (r *rank) wait(req driver.Request) driver.Status {
	reqs, out := []driver.Request{req}, make([]driver.Status, 1)
	if err := r.waitAll(reqs, out); err != nil {
		return driver.Status{Err: err}
	}
	return out[0]
}

// waitAll tests until all requests are done, and lets other processes run meanwhile.
func (r *rank) waitAll(reqs []driver.Request, out []driver.Status) error {
	for left := len(reqs); left > 0; {
		n, err := r.e.Test(reqs, out)
		if err != nil {
			return err
		}
		left -= n
		if n == 0 {
			runtime.Gosched()
			_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
		}
	}
	return nil
}

// do waits for what a call has begun.
func (r *rank) do(req driver.Request, err error) (driver.Status, error) {
	if err != nil {
		return driver.Status{}, err
	}
	st := r.wait(req)
	return st, st.Err
}

func (r *rank) collective(c driver.Collective) error {
	_, err := r.do(r.w.Collective(c))
	return err
}

func (r *rank) barrier() error { return r.collective(driver.Collective{Call: driver.Barrier}) }

// pattern fills memory with bytes that differ between messages.
func pattern(b []byte, seed int) {
	for i := range b {
		b[i] = byte(i*7 + seed*13 + i>>8)
	}
}

func isPattern(b []byte, seed int) bool {
	want := make([]byte, len(b))
	pattern(want, seed)
	return bytes.Equal(b, want)
}

// exchange sends n bytes to one neighbour on a communicator, and receives as many from the other.
func (r *rank) exchange(c driver.Comm, send, recv unsafe.Pointer, n uint64, tag int) error {
	me, size := c.Rank(), c.Size()
	right, left := (me+1)%size, (me+size-1)%size
	pattern(view[byte](send, int(n)), me+tag)
	clear(view[byte](recv, int(n)))
	in, err := c.Irecv(recv, n, left, tag)
	if err != nil {
		return err
	}
	out, err := c.Isend(send, n, right, tag)
	if err != nil {
		return err
	}
	st := make([]driver.Status, 2)
	if err := r.waitAll([]driver.Request{in, out}, st); err != nil {
		return err
	}
	if err := errors.Join(st[0].Err, st[1].Err); err != nil {
		return err
	}
	if st[0].Source != left || st[0].Tag != tag || st[0].Bytes != n {
		return fmt.Errorf("%d bytes: the status is %+v, not from %d with tag %d", n, st[0], left, tag)
	}
	if !isPattern(view[byte](recv, int(n)), left+tag) {
		return fmt.Errorf("%d bytes from %d are wrong", n, left)
	}
	return nil
}

func ring(r *rank) error {
	const most = 1 << 21
	send, recv := r.alloc(most), r.alloc(most)
	defer r.e.Free(send, most)
	defer r.e.Free(recv, most)
	for _, n := range []uint64{0, 1, 3, 8, 1023, 4096, 1<<16 + 1, 1<<20 + 5, most} {
		if err := r.exchange(r.w, send, recv, n, int(n%1000)); err != nil {
			return err
		}
	}
	return nil
}

// Messages with one tag arrive in the order in which they were sent, and the largest tag is a tag.
func order(r *rank) error {
	const count = 200
	tag := r.e.Info().MaxTag
	next := (r.w.Rank() + 1) % r.w.Size()
	from := (r.w.Rank() + r.w.Size() - 1) % r.w.Size()
	p := r.alloc(count * 16)
	out, in := view[uint64](p, count), view[uint64](unsafe.Add(p, count*8), count)
	var reqs []driver.Request
	for i := range count {
		out[i] = uint64(i + 1)
		a, err := r.w.Irecv(unsafe.Pointer(&in[i]), 8, from, tag)
		if err != nil {
			return err
		}
		b, err := r.w.Isend(unsafe.Pointer(&out[i]), 8, next, tag)
		if err != nil {
			return err
		}
		reqs = append(reqs, a, b)
	}
	st := make([]driver.Status, len(reqs))
	if err := r.waitAll(reqs, st); err != nil {
		return err
	}
	for i := range in {
		if in[i] != uint64(i+1) || st[2*i].Err != nil || st[2*i].Tag != tag {
			return fmt.Errorf("message %d has %d, %+v", i, in[i], st[2*i])
		}
	}
	return nil
}

// Rank 0 receives from any rank with any tag, and learns whose message it was.
func wildcards(r *rank) error {
	const each = 20
	p := r.alloc(8 * each)
	var reqs []driver.Request
	for i := range each {
		v := view[uint64](unsafe.Add(p, 8*i), 1)
		v[0] = uint64(r.w.Rank()*1000 + i)
		req, err := r.w.Isend(unsafe.Pointer(&v[0]), 8, 0, i)
		if err != nil {
			return err
		}
		reqs = append(reqs, req)
	}
	if r.w.Rank() == 0 {
		got := make([]int, r.w.Size())
		q := r.alloc(16)
		for range each * r.w.Size() {
			st, err := r.do(r.w.Irecv(q, 16, driver.AnySource, driver.AnyTag))
			if err != nil {
				return err
			}
			if st.Bytes != 8 || st.Tag != got[st.Source] || view[uint64](q, 1)[0] != uint64(st.Source*1000+st.Tag) {
				return fmt.Errorf("%+v has %d, after %d from there", st, view[uint64](q, 1)[0], got[st.Source])
			}
			got[st.Source]++
		}
	}
	if err := r.waitAll(reqs, make([]driver.Status, len(reqs))); err != nil {
		return err
	}
	return r.barrier() // a receive from anywhere must not take what the next scenario sends
}

// A message that is too long is an error of the receive, and the communicator can be used afterwards.
func truncation(r *rank) error {
	p := r.alloc(1 << 17)
	to, from := (r.w.Rank()+1)%r.w.Size(), (r.w.Rank()+r.w.Size()-1)%r.w.Size()
	for _, n := range []uint64{16, 1 << 16} {
		if n == 16 && from == r.w.Rank() && r.e.lib.abi == abiOpenMPI {
			continue // see Known problems in the package comment
		}
		in, err := r.w.Irecv(p, n/2, from, 5)
		if err != nil {
			return err
		}
		out, err := r.w.Isend(unsafe.Add(p, 1<<16), n, to, 5)
		if err != nil {
			return err
		}
		st := make([]driver.Status, 2)
		if err := r.waitAll([]driver.Request{in, out}, st); err != nil {
			return err
		}
		var e *driver.Error
		if !errors.Is(st[0].Err, driver.ErrTruncated) || !errors.As(st[0].Err, &e) || e.Op != "Irecv" || e.Text == "" || e.Bytes != n/2 {
			return fmt.Errorf("a message that is too long gives %v", st[0].Err)
		}
	}
	return ring(r)
}

// A receive for which no message comes can be given up.
func deadline(r *rank) error {
	p := r.alloc(8)
	for i := range 5 {
		req, err := r.w.Irecv(p, 8, driver.AnySource, 77)
		if err != nil {
			return err
		}
		reqs, out := []driver.Request{req}, make([]driver.Status, 1)
		for range 8 { // where ranks outnumber processors Open MPI gives up its time at each
			if n, err := r.e.Test(reqs, out); n != 0 || err != nil {
				return fmt.Errorf("a receive without a message is done: %+v, %v", out[0], err)
			}
		}
		if err := r.e.Cancel(req); err != nil {
			return err
		}
		if st := r.wait(req); !st.Cancelled || st.Err != nil {
			return fmt.Errorf("a cancelled receive ended as %+v", st)
		}
		// The request is forgotten, and the tag is free for others.
		if _, err := r.e.Test([]driver.Request{req}, out); !errors.Is(err, driver.ErrInvalidArgument) {
			return fmt.Errorf("a request that was done is taken: %v", err)
		}
		if err := r.exchange(r.w, r.alloc(8), p, 8, 78+i); err != nil {
			return err
		}
	}
	out, err := r.w.Isend(p, 8, r.w.Rank(), 79)
	if err != nil {
		return err
	}
	if err := r.e.Cancel(out); !errors.Is(err, driver.ErrUnsupported) {
		return fmt.Errorf("a send was cancelled: %v", err)
	}
	if _, err := r.do(r.w.Irecv(r.alloc(8), 8, r.w.Rank(), 79)); err != nil {
		return err
	}
	return r.wait(out).Err
}

// Many goroutines exchange messages at once, each on a communicator of its own.
func goroutines(r *rank) error {
	const workers, rounds = 12, 60
	var comms [workers]driver.Comm
	for i := range comms {
		c, err := r.w.Dup()
		if err != nil {
			return err
		}
		comms[i] = c
	}
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			const most = 1 << 17
			a, b := r.alloc(most), r.alloc(most)
			for k := range rounds {
				if errs[i] = r.exchange(comms[i], a, b, uint64(1+k*k*37%most), k); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, c := range comms {
		errs = append(errs, c.Free())
	}
	return errors.Join(errs...)
}

// Requests outlive collections of garbage, memory given back to the system, and stacks that move.
func collections(r *rank) error {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				debug.FreeOSMemory()
			}
		}
	}()
	defer func() { close(stop); <-ended }()
	a, b := r.alloc(1<<17), r.alloc(1<<17)
	for k := range 60 {
		garbage := make([][]byte, 64)
		for i := range garbage {
			garbage[i] = make([]byte, 1000+i)
		}
		in, err := r.w.Irecv(b, 1<<17, (r.w.Rank()+r.w.Size()-1)%r.w.Size(), 3)
		if err != nil {
			return err
		}
		deep(k%10, func() { runtime.GC() })
		n := uint64(1 + k*2000)
		pattern(view[byte](a, int(n)), r.w.Rank()+k)
		out, err := r.w.Isend(a, n, (r.w.Rank()+1)%r.w.Size(), 3)
		if err != nil {
			return err
		}
		st := make([]driver.Status, 2)
		if err := r.waitAll([]driver.Request{in, out}, st); err != nil {
			return err
		}
		from := (r.w.Rank() + r.w.Size() - 1) % r.w.Size()
		if st[0].Err != nil || st[0].Bytes != n || !isPattern(view[byte](b, int(n)), from+k) {
			return fmt.Errorf("round %d: %+v", k, st[0])
		}
		runtime.KeepAlive(garbage)
	}
	return nil
}

//go:noinline
func deep(n int, f func()) (sum byte) {
	var frame [4096]byte
	if n == 0 {
		f()
		return 0
	}
	frame[n] = deep(n-1, f)
	return frame[n] + frame[0]
}

// beforeStart has the signal handlers that the process had before MPI was loaded.
var beforeStart = handlerTable()

func handlerTable() (all [65][4]uintptr) {
	for sig := 1; sig < 65; sig++ {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&all[sig])), 8, 0, 0)
	}
	return all
}

// All handlers are the program's, and a nil pointer is still a panic that can be recovered.
func signalsKept(r *rank) error {
	for sig, now := range handlerTable() {
		if sig == 32 || sig == 33 { // the C library's own
			continue
		}
		if now != beforeStart[sig] {
			return fmt.Errorf("signal %d has another handler: %#x, it was %#x", sig, now, beforeStart[sig])
		}
	}
	recovered := func() (v any) {
		defer func() { v = recover() }()
		var p *int
		*p = 1 //nolint
		return nil
	}()
	if recovered == nil {
		return errors.New("a nil pointer was written to")
	}
	return nil
}

// level says at which level of threads the library is used.
func level(r *rank) error {
	want := "multiple"
	if s := os.Getenv("HALYARD_TEST_MPI_LEVEL"); s != "" {
		if !r.e.serialized {
			return errors.New("calls take no turns")
		}
		return nil
	}
	if got := r.e.Info().Thread.String(); got != want {
		return fmt.Errorf("the level is %s", got)
	}
	return nil
}

// many has more requests under way than one call of MPI_Testsome is given.
func many(r *rank) error {
	const count = 3*scratchSize + 7
	p := r.alloc(count * 8)
	var reqs []driver.Request
	for i := range count {
		in, err := r.w.Irecv(unsafe.Add(p, 4*i), 4, r.w.Rank(), i)
		if err != nil {
			return err
		}
		reqs = append(reqs, in)
	}
	out := make([]driver.Status, count)
	if n, err := r.e.Test(reqs, out); n != 0 || err != nil {
		return fmt.Errorf("%d receives are done without a message: %v", n, err)
	}
	for i := count - 1; i >= 0; i-- {
		v := view[uint32](unsafe.Add(p, 4*count+4*i), 1)
		v[0] = uint32(i)
		if _, err := r.do(r.w.Isend(unsafe.Pointer(&v[0]), 4, r.w.Rank(), i)); err != nil {
			return err
		}
	}
	if err := r.waitAll(reqs, out); err != nil {
		return err
	}
	for i, v := range view[uint32](p, count) {
		if v != uint32(i) || out[i].Tag != i || out[i].Bytes != 4 || out[i].Err != nil {
			return fmt.Errorf("message %d has %d, %+v", i, v, out[i])
		}
	}
	return nil
}

// errorsReturned gives MPI arguments that it refuses, on every kind of communicator: the process goes on.
func errorsReturned(r *rank) error {
	dup, err := r.w.Dup()
	if err != nil {
		return err
	}
	part, err := r.w.Split(r.w.Rank()%2, -r.w.Rank())
	if err != nil {
		return err
	}
	for _, c := range []driver.Comm{r.w, dup, part} {
		_, err := c.Isend(r.alloc(8), 8, c.Size(), 1)
		var e *driver.Error
		if !errors.Is(err, driver.ErrInvalidArgument) || !errors.As(err, &e) || e.API != "MPI_Isend" || e.Class != 6 || e.Text == "" || e.Peer != c.Size() || e.Tag != 1 {
			return fmt.Errorf("a rank that does not exist gives %v", err)
		}
	}
	return errors.Join(dup.Free(), part.Free())
}

func communicators(r *rank) error {
	me, size := r.w.Rank(), r.w.Size()
	// Those with an even rank, in the opposite order; the others get none.
	color := driver.NoColor
	if me%2 == 0 {
		color = 4
	}
	c, err := r.w.Split(color, -me)
	if err != nil {
		return err
	}
	if (c == nil) != (me%2 == 1) {
		return fmt.Errorf("rank %d got %v", me, c)
	}
	if c != nil {
		if want := (size + 1) / 2; c.Size() != want || c.Rank() != want-1-me/2 {
			return fmt.Errorf("rank %d is %d of %d", me, c.Rank(), c.Size())
		}
		if err := r.exchange(c, r.alloc(100), r.alloc(100), 100, 9); err != nil {
			return err
		}
		if err := c.Free(); err != nil {
			return err
		}
	}
	shared, err := r.w.SplitShared(me)
	if err != nil {
		return err
	}
	if shared.Size() != size || shared.Rank() != me { // the tests run on one machine
		return fmt.Errorf("%d of %d share memory", shared.Size(), size)
	}
	// Messages of two communicators do not mix.
	dup, err := shared.Dup()
	if err != nil {
		return err
	}
	p := r.alloc(32)
	v := view[uint64](p, 4)
	v[0], v[1] = 10, 20
	a, err := shared.Isend(unsafe.Pointer(&v[0]), 8, me, 1)
	if err != nil {
		return err
	}
	b, err := dup.Isend(unsafe.Pointer(&v[1]), 8, me, 1)
	if err != nil {
		return err
	}
	if _, err := r.do(dup.Irecv(unsafe.Pointer(&v[2]), 8, driver.AnySource, driver.AnyTag)); err != nil {
		return err
	}
	if _, err := r.do(shared.Irecv(unsafe.Pointer(&v[3]), 8, driver.AnySource, driver.AnyTag)); err != nil {
		return err
	}
	if v[2] != 20 || v[3] != 10 {
		return fmt.Errorf("the communicators' messages are %d and %d", v[2], v[3])
	}
	if err := r.waitAll([]driver.Request{a, b}, make([]driver.Status, 2)); err != nil {
		return err
	}
	return errors.Join(dup.Free(), shared.Free())
}

// long does everything with counts that do not fit.
func long(r *rank) error {
	defer func(n uint64) { longest = n }(longest)
	longest = 8 << 10
	const most = 1<<20 + 13
	a, b := r.alloc(most), r.alloc(most)
	for _, n := range []uint64{longest, longest + 1, chunkBytes, chunkBytes + 1, most} {
		if err := r.exchange(r.w, a, b, n, 4); err != nil {
			return err
		}
	}
	if err := bcastInPieces(r, a, most); err != nil {
		return err
	}
	if err := truncatedLong(r, a, b); err != nil {
		return err
	}
	if err := collectivesOf(r, 3*8<<10+8); err != nil {
		return err
	}
	r.e.Free(a, most)
	r.e.Free(b, most)
	return nil
}

// beyond sends a buffer with more elements than a C int counts from the first rank to the last, sends it back to all of them, and adds theirs up.
// The two kinds of buffer are those whose messages are copied and those whose are not.
func beyond(r *rank) error {
	ctx := context.Background()
	c := comm.New(r.e)
	const n = 1<<31 + 1<<20 + 13
	last := c.Size() - 1
	value := func(i, add int) byte { return byte(i*7+i>>20) + byte(add) }
	check := func(b *buffer.Buffer[byte], want func(i int) byte) error {
		return b.View(ctx, func(v []byte) error {
			for i, got := range v {
				if got != want(i) {
					return fmt.Errorf("byte %d is %d, not %d", i, got, want(i))
				}
			}
			return nil
		})
	}
	for _, make := range []func() (*buffer.Buffer[byte], error){
		func() (*buffer.Buffer[byte], error) { return buffer.New[byte](n) },
		func() (*buffer.Buffer[byte], error) { return comm.NewBuffer[byte](c, n) },
	} {
		b, err := make()
		if err != nil {
			return err
		}
		if c.Rank() == 0 {
			err := b.Overwrite(ctx, func(v []byte) error {
				for i := range v {
					v[i] = value(i, 0)
				}
				return nil
			})
			if err != nil {
				return err
			}
			if err := comm.Send(ctx, c, b, last, 1); err != nil {
				return fmt.Errorf("Send: %w", err)
			}
		}
		if c.Rank() == last {
			st, err := comm.Recv(ctx, c, b, 0, 1)
			if err != nil || st.Count != n {
				return fmt.Errorf("Recv: %+v, %w", st, err)
			}
			if err := check(b, func(i int) byte { return value(i, 0) }); err != nil {
				return fmt.Errorf("Recv: %w", err)
			}
			err = b.Update(ctx, func(v []byte) error {
				for i := range v {
					v[i] += 100
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if err := comm.Bcast(ctx, c, b, last); err != nil {
			return fmt.Errorf("Bcast: %w", err)
		}
		if err := check(b, func(i int) byte { return value(i, 100) }); err != nil {
			return fmt.Errorf("Bcast: %w", err)
		}
		if err := comm.Allreduce(ctx, c, b, b, comm.Sum); err != nil {
			return fmt.Errorf("Allreduce: %w", err)
		}
		if err := check(b, func(i int) byte { return byte(c.Size()) * value(i, 100) }); err != nil {
			return fmt.Errorf("Allreduce: %w", err)
		}
		if err := b.Close(); err != nil {
			return err
		}
	}
	return nil
}

// bcastInPieces checks that no single call of MPI broadcasts more than an int counts: Intel MPI never ends such a call.
func bcastInPieces(r *rank, p unsafe.Pointer, n uint64) error {
	root := r.w.Size() - 1
	clear(view[byte](p, int(n)))
	if r.w.Rank() == root {
		pattern(view[byte](p, int(n)), 3)
	}
	id, err := r.w.Collective(driver.Collective{Call: driver.Bcast, Recv: p, Count: n, Root: root})
	if err != nil {
		return err
	}
	q, err := r.e.find("test", id)
	if err != nil {
		return err
	}
	pieces := uint64(len(q.pieces) + 1)
	if st := r.wait(id); st.Err != nil || pieces < n/longest || !isPattern(view[byte](p, int(n)), 3) {
		return fmt.Errorf("Bcast of %d bytes in %d calls: %+v", n, pieces, st)
	}
	return nil
}

func truncatedLong(r *rank, a, b unsafe.Pointer) error {
	in, err := r.w.Irecv(a, 1<<17, r.w.Rank(), 5)
	if err != nil {
		return err
	}
	out, err := r.w.Isend(b, 1<<19, r.w.Rank(), 5)
	if err != nil {
		return err
	}
	st := make([]driver.Status, 2)
	if err := r.waitAll([]driver.Request{in, out}, st); err != nil {
		return err
	}
	if !errors.Is(st[0].Err, driver.ErrTruncated) {
		return fmt.Errorf("a long message for which there is no room gives %+v", st[0])
	}
	return nil
}

func collectives(r *rank) error {
	for _, n := range []int{0, 1, 5, 1000} {
		if err := collectivesOf(r, n); err != nil {
			return err
		}
	}
	return nil
}

// collectivesOf compares every operation with what its definition says, for n elements.
func collectivesOf(r *rank, n int) error {
	me, size := r.w.Rank(), r.w.Size()
	bytes := max(uint64(n*8*(size+1)*2), 8)
	p, q := r.alloc(bytes), r.alloc(bytes)
	defer r.e.Free(p, bytes)
	defer r.e.Free(q, bytes)
	value := func(rank, i int) int64 { return int64(rank+1)*1000003 + int64(i) }
	fill := func(v []int64) {
		for i := range v {
			v[i] = value(me, i)
		}
	}
	check := func(what string, v []int64, want func(i int) int64) error {
		for i := range v {
			if v[i] != want(i) {
				return fmt.Errorf("%s of %d: element %d is %d, not %d", what, n, i, v[i], want(i))
			}
		}
		return nil
	}
	total := func(i int) (sum int64) {
		for k := range size {
			sum += value(k, i)
		}
		return sum
	}
	for root := range size {
		if n > 1000 && root != size-1 {
			continue // long ones take long
		}
		for _, inPlace := range []bool{false, true} {
			in, out := view[int64](p, n*size), view[int64](q, n*size)
			reset := func() { fill(in); clear(out) }
			what := func(c driver.Call) string { return fmt.Sprintf("%v, root %d, in place %v", c, root, inPlace) }

			reset() // Bcast
			if err := r.collective(driver.Collective{Call: driver.Bcast, Recv: p, Count: uint64(n * 8), Root: root}); err != nil {
				return err
			}
			if err := check(what(driver.Bcast), in[:n], func(i int) int64 { return value(root, i) }); err != nil {
				return err
			}
			for _, call := range []driver.Call{driver.Reduce, driver.Allreduce} {
				reset()
				c := driver.Collective{Call: call, Send: p, Recv: q, Count: uint64(n), Type: driver.Int64, Op: driver.Sum, Root: root}
				result := out
				if inPlace && (call != driver.Reduce || me == root) {
					c.Recv, result = p, in
				}
				if err := r.collective(c); err != nil {
					return err
				}
				if call != driver.Reduce || me == root {
					if err := check(what(call), result[:n], total); err != nil {
						return err
					}
				}
			}
			// Parts of one length.
			for _, call := range []driver.Call{driver.Gather, driver.Allgather, driver.Scatter, driver.Alltoall} {
				reset()
				c := driver.Collective{Call: call, Send: p, Recv: q, Count: uint64(n * 8), Root: root}
				result := out
				switch {
				case !inPlace:
				case call == driver.Gather && me == root, call == driver.Allgather:
					copy(out[me*n:], in[:n])
					c.Send = unsafe.Add(q, me*n*8)
				case call == driver.Scatter && me == root:
					c.Recv, result = unsafe.Add(p, me*n*8), in[me*n:]
				}
				if err := r.collective(c); err != nil {
					return err
				}
				var err error
				switch {
				case call == driver.Allgather, call == driver.Gather && me == root:
					err = check(what(call), result, func(i int) int64 { return value(i/n, i%n) })
				case call == driver.Scatter:
					err = check(what(call), result[:n], func(i int) int64 { return value(root, me*n+i) })
				case call == driver.Alltoall:
					err = check(what(call), result, func(i int) int64 { return value(i/n, me*n+i%n) })
				}
				if err != nil {
					return err
				}
			}
		}
	}
	if n < 1 {
		return nil
	}
	return everyOp(r)
}

// everyOp reduces elements of each type by each operation that takes it.
func everyOp(r *rank) error {
	size := r.w.Size()
	p, q := r.alloc(16), r.alloc(16)
	for _, t := range driver.Types() {
		for _, op := range driver.Ops() {
			if !op.Takes(t) {
				if _, err := r.w.Collective(driver.Collective{Call: driver.Allreduce, Send: p, Recv: q, Count: 1, Type: t, Op: op}); !errors.Is(err, driver.ErrInvalidArgument) {
					return fmt.Errorf("%v of %v: %v", op, t, err)
				}
				continue
			}
			put(t, p, int64(r.w.Rank()+2))
			if err := r.collective(driver.Collective{Call: driver.Allreduce, Send: p, Recv: q, Count: 1, Type: t, Op: op}); err != nil {
				return fmt.Errorf("%v of %v: %w", op, t, err)
			}
			want := int64(2)
			for k := 1; k < size; k++ {
				v := int64(k + 2)
				switch op {
				case driver.Sum:
					want += v
				case driver.Prod:
					want *= v
				case driver.Min:
					want = min(want, v)
				case driver.Max:
					want = max(want, v)
				case driver.And:
					want &= v
				case driver.Or:
					want |= v
				case driver.Xor:
					want ^= v
				}
			}
			wanted := make([]byte, 16)
			put(t, unsafe.Pointer(&wanted[0]), want)
			if !bytes.Equal(wanted[:t.Size()], view[byte](q, int(t.Size()))) {
				return fmt.Errorf("%v of %v gives % x, not % x", op, t, view[byte](q, int(t.Size())), wanted[:t.Size()])
			}
			if t < driver.Uint8 || t > driver.Uint64 || op != driver.Min && op != driver.Max {
				continue
			}
			// Rank 0 has the largest value, the others 1.
			put(t, p, []int64{-1, 1}[min(r.w.Rank(), 1)])
			for _, call := range []driver.Call{driver.Reduce, driver.Allreduce} {
				c := driver.Collective{Call: call, Send: p, Recv: q, Count: 1, Type: t, Op: op}
				if err := r.collective(c); err != nil {
					return fmt.Errorf("%v by %v of %v: %w", call, op, t, err)
				}
				want := int64(-1)
				if op == driver.Min && size > 1 {
					want = 1
				}
				put(t, unsafe.Pointer(&wanted[0]), want)
				if r.w.Rank() > 0 && call == driver.Reduce {
					continue
				}
				if !bytes.Equal(wanted[:t.Size()], view[byte](q, int(t.Size()))) {
					return fmt.Errorf("%v by %v of %v gives % x, not % x", call, op, t, view[byte](q, int(t.Size())), wanted[:t.Size()])
				}
			}
		}
	}
	return nil
}

func put(t driver.Type, p unsafe.Pointer, v int64) {
	switch t {
	case driver.Float32:
		*(*float32)(p) = float32(v)
	case driver.Float64:
		*(*float64)(p) = float64(v)
	case driver.Complex64:
		*(*complex64)(p) = complex(float32(v), 0)
	case driver.Complex128:
		*(*complex128)(p) = complex(float64(v), 0)
	default:
		copy(unsafe.Slice((*byte)(p), t.Size()), unsafe.Slice((*byte)(unsafe.Pointer(&v)), 8))
	}
}

// streams sends short and long messages around that a stream of a discrete device writes, without waiting for the stream.
func streams(r *rank) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := comm.New(r.e)
	dev, err := hal.OpenWith(ctx, host.New(host.Options{Name: "rank", Discrete: 1}), 1)
	if err != nil {
		return err
	}
	s, err := dev.NewStream()
	if err != nil {
		return err
	}
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	for _, n := range []int{1, 100_000} {
		b, e1 := buffer.New[uint32](n)
		if e1 != nil {
			return e1
		}
		var got []*buffer.Buffer[uint32]
		for round := range 20 {
			in, e1 := buffer.New[uint32](n)
			l, e2 := b.Acquire(ctx, s, coherence.Overwrite)
			if err := errors.Join(e1, e2); err != nil {
				return err
			}
			got = append(got, in)
			if err := errors.Join(s.Fill(l.Region(), hal.Pattern32(uint32(100*c.Rank()+round))), l.Release()); err != nil {
				return err
			}
			if _, err := comm.Sendrecv(ctx, c, b, right, n, in, left, n); err != nil {
				return err
			}
		}
		for round, in := range got {
			err := in.View(ctx, func(s []uint32) error {
				for i, v := range s {
					if want := uint32(100*left + round); v != want {
						return fmt.Errorf("round %d: element %d of %d is %d, not %d", round, i, n, v, want)
					}
				}
				return nil
			})
			if err := errors.Join(err, in.Close()); err != nil {
				return err
			}
		}
		if err := b.Close(); err != nil {
			return err
		}
	}
	return errors.Join(s.Sync(ctx), s.Close(), dev.Close(), c.Close())
}
