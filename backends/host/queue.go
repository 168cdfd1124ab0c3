package host

import "unsafe"

type opKind uint8

const (
	opCopy   opKind = iota // copy n bytes from src to dst
	opFill                 // fill n bytes at dst with the low width bytes of bits
	opWait                 // wait until stream obj has done n operations
	opGate                 // wait until gate obj is open
	opStamp                // set the time stamp of event obj, recorded for the n-th time
	opCall                 // call func obj
	opRows                 // copy rows obj
	opLaunch               // run launch obj
)

// op is one operation of a stream. Its pointers keep memory of the Go heap alive.
type op struct {
	dst, src unsafe.Pointer
	n, bits  uint64
	obj      any
	kind     opKind
	width    uint8
}

// queue is a ring of operations that grows when it is full.
type queue struct {
	ring []op // its length is a power of two, or 0
	head int
	n    int
}

func (q *queue) push(o op) {
	if q.n == len(q.ring) {
		grown := make([]op, max(16, 2*len(q.ring)))
		k := copy(grown, q.ring[q.head:])
		copy(grown[k:], q.ring[:q.head])
		q.ring, q.head = grown, 0
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = o
	q.n++
}

// first returns the oldest operation. The queue must not be empty.
func (q *queue) first() *op { return &q.ring[q.head] }

// drop removes the oldest operation.
func (q *queue) drop() {
	q.ring[q.head] = op{}
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
}
