package main

var ofDevice = []mutant{
	// Backend.
	{
		name: "Name: another name", by: "Enumeration/ListSortedStable",
		edits: []edit{
			{"backend.go", "return name }", `return "other" }`},
		},
	},
	{
		name: "Devices: nothing listed", by: "Enumeration/ListSortedStable",
		edits: []edit{
			{"backend.go", "return infos, nil", "return infos[:0], nil"},
		},
	},
	{
		name: "Devices: one too few", by: "Enumeration/OrdinalOutOfRange",
		edits: []edit{
			{"backend.go", "return infos, nil", "return infos[:1], nil"},
		},
	},
	{
		name: "Devices: one too many", by: "Enumeration/ListSortedStable",
		edits: []edit{
			{"backend.go", "return infos, nil", "return append(infos, infos[0]), nil"},
		},
	},
	{
		name: "Devices: opens the cards", by: "Enumeration/EnumerationCreatesNoContext",
		edits: []edit{
			{"backend.go", "infos[i] = describe(i, c)", "infos[i] = describe(i, c)\n\t\t_ = c.open()"},
		},
	},
	{
		name: "Devices: numbered from one", by: "Enumeration/ListSortedStable",
		edits: []edit{
			{"backend.go", "infos[i] = describe(i, c)", "infos[i] = describe(i+1, c)"},
		},
	},
	{
		name: "Open: always the first card", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"backend.go", "d := &device{card: lib.cards[ordinal],", "d := &device{card: lib.cards[0],"},
		},
	},
	{
		name: "Open: the other card's description", by: "Enumeration/InfoStable",
		edits: []edit{
			{"backend.go", "info: describe(ordinal, lib.cards[ordinal])}", "info: describe(1-ordinal, lib.cards[ordinal])}"},
		},
	},
	{
		name: "Open: a number beyond the end opens the last card", by: "Enumeration/OrdinalOutOfRange",
		edits: []edit{
			{"backend.go", "if ordinal < 0 || ordinal >= len(lib.cards) {", "ordinal = min(ordinal, len(lib.cards)-1)\n\tif ordinal < 0 {"},
		},
	},
	{
		name: "Open: wrong kind of error for a number beyond the end", by: "Enumeration/OrdinalOutOfRange",
		edits: []edit{
			{"backend.go", "Kind: driver.ErrOutOfRange,", "Kind: driver.ErrUnavailable,"},
		},
	},
	{
		name: "Open: a failure is swallowed", by: "OutOfMemory/EveryNthCallFails",
		edits: []edit{
			{"backend.go",
				`d.check("open", "cardOpen", d.card.open()); err != nil`,
				`d.check("open", "cardOpen", d.card.open()); false && err != nil`},
		},
	},
	{
		name: "Open: a failed open keeps its context", by: "OutOfMemory/EveryNthCallFails",
		edits: []edit{
			{"vendor.go",
				"st := c.lib.call(\"cardOpen\")\n" +
					"\tif st == statusOK {\n" +
					"\t\tc.contexts.Add(1)\n" +
					"\t}",
				"st := c.lib.call(\"cardOpen\")\n" +
					"\tc.contexts.Add(1)"},
		},
	},
	{
		name:       "Open: the context has ended, and the device is opened",
		equivalent: "package hal does not call Open once the context has ended",
		edits: []edit{
			{"backend.go", "if ctx.Err() != nil {", "if false {"},
		},
	},
	{
		name: "Close: the last handle keeps its context", by: "Lifetime/CloseGivesContextsBack",
		edits: []edit{
			{"vendor.go", "c.contexts.Add(-1) // gone even if the call reports an error", "if c.contexts.Load() > 1 {\n\t\tc.contexts.Add(-1)\n\t}"},
		},
	},
	{
		name: "Close: the last handle keeps its context for the next open", by: "Lifetime/CloseGivesContextsBack",
		edits: []edit{
			{"vendor.go",
				"c.contexts.Add(-1) // gone even if the call reports an error",
				"if c.contexts.Add(-1) == 0 {\n" +
					"\t\tc.kept = true\n" +
					"\t\tc.contexts.Add(1)\n" +
					"\t}"},
			{"vendor.go", "\tcontexts atomic.Int64\n", "\tcontexts atomic.Int64\n\tkept bool\n"},
			{"vendor.go",
				"\tif st == statusOK {\n" +
					"\t\tc.contexts.Add(1)",
				"\tif st == statusOK {\n" +
					"\t\tif c.kept {\n" +
					"\t\t\tc.kept = false\n" +
					"\t\t\tc.contexts.Add(-1)\n" +
					"\t\t}\n" +
					"\t\tc.contexts.Add(1)"},
		},
	},
	{
		name: "Close: nothing is given back", by: "Lifetime/CloseGivesContextsBack",
		edits: []edit{
			{"vendor.go", "c.contexts.Add(-1) // gone even if the call reports an error", ""},
		},
	},
	{
		name: "Close: closes the card for all handles", by: "OutOfMemory/EveryNthCallFails",
		edits: []edit{
			{"vendor.go", "c.contexts.Add(-1) // gone even if the call reports an error", "c.contexts.Store(0)"},
			{"vendor.go",
				"\tif st := c.lib.call(\"memAlloc\"); st != statusOK {",
				"\tif c.contexts.Load() == 0 {\n" +
					"\t\treturn nil, statusBadValue\n" +
					"\t}\n" +
					"\tif st := c.lib.call(\"memAlloc\"); st != statusOK {"},
		},
	},
	{
		name: "Close: a failure is swallowed", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"device.go",
				`func (d *device) Close() error { return d.check("close device", "cardClose", d.card.close()) }`,
				"func (d *device) Close() error { d.card.close(); return nil }"},
		},
	},
	{
		name:       "Close: a failed close keeps its context",
		equivalent: "whether a call of the vendor's that fails has closed anything is the vendor's matter",
		edits: []edit{
			{"vendor.go",
				"\tc.contexts.Add(-1) // gone even if the call reports an error\n" +
					"\treturn c.lib.call(\"cardClose\")",
				"\tst := c.lib.call(\"cardClose\")\n" +
					"\tif st == statusOK {\n" +
					"\t\tc.contexts.Add(-1)\n" +
					"\t}\n" +
					"\treturn st"},
		},
	},

	// Info and MemInfo.
	{
		name: "Info: twice the memory", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"device.go", "TotalMemory: total,", "TotalMemory: 2 * total,"},
		},
	},
	{
		name: "Info: half the memory", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"device.go", "TotalMemory: total,\n\t\tMaxAlloc:    total,", "TotalMemory: total / 2,\n\t\tMaxAlloc:    total / 2,"},
		},
	},
	{
		name: "Info: a largest allocation that is too large", by: "Enumeration/InfoComplete",
		edits: []edit{
			{"device.go", "MaxAlloc:    total,", "MaxAlloc:    total + 1,"},
		},
	},
	{
		name: "Info: an alignment that memory does not have", by: "Allocation/DefaultAlignment",
		edits: []edit{
			{"memory.go", "aligned(size, max(align, d.info.Alignment))", "aligned(size, max(align, 8))"},
		},
	},
	{
		name: "Info: the bit Register without the ability", by: "Allocation/StatsMatch",
		edits: []edit{
			{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapRegister |"},
		},
	},
	{
		name: "Info: the bit StreamAlloc without the ability", by: "Capabilities/BitEqualsInterfaceEqualsBehaviour",
		edits: []edit{
			{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapStreamAlloc |"},
		},
	},
	{
		name: "Info: the bit Kernels without the ability", by: "Kernels/LoadsAndFindsByName",
		edits: []edit{
			{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapKernels |"},
		},
	},
	{
		name: "Info: the bit Import without the ability", by: "Import/MemoryWorks",
		edits: []edit{
			{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapImport |"},
		},
	},
	{
		name: "Info: the bit ImportStream without the ability", by: "Import/StreamInOrder",
		edits: []edit{
			{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapImportStream |"},
		},
	},
	{
		name: "Info: the bit PointerInfo without the ability", by: "Import/UnsupportedWithoutBit",
		edits: []edit{
			{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapPointerInfo |"},
		},
	},
	{
		name: "Info: the bit IPC without the ability", by: "Sharing/TokenDescribesMemory",
		edits: []edit{
			{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapIPC |"},
		},
	},
	{
		name: "Info: the bit Shared without the ability", by: "Allocation/Distinct",
		edits: []edit{
			{"device.go", "driver.CapMemInfo |", "driver.CapMemInfo | driver.CapShared |"},
		},
	},
	{
		name: "Info: changes when memory is allocated", by: "Enumeration/InfoStable",
		edits: []edit{
			{"device.go",
				"func (d *device) Info() driver.Info { return d.info }",
				"func (d *device) Info() driver.Info {\n" +
					"\ti := d.info\n" +
					"\ti.TotalMemory -= uint64(d.card.used.Load())\n" +
					"\treturn i\n" +
					"}"},
		},
	},
	{
		name: "Info: does not say that it is simulated", by: "Enumeration/InfoComplete",
		edits: []edit{
			{"device.go", `fmt.Sprintf("simulated template device %d", ordinal)`, `fmt.Sprintf("template device %d", ordinal)`},
		},
	},
	{
		name:       "Info: claims that host memory is used in place",
		equivalent: "it is used in place, and on such a device buffers use no other",
		edits: []edit{
			{"device.go", "Simulated:   true,", "Simulated:   true,\n\t\tSharesHostMemory: true,"},
		},
	},
	{
		name: "MemInfo: ignores allocations", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"device.go", "return min(free, total), total, nil", "return total, total, nil"},
		},
	},
	{
		name: "MemInfo: free memory in KiB", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"device.go", "return min(free, total), total, nil", "return free >> 10, total, nil"},
		},
	},
	{
		name: "MemInfo: both in KiB", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"device.go", "return min(free, total), total, nil", "return free >> 10, total >> 10, nil"},
		},
	},
	{
		name: "MemInfo: free memory never rises", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"device.go",
				"return min(free, total), total, nil",
				"d.card.least.CompareAndSwap(0, total)\n" +
					"\tfor l := d.card.least.Load(); free < l; l = d.card.least.Load() {\n" +
					"\t\td.card.least.CompareAndSwap(l, free)\n" +
					"\t}\n" +
					"\treturn d.card.least.Load(), total, nil"},
			{"vendor.go", "\tcontexts atomic.Int64\n", "\tcontexts atomic.Int64\n\tleast atomic.Uint64\n"},
		},
	},
	{
		name: "MemInfo: free and total are exchanged", by: "Enumeration/FreeAtMostTotal",
		edits: []edit{
			{"device.go", "return min(free, total), total, nil", "return total, free, nil"},
		},
	},
	{
		name: "MemInfo: used in place of free", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"device.go", "return min(free, total), total, nil", "return total - free, total, nil"},
		},
	},
	{
		name: "MemInfo: no memory is free", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"device.go", "return min(free, total), total, nil", "return 0, total, nil"},
		},
	},
	{
		name: "MemInfo: half the total", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"device.go", "return min(free, total), total, nil", "return free / 2, total / 2, nil"},
		},
	},

	// Alloc.
	{
		name: "Alloc: one byte too few", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"vendor.go", "bytes: make([]byte, size)}", "bytes: make([]byte, size-1)}"},
		},
	},
	{
		name: "Alloc: one byte of host memory too few", by: "Allocation/Distinct",
		edits: []edit{
			{"memory.go", "return b[pad:][:size:size]", "return b[pad:][: size-1 : size-1]"},
		},
	},
	{
		name: "Alloc: host memory is not aligned", by: "Allocation/DefaultAlignment",
		edits: []edit{
			{"memory.go", "aligned(size, max(align, d.info.Alignment))", "aligned(size+1, max(align, d.info.Alignment))[1:]"},
		},
	},
	{
		name: "Alloc: an explicit alignment is ignored", by: "Allocation/ExplicitPowerOfTwoAlignment",
		edits: []edit{
			{"memory.go", "aligned(size, max(align, d.info.Alignment))", "aligned(size+64, max(align, 128))[64:]"},
		},
	},
	{
		name: "Alloc: two live blocks share their bytes", by: "Enumeration/TwoHandlesIndependent",
		edits: []edit{
			{"vendor.go",
				"\tb := &block{id:",
				"\tc.mu.Lock()\n" +
					"\tdefer c.mu.Unlock()\n" +
					"\tif size == 4096 && len(c.last) == 4096 {\n" +
					"\t\treturn &block{id: uintptr(rand.Uint64() | 1), bytes: c.last}, statusOK\n" +
					"\t}\n" +
					"\tdefer func() { if b != nil { c.last = b.bytes } }()\n" +
					"\tb = &block{id:"},
			{"vendor.go", "func (c *card) alloc(size uint64) (*block, status) {", "func (c *card) alloc(size uint64) (b *block, _ status) {"},
			{"vendor.go", "\tcontexts atomic.Int64\n", "\tcontexts atomic.Int64\n\tmu sync.Mutex\n\tlast []byte\n"},
		},
	},
	{
		name:       "Alloc: host memory is device memory",
		equivalent: "a device without registered and shared memory, such as this one, may keep page-locked memory from the host",
		edits: []edit{
			{"memory.go", "\tcase driver.KindDevice:\n", "\tcase driver.KindDevice, driver.KindHost:\n"},
			{"memory.go", "\tcase driver.KindHost:\n", "\tcase driver.KindShared:\n"},
		},
	},
	{
		name: "Alloc: device memory is host memory", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"memory.go", "\tcase driver.KindDevice:\n", "\tcase driver.KindShared:\n"},
			{"memory.go", "\tcase driver.KindHost:\n", "\tcase driver.KindHost, driver.KindDevice:\n"},
		},
	},
	{
		name:       "Alloc: shared memory without the bit",
		equivalent: "package hal never asks a device without CapShared for shared memory",
		edits: []edit{
			{"memory.go", "\tcase driver.KindHost:\n", "\tcase driver.KindHost, driver.KindShared:\n"},
		},
	},
	{
		name: "Alloc: more than there is", by: "OutOfMemory/ExhaustMapsToOutOfMemory",
		edits: []edit{
			{"vendor.go", "if uint64(c.used.Add(int64(size))) > c.total {", "if uint64(c.used.Add(int64(size))) > 2*c.total {"},
		},
	},
	{
		name: "Alloc: half of what there is", by: "Copy/FarOffsets",
		edits: []edit{
			{"vendor.go", "if uint64(c.used.Add(int64(size))) > c.total {", "if uint64(c.used.Add(int64(size))) > c.total/2 {"},
		},
	},
	{
		name: "Alloc: a shortage is a driver error", by: "OutOfMemory/ExhaustMapsToOutOfMemory",
		edits: []edit{
			{"errors.go", `"STATUS_NO_MEMORY", driver.ErrOutOfMemory}`, `"STATUS_NO_MEMORY", driver.ErrDriver}`},
		},
	},
	{
		name: "Alloc: a failure is swallowed", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"vendor.go", "\tif st := c.lib.call(\"memAlloc\"); st != statusOK {\n\t\treturn nil, st\n\t}", "\tc.lib.call(\"memAlloc\")"},
		},
	},
	{
		name: "Alloc: a failed allocation counts", by: "OutOfMemory/RecoverAfterOutOfMemory",
		edits: []edit{
			{"vendor.go", "\t\tc.used.Add(-int64(size))\n\t\treturn nil, statusNoMemory", "\t\treturn nil, statusNoMemory"},
		},
	},
	{
		name: "Alloc: a failed call counts", by: "OutOfMemory/FailedAllocationTakesNothing",
		edits: []edit{
			{"vendor.go",
				"\tif st := c.lib.call(\"memAlloc\"); st != statusOK {\n" +
					"\t\treturn nil, st\n" +
					"\t}",
				"\tif st := c.lib.call(\"memAlloc\"); st != statusOK {\n" +
					"\t\tc.used.Add(int64(size))\n" +
					"\t\treturn nil, st\n" +
					"\t}"},
		},
	},
	{
		name: "Alloc: twice the size is taken", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"vendor.go", "if uint64(c.used.Add(int64(size))) > c.total {", "size *= 2\n\tif uint64(c.used.Add(int64(size))) > c.total {"},
		},
	},
	{
		name: "Alloc: waits for the streams", by: "StreamOrder/AllocDoesNotWait", hangs: true,
		edits: []edit{
			{"memory.go",
				"\tm := &memory{dev: d, kind: kind, size: size}\n",
				"\tm := &memory{dev: d, kind: kind, size: size}\n" +
					"\teveryStream.Range(func(s, _ any) bool { <-s.(*stream).here().done; return true })\n"},
			everyStream,
			keepStreams,
		},
	},
	{
		name:       "Alloc: fresh memory is zero",
		equivalent: "the contents are unspecified",
		edits: []edit{
			{"vendor.go", "b.bytes[i] = 0xA5", "b.bytes[i] = 0"},
		},
	},

	// Memory.
	{
		name:       "Size: rounded up",
		equivalent: "package hal remembers the size that was asked for",
		edits: []edit{
			{"memory.go", "return m.size }", "return (m.size + 63) &^ 63 }"},
		},
	},
	{
		name: "Handle: null", by: "Allocation/HandlesDiffer",
		edits: []edit{
			{"memory.go", "return m.block.id", "return 0"},
		},
	},
	{
		name: "Handle: null for host memory", by: "Allocation/HandlesDiffer",
		edits: []edit{
			{"memory.go", "\treturn uintptr(unsafe.Pointer(&m.host[0]))\n", "\treturn 0\n"},
		},
	},
	{
		name: "Handle: one for all live blocks", by: "Allocation/HandlesDiffer",
		edits: []edit{
			{"memory.go", "return m.block.id", "return 0x1000"},
		},
	},
	{
		name: "Handle: one for two live blocks", by: "Allocation/HandlesDiffer",
		edits: []edit{
			{"vendor.go", "id: uintptr(rand.Uint64() | 1)", "id: uintptr(rand.Uint64()&7 + 1)"},
		},
	},
	{
		name: "Handle: one for two live blocks of host memory", by: "Allocation/HandlesDiffer",
		edits: []edit{
			{"memory.go", "\treturn uintptr(unsafe.Pointer(&m.host[0]))\n", "\treturn uintptr(unsafe.Pointer(&m.host[0])) &^ 0xffff\n"},
		},
	},
	{
		name: "Handle: another at each call", by: "Allocation/HandlesDiffer",
		edits: []edit{
			{"memory.go", "return m.block.id", "m.block.id++\n\t\treturn m.block.id"},
		},
	},
	{
		name:       "HostPointer: none for host memory",
		equivalent: "a device without registered and shared memory, such as this one, may keep page-locked memory from the host",
		edits: []edit{
			{"memory.go",
				"func (m *memory) HostPointer() unsafe.Pointer {\n" +
					"\tif m.host == nil {",
				"func (m *memory) HostPointer() unsafe.Pointer {\n" +
					"\tif true {"},
		},
	},
	{
		name: "HostPointer: a copy of host memory", by: "Allocation/KindHonoured",
		edits: []edit{
			{"memory.go", "\treturn unsafe.Pointer(&m.host[0])\n}", "\treturn unsafe.Pointer(&append([]byte(nil), m.host...)[0])\n}"},
		},
	},
	{
		name: "HostPointer: one byte further", by: "Allocation/SizeAtLeastRequested",
		edits: []edit{
			{"memory.go", "\treturn unsafe.Pointer(&m.host[0])\n}", "\treturn unsafe.Pointer(&m.host[min(1, len(m.host)-1)])\n}"},
		},
	},
	{
		name: "HostPointer: of device memory", by: "Allocation/KindHonoured",
		edits: []edit{
			{"memory.go",
				"\tif m.host == nil {\n" +
					"\t\treturn nil\n" +
					"\t}\n" +
					"\treturn unsafe.Pointer(&m.host[0])",
				"\tif m.host == nil {\n" +
					"\t\treturn unsafe.Pointer(&m.block.bytes[0])\n" +
					"\t}\n" +
					"\treturn unsafe.Pointer(&m.host[0])"},
		},
	},
	{
		name: "Free: nothing done", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"memory.go",
				`return m.dev.check("free", "memFree", m.dev.card.free(m.block))`,
				`return m.dev.check("free", "memFree", m.dev.card.lib.call("memFree"))`},
		},
	},
	{
		name: "Free: half is given back", by: "Enumeration/FreeFollowsAllocations",
		edits: []edit{
			{"vendor.go", "c.used.Add(-int64(len(b.bytes)))", "c.used.Add(-int64(len(b.bytes)) / 2)"},
		},
	},
	{
		name: "Free: too much is given back", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"vendor.go", "c.used.Add(-int64(len(b.bytes)))", "c.used.Add(-2 * int64(len(b.bytes)))"},
		},
	},
	{
		name: "Free: a failure is swallowed", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"memory.go", `return m.dev.check("free", "memFree", m.dev.card.free(m.block))`, "m.dev.card.free(m.block)\n\treturn nil"},
		},
	},
	{
		name:       "Free: a failed free keeps the memory",
		equivalent: "whether a call of the vendor's that fails has freed anything is the vendor's matter",
		edits: []edit{
			{"vendor.go",
				"\tc.used.Add(-int64(len(b.bytes)))\n" +
					"\tb.bytes = nil\n" +
					"\treturn c.lib.call(\"memFree\")",
				"\tst := c.lib.call(\"memFree\")\n" +
					"\tif st == statusOK {\n" +
					"\t\tc.used.Add(-int64(len(b.bytes)))\n" +
					"\t\tb.bytes = nil\n" +
					"\t}\n" +
					"\treturn st"},
		},
	},
	{
		name: "Free: host memory is kept for ever", by: "Lifetime/ClosedObjectsAreForgotten",
		edits: []edit{
			{"memory.go", "\t\tm.host = nil\n\t\treturn nil", "\t\tkept.Store(m, m.host)\n\t\treturn nil"},
			{"memory.go", "var _ driver.Memory = (*memory)(nil)\n", "var _ driver.Memory = (*memory)(nil)\n\nvar kept sync.Map\n"},
			{"memory.go", "\t\"unsafe\"\n", "\t\"sync\"\n\t\"unsafe\"\n"},
		},
	},
	{
		name: "Free: half of the host memory is kept for ever", by: "Lifetime/ClosedObjectsAreForgotten",
		edits: []edit{
			{"memory.go",
				"\t\tm.host = nil\n" +
					"\t\treturn nil",
				"\t\tif len(m.host)%8192 < 4096 {\n" +
					"\t\t\tkept.Store(m, m.host)\n" +
					"\t\t}\n" +
					"\t\tm.host = nil\n" +
					"\t\treturn nil"},
			{"memory.go", "var _ driver.Memory = (*memory)(nil)\n", "var _ driver.Memory = (*memory)(nil)\n\nvar kept sync.Map\n"},
			{"memory.go", "\t\"unsafe\"\n", "\t\"sync\"\n\t\"unsafe\"\n"},
		},
	},
	{
		name: "Free: device memory is given back, and its bytes are kept", by: "Lifetime/ClosedObjectsAreForgotten",
		edits: []edit{
			{"vendor.go", "\tb.bytes = nil\n", "\tkept.Store(b, b.bytes)\n\tb.bytes = nil\n"},
			{"vendor.go", "// block is memory on a card", "var kept sync.Map\n\n// block is memory on a card"},
		},
	},
	{
		name: "Free: waits for the streams", by: "Lifetime/CloseDoesNotWait", hangs: true,
		edits: []edit{
			{"memory.go",
				"func (m *memory) Free() error {\n",
				"func (m *memory) Free() error {\n" +
					"\teveryStream.Range(func(s, _ any) bool { <-s.(*stream).here().done; return true })\n"},
			everyStream,
			keepStreams,
		},
	},
}
