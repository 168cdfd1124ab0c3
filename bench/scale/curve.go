package main

import "github.com/go-halyard/halyard/coherence"

// curve is a measurement with N things of one kind.
type curve struct {
	name, what string
	from, to   int
	series     []plan
	run        func(p *point) // once, at p.n
}

// plan is what a curve measures at each N.
type plan struct {
	name string
	most float64 // the exponent that is expected: 0 for the time of one of N, 1 for that of one call about all N
}

var (
	afterSlices = []plan{{"acquire and release", 0}, {"worst release", 1}, {"view of all, per slice", 0}}
	afterRows   = []plan{{"acquire, per row", 0}, {"view, per row", 0}}
)

var curves = []curve{
	{"slices/read", "N disjoint slices of a buffer, acquired and released in turn on one stream, which is synchronised after every 64; then a View of all",
		100, 1e6, afterSlices, parts(coherence.Read)},
	{"slices/readwrite", "the same, for reading and writing", 100, 1e6, afterSlices, parts(coherence.ReadWrite)},
	{"slices/overwrite", "the same, for overwriting", 100, 1e6, afterSlices, parts(coherence.Overwrite)},
	{"ranges/idle", "AcquireRanges of N rows, released and done; then AccessRanges of them on the host", 10, 1e5, afterRows, rows(ranges, false)},
	{"ranges/busy", "the same while a gate, which stops a stream until the program opens it, holds the stream; it opens while the host waits, and the view's time begins then", 10, 1e5, afterRows, rows(ranges, true)},
	{"strided/idle", "AcquireStrided of a window of N rows of an array, released and done; then a View of the window", 10, 1e5, afterRows, rows(strided, false)},
	{"strided/busy", "the same while a gate holds the stream", 10, 1e5, afterRows, rows(strided, true)},
	{"leases", "N disjoint leases of one buffer open at once", 100, 1e5, []plan{{"acquire", 0}, {"release", 0}}, leases},
	{"waiters", "N goroutines wait for one buffer to update it", 10, 1e4, []plan{{"access", 0}}, waiters},
	{"streams/memory", "N streams fill the same memory in turn", 1, 1e5, []plan{{"new stream", 0}, {"fill", 0}, {"fill again", 0}, {"close", 0}}, streamsOnMemory},
	{"streams/buffer", "N streams take leases of the same buffer in turn", 1, 1e5, []plan{{"read lease", 0}, {"write lease", 0}}, streamsOnBuffer},
	{"streams/pool", "N streams allocate from one pool and free; its chunk has some 4,000 blocks, and with more streams than that a stream takes over a block of another", 1, 1e5, []plan{{"first time", 0}, {"again", 0}, {"retire", 0}}, streamsOnPool},
	{"streams/short", "N streams one after another: made, used for a read lease of the same buffer, synchronised and closed", 1, 1e5,
		[]plan{{"stream", 0}}, shortStreams},
	{"streams/short, pool", "the same with a block of one pool", 1, 1e5, []plan{{"stream", 0}}, shortStreamsOnPool},
	{"eviction/clean", "an Acquire that must evict one of N replicas, all current on the host as well", 100, 1e5, []plan{{"acquire", 0}}, eviction(coherence.Read)},
	{"eviction/written", "the same, where each must be copied to the host first", 100, 1e5, []plan{{"acquire", 0}}, eviction(coherence.ReadWrite)},
	{"refused", "an Acquire that must fail, because N leased replicas fill the budget; its deadline is 100 ms", 100, 1e5,
		[]plan{{"call", 1}}, refused},
	{"exposed", "N memories whose bytes the host uses", 100, 1e5, []plan{{"Bytes", 0}, {"copy in beside them", 0}, {"Close", 0}}, exposed},
	{"several", "N buffers for one piece of work", 1, 1e5,
		[]plan{{"acquire one by one", 0}, {"release one by one", 0}, {"acquire all", 0}, {"release all", 0}}, several},
}
