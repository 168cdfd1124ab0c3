package main

// edit replaces a text, which a file has once.
type edit struct{ file, old, new string }

// mutant is a copy of examples/template with one fault.
type mutant struct {
	name  string
	by    string // the check that finds the fault, which is run first
	edits []edit

	hangs      bool   // a check does not come back
	equivalent string // why no program can tell the difference, if so
	missed     string // why the suite does not find the fault, if it does not
}

// mutants are named after the method and what is wrong with it.
var mutants = []mutant{
	// Backend.
	{name: "Name: another name", by: "Enumeration/ListSortedStable", edits: []edit{{"backend.go", `return name }`, `return "other" }`}}},
	{name: "Devices: nothing listed", by: "Enumeration/ListSortedStable", edits: []edit{{"backend.go", "return infos, nil", "return infos[:0], nil"}}},
	{name: "Devices: one too few", by: "Enumeration/OrdinalOutOfRange", edits: []edit{{"backend.go", "return infos, nil", "return infos[:1], nil"}}},
	{name: "Devices: one too many", by: "Enumeration/ListSortedStable", edits: []edit{{"backend.go", "return infos, nil", "return append(infos, infos[0]), nil"}}},
	{name: "Devices: opens the cards", by: "Enumeration/EnumerationCreatesNoContext", edits: []edit{{"backend.go", "infos[i] = describe(i, c)", "infos[i] = describe(i, c)\n\t\t_ = c.open()"}}},
	{name: "Devices: numbered from one", by: "Enumeration/ListSortedStable", edits: []edit{{"backend.go", "infos[i] = describe(i, c)", "infos[i] = describe(i+1, c)"}}},
	{name: "Open: always the first card", by: "Enumeration/FreeFollowsAllocations", edits: []edit{{"backend.go", "d := &device{card: lib.cards[ordinal],", "d := &device{card: lib.cards[0],"}}},
	{name: "Open: the other card's description", by: "Enumeration/InfoStable", edits: []edit{{"backend.go", "info: describe(ordinal, lib.cards[ordinal])}", "info: describe(1-ordinal, lib.cards[ordinal])}"}}},
	{name: "Open: a number beyond the end opens the last card", by: "Enumeration/OrdinalOutOfRange", edits: []edit{{"backend.go", "if ordinal < 0 || ordinal >= len(lib.cards) {", "ordinal = min(ordinal, len(lib.cards)-1)\n\tif ordinal < 0 {"}}},
	{name: "Open: wrong kind of error for a number beyond the end", by: "Enumeration/OrdinalOutOfRange", edits: []edit{{"backend.go", "Kind: driver.ErrOutOfRange,", "Kind: driver.ErrUnavailable,"}}},
	{name: "Open: a failure is swallowed", by: "OutOfMemory/EveryNthCallFails", edits: []edit{{"backend.go", `d.check("open", "cardOpen", d.card.open()); err != nil`, `d.check("open", "cardOpen", d.card.open()); false && err != nil`}}},
	{name: "Open: a failed open keeps its context", by: "OutOfMemory/EveryNthCallFails", edits: []edit{{"vendor.go", "st := c.lib.call(\"cardOpen\")\n\tif st == statusOK {\n\t\tc.contexts.Add(1)\n\t}", "st := c.lib.call(\"cardOpen\")\n\tc.contexts.Add(1)"}}},
	{name: "Open: the context has ended, and the device is opened", edits: []edit{{"backend.go", "if ctx.Err() != nil {", "if false {"}}, equivalent: "package hal does not call Open once the context has ended"},
	{name: "Close: the last handle keeps its context", by: "Lifetime/CloseGivesContextsBack", edits: []edit{{"vendor.go", "c.contexts.Add(-1) // gone even if the call reports an error", "if c.contexts.Load() > 1 {\n\t\tc.contexts.Add(-1)\n\t}"}}},
	{name: "Close: the last handle keeps its context for the next open", by: "Lifetime/CloseGivesContextsBack", edits: []edit{
		{"vendor.go", "c.contexts.Add(-1) // gone even if the call reports an error", "if c.contexts.Add(-1) == 0 {\n\t\tc.kept = true\n\t\tc.contexts.Add(1)\n\t}"},
		{"vendor.go", "	contexts atomic.Int64\n", "	contexts atomic.Int64\n	kept bool\n"},
		{"vendor.go", "	if st == statusOK {\n		c.contexts.Add(1)", "	if st == statusOK {\n		if c.kept {\n			c.kept = false\n			c.contexts.Add(-1)\n		}\n		c.contexts.Add(1)"}}},
	{name: "Close: nothing is given back", by: "Lifetime/CloseGivesContextsBack", edits: []edit{{"vendor.go", "c.contexts.Add(-1) // gone even if the call reports an error", ""}}},
	{name: "Close: closes the card for all handles", by: "OutOfMemory/EveryNthCallFails", edits: []edit{
		{"vendor.go", "c.contexts.Add(-1) // gone even if the call reports an error", "c.contexts.Store(0)"},
		{"vendor.go", "	if st := c.lib.call(\"memAlloc\"); st != statusOK {", "	if c.contexts.Load() == 0 {\n		return nil, statusBadValue\n	}\n	if st := c.lib.call(\"memAlloc\"); st != statusOK {"}}},
	{name: "Close: a failure is swallowed", by: "Errors/VendorCodePreserved", edits: []edit{{"device.go", `func (d *device) Close() error { return d.check("close device", "cardClose", d.card.close()) }`, `func (d *device) Close() error { d.card.close(); return nil }`}}},
	{name: "Close: a failed close keeps its context", edits: []edit{{"vendor.go", "	c.contexts.Add(-1) // gone even if the call reports an error\n	return c.lib.call(\"cardClose\")", "	st := c.lib.call(\"cardClose\")\n	if st == statusOK {\n		c.contexts.Add(-1)\n	}\n	return st"}}, equivalent: "whether a call of the vendor's that fails has closed anything is the vendor's matter"},

	// Info and MemInfo.
	{name: "Info: twice the memory", by: "Enumeration/FreeFollowsAllocations", edits: []edit{{"device.go", "TotalMemory: total,", "TotalMemory: 2 * total,"}}},
	{name: "Info: half the memory", by: "Enumeration/FreeFollowsAllocations", edits: []edit{{"device.go", "TotalMemory: total,\n		MaxAlloc:    total,", "TotalMemory: total / 2,\n		MaxAlloc:    total / 2,"}}},
	{name: "Info: a largest allocation that is too large", by: "Enumeration/InfoComplete", edits: []edit{{"device.go", "MaxAlloc:    total,", "MaxAlloc:    total + 1,"}}},
	{name: "Info: an alignment that memory does not have", by: "Allocation/DefaultAlignment", edits: []edit{{"memory.go", "aligned(size, max(align, d.info.Alignment))", "aligned(size, max(align, 8))"}}},
	{name: "Info: the bit Register without the ability", by: "Allocation/StatsMatch", edits: []edit{{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapRegister |"}}},
	{name: "Info: the bit StreamAlloc without the ability", by: "Capabilities/BitEqualsInterfaceEqualsBehaviour", edits: []edit{{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapStreamAlloc |"}}},
	{name: "Info: the bit Kernels without the ability", by: "Kernels/LoadsAndFindsByName", edits: []edit{{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapKernels |"}}},
	{name: "Info: the bit Import without the ability", by: "Import/MemoryWorks", edits: []edit{{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapImport |"}}},
	{name: "Info: the bit ImportStream without the ability", by: "Import/StreamInOrder", edits: []edit{{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapImportStream |"}}},
	{name: "Info: the bit PointerInfo without the ability", by: "Import/UnsupportedWithoutBit", edits: []edit{{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapPointerInfo |"}}},
	{name: "Info: the bit IPC without the ability", by: "Sharing/TokenDescribesMemory", edits: []edit{{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapIPC |"}}},
	{name: "Info: the bit Shared without the ability", by: "Allocation/Distinct", edits: []edit{{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapShared |"}}},
	{name: "Info: changes when memory is allocated", by: "Enumeration/InfoStable", edits: []edit{{"device.go", "func (d *device) Info() driver.Info { return d.info }", "func (d *device) Info() driver.Info {\n	i := d.info\n	i.TotalMemory -= uint64(d.card.used.Load())\n	return i\n}"}}},
	{name: "Info: does not say that it is simulated", by: "Enumeration/InfoComplete", edits: []edit{{"device.go", `fmt.Sprintf("simulated template device %d", ordinal)`, `fmt.Sprintf("template device %d", ordinal)`}}},
	{name: "Info: claims that host memory is used in place", edits: []edit{{"device.go", "Simulated:   true,", "Simulated:   true,\n		SharesHostMemory: true,"}}, equivalent: "it is used in place, and on such a device buffers use no other"},
	{name: "MemInfo: ignores allocations", by: "Enumeration/FreeFollowsAllocations", edits: []edit{{"device.go", "return min(free, total), total, nil", "return total, total, nil"}}},
	{name: "MemInfo: free memory in KiB", by: "Enumeration/FreeFollowsAllocations", edits: []edit{{"device.go", "return min(free, total), total, nil", "return free >> 10, total, nil"}}},
	{name: "MemInfo: both in KiB", by: "Enumeration/FreeFollowsAllocations", edits: []edit{{"device.go", "return min(free, total), total, nil", "return free >> 10, total >> 10, nil"}}},
	{name: "MemInfo: free memory never rises", by: "Enumeration/FreeFollowsAllocations", edits: []edit{
		{"device.go", "return min(free, total), total, nil", "d.card.least.CompareAndSwap(0, total)\n	for l := d.card.least.Load(); free < l; l = d.card.least.Load() {\n		d.card.least.CompareAndSwap(l, free)\n	}\n	return d.card.least.Load(), total, nil"},
		{"vendor.go", "	contexts atomic.Int64\n", "	contexts atomic.Int64\n	least atomic.Uint64\n"}}},
	{name: "MemInfo: free and total are exchanged", by: "Enumeration/FreeAtMostTotal", edits: []edit{{"device.go", "return min(free, total), total, nil", "return total, free, nil"}}},
	{name: "MemInfo: used in place of free", by: "Enumeration/FreeFollowsAllocations", edits: []edit{{"device.go", "return min(free, total), total, nil", "return total - free, total, nil"}}},
	{name: "MemInfo: no memory is free", by: "Enumeration/FreeFollowsAllocations", edits: []edit{{"device.go", "return min(free, total), total, nil", "return 0, total, nil"}}},
	{name: "MemInfo: half the total", by: "Enumeration/FreeFollowsAllocations", edits: []edit{{"device.go", "return min(free, total), total, nil", "return free / 2, total / 2, nil"}}},

	// Alloc.
	{name: "Alloc: one byte too few", by: "Enumeration/ReopenAfterClose", edits: []edit{{"vendor.go", "bytes: make([]byte, size)}", "bytes: make([]byte, size-1)}"}}},
	{name: "Alloc: one byte of host memory too few", by: "Allocation/Distinct", edits: []edit{{"memory.go", "return b[pad:][:size:size]", "return b[pad:][: size-1 : size-1]"}}},
	{name: "Alloc: host memory is not aligned", by: "Allocation/DefaultAlignment", edits: []edit{{"memory.go", "aligned(size, max(align, d.info.Alignment))", "aligned(size+1, max(align, d.info.Alignment))[1:]"}}},
	{name: "Alloc: an explicit alignment is ignored", by: "Allocation/ExplicitPowerOfTwoAlignment", edits: []edit{{"memory.go", "aligned(size, max(align, d.info.Alignment))", "aligned(size+64, max(align, 128))[64:]"}}},
	{name: "Alloc: two live blocks share their bytes", by: "Enumeration/TwoHandlesIndependent", edits: []edit{
		{"vendor.go", "	b := &block{id:", "	c.mu.Lock()\n	defer c.mu.Unlock()\n	if size == 4096 && len(c.last) == 4096 {\n		return &block{id: uintptr(rand.Uint64() | 1), bytes: c.last}, statusOK\n	}\n	defer func() { if b != nil { c.last = b.bytes } }()\n	b = &block{id:"},
		{"vendor.go", "func (c *card) alloc(size uint64) (*block, status) {", "func (c *card) alloc(size uint64) (b *block, _ status) {"},
		{"vendor.go", "	contexts atomic.Int64\n", "	contexts atomic.Int64\n	mu sync.Mutex\n	last []byte\n"}}},
	{name: "Alloc: host memory is device memory", by: "Allocation/SizeAtLeastRequested", edits: []edit{{"memory.go", "	case driver.KindDevice:\n", "	case driver.KindDevice, driver.KindHost:\n"}, {"memory.go", "	case driver.KindHost:\n", "	case driver.KindShared:\n"}}},
	{name: "Alloc: device memory is host memory", by: "Enumeration/FreeFollowsAllocations", edits: []edit{{"memory.go", "	case driver.KindDevice:\n", "	case driver.KindShared:\n"}, {"memory.go", "	case driver.KindHost:\n", "	case driver.KindHost, driver.KindDevice:\n"}}},
	{name: "Alloc: shared memory without the bit", edits: []edit{{"memory.go", "	case driver.KindHost:\n", "	case driver.KindHost, driver.KindShared:\n"}}, equivalent: "package hal never asks a device without CapShared for shared memory"},
	{name: "Alloc: more than there is", by: "OutOfMemory/ExhaustMapsToOutOfMemory", edits: []edit{{"vendor.go", "if uint64(c.used.Add(int64(size))) > c.total {", "if uint64(c.used.Add(int64(size))) > 2*c.total {"}}},
	{name: "Alloc: half of what there is", by: "Copy/FarOffsets", edits: []edit{{"vendor.go", "if uint64(c.used.Add(int64(size))) > c.total {", "if uint64(c.used.Add(int64(size))) > c.total/2 {"}}},
	{name: "Alloc: a shortage is a driver error", by: "OutOfMemory/ExhaustMapsToOutOfMemory", edits: []edit{{"errors.go", `"STATUS_NO_MEMORY", driver.ErrOutOfMemory}`, `"STATUS_NO_MEMORY", driver.ErrDriver}`}}},
	{name: "Alloc: a failure is swallowed", by: "Errors/VendorCodePreserved", edits: []edit{{"vendor.go", "	if st := c.lib.call(\"memAlloc\"); st != statusOK {\n		return nil, st\n	}", "	c.lib.call(\"memAlloc\")"}}},
	{name: "Alloc: a failed allocation counts", by: "OutOfMemory/RecoverAfterOutOfMemory", edits: []edit{{"vendor.go", "		c.used.Add(-int64(size))\n		return nil, statusNoMemory", "		return nil, statusNoMemory"}}},
	{name: "Alloc: a failed call counts", by: "OutOfMemory/FailedAllocationTakesNothing", edits: []edit{{"vendor.go", "	if st := c.lib.call(\"memAlloc\"); st != statusOK {\n		return nil, st\n	}", "	if st := c.lib.call(\"memAlloc\"); st != statusOK {\n		c.used.Add(int64(size))\n		return nil, st\n	}"}}},
	{name: "Alloc: twice the size is taken", by: "Enumeration/FreeFollowsAllocations", edits: []edit{
		{"vendor.go", "if uint64(c.used.Add(int64(size))) > c.total {", "size *= 2\n	if uint64(c.used.Add(int64(size))) > c.total {"}}},
	{name: "Alloc: waits for the streams", by: "StreamOrder/AllocDoesNotWait", hangs: true, edits: []edit{
		{"memory.go", "	m := &memory{dev: d, kind: kind, size: size}\n", "	m := &memory{dev: d, kind: kind, size: size}\n	everyStream.Range(func(s, _ any) bool { <-s.(*stream).here().done; return true })\n"},
		everyStream, keepStreams}},
	{name: "Alloc: fresh memory is zero", edits: []edit{{"vendor.go", "b.bytes[i] = 0xA5", "b.bytes[i] = 0"}}, equivalent: "the contents are unspecified"},

	// Memory.
	{name: "Size: rounded up", edits: []edit{{"memory.go", "return m.size }", "return (m.size + 63) &^ 63 }"}}, equivalent: "package hal remembers the size that was asked for"},
	{name: "Handle: null", by: "Allocation/HandlesDiffer", edits: []edit{{"memory.go", "return m.block.id", "return 0"}}},
	{name: "Handle: null for host memory", by: "Allocation/HandlesDiffer", edits: []edit{{"memory.go", "	return uintptr(unsafe.Pointer(&m.host[0]))\n", "	return 0\n"}}},
	{name: "Handle: one for all live blocks", by: "Allocation/HandlesDiffer", edits: []edit{{"memory.go", "return m.block.id", "return 0x1000"}}},
	{name: "Handle: one for two live blocks", by: "Allocation/HandlesDiffer", edits: []edit{{"vendor.go", "id: uintptr(rand.Uint64() | 1)", "id: uintptr(rand.Uint64()&7 + 1)"}}},
	{name: "Handle: one for two live blocks of host memory", by: "Allocation/HandlesDiffer", edits: []edit{{"memory.go", "	return uintptr(unsafe.Pointer(&m.host[0]))\n", "	return uintptr(unsafe.Pointer(&m.host[0])) &^ 0xffff\n"}}},
	{name: "Handle: another at each call", by: "Allocation/HandlesDiffer", edits: []edit{{"memory.go", "return m.block.id", "m.block.id++\n		return m.block.id"}}},
	{name: "HostPointer: none for host memory", by: "Allocation/SizeAtLeastRequested", edits: []edit{{"memory.go", "func (m *memory) HostPointer() unsafe.Pointer {\n	if m.host == nil {", "func (m *memory) HostPointer() unsafe.Pointer {\n	if true {"}}},
	{name: "HostPointer: a copy of host memory", by: "Allocation/KindHonoured", edits: []edit{{"memory.go", "	return unsafe.Pointer(&m.host[0])\n}", "	return unsafe.Pointer(&append([]byte(nil), m.host...)[0])\n}"}}},
	{name: "HostPointer: one byte further", by: "Allocation/SizeAtLeastRequested", edits: []edit{{"memory.go", "	return unsafe.Pointer(&m.host[0])\n}", "	return unsafe.Pointer(&m.host[min(1, len(m.host)-1)])\n}"}}},
	{name: "HostPointer: of device memory", by: "Allocation/KindHonoured", edits: []edit{{"memory.go", "	if m.host == nil {\n		return nil\n	}\n	return unsafe.Pointer(&m.host[0])", "	if m.host == nil {\n		return unsafe.Pointer(&m.block.bytes[0])\n	}\n	return unsafe.Pointer(&m.host[0])"}}},
	{name: "Free: nothing done", by: "Enumeration/FreeFollowsAllocations", edits: []edit{{"memory.go", `return m.dev.check("free", "memFree", m.dev.card.free(m.block))`, `return m.dev.check("free", "memFree", m.dev.card.lib.call("memFree"))`}}},
	{name: "Free: half is given back", by: "Enumeration/FreeFollowsAllocations", edits: []edit{{"vendor.go", "c.used.Add(-int64(len(b.bytes)))", "c.used.Add(-int64(len(b.bytes)) / 2)"}}},
	{name: "Free: too much is given back", by: "Enumeration/ReopenAfterClose", edits: []edit{{"vendor.go", "c.used.Add(-int64(len(b.bytes)))", "c.used.Add(-2 * int64(len(b.bytes)))"}}},
	{name: "Free: a failure is swallowed", by: "Errors/VendorCodePreserved", edits: []edit{{"memory.go", `return m.dev.check("free", "memFree", m.dev.card.free(m.block))`, "m.dev.card.free(m.block)\n	return nil"}}},
	{name: "Free: a failed free keeps the memory", edits: []edit{{"vendor.go", "	c.used.Add(-int64(len(b.bytes)))\n	b.bytes = nil\n	return c.lib.call(\"memFree\")", "	st := c.lib.call(\"memFree\")\n	if st == statusOK {\n		c.used.Add(-int64(len(b.bytes)))\n		b.bytes = nil\n	}\n	return st"}}, equivalent: "whether a call of the vendor's that fails has freed anything is the vendor's matter"},
	{name: "Free: host memory is kept for ever", by: "Lifetime/ClosedObjectsAreForgotten", edits: []edit{{"memory.go", "		m.host = nil\n		return nil", "		kept.Store(m, m.host)\n		return nil"}, {"memory.go", "var _ driver.Memory = (*memory)(nil)\n", "var _ driver.Memory = (*memory)(nil)\n\nvar kept sync.Map\n"}, {"memory.go", "	\"unsafe\"\n", "	\"sync\"\n	\"unsafe\"\n"}}},
	{name: "Free: half of the host memory is kept for ever", by: "Lifetime/ClosedObjectsAreForgotten", edits: []edit{{"memory.go", "		m.host = nil\n		return nil", "		if len(m.host)%8192 < 4096 {\n			kept.Store(m, m.host)\n		}\n		m.host = nil\n		return nil"}, {"memory.go", "var _ driver.Memory = (*memory)(nil)\n", "var _ driver.Memory = (*memory)(nil)\n\nvar kept sync.Map\n"}, {"memory.go", "	\"unsafe\"\n", "	\"sync\"\n	\"unsafe\"\n"}}},
	{name: "Free: device memory is given back, and its bytes are kept", by: "Lifetime/ClosedObjectsAreForgotten", edits: []edit{{"vendor.go", "	b.bytes = nil\n", "	kept.Store(b, b.bytes)\n	b.bytes = nil\n"}, {"vendor.go", "// block is memory on a card", "var kept sync.Map\n\n// block is memory on a card"}}},
	{name: "Free: waits for the streams", by: "Lifetime/CloseDoesNotWait", hangs: true, edits: []edit{
		{"memory.go", "func (m *memory) Free() error {\n", "func (m *memory) Free() error {\n	everyStream.Range(func(s, _ any) bool { <-s.(*stream).here().done; return true })\n"}, everyStream, keepStreams}},

	// Copy.
	{name: "Copy: nothing done", by: "Allocation/OddOffsetsCopy", edits: []edit{{"copy.go", "		switch {\n		case from.host != nil:", "		switch {\n		case true:\n			return nil\n		case from.host != nil:"}}},
	{name: "Copy: too early", by: "Copy/SizeAlignmentMatrix", edits: []edit{{"copy.go", `return s.enqueue("copy", func() error {`, `return now(s, "copy", func() error {`}, now}},
	{name: "Copy: from host memory too early", by: "StreamOrder/EveryKindInOrder", edits: []edit{{"copy.go", `return s.enqueue("copy", func() error {`, `return nowIf(from.host != nil, s, "copy", func() error {`}, nowIf}},
	{name: "Copy: to host memory too early", by: "Copy/LengthsAroundPowersOfTwo", edits: []edit{{"copy.go", `return s.enqueue("copy", func() error {`, `return nowIf(to.host != nil, s, "copy", func() error {`}, nowIf}},
	{name: "Copy: between host memories too early", by: "StreamOrder/EveryKindInOrder", edits: []edit{{"copy.go", `return s.enqueue("copy", func() error {`, `return nowIf(to.host != nil && from.host != nil, s, "copy", func() error {`}, nowIf}},
	{name: "Copy: small ones too early", by: "Copy/SizeAlignmentMatrix", edits: []edit{{"copy.go", `return s.enqueue("copy", func() error {`, `return nowIf(src.Len < 8, s, "copy", func() error {`}, nowIf}},
	{name: "Copy: too late", by: "Allocation/OddOffsetsCopy", edits: []edit{{"copy.go", `return s.enqueue("copy", func() error {`, `return late(s, "copy", func() error {`}, late}},
	{name: "Copy: on another stream", by: "Copy/SizeAlignmentMatrix", edits: []edit{{"copy.go", `return s.enqueue("copy", func() error {`, `return aside(s, "copy", func() error {`}, aside}},
	{name: "Copy: the source's offset is ignored", by: "Allocation/OddOffsetsCopy", edits: []edit{{"copy.go", "from.read(piece, src.Off+off)", "from.read(piece, off)"}}},
	{name: "Copy: the destination's offset is ignored", by: "Allocation/OddOffsetsCopy", edits: []edit{{"copy.go", "to.write(dst.Off+off, piece)", "to.write(off, piece)"}}},
	{name: "Copy: the host source's offset is ignored", by: "Copy/FarOffsets", edits: []edit{{"copy.go", "from.host[src.Off:][:src.Len]", "from.host[:src.Len]"}}},
	{name: "Copy: the host destination's offset is ignored", by: "Copy/FarOffsets", edits: []edit{{"copy.go", "from.read(to.host[dst.Off:][:dst.Len], src.Off)", "from.read(to.host[:dst.Len], src.Off)"}}},
	{name: "Copy: the source's offset to host memory is ignored", by: "Copy/FarOffsets", edits: []edit{{"copy.go", "from.read(to.host[dst.Off:][:dst.Len], src.Off)", "from.read(to.host[dst.Off:][:dst.Len], 0)"}}},
	{name: "Copy: the destination's offset from host memory is ignored", by: "Copy/FarOffsets", edits: []edit{{"copy.go", "return to.write(dst.Off, from.host[src.Off:][:src.Len])", "return to.write(0, from.host[src.Off:][:src.Len])"}}},
	{name: "Copy: source offsets wrap at 16 MiB", by: "Copy/FarOffsets", edits: []edit{{"copy.go", "from.read(piece, src.Off+off)", "from.read(piece, (src.Off+off)&(1<<24-1))"}}},
	{name: "Copy: destination offsets wrap at 16 MiB", by: "Copy/FarOffsets", edits: []edit{{"copy.go", "to.write(dst.Off+off, piece)", "to.write((dst.Off+off)&(1<<24-1), piece)"}}},
	{name: "Copy: source offsets wrap at 1 MiB", by: "Copy/Large", edits: []edit{{"copy.go", "from.read(piece, src.Off+off)", "from.read(piece, (src.Off+off)&(1<<20-1))"}}},
	{name: "Copy: destination offsets wrap at 64 KiB", by: "Copy/Large", edits: []edit{{"copy.go", "to.write(dst.Off+off, piece)", "to.write((dst.Off+off)&(1<<16-1), piece)"}}},
	{name: "Copy: the last byte is lost", by: "Allocation/OddOffsetsCopy", edits: []edit{{"copy.go", "	to, from := dst.Mem.(*memory), src.Mem.(*memory)\n", "	to, from := dst.Mem.(*memory), src.Mem.(*memory)\n	dst.Len--\n	src.Len--\n	if dst.Len == 0 {\n		return nil\n	}\n"}}},
	{name: "Copy: the last byte of 256 KiB x k + 1 is lost", by: "Copy/LengthsAroundPowersOfTwo", edits: []edit{{"copy.go", "		piece := make([]byte, min(src.Len, pieceSize))\n		for off", "		if src.Len > pieceSize && src.Len%pieceSize == 1 {\n			src.Len--\n		}\n		piece := make([]byte, min(src.Len, pieceSize))\n		for off"}}},
	{name: "Copy: the last byte of 256 KiB x k is lost", by: "Copy/Large", edits: []edit{{"copy.go", "		piece := make([]byte, min(src.Len, pieceSize))\n		for off", "		if src.Len%pieceSize == 0 {\n			src.Len--\n		}\n		piece := make([]byte, min(src.Len, pieceSize))\n		for off"}}},
	{name: "Copy: the last byte of 256 KiB x k - 1 is lost", by: "Copy/LengthsAroundPowersOfTwo", edits: []edit{{"copy.go", "		piece := make([]byte, min(src.Len, pieceSize))\n		for off", "		if src.Len%pieceSize == pieceSize-1 {\n			src.Len--\n		}\n		piece := make([]byte, min(src.Len, pieceSize))\n		for off"}}},
	{name: "Copy: one byte too many", by: "Copy/LengthsAroundPowersOfTwo", edits: []edit{{"copy.go", "	to, from := dst.Mem.(*memory), src.Mem.(*memory)\n", "	to, from := dst.Mem.(*memory), src.Mem.(*memory)\n	if dst.Off+dst.Len < to.size && src.Off+src.Len < from.size {\n		dst.Len++\n		src.Len++\n	}\n"}}},
	{name: "Copy: one byte too many, to host memory", by: "Copy/LengthsAroundPowersOfTwo", edits: []edit{{"copy.go", "	to, from := dst.Mem.(*memory), src.Mem.(*memory)\n", "	to, from := dst.Mem.(*memory), src.Mem.(*memory)\n	if to.host != nil && dst.Off+dst.Len < to.size && src.Off+src.Len < from.size {\n		dst.Len++\n		src.Len++\n	}\n"}}},
	{name: "Copy: the other way", by: "Allocation/OddOffsetsCopy", edits: []edit{{"copy.go", "	to, from := dst.Mem.(*memory), src.Mem.(*memory)\n", "	dst, src = src, dst\n	to, from := dst.Mem.(*memory), src.Mem.(*memory)\n"}}},
	{name: "Copy: a failure to read is swallowed", edits: []edit{{"copy.go", "from.read(piece, src.Off+off); err != nil", "from.read(piece, src.Off+off); false && err != nil"}}, missed: "FailAsync makes reads and writes fail together"},
	{name: "Copy: a failure to write is swallowed", edits: []edit{{"copy.go", "to.write(dst.Off+off, piece); err != nil", "to.write(dst.Off+off, piece); false && err != nil"}}, missed: "FailAsync makes reads and writes fail together"},
	{name: "Copy: a failure is swallowed", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"copy.go", "from.read(piece, src.Off+off); err != nil", "from.read(piece, src.Off+off); false && err != nil"}, {"copy.go", "to.write(dst.Off+off, piece); err != nil", "to.write(dst.Off+off, piece); false && err != nil"}}},
	{name: "Copy: a failure from host memory is swallowed", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"copy.go", "return to.write(dst.Off, from.host[src.Off:][:src.Len])", "_ = to.write(dst.Off, from.host[src.Off:][:src.Len])\n			return nil"}}},
	{name: "Copy: a failure to host memory is swallowed", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"copy.go", "return from.read(to.host[dst.Off:][:dst.Len], src.Off)", "_ = from.read(to.host[dst.Off:][:dst.Len], src.Off)\n			return nil"}}},
	{name: "Copy: holds up the caller", by: "StreamOrder/FIFO", hangs: true, edits: []edit{{"copy.go", `return s.enqueue("copy", func() error {`, `return waiting(s, "copy", func() error {`}, waiting}},
	{name: "Copy: a copy within one memory is lost", by: "Copy/SelfDisjoint", edits: []edit{{"copy.go", "		switch {\n		case from.host != nil:", "		switch {\n		case from == to:\n			return nil\n		case from.host != nil:"}}},

	// CopyIn.
	{name: "CopyIn: nothing done", by: "Enumeration/ReopenAfterClose", edits: []edit{{"copy.go", "func() error { return m.write(dst.Off, b) }", "func() error { _, _ = m, b; return nil }"}}},
	{name: "CopyIn: too early", by: "Copy/PeerSeesLatest", edits: []edit{{"copy.go", `s.enqueue("copy in", func`, `now(s, "copy in", func`}, now}},
	{name: "CopyIn: to host memory too early", by: "StreamOrder/EveryKindInOrder", edits: []edit{{"copy.go", `s.enqueue("copy in", func`, `nowIf(m.host != nil, s, "copy in", func`}, nowIf}},
	{name: "CopyIn: small ones too early", by: "Copy/PeerStaged", edits: []edit{{"copy.go", `s.enqueue("copy in", func`, `nowIf(dst.Len <= 16, s, "copy in", func`}, nowIf}},
	{name: "CopyIn: the source is read too early", by: "Copy/PeerSeesLatest", edits: []edit{{"copy.go", "unsafe.Slice((*byte)(src), dst.Len)\n", "append([]byte(nil), unsafe.Slice((*byte)(src), dst.Len)...)\n"}}},
	{name: "CopyIn: small sources are read too early", by: "Copy/PeerSeesLatest", edits: []edit{{"copy.go", "unsafe.Slice((*byte)(src), dst.Len)\n", "unsafe.Slice((*byte)(src), dst.Len)\n	if dst.Len <= 64<<10 {\n		b = append([]byte(nil), b...)\n	}\n"}}},
	{name: "CopyIn: too late", by: "Allocation/SizeAtLeastRequested", edits: []edit{{"copy.go", `s.enqueue("copy in", func`, `late(s, "copy in", func`}, late}},
	{name: "CopyIn: on another stream", by: "Allocation/KindHonoured", edits: []edit{{"copy.go", `s.enqueue("copy in", func`, `aside(s, "copy in", func`}, aside}},
	{name: "CopyIn: the offset is ignored", by: "Copy/SizeAlignmentMatrix", edits: []edit{{"copy.go", "return m.write(dst.Off, b)", "return m.write(0, b)"}}},
	{name: "CopyIn: offsets wrap at 16 MiB", by: "Copy/FarOffsets", edits: []edit{{"copy.go", "return m.write(dst.Off, b)", "return m.write(dst.Off&(1<<24-1), b)"}}},
	{name: "CopyIn: the offset is rounded down", by: "Copy/SizeAlignmentMatrix", edits: []edit{{"copy.go", "return m.write(dst.Off, b)", "return m.write(dst.Off&^3, b)"}}},
	{name: "CopyIn: the last byte is lost", by: "Enumeration/ReopenAfterClose", edits: []edit{{"copy.go", "return m.write(dst.Off, b)", "return m.write(dst.Off, b[:len(b)-1])"}}},
	{name: "CopyIn: the last byte of 256 KiB x k + 1 is lost", by: "Allocation/SizeAtLeastRequested", edits: []edit{{"copy.go", "return m.write(dst.Off, b)", "if len(b) > pieceSize && len(b)%pieceSize == 1 {\n		b = b[:len(b)-1]\n	}\n	return m.write(dst.Off, b)"}}},
	{name: "CopyIn: the last byte of 1 MiB x k + 1 is lost", by: "Allocation/SizeAtLeastRequested", edits: []edit{{"copy.go", "return m.write(dst.Off, b)", "if len(b)%(4*pieceSize) == 1 && len(b) > 1 {\n		b = b[:len(b)-1]\n	}\n	return m.write(dst.Off, b)"}}},
	{name: "CopyIn: a failure is swallowed", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"copy.go", "return m.write(dst.Off, b)", "_ = m.write(dst.Off, b)\n	return nil"}}},
	{name: "CopyIn: a failed call is swallowed", by: "Errors/VendorCodePreserved", edits: []edit{{"copy.go", `return s.enqueue("copy in", func() error { return m.write(dst.Off, b) })`, `_ = s.enqueue("copy in", func() error { return m.write(dst.Off, b) })` + "\n	return nil"}}},
	{name: "CopyIn: holds up the caller", by: "Copy/ThroughHostInOrder", hangs: true, edits: []edit{{"copy.go", `s.enqueue("copy in", func`, `waiting(s, "copy in", func`}, waiting}},

	// CopyOut.
	{name: "CopyOut: nothing done", by: "Enumeration/ReopenAfterClose", edits: []edit{{"copy.go", "func() error { return m.read(b, src.Off) }", "func() error { _, _ = m, b; return nil }"}}},
	{name: "CopyOut: too early", by: "Allocation/OddOffsetsCopy", edits: []edit{{"copy.go", `s.enqueue("copy out", func`, `now(s, "copy out", func`}, now}},
	{name: "CopyOut: of host memory too early", by: "Copy/LengthsAroundPowersOfTwo", edits: []edit{{"copy.go", `s.enqueue("copy out", func`, `nowIf(m.host != nil, s, "copy out", func`}, nowIf}},
	{name: "CopyOut: small ones too early", by: "Allocation/OddOffsetsCopy", edits: []edit{{"copy.go", `s.enqueue("copy out", func`, `nowIf(src.Len <= 16, s, "copy out", func`}, nowIf}},
	{name: "CopyOut: too late", by: "Enumeration/ReopenAfterClose", edits: []edit{{"copy.go", `s.enqueue("copy out", func`, `late(s, "copy out", func`}, late}},
	{name: "CopyOut: on another stream", by: "Enumeration/ReopenAfterClose", edits: []edit{{"copy.go", `s.enqueue("copy out", func`, `aside(s, "copy out", func`}, aside}},
	{name: "CopyOut: of host memory on another stream", by: "Allocation/Distinct", edits: []edit{{"copy.go", `return s.enqueue("copy out", func`, "if m.host != nil {\n		return aside(s, \"copy out\", func() error { return m.read(b, src.Off) })\n	}\n	return s.enqueue(\"copy out\", func"}, aside}},
	{name: "CopyOut: the offset is ignored", by: "Allocation/OddOffsetsCopy", edits: []edit{{"copy.go", "return m.read(b, src.Off)", "return m.read(b, 0)"}}},
	{name: "CopyOut: offsets wrap at 16 MiB", by: "Copy/FarOffsets", edits: []edit{{"copy.go", "return m.read(b, src.Off)", "return m.read(b, src.Off&(1<<24-1))"}}},
	{name: "CopyOut: the last byte is lost", by: "Enumeration/ReopenAfterClose", edits: []edit{{"copy.go", "return m.read(b, src.Off)", "return m.read(b[:len(b)-1], src.Off)"}}},
	{name: "CopyOut: the last byte of 256 KiB x k + 1 is lost", by: "Allocation/SizeAtLeastRequested", edits: []edit{{"copy.go", "return m.read(b, src.Off)", "if len(b) > pieceSize && len(b)%pieceSize == 1 {\n		b = b[:len(b)-1]\n	}\n	return m.read(b, src.Off)"}}},
	{name: "CopyOut: the other way", by: "Enumeration/ReopenAfterClose", edits: []edit{{"copy.go", "return m.read(b, src.Off)", "return m.write(src.Off, b)"}}},
	{name: "CopyOut: a failure is swallowed", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"copy.go", "return m.read(b, src.Off)", "_ = m.read(b, src.Off)\n	return nil"}}},
	{name: "CopyOut: holds up the caller", by: "Copy/ThroughHostInOrder", hangs: true, edits: []edit{{"copy.go", `s.enqueue("copy out", func`, `waiting(s, "copy out", func`}, waiting}},

	// Fill.
	{name: "Fill: nothing done", by: "Allocation/Distinct", edits: []edit{{"copy.go", "		piece := make([]byte, min(dst.Len, pieceSize))\n		var", "		if true {\n			return nil\n		}\n		piece := make([]byte, min(dst.Len, pieceSize))\n		var"}}},
	{name: "Fill: too early", by: "Copy/LengthsAroundPowersOfTwo", edits: []edit{{"copy.go", `return s.enqueue("fill", func() error {`, `return now(s, "fill", func() error {`}, now}},
	{name: "Fill: of host memory too early", by: "Copy/LengthsAroundPowersOfTwo", edits: []edit{{"copy.go", `return s.enqueue("fill", func() error {`, `return nowIf(m.host != nil, s, "fill", func() error {`}, nowIf}},
	{name: "Fill: too late", by: "Copy/LengthsAroundPowersOfTwo", edits: []edit{{"copy.go", `return s.enqueue("fill", func() error {`, `return late(s, "fill", func() error {`}, late}},
	{name: "Fill: on another stream", by: "Allocation/ContentsIsolated", edits: []edit{{"copy.go", `return s.enqueue("fill", func() error {`, `return aside(s, "fill", func() error {`}, aside}},
	{name: "Fill: the offset is ignored", by: "Copy/FarOffsets", edits: []edit{{"copy.go", "m.write(dst.Off+off, piece)", "m.write(off, piece)"}}},
	{name: "Fill: offsets wrap at 16 MiB", by: "Copy/FarOffsets", edits: []edit{{"copy.go", "m.write(dst.Off+off, piece)", "m.write((dst.Off+off)&(1<<24-1), piece)"}}},
	{name: "Fill: one pattern too few", by: "Allocation/Distinct", edits: []edit{{"copy.go", "	m := dst.Mem.(*memory)\n	return s.enqueue(\"fill\"", "	m := dst.Mem.(*memory)\n	if dst.Len -= uint64(p.Width); dst.Len == 0 {\n		return nil\n	}\n	return s.enqueue(\"fill\""}}},
	{name: "Fill: the last byte of 256 KiB x k + 1 is lost", by: "Copy/LengthsAroundPowersOfTwo", edits: []edit{{"copy.go", "	m := dst.Mem.(*memory)\n	return s.enqueue(\"fill\"", "	m := dst.Mem.(*memory)\n	if dst.Len > pieceSize && dst.Len%pieceSize == 1 {\n		dst.Len--\n	}\n	return s.enqueue(\"fill\""}}},
	{name: "Fill: one pattern too many", by: "Copy/LengthsAroundPowersOfTwo", edits: []edit{{"copy.go", "	m := dst.Mem.(*memory)\n	return s.enqueue(\"fill\"", "	m := dst.Mem.(*memory)\n	if n := uint64(p.Width); dst.Off+dst.Len+n <= m.size {\n		dst.Len += n\n	}\n	return s.enqueue(\"fill\""}}},
	{name: "Fill: one byte of the pattern is repeated", by: "Fill/Pattern2", edits: []edit{{"copy.go", "word[:p.Width]", "word[:1]"}}},
	{name: "Fill: the high byte comes first", by: "Fill/Pattern2", edits: []edit{{"copy.go", "binary.LittleEndian.PutUint64(word[:], p.Bits)", "binary.BigEndian.PutUint64(word[:], p.Bits<<(64-8*p.Width))"}}},
	{name: "Fill: all bits of a narrow pattern", by: "Allocation/Distinct", edits: []edit{{"copy.go", "word[:p.Width]", "word[:]"}}},
	{name: "Fill: the pattern begins anew in each piece, one byte late", by: "Copy/LengthsAroundPowersOfTwo", edits: []edit{{"copy.go", "piece = piece[:min(uint64(len(piece)), dst.Len-off)]\n			if err := m", "piece = piece[:min(uint64(len(piece)), dst.Len-off)]\n			if off > 0 {\n				piece[0]++\n			}\n			if err := m"}}},
	{name: "Fill: a failure is swallowed", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"copy.go", "m.write(dst.Off+off, piece); err != nil", "m.write(dst.Off+off, piece); false && err != nil"}}},
	{name: "Fill: holds up the caller", by: "StreamOrder/FIFO", hangs: true, edits: []edit{{"copy.go", `return s.enqueue("fill", func() error {`, `return waiting(s, "fill", func() error {`}, waiting}},

	// Streams.
	{name: "NewStream: a failure is swallowed", by: "Errors/VendorCodePreserved", edits: []edit{{"stream.go", `d.card.lib.call("queueCreate")); err != nil`, `d.card.lib.call("queueCreate")); false && err != nil`}}},
	{name: "NewStream: one queue for all streams of the device", by: "StreamOrder/GateHoldsWork", hangs: true, edits: []edit{
		{"stream.go", "	return &stream{dev: d}, nil", "	if s, ok := everyStream.Load(d); ok {\n		return s.(*stream), nil\n	}\n	s := &stream{dev: d}\n	everyStream.Store(d, s)\n	return s, nil"}, everyStream}},
	{name: "NewStream: waits for the streams that are there", hangs: true, edits: []edit{
		{"stream.go", "	return &stream{dev: d}, nil", "	s := &stream{dev: d}\n	everyStream.Range(func(o, _ any) bool { <-o.(*stream).here().done; return true })\n	everyStream.Store(s, true)\n	return s, nil"}, everyStream}},
	{name: "NewStream: a new stream runs after the work of the others", by: "StreamOrder/QueryBusyThenIdle", hangs: true, edits: []edit{
		{"stream.go", "	return &stream{dev: d}, nil", "	s := &stream{dev: d}\n	everyStream.Range(func(o, _ any) bool {\n		p := o.(*stream).here()\n		_ = s.enqueue(\"wait\", func() error { <-p.done; return nil })\n		return true\n	})\n	everyStream.Store(s, true)\n	return s, nil"}, everyStream}},
	{name: "NewStream: a goroutine for each stream, until it is closed", by: "Lifetime/IdleStreamsTakeNoGoroutine", edits: []edit{
		{"stream.go", "	return &stream{dev: d}, nil", "	s := &stream{dev: d, closed: make(chan bool)}\n	go func() { <-s.closed }()\n	return s, nil"},
		{"stream.go", "	running bool\n", "	running bool\n	closed chan bool\n"},
		{"stream.go", "func (s *stream) Close() error { return nil }", "func (s *stream) Close() error { close(s.closed); return nil }"}}},
	{name: "NewStream: a goroutine for each stream, for ever", by: "Lifetime/IdleStreamsTakeNoGoroutine", edits: []edit{{"stream.go", "	return &stream{dev: d}, nil", "	go func() { select {} }()\n	return &stream{dev: d}, nil"}}},
	{name: "Close stream: kept for ever", by: "Lifetime/ClosedObjectsAreForgotten", edits: []edit{{"stream.go", "func (s *stream) Close() error { return nil }", "func (s *stream) Close() error { everyStream.Store(s, make([]byte, 64<<10)); return nil }"}, everyStream}},
	{name: "Close stream: waits for other streams", by: "Lifetime/CloseDoesNotWait", hangs: true, edits: []edit{
		{"stream.go", "func (s *stream) Close() error { return nil }", "func (s *stream) Close() error {\n	everyStream.Range(func(s, _ any) bool { <-s.(*stream).here().done; return true })\n	return nil\n}"}, everyStream, keepStreams}},
	{name: "enqueue: the newest work comes first", by: "Allocation/ContentsIsolated", edits: []edit{{"stream.go", "s.queue, s.last = append(s.queue, t), t.after", "s.queue, s.last = append([]task{t}, s.queue...), t.after"}}},
	{name: "enqueue: bounded at 1024", by: "StreamOrder/LongQueueDoesNotWait", hangs: true, edits: []edit{{"stream.go", "	s.mu.Lock()\n	s.queue, s.last", "	for s.mu.Lock(); len(s.queue) >= 1024; s.mu.Lock() {\n		s.mu.Unlock()\n		runtime.Gosched()\n	}\n	s.queue, s.last"}, {"stream.go", "	\"sync\"\n", "	\"runtime\"\n	\"sync\"\n"}}},
	{name: "enqueue: bounded at 4000", by: "StreamOrder/LongQueueDoesNotWait", hangs: true, edits: []edit{{"stream.go", "	s.mu.Lock()\n	s.queue, s.last", "	for s.mu.Lock(); len(s.queue) >= 4000; s.mu.Lock() {\n		s.mu.Unlock()\n		runtime.Gosched()\n	}\n	s.queue, s.last"}, {"stream.go", "	\"sync\"\n", "	\"runtime\"\n	\"sync\"\n"}}},
	{name: "enqueue: refuses work beyond 1024", by: "StreamOrder/Burst", edits: []edit{{"stream.go", "	t := task{run,", "	s.mu.Lock()\n	full := len(s.queue) >= 1024\n	s.mu.Unlock()\n	if full {\n		return s.dev.failure(op, driver.ErrBusy, \"the queue is full\")\n	}\n	t := task{run,"}}},
	{name: "enqueue: drops work beyond 1024", by: "StreamOrder/Burst", edits: []edit{{"stream.go", "	s.mu.Lock()\n	s.queue, s.last", "	s.mu.Lock()\n	if len(s.queue) >= 1024 && op != \"gate\" && op != \"call\" {\n		t.run = func() error { return nil }\n	}\n	s.queue, s.last"}}},
	{name: "enqueue: a failed call is swallowed", by: "Errors/VendorCodePreserved", edits: []edit{{"stream.go", `s.dev.check(op, "queueSubmit", s.dev.card.lib.call("queueSubmit")); err != nil`, `s.dev.check(op, "queueSubmit", s.dev.card.lib.call("queueSubmit")); false && err != nil`}}},
	{name: "enqueue: a failed call enqueues the work", by: "Errors/VendorCodePreserved", edits: []edit{{"stream.go", "	if err := s.dev.check(op, \"queueSubmit\", s.dev.card.lib.call(\"queueSubmit\")); err != nil {\n		return err\n	}\n", "	err := s.dev.check(op, \"queueSubmit\", s.dev.card.lib.call(\"queueSubmit\"))\n"}, {"stream.go", "		go s.work()\n	}\n	s.mu.Unlock()\n	return nil", "		go s.work()\n	}\n	s.mu.Unlock()\n	return err"}}},
	{name: "enqueue: work after a failure is left out", by: "Coherence/FailureUnderWayIsNoticed", edits: []edit{{"stream.go", "		err := t.run()\n", "		if s.carried != nil {\n			t.run = func() error { return nil }\n		}\n		err := t.run()\n"}}},
	{name: "enqueue: work after a failure fails", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"stream.go", "		err := t.run()\n", "		err := t.run()\n		if s.carried != nil {\n			err = s.carried.err\n		}\n"}}},
	{name: "Record: nothing done", by: "Enumeration/ReopenAfterClose", edits: []edit{{"stream.go", "	e.(*event).set(s.here())\n", ""}}},
	{name: "Record: without the latest work", by: "Enumeration/ReopenAfterClose", edits: []edit{
		{"stream.go", "	e.(*event).set(s.here())\n", "	s.mu.Lock()\n	p := s.earlier\n	s.mu.Unlock()\n	if p == nil {\n		p = s.here()\n	}\n	e.(*event).set(p)\n"},
		{"stream.go", "	running bool\n", "	running bool\n	earlier *point\n"},
		{"stream.go", "	s.queue, s.last = append(s.queue, t), t.after", "	s.earlier = s.last\n	s.queue, s.last = append(s.queue, t), t.after"}}},
	{name: "Record: leaves out a wait with no work after it", by: "Events/WaitAloneIsRecorded", edits: leavesOut("wait")},
	{name: "Record: leaves out a gate with no work after it", by: "Events/FollowsWork", edits: leavesOut("gate")},
	{name: "Record: leaves out a fill", by: "Events/WaitAloneIsRecorded", edits: leavesOut("fill")},
	{name: "Record: leaves out a copy out", by: "Enumeration/ReopenAfterClose", edits: leavesOut("copy out")},
	{name: "Record: only the first counts", by: "Enumeration/ReopenAfterClose", edits: []edit{{"event.go", "	e.at = p\n", "	if e.at == nil {\n		e.at = p\n	}\n"}}},
	{name: "Record: with later work", by: "Copy/PeerStaged", hangs: true, edits: []edit{{"event.go", "	case !p.reached():", "	case !p.reached() || p.of != nil && !p.of.here().reached():"}, {"event.go", "	<-p.done\n	return p.failure.tell()", "	<-p.done\n	if p.of != nil {\n		<-p.of.here().done\n	}\n	return p.failure.tell()"},
		{"stream.go", "	done    chan struct{}\n", "	done    chan struct{}\n	of *stream\n"}, {"stream.go", "	t := task{run, &point{done: make(chan struct{})}}", "	t := task{run, &point{done: make(chan struct{}), of: s}}"}}},
	{name: "Wait: nothing done", by: "Events/WaitOrders", edits: []edit{{"stream.go", "if p == nil || p.reached() {\n		return nil", "if true || p == nil {\n		return nil"}}},
	{name: "Wait: holds up the caller", by: "Events/WaitOrders", hangs: true, edits: []edit{{"stream.go", `return s.enqueue("wait", func() error { <-p.done; return nil })`, "<-p.done\n	return nil"}}},
	{name: "Wait: for what the event stands for later", by: "Events/ReuseKeepsEarlierWaits", hangs: true, edits: []edit{{"stream.go", `func() error { <-p.done; return nil })`, `func() error { <-e.(*event).get().done; return nil })`}}},
	{name: "Wait: later work does not wait, unless it is enqueued at once", by: "Events/WaitAloneIsRecorded", edits: []edit{{"stream.go", `return s.enqueue("wait", func() error { <-p.done; return nil })`, "s.skip = p\n	return nil"}, {"stream.go", "	running bool\n", "	running bool\n	skip *point\n"},
		{"stream.go", "	t := task{run,", "	if p := s.skip; p != nil {\n		s.skip = nil\n		_ = s.enqueue(\"wait\", func() error { <-p.done; return nil })\n	}\n	t := task{run,"}}},
	{name: "Wait: only the last of several", by: "Events/FanOutFanIn", edits: []edit{{"stream.go", `return s.enqueue("wait", func() error { <-p.done; return nil })`, "s.mu.Lock()\n	if n := len(s.queue); n > 0 && s.queue[n-1].wait {\n		s.queue[n-1].run = func() error { <-p.done; return nil }\n		s.mu.Unlock()\n		return nil\n	}\n	s.mu.Unlock()\n	err := s.enqueue(\"wait\", func() error { <-p.done; return nil })\n	s.mu.Lock()\n	if n := len(s.queue); n > 0 && s.queue[n-1].after == s.last {\n		s.queue[n-1].wait = true\n	}\n	s.mu.Unlock()\n	return err"},
		{"stream.go", "	after *point\n", "	after *point\n	wait bool\n"}, {"stream.go", "task{run, &point{done: make(chan struct{})}}", "task{run: run, after: &point{done: make(chan struct{})}}"}}},
	{name: "Wait: takes on the failure of the other stream", edits: []edit{{"stream.go", `func() error { <-p.done; return nil })`, "func() error {\n		<-p.done\n		if p.failure != nil {\n			return p.failure.err\n		}\n		return nil\n	})"}}, equivalent: "a failure may travel along a wait, as it does in OpenCL"},
	{name: "Wait: makes the other stream wait for this one", by: "Copy/FarOffsets", hangs: true, edits: []edit{{"stream.go", `return s.enqueue("wait", func() error { <-p.done; return nil })`, "if p.of != nil && p.of != s {\n		q := s.here()\n		_ = p.of.enqueue(\"wait\", func() error { <-q.done; return nil })\n	}\n	return s.enqueue(\"wait\", func() error { <-p.done; return nil })"},
		{"stream.go", "	done    chan struct{}\n", "	done    chan struct{}\n	of *stream\n"}, {"stream.go", "	t := task{run, &point{done: make(chan struct{})}}", "	t := task{run, &point{done: make(chan struct{}), of: s}}"}}},
	{name: "Query: always done", by: "Enumeration/ReopenAfterClose", edits: []edit{{"stream.go", "	if s.last != nil && !s.last.reached() {\n		return false, nil", "	if false {\n		return false, nil"}}},
	{name: "Query: never done", by: "Enumeration/FreeFollowsAllocations", hangs: true, edits: []edit{{"stream.go", "	return true, s.takeFault()\n", "	return s.last == nil, s.takeFault()\n"}}},
	{name: "Query: done when the latest work has begun", by: "Events/WaitAloneIsRecorded", edits: []edit{{"stream.go", "	if s.last != nil && !s.last.reached() {\n		return false, nil", "	if len(s.queue) > 0 {\n		return false, nil"}}},
	{name: "Query: a failure is swallowed", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"stream.go", "	return true, s.takeFault()\n", "	_ = s.takeFault()\n	return true, nil\n"}}},
	{name: "Query: a failure is kept for Sync", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"stream.go", "	return true, s.takeFault()\n", "	return true, nil\n"}}},
	{name: "Query: a failure is returned each time", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"stream.go", "	return true, s.takeFault()\n", "	return true, s.fault.tell()\n"}}},
	{name: "Query: waits", by: "StreamOrder/FIFO", hangs: true, edits: []edit{{"stream.go", "	if s.last != nil && !s.last.reached() {\n		return false, nil", "	for s.last != nil && !s.last.reached() {\n		p := s.last\n		s.mu.Unlock()\n		<-p.done\n		s.mu.Lock()"}}},
	{name: "Sync: returns at once", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"stream.go", "	<-s.here().done\n", ""}}},
	{name: "Sync: waits for later work too", by: "StreamOrder/StreamSyncCoversEarlierWorkOnly", hangs: true, edits: []edit{{"stream.go", "	<-s.here().done\n", "	for p := s.here(); ; p = s.here() {\n		<-p.done\n		if s.here().reached() {\n			break\n		}\n	}\n"}}},
	{name: "Sync: a failure is swallowed", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"stream.go", "	<-s.here().done\n	s.mu.Lock()\n	defer s.mu.Unlock()\n	return s.takeFault()", "	<-s.here().done\n	s.mu.Lock()\n	defer s.mu.Unlock()\n	_ = s.takeFault()\n	return nil"}}},
	{name: "Sync: a failure is kept for Query", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"stream.go", "	<-s.here().done\n	s.mu.Lock()\n	defer s.mu.Unlock()\n	return s.takeFault()", "	<-s.here().done\n	return nil"}}},
	{name: "Sync: a failure is returned each time", edits: []edit{{"stream.go", "	<-s.here().done\n	s.mu.Lock()\n	defer s.mu.Unlock()\n	return s.takeFault()", "	<-s.here().done\n	s.mu.Lock()\n	defer s.mu.Unlock()\n	return s.fault.tell()"}},
		equivalent: "after a Sync that fails package hal asks Query, which takes the failure"},
	{name: "Sync: a failed call is swallowed", by: "Errors/VendorCodePreserved", edits: []edit{{"stream.go", `s.dev.card.lib.call("queueWait")); err != nil`, `s.dev.card.lib.call("queueWait")); false && err != nil`}}},
	{name: "Sync: blocks other calls on the stream", by: "StreamOrder/StreamSyncCoversEarlierWorkOnly", hangs: true, edits: []edit{{"stream.go", "	<-s.here().done\n	s.mu.Lock()\n	defer s.mu.Unlock()\n", "	p := s.here()\n	s.waits.Lock()\n	<-p.done\n	s.waits.Unlock()\n	s.mu.Lock()\n	defer s.mu.Unlock()\n"},
		{"stream.go", "	running bool\n", "	running bool\n	waits sync.Mutex\n"}, {"stream.go", "	t := task{run,", "	s.waits.Lock()\n	s.waits.Unlock()\n	t := task{run,"}}},
	{name: "Sync: blocks calls on the whole device", by: "StreamOrder/StreamSyncCoversEarlierWorkOnly", hangs: true, edits: []edit{{"stream.go", "	<-s.here().done\n	s.mu.Lock()\n	defer s.mu.Unlock()\n", "	p := s.here()\n	s.dev.waits.Lock()\n	<-p.done\n	s.dev.waits.Unlock()\n	s.mu.Lock()\n	defer s.mu.Unlock()\n"},
		{"device.go", "	info driver.Info\n}", "	info driver.Info\n	waits sync.Mutex\n}"}, {"device.go", "	\"fmt\"\n", "	\"fmt\"\n	\"sync\"\n"}, {"stream.go", "	t := task{run,", "	s.dev.waits.Lock()\n	s.dev.waits.Unlock()\n	t := task{run,"}}},

	// Events.
	{name: "NewEvent: a failure is swallowed", by: "Errors/VendorCodePreserved", edits: []edit{{"event.go", `d.card.lib.call("markCreate")); err != nil`, `d.card.lib.call("markCreate")); false && err != nil`}}},
	{name: "NewEvent: a goroutine for each event", by: "Lifetime/IdleStreamsTakeNoGoroutine", edits: []edit{{"event.go", "	return &event{dev: d}, nil", "	go func() { select {} }()\n	return &event{dev: d}, nil"}}},
	{name: "Query event: always done", by: "Enumeration/ReopenAfterClose", edits: []edit{{"event.go", "		return false, nil\n	default:", "		return true, nil\n	default:"}}},
	{name: "Query event: never done", by: "Bounds/FailedCallHasNoEffect", hangs: true, edits: []edit{{"event.go", "		return true, p.failure.tell()\n", "		return false, nil\n"}}},
	{name: "Query event: a failure is swallowed", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"event.go", "		return true, p.failure.tell()\n", "		return true, nil\n"}}},
	{name: "Query event: a failure is not done", by: "Errors/FailureUnderWayIsTold", hangs: true, edits: []edit{{"event.go", "		return true, p.failure.tell()\n", "		return p.failure == nil, nil\n"}}},
	{name: "Query event: waits", by: "StreamOrder/SyncHonoursContext", hangs: true, edits: []edit{{"event.go", "	case !p.reached():\n		return false, nil\n	default:\n		return true", "	default:\n		<-p.done\n		return true"}}},
	{name: "Query event: a failure is returned once", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"event.go", "		return true, p.failure.tell()\n", "		if p.failure != nil && p.failure.told.Load() {\n			return true, nil\n		}\n		return true, p.failure.tell()\n"}}},
	{name: "Sync event: returns at once", by: "Enumeration/ReopenAfterClose", edits: []edit{{"event.go", "	<-p.done\n	return p.failure.tell()", "	if !p.reached() {\n		return nil\n	}\n	return p.failure.tell()"}}},
	{name: "Sync event: a failure is swallowed", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"event.go", "	<-p.done\n	return p.failure.tell()", "	<-p.done\n	return nil"}}},
	{name: "Sync event: a failure is returned once", edits: []edit{{"event.go", "	<-p.done\n	return p.failure.tell()", "	<-p.done\n	if p.failure != nil && p.failure.told.Load() {\n		return nil\n	}\n	return p.failure.tell()"}},
		missed: "no check waits in an event's Sync for a failure that a stream has told before"},
	{name: "events: a failure of earlier work is left out", edits: []edit{{"stream.go", "			s.carried = &failure{err: err}\n", "			s.carried = &failure{err: err}\n		} else {\n			s.carried = nil\n		}\n		if err != nil {\n"}},
		equivalent: "without EventsKeepFailures an event need not report more than how the last work before it has ended"},
	{name: "events: a failure that was told is told by later events", by: "Errors/FailureUnderWayIsTold", edits: []edit{{"stream.go", "	if s.carried != nil && s.carried.told.Load() {\n		s.carried = nil\n	}\n", ""}}},
	{name: "Elapsed: negative", by: "Events/ElapsedNonNegative", edits: []edit{{"event.go", "return to.at.Sub(from.at), nil", "return from.at.Sub(to.at), nil"}}},
	{name: "Elapsed: in another unit", by: "Events/ElapsedWithinWallTime", edits: []edit{{"event.go", "return to.at.Sub(from.at), nil", "return 1000 * to.at.Sub(from.at), nil"}}},
	{name: "Elapsed: zero", by: "Events/ElapsedWithinWallTime", edits: []edit{{"event.go", "return to.at.Sub(from.at), nil", "return 0, nil"}}},
	{name: "Elapsed: microseconds for nanoseconds", by: "Events/ElapsedWithinWallTime", edits: []edit{{"event.go", "return to.at.Sub(from.at), nil", "return to.at.Sub(from.at) / 1000, nil"}}},
	{name: "Elapsed: of an event that is not done", by: "Events/ElapsedPendingNotReady", edits: []edit{{"event.go", "if !to.reached() || !from.reached() {", "if false {"}}},
	{name: "Elapsed: of an event that is not done, to one that is", by: "Events/ElapsedPendingNotReady", edits: []edit{{"event.go", "if !to.reached() || !from.reached() {", "if !to.reached() {"}}},
	{name: "Elapsed: wrong kind of error", by: "Events/ElapsedPendingNotReady", edits: []edit{{"event.go", `driver.ErrNotReady, "an event`, `driver.ErrBusy, "an event`}}},
	{name: "Elapsed: waits", by: "Events/ElapsedPendingNotReady", hangs: true, edits: []edit{{"event.go", "	if !to.reached() || !from.reached() {", "	<-to.done\n	<-from.done\n	if !to.reached() || !from.reached() {"}}},
	{name: "Elapsed: from the time of the call", by: "Events/ElapsedNonNegative", edits: []edit{{"event.go", "return to.at.Sub(from.at), nil", "return time.Since(from.at), nil"}}},

	// Gates and callbacks.
	{name: "Gate: open from the start", by: "Copy/PeerSeesLatest", edits: []edit{{"gate.go", `func() error { <-g; return nil }`, `func() error { return nil }`}}},
	{name: "Gate: never opened", by: "Copy/PeerSeesLatest", hangs: true, edits: []edit{{"gate.go", "	close(g)\n", ""}}},
	{name: "Gate: holds up earlier work", by: "Copy/PeerStaged", edits: []edit{{"gate.go", "	return g, s.enqueue(\"gate\", func() error { <-g; return nil })", "	s.mu.Lock()\n	t := task{func() error { <-g; return nil }, &point{done: make(chan struct{})}}\n	if len(s.queue) > 0 {\n		s.queue = append([]task{t}, s.queue...)\n		s.mu.Unlock()\n		return g, nil\n	}\n	s.mu.Unlock()\n	return g, s.enqueue(\"gate\", func() error { <-g; return nil })"}}},
	{name: "Gate: Open waits for the stream", by: "StreamOrder/GatesInAnyOrder", hangs: true, edits: []edit{{"gate.go", "type gate chan struct{}", "type gate struct{ open, passed chan struct{} }"}, {"gate.go", "	g := make(gate)\n", "	g := gate{make(chan struct{}), make(chan struct{})}\n"}, {"gate.go", "<-g; return nil", "<-g.open; close(g.passed); return nil"}, {"gate.go", "	close(g)\n", "	close(g.open)\n	<-g.passed\n"}}},
	{name: "Gate: opens all gates of the stream", by: "Copy/PeerStaged", edits: []edit{{"gate.go", "	g := make(gate)\n", "	s.mu.Lock()\n	if s.gate == nil {\n		s.gate = &shared{open: make(gate)}\n	}\n	g := s.gate.open\n	s.mu.Unlock()\n"}, {"gate.go", "	close(g)\n", "	defer func() { _ = recover() }()\n	close(g)\n"}, {"gate.go", "type gate chan struct{}", "type gate chan struct{}\n\ntype shared struct{ open gate }"}, {"stream.go", "	running bool\n", "	running bool\n	gate *shared\n"}}},
	{name: "OnDone: nothing done", by: "Capabilities/BitEqualsInterfaceEqualsBehaviour", hangs: true, edits: []edit{{"callback.go", "go fn(); return nil", "return nil"}}},
	{name: "OnDone: too early", by: "Capabilities/CallbackFollowsWork", edits: []edit{{"callback.go", `return s.enqueue("call", func() error { go fn(); return nil })`, "go fn()\n	return nil"}}},
	{name: "OnDone: twice", by: "Capabilities/CallbackFollowsWork", edits: []edit{{"callback.go", "go fn(); return nil", "go fn(); go fn(); return nil"}}},
	{name: "OnDone: later work waits for it", by: "Capabilities/CallbackFollowsWork", hangs: true, edits: []edit{{"callback.go", "go fn(); return nil", "fn(); return nil"}}},
	{name: "OnDone: on the caller", by: "Capabilities/CallbackFollowsWork", hangs: true, edits: []edit{{"callback.go", `return s.enqueue("call", func() error { go fn(); return nil })`, "<-s.here().done\n	fn()\n	return nil"}}},
	{name: "OnDone: after the failure of earlier work not at all", by: "Copy/FarOffsets", hangs: true, edits: []edit{{"callback.go", "go fn(); return nil", "if s.carried == nil {\n		go fn()\n	}\n	return nil"}}},
	{name: "OnDone: a failed call is swallowed", by: "Errors/VendorCodePreserved", edits: []edit{{"callback.go", `return s.enqueue("call", func() error { go fn(); return nil })`, `_ = s.enqueue("call", func() error { go fn(); return nil })` + "\n	return nil"}}},

	// Errors.
	{name: "errors: the vendor's name is lost", by: "Errors/VendorCodePreserved", edits: []edit{{"errors.go", "e.Kind, e.Vendor.Name = s.kind, s.name", "e.Kind, e.Vendor.Name = s.kind, \"\""}}},
	{name: "errors: the vendor's code is lost", by: "Errors/VendorCodePreserved", edits: []edit{{"errors.go", "Code: int64(st)", "Code: 0"}}},
	{name: "errors: the vendor's call is lost", by: "Errors/VendorCodePreserved", edits: []edit{{"errors.go", "API: api,", ""}}},
	{name: "errors: of another device", by: "Errors/VendorCodePreserved", edits: []edit{{"errors.go", "Device: d.info.Ordinal, Kind: driver.ErrDriver,", "Device: d.info.Ordinal + 1, Kind: driver.ErrDriver,"}}},
	{name: "errors: of another backend", by: "Errors/VendorCodePreserved", edits: []edit{{"errors.go", "e := &driver.Error{Op: op, Backend: d.info.Backend,", "e := &driver.Error{Op: op, Backend: \"host\","}}},
	{name: "errors: without the operation", by: "Errors/VendorCodePreserved", edits: []edit{{"errors.go", "e := &driver.Error{Op: op,", "e := &driver.Error{"}}},
	{name: "errors: no kind", by: "Errors/VendorCodePreserved", edits: []edit{{"errors.go", "e.Kind, e.Vendor.Name = s.kind, s.name", "e.Kind, e.Vendor.Name = nil, s.name"}}},
	{name: "errors: a driver error is a busy device", edits: []edit{{"errors.go", `"STATUS_BROKEN", driver.ErrDriver}`, `"STATUS_BROKEN", driver.ErrBusy}`}}, equivalent: "what a status means is for the table to say"},
	{name: "errors: a lost device is a driver error", by: "Errors/DeviceLostIsSticky", edits: []edit{{"errors.go", `"STATUS_GONE", driver.ErrDeviceLost}`, `"STATUS_GONE", driver.ErrDriver}`}}},
	{name: "errors: every failure is a lost device", by: "Errors/VendorCodePreserved", edits: []edit{{"errors.go", `"STATUS_BROKEN", driver.ErrDriver}`, `"STATUS_BROKEN", driver.ErrDeviceLost}`}}},
}

