package main

import (
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
)

// kind is what is wrong with a method.
type kind uint8

const (
	nothing kind = iota + 1 // the call does nothing, and says that it succeeded; what makes an object returns the one it made before
	short                   // all is done but the last byte, row, block or element
	early                   // it is done during the call, and not in its turn
	twice                   // it is done again, after the work that comes next
	late                    // it is done after the events that should stand for it
	hides                   // an error becomes success
	fails                   // success becomes an error
	cut                     // an argument, or the result, keeps its low 32 bits
	wide                    // the answer says more than is true
)

var words = map[kind]string{nothing: "nothing done", short: "all but the last", early: "at the call", twice: "twice", late: "after its event",
	hides: "success for an error", fails: "an error for success", cut: "cut to 32 bits", wide: "too much said"}

// fault is one mutant: what is wrong with one method, or with one class of its calls.
type fault struct {
	method, class string
	kind          kind
	arg           string // of cut
	base          string // the sound backend below
	equivalent    string // why no program can tell the difference
}

func (f fault) String() string {
	var b strings.Builder
	b.WriteString(f.method)
	if f.class != "" {
		fmt.Fprintf(&b, " (%s)", f.class)
	}
	b.WriteString(": ")
	if f.arg != "" {
		b.WriteString(f.arg + " ")
	}
	b.WriteString(words[f.kind])
	return b.String()
}

// rule generates the mutants of one method.
type rule struct {
	method, classes string // classes are separated by commas
	kinds           string // letters: n s e t l h f w, see kindOf
	cuts            string // arguments that are cut, separated by spaces
	base            string // "" stands for the host
}

var kindOf = map[rune]kind{'n': nothing, 's': short, 'e': early, 't': twice, 'l': late, 'h': hides, 'f': fails, 'w': wide}

const copies = "within the device,from host memory,to host memory,between host memories,from a peer,to a peer"

