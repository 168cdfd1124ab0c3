package conformance

import (
	"context"
	"errors"

	"github.com/go-halyard/halyard/hal"
)

var shortageChecks = []Check{
	{Name: "ExhaustMapsToOutOfMemory", Rule: "When the device's memory is used up, allocation fails as out of memory, with the figures.", run: exhaust},
	{Name: "RecoverAfterOutOfMemory", Rule: "After an allocation ran out of memory the device works, and freed memory can be allocated again.", run: recoverAfterShortage},
	{Name: "FreedBlocksComeBack", Rule: "Closed memory whose last use has finished is freed before an allocation fails.", Needs: hal.CapGate, run: freedBlocksComeBack},
	{Name: "FailedAllocationTakesNothing", Rule: "An allocation that fails takes nothing of the device's free memory.", Needs: hal.CapMemInfo, run: failedAllocation},
	{Name: "EveryNthCallFails", Rule: "Whichever driver call fails, the error names the call, nothing leaks and the device works afterwards.", run: everyNthCallFails},
}

// finite reports whether the device's memory can be used up without using up the machine's.
func finite(d *hal.Device) bool {
	const small = 4 << 30
	i := d.Info()
	return !i.SharesHostMemory && (!i.Simulated || i.TotalMemory <= small)
}

// useUp allocates until an allocation fails. It returns the memories, and the size and error of the failed allocation. On a device that
// uses the machine's memory it only tries to allocate Info.MaxAlloc bytes.
func (t *trial) useUp() (mems []*hal.Memory, size uint64, err error) {
	i := t.dev.Info()
	alloc := func(n uint64) bool {
		m, e := t.dev.Alloc(hal.KindDevice, n, 0)
		if e != nil {
			size, err = n, e
			return false
		}
		t.Cleanup(func() { t.must(m.Close(), "close") })
		mems = append(mems, m)
		return true
	}
	least := max(i.TotalMemory/256, 1<<20)
	if !finite(t.dev) {
		least = i.MaxAlloc
	}
	for n := i.MaxAlloc; n >= least; n /= 2 {
		for alloc(n) {
			if len(mems) > 4096 {
				t.Fatalf("%d allocations hold %d of %d bytes, and none has failed", len(mems), t.dev.Usage().Held, i.TotalMemory)
			}
			if !finite(t.dev) {
				t.Skipf("an allocation of Info.MaxAlloc bytes succeeded: the machine gives memory before it is used, and cannot run out here")
			}
		}
	}
	return mems, size, err
}

func exhaust(t *trial) {
	mems, size, err := t.useUp()
	t.wantKind(err, hal.ErrOutOfMemory, "one allocation more, of %d bytes", size)
	t.wantShortage(err, hal.KindDevice, size)
	if !finite(t.dev) {
		return
	}
	t.want(len(mems) > 0, "a device of %d bytes gives no memory at all", t.dev.Info().TotalMemory)
	if t.dev.Info().Simulated {
		t.want(t.dev.Usage().Held >= t.dev.Info().TotalMemory/8*7, "out of memory with %d of %d bytes held", t.dev.Usage().Held, t.dev.Info().TotalMemory)
	}
	held := t.dev.Usage().Held
	t.want(held <= t.dev.Info().TotalMemory, "%d bytes held of %d", held, t.dev.Info().TotalMemory)
}

func recoverAfterShortage(t *trial) {
	s := t.stream(t.dev)
	keep := t.filled(t.dev, t.random(4096))
	before := t.all(keep)
	mems, size, err := t.useUp()
	t.wantKind(err, hal.ErrOutOfMemory, "one allocation more")
	t.same(t.all(keep), before, "memory that was there before")
	for _, m := range mems {
		if m.Size() >= size {
			t.must(m.Close(), "close")
		}
	}
	if len(mems) > 0 {
		again := t.memory(t.dev, hal.KindDevice, int(size))
		t.must(s.Fill(region(again, 0, 4096), hal.Pattern8(4)), "fill")
		t.sync(s)
		t.same(t.get(again, 0, 4096), repeated(hal.Pattern8(4), 4096), "memory allocated after some was freed")
	}
	for _, m := range mems {
		t.must(m.Close(), "close")
	}
	b := t.random(100_000)
	t.same(t.all(t.filled(t.dev, b)), b, "memory allocated after all was freed")
	t.same(t.all(keep), before, "memory that was there before")
}

func freedBlocksComeBack(t *trial) {
	if !finite(t.dev) {
		t.Skipf("the device's memory is the machine's")
	}
	if total := t.dev.Info().TotalMemory; !t.dev.Info().Simulated && total > 4<<30 {
		t.Skipf("%d bytes of memory are too many to use up", total)
	}
	i := t.dev.Info()
	n := min(i.MaxAlloc, i.TotalMemory/4)
	s := t.stream(t.dev)
	var mems []*hal.Memory
	for {
		m, err := t.dev.Alloc(hal.KindDevice, n, 0)
		if err != nil {
			t.wantKind(err, hal.ErrOutOfMemory, "allocate")
			break
		}
		t.Cleanup(func() { t.must(m.Close(), "close") })
		mems = append(mems, m)
	}
	t.want(len(mems) > 0, "no memory at all")
	g := t.shut(s)
	for _, m := range mems {
		t.must(s.Fill(region(m, 0, 4096), hal.Pattern8(1)), "fill")
		t.must(m.Close(), "close")
	}
	_, err := t.dev.Alloc(hal.KindDevice, n, 0)
	t.wantKind(err, hal.ErrOutOfMemory, "allocate what is still used")
	t.letGo(g)
	t.sync(s)
	for range mems {
		t.memory(t.dev, hal.KindDevice, int(n))
	}
}