// The texts below are parts of several faults.
var (
	streamFile  = "stream.go"
	everyStream = edit{streamFile, "type task struct {", "var everyStream sync.Map\n\ntype task struct {"}
	keepStreams = edit{streamFile, "	return &stream{dev: d}, nil", "	s := &stream{dev: d}\n	everyStream.Store(s, true)\n	return s, nil"}

	// now does the work in the call.
	now = edit{streamFile, "type task struct {", `func now(s *stream, op string, run func() error) error {
	if err := s.dev.check(op, "queueSubmit", s.dev.card.lib.call("queueSubmit")); err != nil {
		return err
	}
	return run()
}

type task struct {`}
	nowIf = edit{streamFile, now.old, `func nowIf(early bool, s *stream, op string, run func() error) error {
	if !early {
		return s.enqueue(op, run)
	}
	return now(s, op, run)
}

` + now.new}
	// late does it after the next work.
	late = edit{streamFile, "type task struct {", `func late(s *stream, op string, run func() error) error {
	p := &point{done: make(chan struct{})}
	if err := s.enqueue(op, func() error { go func() { <-p.done; _ = run() }(); return nil }); err != nil {
		return err
	}
	return s.enqueue(op, func() error { close(p.done); return nil })
}

type task struct {`}
	// aside does it on a stream of its own.
	aside = edit{streamFile, "type task struct {", `func aside(s *stream, op string, run func() error) error {
	return (&stream{dev: s.dev}).enqueue(op, run)
}

type task struct {`}
	// waiting waits for it.
	waiting = edit{streamFile, "type task struct {", `func waiting(s *stream, op string, run func() error) error {
	if err := s.enqueue(op, run); err != nil {
		return err
	}
	<-s.here().done
	return nil
}

type task struct {`}
)

// leavesOut makes events ignore work of one kind, if nothing was enqueued after it.
func leavesOut(op string) []edit {
	return []edit{
		{streamFile, "	s.queue, s.last = append(s.queue, t), t.after", "	if op != \"" + op + "\" {\n		s.seen = t.after\n	}\n	s.queue, s.last = append(s.queue, t), t.after"},
		{streamFile, "	running bool\n", "	running bool\n	seen *point\n"},
		{streamFile, "	e.(*event).set(s.here())\n", "	s.mu.Lock()\n	p := s.seen\n	if p == nil {\n		p = &point{done: make(chan struct{})}\n		s.pass(p)\n	}\n	s.mu.Unlock()\n	e.(*event).set(p)\n"},
	}
}