var rules = []rule{
	{"Backend.Name", "", "n", "", ""},
	{"Backend.Devices", "", "nsf", "", ""},
	{"Backend.Open", "", "nthf", "", ""},
	{"Device.Info", "", "n", "", ""},
	{"Device.MemInfo", "", "nhf", "", ""},
	{"Device.Alloc", "device memory,host memory,shared memory", "nsthf", "", ""},
	{"Device.Alloc", "", "", "size align", ""},
	{"Device.NewStream", "", "nthf", "", ""},
	{"Device.NewEvent", "", "nthf", "", ""},
	{"Device.Close", "", "nthf", "", ""},
	{"Memory.Size", "", "n", "", ""},
	{"Memory.Handle", "", "n", "handle", ""},
	{"Memory.HostPointer", "", "n", "", ""},
	{"Memory.Free", "device memory,host memory,shared memory", "n", "", ""},
	{"Memory.Free", "", "thf", "", ""},
	{"Stream.Copy", copies, "nsetlhf", "", ""},
	{"Stream.Copy", "", "", "dst.Off src.Off Len", ""},
	{"Stream.CopyIn", "pageable to the device,page-locked to the device,to host memory", "nsetlhf", "", ""},
	{"Stream.CopyIn", "", "", "dst.Off Len", ""},
	{"Stream.CopyOut", "pageable from the device,page-locked from the device,from host memory", "nsetlhf", "", ""},
	{"Stream.CopyOut", "", "", "src.Off Len", ""},
	{"Stream.Fill", "device memory,host memory,shared memory", "nsetlhf", "", ""},
	{"Stream.Fill", "", "", "dst.Off Len Bits", ""},
	{"Stream.Record", "", "netlhf", "", ""},
	{"Stream.Wait", "", "netlhf", "", ""},
	{"Stream.Wait", "a peer's event", "nelhf", "", ""},
	{"Stream.Query", "", "ntlhf", "", ""},
	{"Stream.Sync", "", "netlhf", "", ""},
	{"Stream.Handle", "", "n", "", ""},
	{"Stream.Handle", "", "", "handle", "cuda"},
	{"Stream.Close", "", "nthf", "", ""},
	{"Event.Query", "", "ntlhf", "", ""},
	{"Event.Sync", "", "nthf", "", ""},
	{"Event.Close", "", "nthf", "", ""},
	{"Timer.Elapsed", "", "nthf", "", ""},
	{"Gater.Gate", "", "ntlhf", "", ""},
	{"Gate.Open", "", "nthf", "", ""},
	{"Notifier.OnDone", "", "netlhf", "", ""},
	{"Peering.PeerAccess", "", "ns", "", ""},
	{"Peering.PeerAccess", "", "w", "", "apart"},
	{"Registerer.Register", "", "nshf", "", ""},
	{"Importer.Import", "", "nshf", "handle size", ""},
	{"StreamImporter.ImportStream", "", "nhf", "", ""},
	{"StreamImporter.ImportStream", "", "", "handle", "cuda"},
	{"PointerQuerier.PointerInfo", "", "nshf", "pointer", "cuda"},
	{"StreamAllocator.AllocAsync", "", "nsthf", "size align", ""},
	{"Copier2D.Copy2D", "within the device,in,out", "nsetlhf", "", ""},
	{"Copier2D.Copy2D", "", "", "dst.Off src.Off dst.Pitch src.Pitch", ""},
	{"Prefetcher.Prefetch", "", "nhf", "", "cuda"},
	{"FreeBlocker.FreeMayBlock", "", "nw", "", "cuda"},
	{"FailureKeeper.EventsKeepFailures", "", "n", "", "cuda"},
	{"Trimmer.Trim", "", "n", "", "caching"},
	{"IPCSharer.ExportIPC", "", "nshf", "offset", "cuda"},
	{"IPCSharer.OpenIPC", "", "nsthf", "offset", "cuda"},
	{"Memory.Free", "of another process", "nt", "", "cuda"},
	{"Loader.Formats", "", "nw", "", ""},
	{"Loader.Load", "", "nhf", "", ""},
	{"Module.Kernel", "", "nhf", "", ""},
	{"Module.Names", "", "sw", "", ""},
	{"Module.Close", "", "thf", "", ""},
	{"Kernel.Info", "", "ns", "", ""},
	{"Launcher.Launch", "", "nsetlhf", "region.Off", ""},
	{"Launcher.Launch", "grids of many blocks", "s", "", ""},
	{"Repeater.Prepare", "", "nshf", "", ""},
	{"Sequence.Enqueue", "", "ntlhf", "", ""},
	{"Sequence.Close", "", "nthf", "", ""},
}

// faults are all mutants, in the order of the rules.
func faults() []fault {
	var all []fault
	for _, r := range rules {
		for _, class := range strings.Split(r.classes, ",") {
			base := r.base
			if base == "" {
				base = "host"
			}
			for _, letter := range r.kinds {
				all = append(all, fault{method: r.method, class: class, kind: kindOf[letter], base: base})
			}
			for _, arg := range strings.Fields(r.cuts) {
				f := fault{method: r.method, class: class, kind: cut, arg: arg, base: base}
				if base == "host" {
					f.base = "large"
				}
				all = append(all, f)
			}
		}
	}
	for i := range all {
		all[i].equivalent = equivalents[all[i].String()]
	}
	return all
}

// is reports whether the backend's fault is of this kind, in this method and class.
func (b *backend) is(k kind, p point) bool {
	f := &b.fault
	return f.kind == k && f.method == p.method && (f.class == "" || f.class == p.class)
}

// low cuts an argument to 32 bits if that is the fault.
func (b *backend) low(method, arg string, v *uint64) {
	if b.fault.kind == cut && b.fault.method == method && b.fault.arg == arg {
		*v &= 1<<32 - 1
	}
}

// point is a method, and the class of a call.
type point struct{ method, class string }

// err is the error that a mutant returns where there is none.
func (b *backend) err(p point) error {
	return &driver.Error{Op: p.method, Backend: b.Backend.Name(), Kind: driver.ErrDriver, Vendor: driver.Vendor{API: p.method, Name: "MUTANT", Code: 7}}
}