func failedAllocation(t *trial) {
	f, i := t.faults(), t.dev.Info()
	if i.SharesHostMemory || !i.Simulated {
		t.Skipf("other programs may change the free memory, too")
	}
	n := min(1<<20, i.MaxAlloc/64)
	before, _, err := t.dev.MemInfo()
	t.must(err, "memory information")
	for range 16 {
		f.FailCall(1)
		err := made(t.dev.Alloc(hal.KindDevice, n, 0))
		f.Reset()
		t.want(err != nil, "an allocation whose driver call fails succeeds")
		t.wantKind(made(t.dev.Alloc(hal.KindDevice, i.MaxAlloc+1, 0)), hal.ErrOutOfMemory, "allocate more than MaxAlloc")
	}
	after, _, err := t.dev.MemInfo()
	t.must(err, "memory information")
	t.want(before < after+4*n, "%d bytes free before allocations of %d bytes failed, %d after", before, n, after)
}

func everyNthCallFails(t *trial) {
	f := t.faults()
	want := t.random(4096)
	calls, opening, refused := uint64(0), uint64(0), 0
	contexts := func() int { return 0 }
	if t.p.Contexts != nil {
		contexts = t.p.Contexts
	}
	for n := uint64(0); n <= calls; n++ {
		f.Reset()
		if n > 0 {
			f.FailCall(n)
		}
		before := contexts()
		d, err := t.openSeparate(t.ctx)
		if err != nil {
			t.want(n > 0, "open: %v", err)
			t.wantVendor(err, n)
			t.want(contexts() == before, "call %d fails, and so does opening the device: %d contexts before, %d after", n, before, contexts())
			refused++
			continue
		}
		if n == 0 {
			opening = f.CallCount()
		}
		err = t.faulty(d, want)
		if n == 0 {
			calls = f.CallCount()
			t.want(calls > 10, "%d driver calls are counted", calls)
		}
		switch {
		case err != nil && n == 0:
			t.Fatalf("without a fault: %v", err)
		case err != nil:
			t.wantVendor(err, n)
		}
		err = d.Close()
		if errors.Is(err, hal.ErrBusy) {
			t.Fatalf("call %d of %d fails: the device does not close: %v", n, calls, err)
		}
		if u := d.Usage(); u.Held != 0 || u.Pending != 0 {
			t.Errorf("call %d of %d fails: %+v after everything was closed", n, calls, u)
		}
	}
	f.Reset()
	t.want(opening == 0 || refused > 0, "the device is opened with %d calls, and whichever fails, it is still opened", opening)
	t.must(t.faulty(t.dev, want), "after all faults")
}

// wantVendor fails unless err names the vendor's call that failed.
func (t *trial) wantVendor(err error, n uint64) {
	var e *hal.Error
	switch {
	case !errors.As(err, &e):
		t.Errorf("call %d fails: errors.As finds no *hal.Error in %q", n, err)
	case e.Vendor.API == "":
		t.Errorf("call %d fails: %q does not say which call", n, err)
	}
}

// faulty allocates, copies, fills, records and waits on d, and closes what it made. If no call fails, it checks the bytes that were read.
func (t *trial) faulty(d *hal.Device, want []byte) (err error) {
	var closes []func() error
	defer func() {
		for i := range closes {
			if e := closes[len(closes)-1-i](); err == nil {
				err = e
			}
		}
	}()
	made := func(close func() error, e error) bool {
		if err = e; e == nil {
			closes = append(closes, close)
		}
		return e == nil
	}
	n := uint64(len(want))
	a, e := d.Alloc(hal.KindDevice, n, 0)
	if !made(a.Close, e) {
		return err
	}
	b, e := d.Alloc(hal.KindHost, n, 0)
	if !made(b.Close, e) {
		return err
	}
	s, e := d.NewStream()
	if !made(s.Close, e) {
		return err
	}
	o, e := d.NewStream()
	if !made(o.Close, e) {
		return err
	}
	var ev *hal.Event
	out := make([]byte, n)
	for _, step := range []func() error{
		func() error { return d.Write(t.ctx, a.All(), want) },
		func() error { return s.Fill(b.All(), hal.Zero) },
		func() error { return s.Copy(b.All(), a.All()) },
		func() (err error) {
			ev, err = s.Record()
			made(ev.Close, err)
			return err
		},
		func() error { return o.WaitEvent(ev) },
		func() error { return o.CopyOut(out, b.All()) },
		func() error { _, err := o.Done(); return err },
		func() error { return o.Sync(context.Background()) },
		func() error { return ev.Sync(context.Background()) },
		func() error { clear(out); return d.Read(t.ctx, out, b.All()) },
	} {
		if err := step(); err != nil {
			// What was enqueued may still use the host's memory.
			_, _ = s.Sync(context.Background()), o.Sync(context.Background())
			return err
		}
	}
	t.same(out, want, "no call reported an error")
	return nil
}
