package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

var enumerationChecks = []Check{
	{Name: "ListSortedStable", Rule: "Listing twice gives the same backends, sorted by name, with the same devices, numbered from 0.",
		run: listSortedStable},
	{Name: "UnknownName", Rule: "Opening a device of an unknown backend is an invalid argument, and the error names the known ones.",
		run: unknownName},
	{Name: "MalformedName", Rule: "A device name with a malformed number is an invalid argument.",
		run: malformedName},
	{Name: "NotBuiltNamesTheTag", Rule: "The error for opening a device of a backend that is not linked says so and names the build tag.",
		run: notBuiltNamesTheTag},
	{Name: "UnavailableSaysWhy", Rule: "The error of an unavailable backend says what was tried, for listing and for opening.",
		run: unavailableSaysWhy},
	{Name: "OrdinalOutOfRange", Rule: "A device number beyond the end of the list is out of range and opens nothing.",
		run: ordinalOutOfRange},
	{Name: "CancelledContextOpensNothing", Rule: "With a context that has ended nothing is listed or opened, and the error wraps the context's.",
		run: cancelledContextOpensNothing},
	{Name: "InfoComplete", Rule: "Info names the device and its backend, and its memory size, largest allocation and alignment are consistent.",
		run: infoComplete},
	{Name: "InfoStable", Rule: "Info of an open device equals its entry in the list, at every call.",
		run: infoStable},
	{Name: "FreeAtMostTotal", Rule: "Free memory is never more than total memory.", Needs: hal.CapMemInfo,
		run: freeAtMostTotal},
	{Name: "FreeFollowsAllocations", Rule: "Free memory falls by the bytes that are allocated, and rises again when they are freed, on this device alone.", Needs: hal.CapMemInfo,
		run: freeFollows},
	{Name: "ReopenAfterClose", Rule: "A device can be opened, used and closed again and again.",
		run: reopenAfterClose},
	{Name: "TwoHandlesIndependent", Rule: "Closing one handle on a device leaves another one working.",
		run: twoHandlesIndependent},
	{Name: "EnumerationCreatesNoContext", Rule: "Listing devices creates no context on them.",
		run: enumerationCreatesNoContext},
}

// backend returns the backend of the device under test, or nil if it is neither in the harness nor registered.
func (t *trial) backend() driver.Backend {
	if t.p.Backend != nil {
		return t.p.Backend
	}
	for _, b := range driver.Backends() {
		if b.Name() == t.dev.Info().Backend {
			return b
		}
	}
	return nil
}

// listed returns the backend and its devices. It skips the check if there is no backend.
func (t *trial) listed() (driver.Backend, []driver.Info) {
	b := t.backend()
	if b == nil {
		t.Skipf("backend %q is not registered, and Harness.Backend is nil", t.dev.Info().Backend)
	}
	infos, err := b.Devices(t.ctx)
	t.must(err, "list the devices of %s", b.Name())
	return b, infos
}

func listSortedStable(t *trial) {
	first, second := hal.List(t.ctx), hal.List(t.ctx)
	for _, r := range [][]hal.Report{first, second} {
		t.want(slices.IsSortedFunc(r, func(a, b hal.Report) int { return strings.Compare(a.Backend, b.Backend) }), "backends are not sorted")
	}
	t.want(len(first) == len(second), "%d backends, then %d", len(first), len(second))
	check := func(name string, a, b []driver.Info) {
		t.want(len(a) == len(b), "%s: %d devices, then %d", name, len(a), len(b))
		for i := range a {
			if !reflect.DeepEqual(a[i], b[i]) {
				t.Errorf("%s:%d was %+v and then %+v", name, i, a[i], b[i])
			}
			if a[i].Ordinal != i || a[i].Backend != name {
				t.Errorf("device %d of %s has the name %s", i, name, a[i].Name())
			}
			if a[i].UUID != (hal.UUID{}) && slices.ContainsFunc(a[:i], func(o driver.Info) bool { return o.UUID == a[i].UUID }) {
				t.Errorf("%s:%d has the UUID of another device, %v", name, i, a[i].UUID)
			}
		}
	}
	for i, r := range first {
		check(r.Backend, r.Devices, second[i].Devices)
	}
	if b := t.backend(); b != nil {
		_, one := t.listed()
		_, two := t.listed()
		t.want(len(one) > 0, "the backend of an open device lists no device")
		check(b.Name(), one, two)
	}
}

func unknownName(t *trial) {
	for _, name := range []string{"nosuchbackend", "nosuchbackend:0", "", ":0"} {
		d, err := hal.Open(t.ctx, name)
		t.want(d == nil, "%q: Open returned a device", name)
		t.wantKind(err, hal.ErrInvalidArgument, "open %q", name)
		for _, r := range hal.List(t.ctx) {
			if err != nil && !strings.Contains(err.Error(), r.Backend) {
				t.Errorf("open %q: %q does not name the backend %q", name, err, r.Backend)
			}
		}
	}
}

