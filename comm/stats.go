package comm

import (
	"sync/atomic"
	"time"
)

// Stats says what a communicator has done in this process since it was made. Communicators made from it count for themselves. An operation
// that failed, and a message to or from ProcNull, do not count.
type Stats struct {
	Sent, Received           uint64 // messages: sent ones count when the engine has taken them
	BytesSent, BytesReceived uint64 // of these messages
	Collectives              uint64 // collective operations; Dup, Split and SplitShared have a barrier
	CollectiveBytes          uint64 // the sum over them of the bytes that this rank gave, or of those that it got if they are more

	// Waited is how long calls have waited for other ranks. A call whose operation had ended when the engine was first asked has not
	// waited. If several goroutines wait at the same time, each wait counts. The waits of streams for SendOn and RecvOn do not count.
	Waited time.Duration
}

// counters are the fields of Stats.
type counters struct {
	sent, received, bytesSent, bytesReceived, collectives, collectiveBytes atomic.Uint64

	waited atomic.Int64
}

// Stats may be called at any time, also while operations are under way: each field is then right for some moment of the call.
func (c *Comm) Stats() Stats {
	n := &c.counters
	return Stats{Sent: n.sent.Load(), Received: n.received.Load(), BytesSent: n.bytesSent.Load(), BytesReceived: n.bytesReceived.Load(),
		Collectives: n.collectives.Load(), CollectiveBytes: n.collectiveBytes.Load(), Waited: time.Duration(n.waited.Load())}
}

// count notes an operation or a message of some bytes.
func count(n, bytes *atomic.Uint64, size uint64) {
	n.Add(1)
	bytes.Add(size)
}
