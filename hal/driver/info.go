package driver

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Kind is a kind of memory, in the terms of unified shared memory.
type Kind uint8

const (
	// KindDevice is memory of the device, which the host reaches by copies.
	KindDevice Kind = 1 + iota
	// KindHost is page-locked host memory that the device can use in place.
	KindHost
	// KindShared is memory at one address that both sides use and that the
	// driver may move between them.
	KindShared
)

// String returns "device", "host" or "shared".
func (k Kind) String() string {
	switch k {
	case KindDevice:
		return "device"
	case KindHost:
		return "host"
	case KindShared:
		return "shared"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Caps is a set of abilities that one device has. A bit that is set is backed by
// the interface of the same name and holds on this device.
type Caps uint32

const (
	CapAsyncCopy        Caps = 1 << iota // copies from and to page-locked memory do not block the caller
	CapTiming                            // Timer
	CapGate                              // Gater
	CapHostCallback                      // Caller
	CapRegister                          // Registerer
	CapPeerCopy                          // Peering may answer PeerCopy
	CapStreamAlloc                       // StreamAllocator
	CapPrefetch                          // Prefetcher
	CapMustMap                           // Mapper
	CapIPC                               // IPCSharer
	CapShared                            // Alloc of KindShared
	CapMemInfo                           // Device.MemInfo
	CapPriority                          // StreamOptions.Priority has an effect
	CapAddress                           // Memory.Handle is an address, so offsets can be added to it
	CapConcurrentShared                  // KindShared memory may be touched by host and device at once
	CapOrderedPageable                   // CopyIn and CopyOut touch host memory in stream order even if it is not page-locked
	CapImport                            // Importer
	CapImportStream                      // StreamImporter
	CapPointerInfo                       // PointerQuerier
	CapCopy2D                            // Copier2D
)

var capNames = [...]string{
	"async-copy", "timing", "gate", "host-callback", "register", "peer-copy",
	"stream-alloc", "prefetch", "must-map", "ipc", "shared", "mem-info", "priority",
	"address", "concurrent-shared", "ordered-pageable", "import", "import-stream", "pointer-info",
	"copy-2d",
}

// Has reports whether every bit of want is set.
func (c Caps) Has(want Caps) bool { return c&want == want }

// Names lists the set bits in a fixed order.
func (c Caps) Names() []string {
	var names []string
	for i, n := range capNames {
		if c&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

// String joins Names with spaces.
func (c Caps) String() string { return strings.Join(c.Names(), " ") }

// PointerInfo is what the vendor knows of an address.
type PointerInfo struct {
	Kind   Kind
	Device int     // ordinal of the device that the memory was made on, -1 if that is none of the backend's
	Base   uintptr // where the allocation begins
	Size   uint64  // bytes of the whole allocation
}

// UUID identifies a piece of hardware; the zero UUID means that none is known.
type UUID [16]byte

// String formats the UUID in the usual groups.
func (u UUID) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// PCI is the address of a device on its bus.
type PCI struct {
	Known                 bool
	Domain, Bus, Dev, Fun uint32
}

// String returns "0000:3b:00.0", or "" if the address is not known.
func (p PCI) String() string {
	if !p.Known {
		return ""
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", p.Domain, p.Bus, p.Dev, p.Fun)
}

// Info describes a device.
type Info struct {
	Backend     string // the backend's name
	Ordinal     int    // its place in the backend's list
	Model       string // for people; names a simulated device as simulated
	Vendor      string
	Driver      string // version of driver and platform, for people
	MemoryModel string // how memory is reached where a backend has several ways: "usm", "svm", "buffer"

	UUID UUID
	PCI  PCI

	TotalMemory uint64 // bytes
	MaxAlloc    uint64 // bytes, the largest single allocation that may succeed
	Alignment   uint64 // bytes, what every allocation is aligned to
	MaxAlign    uint64 // bytes, the largest alignment Alloc can be asked for

	// SharesHostMemory says that the device works on host memory in place: memory of
	// KindHost is as good as any to it, and a copy between host and device is
	// never needed.
	SharesHostMemory bool

	// Simulated says that there is no such hardware here.
	Simulated bool

	Caps Caps

	// LowPriority and HighPriority bound StreamOptions.Priority.
	LowPriority, HighPriority int
}

// Name is the name under which package hal opens the device: "cuda:0".
func (i Info) Name() string { return i.Backend + ":" + strconv.Itoa(i.Ordinal) }