func malformedName(t *trial) {
	name := t.dev.Info().Backend
	for _, n := range []string{":", ":x", ":-1", ":0x1", ":1:2", ": 1", ":99999999999999999999"} {
		d, err := hal.Open(t.ctx, name+n)
		t.want(d == nil, "%q: Open returned a device", name+n)
		t.wantKind(err, hal.ErrInvalidArgument, "open %q", name+n)
	}
}

func notBuiltNamesTheTag(t *trial) {
	missing := 0
	for _, r := range hal.List(t.ctx) {
		if r.Built {
			continue
		}
		missing++
		t.wantKind(r.Err, hal.ErrNotBuilt, "list %s", r.Backend)
		d, err := hal.Open(t.ctx, r.Backend+":0")
		t.want(d == nil, "%s: Open returned a device", r.Backend)
		t.wantKind(err, hal.ErrNotBuilt, "open %s:0", r.Backend)
		if r.Backend != "host" && err != nil && !strings.Contains(err.Error(), "-tags "+r.Backend) {
			t.Errorf("open %s:0: %q does not name the build tag", r.Backend, err)
		}
	}
	if missing == 0 {
		t.Skipf("every backend is linked")
	}
}

func unavailableSaysWhy(t *trial) {
	missing := 0
	for _, r := range hal.List(t.ctx) {
		if !errors.Is(r.Err, hal.ErrUnavailable) {
			continue
		}
		missing++
		_, err := hal.Open(t.ctx, r.Backend+":0")
		for _, err := range []error{r.Err, err} {
			t.wantKind(err, hal.ErrUnavailable, "%s", r.Backend)
			var e *hal.Error
			if errors.As(err, &e) && e.Detail == "" && e.Err == nil {
				t.Errorf("%s: %q gives no reason", r.Backend, err)
			}
		}
	}
	if missing == 0 {
		t.Skipf("no linked backend is unavailable")
	}
}

func ordinalOutOfRange(t *trial) {
	b, infos := t.listed()
	for _, n := range []int{len(infos), len(infos) + 1, 1 << 20, 1<<31 - 1} {
		d, err := hal.OpenWith(t.ctx, b, n)
		t.want(d == nil, "%s:%d: OpenWith returned a device", b.Name(), n)
		t.wantKind(err, hal.ErrOutOfRange, "open %s:%d", b.Name(), n)
		raw, err := b.Open(t.ctx, n)
		if err == nil {
			_ = raw.Close()
		}
		t.wantKind(err, hal.ErrOutOfRange, "the backend opens device %d of %d", n, len(infos))
	}
	d, err := hal.OpenWith(t.ctx, b, -1)
	t.want(d == nil, "%s:-1: OpenWith returned a device", b.Name())
	t.wantKind(err, hal.ErrOutOfRange, "open %s:-1", b.Name())
	_, err = hal.OpenWith(t.ctx, nil, 0)
	t.wantKind(err, hal.ErrInvalidArgument, "open a device of no backend")
}

func cancelledContextOpensNothing(t *trial) {
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	check := func(what string, err error) {
		t.wantKind(err, hal.ErrNotReady, "%s", what)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %q does not wrap context.Canceled", what, err)
		}
	}
	_, err := hal.Open(ctx, t.dev.Name())
	check("open", err)
	_, err = hal.Devices(ctx)
	check("list", err)
	if b := t.backend(); b != nil {
		_, err = hal.OpenWith(ctx, b, t.dev.Info().Ordinal)
		check("open with the backend", err)
	}
}

func infoComplete(t *trial) {
	i := t.dev.Info()
	power := func(n uint64) bool { return bits.OnesCount64(n) == 1 }
	for _, c := range []struct {
		ok   bool
		what string
	}{
		{i.Model != "", "no name"},
		{i.Backend != "" && i.Backend == strings.ToLower(i.Backend), "the backend's name is empty or not in lower case"},
		{i.Vendor != "", "no vendor"},
		{i.Driver != "", "no version of the driver"},
		{i.Ordinal >= 0, "the number is negative"},
		{i.TotalMemory > 0, "no total memory"},
		{i.MaxAlloc > 0, "no largest allocation"},
		{i.MaxAlloc <= i.TotalMemory, "the largest allocation is more than the total memory"},
		{power(i.Alignment), "Alignment is not a power of two"},
		{power(i.MaxAlign) && i.MaxAlign >= i.Alignment, "MaxAlign is not a power of two, or is less than Alignment"},
		{!i.Simulated || strings.Contains(strings.ToLower(i.Model), "simulated"), "a simulated device does not say so in its name"},
		{i.Caps.Has(hal.CapPriority) || i.LowPriority == 0 && i.HighPriority == 0, "the device has priorities but lacks CapPriority"},
		{!i.Caps.Has(hal.CapPriority) || i.HighPriority < i.LowPriority, "the device has CapPriority but no range of priorities"},
		{t.dev.Name() == fmt.Sprintf("%s:%d", i.Backend, i.Ordinal), "the device's Name is not backend:number"},
		{t.dev.Caps() == i.Caps, "Caps differ from Info"},
		{uint32(i.Caps)>>len(hal.Caps(^uint32(0)).Names()) == 0, "a capability bit is set that has no name"},
	} {
		if !c.ok {
			t.Errorf("%s: %+v", c.what, i)
		}
	}
}

