package host

import (
	"fmt"
	"hash/fnv"
	"runtime"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

const (
	defaultAlign = 256     // bytes
	maxAlign     = 2 << 20 // bytes
)

const caps = driver.CapAsyncCopy | driver.CapTiming | driver.CapGate | driver.CapHostCallback |
	driver.CapRegister | driver.CapPeerCopy | driver.CapStreamAlloc | driver.CapShared |
	driver.CapAddress | driver.CapConcurrentShared | driver.CapOrderedPageable | driver.CapImport | driver.CapImportStream |
	driver.CapCopy2D | driver.CapKernels

// info describes one device.
func (b *backend) info(ordinal int) driver.Info {
	total := platform().total
	info := driver.Info{
		Backend:          b.opts.Name,
		Ordinal:          ordinal,
		Class:            driver.ClassCPU,
		Model:            fmt.Sprintf("%s, %d processors", platform().processor, runtime.NumCPU()),
		Vendor:           "Halyard",
		Driver:           fmt.Sprintf("host backend, %s %s/%s, %s", runtime.Version(), runtime.GOOS, runtime.GOARCH, platform().locking),
		UUID:             uuid(b.opts.Name, ordinal),
		TotalMemory:      total,
		Alignment:        defaultAlign,
		MaxAlign:         maxAlign,
		SharesHostMemory: ordinal == 0,
		Simulated:        ordinal != 0,
		Caps:             caps,
		Compute:          compute(),
	}
	if ordinal > 0 {
		info.Model = fmt.Sprintf("simulated discrete device %d", ordinal)
		if b.opts.MemoryLimit > 0 {
			info.TotalMemory = min(total, b.opts.MemoryLimit)
		}
	}
	if ordinal > 0 || platform().free {
		info.Caps |= driver.CapMemInfo
	}
	info.MaxAlloc = info.TotalMemory
	return info
}

// uuid returns the UUID of a device of this backend. It is the same in every process, since there is no hardware to tell apart.
func uuid(name string, ordinal int) driver.UUID {
	h := fnv.New128a()
	fmt.Fprintf(h, "halyard/%s/%d", name, ordinal)
	id := driver.UUID(h.Sum(nil))
	// Version 8, "custom", of RFC 9562.
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

// machine describes the machine; it does not change while the process runs.
type machine struct {
	processor string
	total     uint64 // bytes of memory available to the process
	free      bool   // the system reports free memory
	locking   string // how much can be page-locked, for display
}

// platform describes the machine, which is examined once.
var platform = sync.OnceValue(func() machine {
	m := machine{processor: processorName(), locking: "no page-locking"}
	if canLock {
		m.locking = "page-locking up to an unknown limit"
	}
	if m.processor == "" {
		m.processor = runtime.GOARCH
	}
	_, m.total, m.free = memoryNow()
	if m.total == 0 {
		m.total = fallbackTotal
	}
	// No allocation can be larger than an int can count.
	m.total = min(m.total, uint64(^uint(0)>>1))
	if limit, ok := lockLimit(); ok && limit == unlimited {
		m.locking = "page-locking without limit"
	} else if ok {
		m.locking = fmt.Sprintf("page-locking up to %d KiB", limit>>10)
	}
	return m
})

const (
	// fallbackTotal is the memory assumed where the system does not report it.
	fallbackTotal = 1 << 30 // bytes

	unlimited = ^uint64(0)
)