// plain is a call that only returns an error.
func (b *backend) plain(p point, do func() error) error {
	run := func() error {
		if err := b.ask(p); err != nil {
			return err
		}
		return do()
	}
	switch {
	case b.is(nothing, p):
		return nil
	case b.is(twice, p):
		if err := run(); err != nil {
			return err
		}
		return run()
	case b.is(hides, p):
		_ = run()
		return nil
	case b.is(fails, p):
		if err := run(); err != nil {
			return err
		}
		return b.err(p)
	}
	return run()
}

// release is a call that releases an object. It does so even if it fails.
func (b *backend) release(p point, do func() error) error {
	run := func() error {
		err := b.ask(p)
		if e := do(); err == nil {
			err = e
		}
		return err
	}
	switch {
	case b.is(nothing, p):
		return nil
	case b.is(twice, p):
		_ = run()
	case b.is(hides, p):
		_ = run()
		return nil
	case b.is(fails, p):
		_ = run()
		return b.err(p)
	}
	return run()
}

// made is a call that makes an object. The objects that were made before are in last, by the method.
func made[T any](b *backend, p point, do func() (T, error), unmake func(T)) (T, error) {
	run := func() (x T, err error) {
		if err := b.ask(p); err != nil {
			return x, err
		}
		return do()
	}
	key := p.method + p.class
	switch {
	case b.is(nothing, p):
		b.mu.Lock()
		old, ok := b.last[key]
		b.mu.Unlock()
		if ok {
			return old.(T), nil
		}
	case b.is(twice, p):
		if x, err := run(); err != nil {
			return x, err
		}
	case b.is(hides, p):
		if x, err := run(); err == nil {
			return x, nil
		}
		var none T
		return none, nil
	case b.is(fails, p):
		x, err := run()
		if err != nil {
			return x, err
		}
		unmake(x)
		var none T
		return none, b.err(p)
	}
	x, err := run()
	if err == nil && b.fault.kind == nothing {
		b.mu.Lock()
		b.last[key] = x
		b.mu.Unlock()
	}
	return x, err
}

// equivalents are the mutants that no program can tell from a sound backend, with the reason.
var equivalents = map[string]string{
	"Repeater.Prepare: success for an error":           "package hal then makes the launches one by one",
	"Repeater.Prepare: an error for success":           "package hal then makes the launches one by one",
	"Sequence.Close: twice":                            "the sequences of the layer have nothing to close",
	"IPCSharer.OpenIPC: twice":                         "an opening that is forgotten lasts until the process ends",
	"Memory.Free (of another process): nothing done":   "an opening that is forgotten lasts until the process ends",
	"Module.Close: twice":                              "the host's modules have nothing to close",
	"Device.Alloc: align cut to 32 bits":               "alignments are at most Info.MaxAlign, which is 2 MiB",
	"StreamAllocator.AllocAsync: align cut to 32 bits": "alignments are at most Info.MaxAlign, which is 2 MiB",
	"Device.NewStream: twice":                          "the first is garbage, and takes nothing",
	"Device.NewEvent: twice":                           "the first is garbage, and takes nothing",
	"Memory.Size: nothing done":                        "package hal keeps sizes itself and does not call it",
	"Gate.Open: twice":                                 "a gate that is open is open",
	"Stream.Wait: twice":                               "to wait for one event twice is to wait for it once",
	"Event.Query: twice":                               "an event answers as often as it is asked",
	"Event.Sync: twice":                                "an event answers as often as it is asked",
	"Event.Sync: an error for success":                 "after an error package hal asks Query, which has the last word",
	"Event.Close: nothing done":                        "an event that nothing refers to is garbage, and takes nothing",
	"Event.Close: twice":                               "the host's events have nothing to close",
	"Event.Close: success for an error":                "events are kept for reuse and closed later, when nobody is left to be told",
	"Peering.PeerAccess: nothing done":                 "without access package hal copies through the host and waits on the host",
	"Peering.PeerAccess: all but the last":             "without access package hal copies through the host",
	"Prefetcher.Prefetch: nothing done":                "prefetching is a hint",
	"FreeBlocker.FreeMayBlock: too much said":          "package hal then frees later than it could",
	"FailureKeeper.EventsKeepFailures: nothing done":   "package hal then looks at the failures of each stream itself",
}