func infoStable(t *trial) {
	b, infos := t.listed()
	before := t.dev.Info()
	t.want(before.Ordinal < len(infos), "%s is not in the list of %d", t.dev.Name(), len(infos))
	t.memory(t.dev, hal.KindDevice, 4096)
	again := t.separate()
	for what, got := range map[string]hal.Info{"listed": infos[before.Ordinal], "later": t.dev.Info(), "opened again": again.Info()} {
		if !reflect.DeepEqual(got, before) {
			t.Errorf("%s of %s: %s %+v, before %+v", t.dev.Name(), b.Name(), what, got, before)
		}
	}
}

func freeAtMostTotal(t *trial) {
	check := func() {
		free, total, err := t.dev.MemInfo()
		t.must(err, "memory information")
		t.want(total > 0, "total memory 0")
		t.want(free <= total, "%d bytes free of %d", free, total)
	}
	check()
	m, err := t.dev.Alloc(hal.KindDevice, 1<<20, 0)
	t.must(err, "allocate")
	check()
	t.must(m.Close(), "close")
	check()
}

func freeFollows(t *trial) {
	i := t.dev.Info()
	if i.SharesHostMemory {
		t.Skipf("the device's memory is the host's, whose free memory changes all the time")
	}
	n := min(i.MaxAlloc, i.TotalMemory/8, 256<<20)
	beside := func() uint64 { return 0 }
	if t.p.Peer != nil {
		if p := t.openWith("the peer", t.p.Peer); p.Caps().Has(hal.CapMemInfo) && !p.Info().SharesHostMemory {
			beside = func() uint64 { free, _, err := p.MemInfo(); t.must(err, "memory information"); return free }
		}
	}
	free := func() uint64 {
		free, total, err := t.dev.MemInfo()
		t.must(err, "memory information")
		t.want(total/4 <= i.TotalMemory/3 && i.TotalMemory/4 <= total/3, "%d bytes in all, but Info has %d", total, i.TotalMemory)
		return free
	}
	// A driver allocates in pages, and other programs may use the device as well, so the check fails only if the numbers are wrong in each
	// of several rounds.
	var seen []string
	for range 5 {
		before, next := free(), beside()
		m, err := t.dev.Alloc(hal.KindDevice, n, 0)
		t.must(err, "allocate")
		t.must(t.dev.Write(t.ctx, m.Region(0, 1), []byte{1}), "write")
		during, peer := free(), int64(next-beside())
		t.must(m.Close(), "close")
		t.settled()
		after := free()
		fell, rose := int64(before-during), int64(after-during)
		least, most := int64(n-n/4), int64(n+n/4+4<<20)
		if fell >= least && fell <= most && rose >= least && rose <= most && peer < least {
			return
		}
		seen = append(seen, fmt.Sprintf("%d, %d and %d (and the peer's fell by %d)", before, during, after, peer))
	}
	t.Errorf("%d bytes were allocated and freed again; free before, meanwhile and after: %s", n, strings.Join(seen, "; "))
}

func reopenAfterClose(t *trial) {
	for round := range t.Size(5, 3) {
		d := t.separate()
		b := t.random(4096)
		m := t.filled(d, b)
		t.same(t.all(m), b, "round %d", round)
		t.must(m.Close(), "close memory")
		t.must(d.Close(), "close device, round %d", round)
	}
}

func twoHandlesIndependent(t *trial) {
	second := t.Open()
	b := t.random(1 << 12)
	mine, theirs := t.filled(t.dev, b), t.filled(second, t.random(1<<12))
	held := uint64(1 << 12)
	if second.Same(t.dev) {
		held *= 2
		s, err := second.NewStream()
		t.must(err, "new stream")
		t.must(s.RecordUse(mine), "use memory of another handle on the device")
		t.must(s.Close(), "close stream")
	}
	if u := t.dev.Usage(); u.Held != held {
		t.Errorf("the first handle counts %d bytes held, not %d", u.Held, held)
	}
	t.must(theirs.Close(), "close memory")
	t.must(second.Close(), "close device")
	t.same(t.all(mine), b, "after another handle was closed")
	t.filled(t.dev, b)
	t.sync(t.stream(t.dev))
	_, err := second.Alloc(hal.KindDevice, 1, 0)
	t.wantKind(err, hal.ErrClosed, "allocate on the closed handle")
}

func enumerationCreatesNoContext(t *trial) {
	contexts := t.contexts()
	b, _ := t.listed()
	before := contexts()
	t.want(before > 0, "a device is open, but there is no context")
	for range 3 {
		_, err := b.Devices(t.ctx)
		t.must(err, "list")
		hal.List(t.ctx)
	}
	t.want(contexts() == before, "%d contexts before listing, %d after", before, contexts())
}
