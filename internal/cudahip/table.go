package cudahip

import (
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
)

// Symbol is the name under which a library exports a call.
type Symbol struct {
	Name  string // "" if the vendor has no such call
	Older string // the name, in older libraries, of a call that takes the same arguments, or ""
	Since string // the release that brought the call, or "" if every supported release has it

	// Optional says that a library without the symbol is still usable: its devices then lack a
	// capability.
	Optional bool
}

// Symbols are the names of a vendor's calls.
type Symbols [NumCalls]Symbol

// Table holds the addresses of a library's functions. The package of each vendor has a list of their C prototypes,
// calls.txt. The methods that call them are generated from the list, and together implement [Calls]. Each makes the
// context current and calls the library in one crossing from Go to C, and does not allocate. The methods of Table
// itself are calls that do more than pass their arguments.
type Table struct {
	names Symbols
	procs [NumCalls]uintptr
	calls *dl.Callbacks
	ipc   uint32 // flags of IPCOpen
}

// NewTable looks up the calls of a vendor in its library. If symbols are missing that are not
// optional, the error is a [dl.MissingError] that names them all.
//
// calls is the entry for host functions of one argument.
func NewTable(lib *dl.Library, names *Symbols, calls *dl.Callbacks) (*Table, error) {
	t := &Table{names: *names, calls: calls, ipc: 1}
	lack := &dl.MissingError{Library: lib.Name()}
	for c, s := range names {
		if s.Name == "" {
			continue
		}
		p := lib.Proc(s.Name)
		if !p.Valid() && s.Older != "" {
			t.names[c].Name = s.Older
			p = lib.Proc(s.Older)
		}
		if !p.Valid() && !s.Optional {
			lack.Symbols = append(lack.Symbols, s.Name)
		}
		t.procs[c] = uintptr(p)
	}
	if len(lack.Symbols) > 0 {
		return nil, lack
	}
	return t, nil
}

// SetIPCFlags sets the flags with which handles of other processes are opened.
func (t *Table) SetIPCFlags(flags uint32) { t.ipc = flags }

// Name implements [API].
func (t *Table) Name(c Call) string { return t.names[c].Name }

// Has implements [API].
func (t *Table) Has(c Call) bool { return t.procs[c] != 0 }

// HostCall implements [API].
func (t *Table) HostCall(ctx Context, stream uintptr, fn func()) (uintptr, Code) {
	return t.HostCallAt(CallHostCall, ctx, stream, t.calls, fn)
}

// HostCallAt is HostCall with another call and entry. The call takes the stream, the entry, the id,
// and 0 as flags.
func (t *Table) HostCallAt(c Call, ctx Context, stream uintptr, entry *dl.Callbacks, fn func()) (uintptr, Code) {
	id, err := entry.Add(func(dl.CallbackArgs) { fn() })
	if err != nil {
		return 0, CodeOutOfMemory
	}
	f := t.Frame(c, ctx)
	f.Args[0], f.Args[1], f.Args[2], f.Args[3] = stream, entry.Entry(), id, 0
	code := f.Call()
	f.Put()
	if code != Success {
		entry.Remove(id)
		return 0, code
	}
	return id, Success
}

// HostCancel implements [API].
func (t *Table) HostCancel(id uintptr) bool { return t.calls.Remove(id) }

// IPCOpen implements [API]. The call takes the handle by value, which frames cannot do.
func (t *Table) IPCOpen(ctx Context, h *IPCHandle) (uintptr, Code) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if status := int32(dl.ProcAt(t.procs[CallMakeCurrent]).Call1(uintptr(ctx))); status != 0 {
		return 0, Unbound(status)
	}
	w := dl.GetWords()
	defer w.Put()
	words := *(*[handleSize / 8]uint64)(unsafe.Pointer(h))
	status := dl.ProcAt(t.procs[CallIPCOpen]).ByValue([]uintptr{w.At(0), uintptr(t.ipc)}, 1, words[:])
	return uintptr(w[0]), Code(uint32(status))
}
