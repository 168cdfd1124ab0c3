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
	// KindDevice is memory of the device, which the host as a rule reaches by copies.
	KindDevice Kind = 1 + iota
	// KindHost is page-locked host memory that the device can use in place. The host reaches it through Memory.HostPointer, if that is
	// not nil; otherwise through copies, as it does KindDevice.
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

// Class is the type of a device. Its text is a part of device names: "opencl:gpu:0". The zero value means that the backend does not say.
type Class uint8

const (
	ClassCPU         Class = 1 + iota // processors of the host
	ClassGPU                          // a graphics processor
	ClassAccelerator                  // anything else that computes, an FPGA for example
)

var classNames = [...]string{"", "cpu", "gpu", "accelerator"}

// String returns "cpu", "gpu" or "accelerator", and "" for the zero value.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// Caps is the set of capabilities of one device. If a bit is set, the device's objects
// implement the interface named beside it.
type Caps uint32

const (
	CapAsyncCopy        Caps = 1 << iota // copies from and to page-locked memory do not block the caller
	CapTiming                            // Timer
	CapGate                              // Gater: a stream can be held until the host lets it go on
	CapHostCallback                      // Notifier
	CapRegister                          // Registerer
	CapPeerCopy                          // Peering may answer PeerCopy
	CapStreamAlloc                       // StreamAllocator
	CapPrefetch                          // Prefetcher
	CapIPC                               // IPCSharer
	CapShared                            // Alloc of KindShared
	CapMemInfo                           // Device.MemInfo
	CapPriority                          // StreamOptions.Priority has an effect
	CapAddress                           // Memory.Handle is an address, so offsets can be added to it
	CapConcurrentShared                  // host and device may access KindShared memory at the same time
	CapOrderedPageable                   // CopyIn and CopyOut touch host memory in stream order even if it is not page-locked
	CapImport                            // Importer
	CapImportStream                      // StreamImporter
	CapPointerInfo                       // PointerQuerier
	CapCopy2D                            // Copier2D
	CapKernels                           // Loader and Launcher
	CapCompile                           // Compiler
)

var capNames = [...]string{
	"async-copy", "timing", "gate", "host-callback", "register", "peer-copy",
	"stream-alloc", "prefetch", "ipc", "shared", "mem-info", "priority",
	"address", "concurrent-shared", "ordered-pageable", "import", "import-stream", "pointer-info",
	"copy-2d", "kernels", "compile",
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

// PointerInfo describes the memory at an address.
type PointerInfo struct {
	Kind   Kind
	Device int     // ordinal of the device that allocated the memory, -1 if no device of the backend did
	Base   uintptr // where the allocation begins
	Size   uint64  // bytes of the whole allocation
}

// UUID identifies a piece of hardware; the zero UUID means that it is not known.
type UUID [16]byte

// String formats the UUID in the usual groups.
func (u UUID) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Info describes a device.
type Info struct {
	Backend     string // the backend's name
	Ordinal     int    // index in the backend's list
	Class       Class  // the type of device, 0 if not known
	Model       string // for display; says so if the device is simulated
	Vendor      string
	Driver      string // version of driver and platform, for display
	MemoryModel string // how the device's memory is accessed, if the backend knows several ways: "usm", "svm", "buffer"

	UUID UUID
	PCI  string // the address on the bus, "0000:3b:00.0", or "" if it is not known

	TotalMemory uint64 // bytes
	MaxAlloc    uint64 // bytes, the largest single allocation that may succeed
	Alignment   uint64 // bytes, the alignment of every allocation
	MaxAlign    uint64 // bytes, the largest alignment that Alloc accepts

	// SharesHostMemory says that the device uses host memory in place: memory of
	// KindHost is as fast for it as any other, and no copy between host and device
	// is ever needed.
	SharesHostMemory bool

	// Simulated says that the device is simulated, not hardware.
	Simulated bool

	Caps Caps

	// Compute describes what the device can run, if it has CapKernels.
	Compute Compute

	// LowPriority and HighPriority are the bounds of StreamOptions.Priority.
	LowPriority, HighPriority int
}

// SameHardware reports whether two devices are known to be one piece of hardware, which two backends show: their UUIDs are equal, or
// their PCI addresses. It reports false for devices of one backend, which are parts of the hardware, and for simulated devices.
func (i Info) SameHardware(other Info) bool {
	if i.Backend == other.Backend || i.Simulated || other.Simulated {
		return false
	}
	return i.UUID != (UUID{}) && i.UUID == other.UUID || i.PCI != "" && i.PCI == other.PCI
}

// Name is the name under which package hal opens the device: "cuda:0".
func (i Info) Name() string { return i.Backend + ":" + strconv.Itoa(i.Ordinal) }
