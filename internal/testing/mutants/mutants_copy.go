package main

var ofCopy = []mutant{
	// Copy.
	{
		name: "Copy: nothing done", by: "Allocation/OddOffsetsCopy",
		edits: []edit{
			{"copy.go", "\t\tswitch {\n\t\tcase from.host != nil:", "\t\tswitch {\n\t\tcase true:\n\t\t\treturn nil\n\t\tcase from.host != nil:"},
		},
	},
	{
		name: "Copy: too early", by: "Copy/SizeAlignmentMatrix",
		edits: []edit{
			{"copy.go", `return s.enqueue("copy", func() error {`, `return now(s, "copy", func() error {`},
			now,
		},
	},
	{
		name: "Copy: from host memory too early", by: "StreamOrder/EveryKindInOrder",
		edits: []edit{
			{"copy.go", `return s.enqueue("copy", func() error {`, `return nowIf(from.host != nil, s, "copy", func() error {`},
			nowIf,
		},
	},
	{
		name: "Copy: to host memory too early", by: "Copy/LengthsAroundPowersOfTwo",
		edits: []edit{
			{"copy.go", `return s.enqueue("copy", func() error {`, `return nowIf(to.host != nil, s, "copy", func() error {`},
			nowIf,
		},
	},
	{
		name: "Copy: between host memories too early", by: "StreamOrder/EveryKindInOrder",
		edits: []edit{
			{"copy.go", `return s.enqueue("copy", func() error {`, `return nowIf(to.host != nil && from.host != nil, s, "copy", func() error {`},
			nowIf,
		},
	},
	{
		name: "Copy: small ones too early", by: "Copy/SizeAlignmentMatrix",
		edits: []edit{
			{"copy.go", `return s.enqueue("copy", func() error {`, `return nowIf(src.Len < 8, s, "copy", func() error {`},
			nowIf,
		},
	},
	{
		name: "Copy: too late", by: "Allocation/OddOffsetsCopy",
		edits: []edit{
			{"copy.go", `return s.enqueue("copy", func() error {`, `return late(s, "copy", func() error {`},
			late,
		},
	},
	{
		name: "Copy: on another stream", by: "Copy/SizeAlignmentMatrix",
		edits: []edit{
			{"copy.go", `return s.enqueue("copy", func() error {`, `return aside(s, "copy", func() error {`},
			aside,
		},
	},
	{
		name: "Copy: the source's offset is ignored", by: "Allocation/OddOffsetsCopy",
		edits: []edit{
			{"copy.go", "from.read(piece, src.Off+off)", "from.read(piece, off)"},
		},
	},
	{
		name: "Copy: the destination's offset is ignored", by: "Allocation/OddOffsetsCopy",
		edits: []edit{
			{"copy.go", "to.write(dst.Off+off, piece)", "to.write(off, piece)"},
		},
	},
	{
		name: "Copy: the host source's offset is ignored", by: "Copy/FarOffsets",
		edits: []edit{
			{"copy.go", "from.host[src.Off:][:src.Len]", "from.host[:src.Len]"},
		},
	},
	{
		name: "Copy: the host destination's offset is ignored", by: "Copy/FarOffsets",
		edits: []edit{
			{"copy.go", "from.read(to.host[dst.Off:][:dst.Len], src.Off)", "from.read(to.host[:dst.Len], src.Off)"},
		},
	},
	{
		name: "Copy: the source's offset to host memory is ignored", by: "Copy/FarOffsets",
		edits: []edit{
			{"copy.go", "from.read(to.host[dst.Off:][:dst.Len], src.Off)", "from.read(to.host[dst.Off:][:dst.Len], 0)"},
		},
	},
	{
		name: "Copy: the destination's offset from host memory is ignored", by: "Copy/FarOffsets",
		edits: []edit{
			{"copy.go", "return to.write(dst.Off, from.host[src.Off:][:src.Len])", "return to.write(0, from.host[src.Off:][:src.Len])"},
		},
	},
	{
		name: "Copy: source offsets wrap at 16 MiB", by: "Copy/FarOffsets",
		edits: []edit{
			{"copy.go", "from.read(piece, src.Off+off)", "from.read(piece, (src.Off+off)&(1<<24-1))"},
		},
	},
	{
		name: "Copy: destination offsets wrap at 16 MiB", by: "Copy/FarOffsets",
		edits: []edit{
			{"copy.go", "to.write(dst.Off+off, piece)", "to.write((dst.Off+off)&(1<<24-1), piece)"},
		},
	},
	{
		name: "Copy: source offsets wrap at 1 MiB", by: "Copy/Large",
		edits: []edit{
			{"copy.go", "from.read(piece, src.Off+off)", "from.read(piece, (src.Off+off)&(1<<20-1))"},
		},
	},
	{
		name: "Copy: destination offsets wrap at 64 KiB", by: "Copy/Large",
		edits: []edit{
			{"copy.go", "to.write(dst.Off+off, piece)", "to.write((dst.Off+off)&(1<<16-1), piece)"},
		},
	},
	{
		name: "Copy: the last byte is lost", by: "Allocation/OddOffsetsCopy",
		edits: []edit{
			{"copy.go",
				"\tto, from := dst.Mem.(*memory), src.Mem.(*memory)\n",
				"\tto, from := dst.Mem.(*memory), src.Mem.(*memory)\n" +
					"\tdst.Len--\n" +
					"\tsrc.Len--\n" +
					"\tif dst.Len == 0 {\n" +
					"\t\treturn nil\n" +
					"\t}\n"},
		},
	},
	{
		name: "Copy: the last byte of 256 KiB x k + 1 is lost", by: "Copy/LengthsAroundPowersOfTwo",
		edits: []edit{
			{"copy.go",
				"\t\tpiece := make([]byte, min(src.Len, pieceSize))\n" +
					"\t\tfor off",
				"\t\tif src.Len > pieceSize && src.Len%pieceSize == 1 {\n" +
					"\t\t\tsrc.Len--\n" +
					"\t\t}\n" +
					"\t\tpiece := make([]byte, min(src.Len, pieceSize))\n" +
					"\t\tfor off"},
		},
	},
	{
		name: "Copy: the last byte of 256 KiB x k is lost", by: "Copy/Large",
		edits: []edit{
			{"copy.go",
				"\t\tpiece := make([]byte, min(src.Len, pieceSize))\n" +
					"\t\tfor off",
				"\t\tif src.Len%pieceSize == 0 {\n" +
					"\t\t\tsrc.Len--\n" +
					"\t\t}\n" +
					"\t\tpiece := make([]byte, min(src.Len, pieceSize))\n" +
					"\t\tfor off"},
		},
	},
	{
		name: "Copy: the last byte of 256 KiB x k - 1 is lost", by: "Copy/LengthsAroundPowersOfTwo",
		edits: []edit{
			{"copy.go",
				"\t\tpiece := make([]byte, min(src.Len, pieceSize))\n" +
					"\t\tfor off",
				"\t\tif src.Len%pieceSize == pieceSize-1 {\n" +
					"\t\t\tsrc.Len--\n" +
					"\t\t}\n" +
					"\t\tpiece := make([]byte, min(src.Len, pieceSize))\n" +
					"\t\tfor off"},
		},
	},
	{
		name: "Copy: one byte too many", by: "Copy/LengthsAroundPowersOfTwo",
		edits: []edit{
			{"copy.go",
				"\tto, from := dst.Mem.(*memory), src.Mem.(*memory)\n",
				"\tto, from := dst.Mem.(*memory), src.Mem.(*memory)\n" +
					"\tif dst.Off+dst.Len < to.size && src.Off+src.Len < from.size {\n" +
					"\t\tdst.Len++\n" +
					"\t\tsrc.Len++\n" +
					"\t}\n"},
		},
	},
	{
		name: "Copy: one byte too many, to host memory", by: "Copy/LengthsAroundPowersOfTwo",
		edits: []edit{
			{"copy.go",
				"\tto, from := dst.Mem.(*memory), src.Mem.(*memory)\n",
				"\tto, from := dst.Mem.(*memory), src.Mem.(*memory)\n" +
					"\tif to.host != nil && dst.Off+dst.Len < to.size && src.Off+src.Len < from.size {\n" +
					"\t\tdst.Len++\n" +
					"\t\tsrc.Len++\n" +
					"\t}\n"},
		},
	},
	{
		name: "Copy: the other way", by: "Allocation/OddOffsetsCopy",
		edits: []edit{
			{"copy.go",
				"\tto, from := dst.Mem.(*memory), src.Mem.(*memory)\n",
				"\tdst, src = src, dst\n" +
					"\tto, from := dst.Mem.(*memory), src.Mem.(*memory)\n"},
		},
	},
	{
		name:   "Copy: a failure to read is swallowed",
		missed: "FailAsync makes reads and writes fail together",
		edits: []edit{
			{"copy.go", "from.read(piece, src.Off+off); err != nil", "from.read(piece, src.Off+off); false && err != nil"},
		},
	},
	{
		name:   "Copy: a failure to write is swallowed",
		missed: "FailAsync makes reads and writes fail together",
		edits: []edit{
			{"copy.go", "to.write(dst.Off+off, piece); err != nil", "to.write(dst.Off+off, piece); false && err != nil"},
		},
	},
	{
		name: "Copy: a failure is swallowed", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"copy.go", "from.read(piece, src.Off+off); err != nil", "from.read(piece, src.Off+off); false && err != nil"},
			{"copy.go", "to.write(dst.Off+off, piece); err != nil", "to.write(dst.Off+off, piece); false && err != nil"},
		},
	},
	{
		name: "Copy: a failure from host memory is swallowed", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"copy.go",
				"return to.write(dst.Off, from.host[src.Off:][:src.Len])",
				"_ = to.write(dst.Off, from.host[src.Off:][:src.Len])\n" +
					"\t\t\treturn nil"},
		},
	},
	{
		name: "Copy: a failure to host memory is swallowed", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"copy.go",
				"return from.read(to.host[dst.Off:][:dst.Len], src.Off)",
				"_ = from.read(to.host[dst.Off:][:dst.Len], src.Off)\n" +
					"\t\t\treturn nil"},
		},
	},
	{
		name: "Copy: holds up the caller", by: "StreamOrder/FIFO", hangs: true,
		edits: []edit{
			{"copy.go", `return s.enqueue("copy", func() error {`, `return waiting(s, "copy", func() error {`},
			waiting,
		},
	},
	{
		name: "Copy: a copy within one memory is lost", by: "Copy/SelfDisjoint",
		edits: []edit{
			{"copy.go",
				"\t\tswitch {\n" +
					"\t\tcase from.host != nil:",
				"\t\tswitch {\n" +
					"\t\tcase from == to:\n" +
					"\t\t\treturn nil\n" +
					"\t\tcase from.host != nil:"},
		},
	},

	// CopyIn.
	{
		name: "CopyIn: nothing done", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"copy.go", "func() error { return m.write(dst.Off, b) }", "func() error { _, _ = m, b; return nil }"},
		},
	},
	{
		name: "CopyIn: too early", by: "Copy/ThroughHostInOrder",
		edits: []edit{
			{"copy.go", `s.enqueue("copy in", func`, `now(s, "copy in", func`},
			now,
		},
	},
	{
		name: "CopyIn: to host memory too early", by: "StreamOrder/EveryKindInOrder",
		edits: []edit{
			{"copy.go", `s.enqueue("copy in", func`, `nowIf(m.host != nil, s, "copy in", func`},
			nowIf,
		},
	},
	{
		name: "CopyIn: small ones too early", by: "StreamOrder/FIFO",
		edits: []edit{
			{"copy.go", `s.enqueue("copy in", func`, `nowIf(dst.Len <= 16, s, "copy in", func`},
			nowIf,
		},
	},
	{
		name: "CopyIn: the source is read too early", by: "Copy/PeerStaged",
		edits: []edit{
			{"copy.go", "unsafe.Slice((*byte)(src), dst.Len)\n", "append([]byte(nil), unsafe.Slice((*byte)(src), dst.Len)...)\n"},
		},
	},
	{
		name: "CopyIn: small sources are read too early", by: "Copy/ThroughHostInOrder",
		edits: []edit{
			{"copy.go",
				"unsafe.Slice((*byte)(src), dst.Len)\n",
				"unsafe.Slice((*byte)(src), dst.Len)\n" +
					"\tif dst.Len <= 64<<10 {\n" +
					"\t\tb = append([]byte(nil), b...)\n" +
					"\t}\n"},
		},
	},
	{
		name: "CopyIn: too late", by: "Allocation/KindHonoured",
		edits: []edit{
			{"copy.go", `s.enqueue("copy in", func`, `late(s, "copy in", func`},
			late,
		},
	},
	{
		name: "CopyIn: on another stream", by: "Allocation/KindHonoured",
		edits: []edit{
			{"copy.go", `s.enqueue("copy in", func`, `aside(s, "copy in", func`},
			aside,
		},
	},
	{
		name: "CopyIn: the offset is ignored", by: "Copy/SizeAlignmentMatrix",
		edits: []edit{
			{"copy.go", "return m.write(dst.Off, b)", "return m.write(0, b)"},
		},
	},
	{
		name: "CopyIn: offsets wrap at 16 MiB", by: "Copy/FarOffsets",
		edits: []edit{
			{"copy.go", "return m.write(dst.Off, b)", "return m.write(dst.Off&(1<<24-1), b)"},
		},
	},
	{
		name: "CopyIn: the offset is rounded down", by: "Copy/SizeAlignmentMatrix",
		edits: []edit{
			{"copy.go", "return m.write(dst.Off, b)", "return m.write(dst.Off&^3, b)"},
		},
	},
	{
		name: "CopyIn: the last byte is lost", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"copy.go", "return m.write(dst.Off, b)", "return m.write(dst.Off, b[:len(b)-1])"},
		},
	},
	{
		name: "CopyIn: the last byte of 256 KiB x k + 1 is lost", by: "Allocation/SizeAtLeastRequested",
		edits: []edit{
			{"copy.go",
				"return m.write(dst.Off, b)",
				"if len(b) > pieceSize && len(b)%pieceSize == 1 {\n" +
					"\t\tb = b[:len(b)-1]\n" +
					"\t}\n" +
					"\treturn m.write(dst.Off, b)"},
		},
	},
	{
		name: "CopyIn: the last byte of 1 MiB x k + 1 is lost", by: "Allocation/SizeAtLeastRequested",
		edits: []edit{
			{"copy.go",
				"return m.write(dst.Off, b)",
				"if len(b)%(4*pieceSize) == 1 && len(b) > 1 {\n" +
					"\t\tb = b[:len(b)-1]\n" +
					"\t}\n" +
					"\treturn m.write(dst.Off, b)"},
		},
	},
	{
		name: "CopyIn: a failure is swallowed", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"copy.go", "return m.write(dst.Off, b)", "_ = m.write(dst.Off, b)\n\treturn nil"},
		},
	},
	{
		name: "CopyIn: a failed call is swallowed", by: "Errors/VendorCodePreserved",
		edits: []edit{
			{"copy.go",
				`return s.enqueue("copy in", func() error { return m.write(dst.Off, b) })`,
				`_ = s.enqueue("copy in", func() error { return m.write(dst.Off, b) })` + "\n	return nil"},
		},
	},
	{
		name: "CopyIn: holds up the caller", by: "Copy/ThroughHostInOrder", hangs: true,
		edits: []edit{
			{"copy.go", `s.enqueue("copy in", func`, `waiting(s, "copy in", func`},
			waiting,
		},
	},

	// CopyOut.
	{
		name: "CopyOut: nothing done", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"copy.go", "func() error { return m.read(b, src.Off) }", "func() error { _, _ = m, b; return nil }"},
		},
	},
	{
		name: "CopyOut: too early", by: "Allocation/OddOffsetsCopy",
		edits: []edit{
			{"copy.go", `s.enqueue("copy out", func`, `now(s, "copy out", func`},
			now,
		},
	},
	{
		name: "CopyOut: of host memory too early", by: "Copy/LengthsAroundPowersOfTwo",
		edits: []edit{
			{"copy.go", `s.enqueue("copy out", func`, `nowIf(m.host != nil, s, "copy out", func`},
			nowIf,
		},
	},
	{
		name: "CopyOut: small ones too early", by: "Allocation/OddOffsetsCopy",
		edits: []edit{
			{"copy.go", `s.enqueue("copy out", func`, `nowIf(src.Len <= 16, s, "copy out", func`},
			nowIf,
		},
	},
	{
		name: "CopyOut: too late", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"copy.go", `s.enqueue("copy out", func`, `late(s, "copy out", func`},
			late,
		},
	},
	{
		name: "CopyOut: on another stream", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"copy.go", `s.enqueue("copy out", func`, `aside(s, "copy out", func`},
			aside,
		},
	},
	{
		name: "CopyOut: of host memory on another stream", by: "Allocation/Distinct",
		edits: []edit{
			{"copy.go",
				`return s.enqueue("copy out", func`,
				"if m.host != nil {\n" +
					"\t\treturn aside(s, \"copy out\", func() error { return m.read(b, src.Off) })\n" +
					"\t}\n" +
					"\treturn s.enqueue(\"copy out\", func"},
			aside,
		},
	},
	{
		name: "CopyOut: the offset is ignored", by: "Allocation/OddOffsetsCopy",
		edits: []edit{
			{"copy.go", "return m.read(b, src.Off)", "return m.read(b, 0)"},
		},
	},
	{
		name: "CopyOut: offsets wrap at 16 MiB", by: "Copy/FarOffsets",
		edits: []edit{
			{"copy.go", "return m.read(b, src.Off)", "return m.read(b, src.Off&(1<<24-1))"},
		},
	},
	{
		name: "CopyOut: the last byte is lost", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"copy.go", "return m.read(b, src.Off)", "return m.read(b[:len(b)-1], src.Off)"},
		},
	},
	{
		name: "CopyOut: the last byte of 256 KiB x k + 1 is lost", by: "Allocation/SizeAtLeastRequested",
		edits: []edit{
			{"copy.go",
				"return m.read(b, src.Off)",
				"if len(b) > pieceSize && len(b)%pieceSize == 1 {\n" +
					"\t\tb = b[:len(b)-1]\n" +
					"\t}\n" +
					"\treturn m.read(b, src.Off)"},
		},
	},
	{
		name: "CopyOut: the other way", by: "Enumeration/ReopenAfterClose",
		edits: []edit{
			{"copy.go", "return m.read(b, src.Off)", "return m.write(src.Off, b)"},
		},
	},
	{
		name: "CopyOut: a failure is swallowed", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"copy.go", "return m.read(b, src.Off)", "_ = m.read(b, src.Off)\n\treturn nil"},
		},
	},
	{
		name: "CopyOut: holds up the caller", by: "Copy/ThroughHostInOrder", hangs: true,
		edits: []edit{
			{"copy.go", `s.enqueue("copy out", func`, `waiting(s, "copy out", func`},
			waiting,
		},
	},

	// Fill.
	{
		name: "Fill: nothing done", by: "Allocation/Distinct",
		edits: []edit{
			{"copy.go",
				"\t\tpiece := make([]byte, min(dst.Len, pieceSize))\n" +
					"\t\tvar",
				"\t\tif true {\n" +
					"\t\t\treturn nil\n" +
					"\t\t}\n" +
					"\t\tpiece := make([]byte, min(dst.Len, pieceSize))\n" +
					"\t\tvar"},
		},
	},
	{
		name: "Fill: too early", by: "Copy/LengthsAroundPowersOfTwo",
		edits: []edit{
			{"copy.go", `return s.enqueue("fill", func() error {`, `return now(s, "fill", func() error {`},
			now,
		},
	},
	{
		name: "Fill: of host memory too early", by: "Copy/LengthsAroundPowersOfTwo",
		edits: []edit{
			{"copy.go", `return s.enqueue("fill", func() error {`, `return nowIf(m.host != nil, s, "fill", func() error {`},
			nowIf,
		},
	},
	{
		name: "Fill: too late", by: "Copy/LengthsAroundPowersOfTwo",
		edits: []edit{
			{"copy.go", `return s.enqueue("fill", func() error {`, `return late(s, "fill", func() error {`},
			late,
		},
	},
	{
		name: "Fill: on another stream", by: "Allocation/ContentsIsolated",
		edits: []edit{
			{"copy.go", `return s.enqueue("fill", func() error {`, `return aside(s, "fill", func() error {`},
			aside,
		},
	},
	{
		name: "Fill: the offset is ignored", by: "Copy/FarOffsets",
		edits: []edit{
			{"copy.go", "m.write(dst.Off+off, piece)", "m.write(off, piece)"},
		},
	},
	{
		name: "Fill: offsets wrap at 16 MiB", by: "Copy/FarOffsets",
		edits: []edit{
			{"copy.go", "m.write(dst.Off+off, piece)", "m.write((dst.Off+off)&(1<<24-1), piece)"},
		},
	},
	{
		name: "Fill: one pattern too few", by: "Allocation/Distinct",
		edits: []edit{
			{"copy.go",
				"\tm := dst.Mem.(*memory)\n" +
					"\treturn s.enqueue(\"fill\"",
				"\tm := dst.Mem.(*memory)\n" +
					"\tif dst.Len -= uint64(p.Width); dst.Len == 0 {\n" +
					"\t\treturn nil\n" +
					"\t}\n" +
					"\treturn s.enqueue(\"fill\""},
		},
	},
	{
		name: "Fill: the last byte of 256 KiB x k + 1 is lost", by: "Copy/LengthsAroundPowersOfTwo",
		edits: []edit{
			{"copy.go",
				"\tm := dst.Mem.(*memory)\n" +
					"\treturn s.enqueue(\"fill\"",
				"\tm := dst.Mem.(*memory)\n" +
					"\tif dst.Len > pieceSize && dst.Len%pieceSize == 1 {\n" +
					"\t\tdst.Len--\n" +
					"\t}\n" +
					"\treturn s.enqueue(\"fill\""},
		},
	},
	{
		name: "Fill: one pattern too many", by: "Copy/LengthsAroundPowersOfTwo",
		edits: []edit{
			{"copy.go",
				"\tm := dst.Mem.(*memory)\n" +
					"\treturn s.enqueue(\"fill\"",
				"\tm := dst.Mem.(*memory)\n" +
					"\tif n := uint64(p.Width); dst.Off+dst.Len+n <= m.size {\n" +
					"\t\tdst.Len += n\n" +
					"\t}\n" +
					"\treturn s.enqueue(\"fill\""},
		},
	},
	{
		name: "Fill: one byte of the pattern is repeated", by: "Fill/Pattern2",
		edits: []edit{
			{"copy.go", "word[:p.Width]", "word[:1]"},
		},
	},
	{
		name: "Fill: the high byte comes first", by: "Fill/Pattern2",
		edits: []edit{
			{"copy.go", "binary.LittleEndian.PutUint64(word[:], p.Bits)", "binary.BigEndian.PutUint64(word[:], p.Bits<<(64-8*p.Width))"},
		},
	},
	{
		name: "Fill: all bits of a narrow pattern", by: "Allocation/Distinct",
		edits: []edit{
			{"copy.go", "word[:p.Width]", "word[:]"},
		},
	},
	{
		name: "Fill: the pattern begins anew in each piece, one byte late", by: "Copy/LengthsAroundPowersOfTwo",
		edits: []edit{
			{"copy.go",
				"piece = piece[:min(uint64(len(piece)), dst.Len-off)]\n" +
					"\t\t\tif err := m",
				"piece = piece[:min(uint64(len(piece)), dst.Len-off)]\n" +
					"\t\t\tif off > 0 {\n" +
					"\t\t\t\tpiece[0]++\n" +
					"\t\t\t}\n" +
					"\t\t\tif err := m"},
		},
	},
	{
		name: "Fill: a failure is swallowed", by: "Errors/FailureUnderWayIsTold",
		edits: []edit{
			{"copy.go", "m.write(dst.Off+off, piece); err != nil", "m.write(dst.Off+off, piece); false && err != nil"},
		},
	},
	{
		name: "Fill: holds up the caller", by: "StreamOrder/FIFO", hangs: true,
		edits: []edit{
			{"copy.go", `return s.enqueue("fill", func() error {`, `return waiting(s, "fill", func() error {`},
			waiting,
		},
	},
}
