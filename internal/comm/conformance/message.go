package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

func bytesAt(p unsafe.Pointer, n uint64) []byte { return unsafe.Slice((*byte)(p), n) }

// lengths are lengths of messages: 0, odd ones, and some around limits at which libraries change how they send.
var lengths = []int{0, 1, 3, 63, 64, 65, 1000, 4095, 4096, 4097, 8191, 16385, 65536, 65537, 300001, 1 << 20}

// neighbours are the ranks to send to and to receive from in a ring.
func (t *trial) neighbours() (to, from int) {
	return (t.rank + 1) % t.size, (t.rank + t.size - 1) % t.size
}

var messageChecks = []Check{
	{Name: "ArriveComplete", Rule: "A message arrives as it was sent, whatever its length, and changes no other memory.", run: func(t *trial) {
		to, from := t.neighbours()
		for i, n := range lengths {
			src, dst := t.area(n), t.area(n+100)
			fill(src.b, t.rank, i)
			fill(dst.b, 99, i)
			r := t.irecv(dst, from, i)
			s := t.wait(r, t.isend(src, n, to, i))[0]
			t.equal(s, driver.Status{Source: from, Tag: i, Bytes: uint64(n)}, "status of %d bytes", n)
			t.holds(dst.b[:n], from, i, fmt.Sprintf("message of %d bytes", n))
			rest := make([]byte, n+100)
			fill(rest, 99, i)
			t.equal(string(dst.b[n:]), string(rest[n:]), "memory after a message of %d bytes", n)
			t.holds(src.b, t.rank, i, "memory that was sent")
			src.free()
			dst.free()
		}
	}},
	{Name: "ReceiveIsDoneWhenWritten", Rule: "A receive is not done before its message is in its memory.", Ranks: 2, run: func(t *trial) {
		for i, n := range []int{8, 100000} {
			a := t.area(n)
			switch t.rank {
			case 0:
				t.await(1, 100)
				fill(a.b, 0, i)
				t.wait(t.isend(a, n, 1, i))
			case 1:
				r := t.irecv(a, 0, i)
				if t.early(&r) {
					t.fatalf("a receive of %d bytes is done before its message was sent", n)
				}
				t.signal(0, 100)
				t.wait(r)
				t.holds(a.b, 0, i, "message")
			}
		}
	}},
	{Name: "SendIsDoneWhenRead", Rule: "Memory may be written as soon as the send from it is done.", Ranks: 2, run: func(t *trial) {
		for i, n := range []int{8, 5000, 200000} {
			a := t.area(n)
			switch t.rank {
			case 0:
				fill(a.b, 0, i)
				r := t.isend(a, n, 1, i)
				if t.early(&r) {
					fill(a.b, 50, i)
				}
				t.signal(1, 100)
				t.wait(r)
				fill(a.b, 50, i)
				t.signal(1, 101)
			case 1:
				t.await(0, 100)
				t.wait(t.irecv(a, 0, i))
				t.holds(a.b, 0, i, fmt.Sprintf("%d bytes from memory that was written after the send was done", n))
				t.await(0, 101)
			}
		}
	}},
	{Name: "KeepTheirOrder", Rule: "Messages from one rank to another are received in the order in which they were sent.", Ranks: 2, run: func(t *trial) {
		const count = 60
		switch t.rank {
		case 0:
			var reqs []driver.Request
			for i := range count {
				n := []int{4, 6000}[i%3/2]
				a := t.area(n)
				fill(a.b, 0, i)
				reqs = append(reqs, t.isend(a, n, 1, i%2))
			}
			t.signal(1, 7)
			t.wait(reqs...)
		case 1:
			t.await(0, 7) // after this all messages have been sent
			next := [2]int{0, 1}
			for i := range count {
				a := t.area(6000)
				tag, want := driver.AnyTag, i
				if i >= count/2 { // the first half with any tag, the second half with one tag
					tag = i % 2
				}
				s := t.wait(t.irecv(a, 0, tag))[0]
				t.equal(s.Tag, want%2, "tag of message %d", i)
				t.holds(a.b[:s.Bytes], 0, next[want%2], fmt.Sprintf("message %d", i))
				next[want%2] += 2
			}
		}
	}},
	{Name: "AreMatchedByTag", Rule: "A receive takes only messages with its tag.", Ranks: 2, run: func(t *trial) {
		tags := []int{5, 0, t.e.Info().MaxTag, 32767, 1}
		switch t.rank {
		case 0:
			var reqs []driver.Request
			for _, tag := range tags {
				a := t.area(100)
				fill(a.b, 0, tag)
				reqs = append(reqs, t.isend(a, 100, 1, tag))
			}
			t.wait(reqs...)
		case 1:
			for i := range tags {
				tag := tags[len(tags)-1-i]
				a := t.area(100)
				t.equal(t.wait(t.irecv(a, 0, tag))[0].Tag, tag, "tag")
				t.holds(a.b, 0, tag, fmt.Sprintf("message with tag %d", tag))
			}
		}
	}},
	{Name: "ComeFromAnyRank", Rule: "A receive from any rank takes one message from some rank, and says which, with its tag and length.", Ranks: 2, run: func(t *trial) {
		if t.rank != 0 {
			for i := range 3 {
				a := t.area(t.rank*10 + i)
				fill(a.b, t.rank, i)
				t.wait(t.isend(a, len(a.b), 0, t.rank*3+i))
			}
			return
		}
		seen := make([]int, t.size)
		for range 3 * (t.size - 1) {
			a := t.area(10*t.size + 5)
			s := t.wait(t.irecv(a, driver.AnySource, driver.AnyTag))[0]
			if s.Source < 1 || s.Source >= t.size {
				t.fatalf("a message comes from rank %d", s.Source)
			}
			i := seen[s.Source]
			seen[s.Source]++
			t.equal(s.Tag, s.Source*3+i, "tag of message %d of rank %d", i, s.Source)
			t.equal(s.Bytes, uint64(s.Source*10+i), "length of message %d of rank %d", i, s.Source)
			t.holds(a.b[:s.Bytes], s.Source, i, "message")
		}
	}},
	{Name: "ReachTheirSender", Rule: "A rank can send to itself.", run: func(t *trial) {
		for i, n := range []int{0, 10, 50000} {
			src, dst := t.area(n), t.area(n)
			fill(src.b, 3, i)
			r := t.irecv(dst, t.rank, i)
			s := t.wait(r, t.isend(src, n, t.rank, i))
			t.equal(s[0].Source, t.rank, "source")
			t.holds(dst.b, 3, i, "message to oneself")
		}
	}},
	{Name: "AreReceivedOnce", Rule: "Every message is received by one receive.", Ranks: 2, run: func(t *trial) {
		const count = 40
		a := t.area(16)
		switch t.rank {
		case 0:
			for i := range count {
				fill(a.b, 0, i)
				t.wait(t.isend(a, []int{0, 1, 16}[i%3], 1, 3))
			}
			t.signal(1, 4)
			t.await(1, 5)
		case 1:
			for i := range count {
				s := t.wait(t.irecv(a, 0, 3))[0]
				t.equal(s.Bytes, uint64([]int{0, 1, 16}[i%3]), "length of message %d", i)
				t.holds(a.b[:s.Bytes], 0, i, fmt.Sprintf("message %d", i))
			}
			t.await(0, 4)
			r := t.irecv(a, 0, 3)
			if t.early(&r) {
				t.fatalf("one message more is received than was sent")
			}
			t.must(t.e.Cancel(r), "Cancel")
			t.equal(t.finish(r)[0].Cancelled, true, "cancelled")
			t.signal(0, 5)
		}
	}},
	{Name: "ProbesLeaveThem", Rule: "A probe finds a message that has come, describes it, and leaves it for a receive.", Ranks: 2, run: func(t *trial) {
		probe := func(source, tag int) driver.Status {
			for {
				st, found, err := t.c.Iprobe(source, tag)
				t.must(err, "Iprobe")
				if found {
					return st
				}
				if t.ctx.Err() != nil {
					t.fatalf("no message is found")
				}
				runtime.Gosched()
			}
		}
		for i, n := range []int{0, 5, 100000} {
			a := t.area(n)
			switch t.rank {
			case 0:
				fill(a.b, 0, i)
				r := t.isend(a, n, 1, 3*i+1)
				t.signal(1, 3*i)
				t.wait(r)
				t.await(1, 3*i+2) // so that a receive of any rank finds nothing else
			case 1:
				t.await(0, 3*i)
				want := driver.Status{Source: 0, Tag: 3*i + 1, Bytes: uint64(n)}
				if _, found, err := t.c.Iprobe(1, driver.AnyTag); found || err != nil {
					t.fatalf("a message of rank 1 is found, or an error: %v", err)
				}
				t.equal(probe(0, 3*i+1), want, "message of rank 0")
				again, found, err := t.c.Iprobe(driver.AnySource, driver.AnyTag)
				if t.must(err, "Iprobe"); !found {
					t.fatalf("a message that a probe has found is not there any more")
				}
				t.equal(again, want, "message of any rank")
				t.equal(t.wait(t.irecv(a, driver.AnySource, driver.AnyTag))[0], want, "status of the receive")
				t.holds(a.b, 0, i, "message after a probe")
				t.signal(0, 3*i+2)
			}
		}
	}},
	{Name: "ComeWhileOthersAreTested", Rule: "A receive that has begun takes its message while the rank tests other requests.", Ranks: 2,
		run: func(t *trial) {
			a, b := t.area(300000), t.area(300000) // long messages, which wait for their receives
			switch t.rank {
			case 0:
				t.wait(t.isend(a, len(a.b), 1, 0))
				t.wait(t.irecv(b, 1, 1))
			case 1:
				r := t.irecv(a, 0, 0)
				t.wait(t.isend(b, len(b.b), 0, 1))
				t.wait(r)
			}
		}},
	{Name: "AreNotCutSilently", Rule: "A message that is longer than the memory for it is an error of kind ErrTruncated.", Ranks: 2,
		run: func(t *trial) {
			t.truncated(func(a *area, n int, err error) {
				if !errors.Is(err, driver.ErrTruncated) {
					t.fatalf("%d bytes received into %d: %v", n, n-1, err)
				}
				var e *driver.Error
				if !errors.As(err, &e) {
					t.fatalf("the error is a %T", err)
				}
				copy(a.whole[margin+len(a.b):], bytes.Repeat([]byte{0xee}, margin)) // the next check looks at the bytes after the memory
			})
		}},
	{Name: "StayInTheirMemory", Rule: "A message that is longer than the memory for it changes nothing after that memory.", Ranks: 2,
		run: func(t *trial) {
			t.truncated(func(a *area, _ int, _ error) { a.intact() })
		}},
	{Name: "CancelEndsAReceive", Rule: "A cancelled receive is done, takes no message, and leaves its memory alone.", Ranks: 2, run: func(t *trial) {
		a := t.area(10)
		switch t.rank {
		case 0:
			t.await(1, 1)
			fill(a.b, 0, 8)
			t.wait(t.isend(a, 10, 1, 0))
		case 1:
			fill(a.b, 1, 1)
			r := t.irecv(a, 0, 0)
			t.must(t.e.Cancel(r), "Cancel")
			s := t.finish(r)[0]
			if !s.Cancelled || s.Err != nil {
				t.fatalf("the receive ends with %+v", s)
			}
			t.signal(0, 1)
			other := t.area(10)
			t.wait(t.irecv(other, 0, 0))
			t.holds(other.b, 0, 8, "the message after a cancelled receive")
			t.holds(a.b, 1, 1, "the memory of a cancelled receive")
		}
	}},
	{Name: "OnlyReceivesAreCancelled", Rule: "Cancel refuses a send with ErrUnsupported, and the send goes on.", Ranks: 2, run: func(t *trial) {
		a := t.area(100000)
		switch t.rank {
		case 0:
			fill(a.b, 0, 0)
			r := t.isend(a, len(a.b), 1, 0)
			if err := t.e.Cancel(r); !errors.Is(err, driver.ErrUnsupported) {
				t.fatalf("Cancel of a send: %v", err)
			}
			t.wait(r)
		case 1:
			t.wait(t.irecv(a, 0, 0))
			t.holds(a.b, 0, 0, "message")
		}
	}},
	{Name: "TestReportsWhatIsDone", Rule: "Test fills in the requests that are done, counts them, and leaves the others alone.", Ranks: 2, run: func(t *trial) {
		a, b := t.area(4), t.area(4)
		switch t.rank {
		case 0:
			t.wait(t.isend(a, 3, 1, 1))
			t.await(1, 2)
			t.wait(t.isend(a, 4, 1, 0))
		case 1:
			mark := driver.Status{Source: -77, Tag: -77, Bytes: 77}
			never := t.irecv(a, 0, 0)
			reqs, out := []driver.Request{0, never, t.irecv(b, 0, 1), 0}, []driver.Status{mark, mark, mark, mark}
			for n := 0; n == 0; {
				var err error
				n, err = t.e.Test(reqs, out)
				t.must(err, "Test")
				if n > 1 {
					t.fatalf("%d requests are done, with one message sent", n)
				}
				if n == 0 && t.ctx.Err() != nil {
					t.fatalf("the receive is not done")
				}
				runtime.Gosched()
			}
			t.equal(fmt.Sprint(reqs), fmt.Sprint([]driver.Request{0, never, 0, 0}), "requests")
			t.equal(fmt.Sprint(out), fmt.Sprint([]driver.Status{mark, mark, {Source: 0, Tag: 1, Bytes: 3}, mark}), "statuses")
			n, err := t.e.Test(nil, nil)
			t.must(err, "Test of nothing")
			t.equal(n, 0, "Test of nothing")
			t.signal(0, 2)
			t.equal(t.wait(never)[0].Bytes, uint64(4), "length")
		}
	}},
	{Name: "GoEverywhereAtOnce", Rule: "Many messages may be under way between all ranks, in a random order.", run: func(t *trial) {
		for round := range 5 {
			var reqs []driver.Request
			type expected struct {
				a         *area
				from, tag int
				n         int
			}
			var list []expected
			next := map[[2]int]int{} // each pair of ranks has tags of its own, so that all matches are known
			for range 40 {
				from, to, n := t.rng.IntN(t.size), t.rng.IntN(t.size), t.rng.IntN(9000)
				tag := next[[2]int{from, to}]
				next[[2]int{from, to}]++
				if to == t.rank {
					a := t.area(n)
					list = append(list, expected{a, from, tag, n})
					reqs = append(reqs, t.irecv(a, from, tag))
				}
				if from == t.rank {
					a := t.area(n)
					fill(a.b, from, tag+round*100)
					reqs = append(reqs, t.isend(a, n, to, tag))
				}
			}
			t.wait(reqs...)
			for _, x := range list {
				t.holds(x.a.b, x.from, x.tag+round*100, fmt.Sprintf("message %d of rank %d", x.tag, x.from))
			}
		}
	}},
	{Name: "PromptsAreTheSame", Rule: "A message that begins with PromptSend or PromptRecv arrives as others do, and its end is reported once.", run: func(t *trial) {
		prompter, ok := t.c.(driver.Prompter)
		if !ok {
			return
		}
		to, from := t.neighbours()
		for i, n := range lengths {
			for _, first := range []bool{true, false} { // whether the send begins before the receive
				src, dst := t.area(n), t.area(n+100)
				fill(src.b, t.rank, i)
				fill(dst.b, 99, i)
				var got driver.Status
				if first {
					sent := t.prompt(prompter.PromptSend(src.p, uint64(n), to, i))
					got = t.answer(t.prompt(prompter.PromptRecv(dst.p, dst.n(), from, i)))
					t.answer(sent)
				} else {
					begun := t.prompt(prompter.PromptRecv(dst.p, dst.n(), driver.AnySource, driver.AnyTag))
					t.answer(t.prompt(prompter.PromptSend(src.p, uint64(n), to, i)))
					got = t.answer(begun)
				}
				t.equal(got, driver.Status{Source: from, Tag: i, Bytes: uint64(n)}, "status of %d bytes", n)
				t.holds(dst.b[:n], from, i, fmt.Sprintf("message of %d bytes", n))
				rest := make([]byte, n+100)
				fill(rest, 99, i)
				t.equal(string(dst.b[n:]), string(rest[n:]), "memory after a message of %d bytes", n)
				src.free()
				dst.free()
			}
		}
	}},
	{Name: "OutliveCollections", Rule: "Go's garbage collector, and stacks that move, do not disturb requests and their memory.", run: func(t *trial) {
		to, from := t.neighbours()
		for i := range 6 {
			src, dst := t.area(70000), t.area(70000)
			fill(src.b, t.rank, i)
			r, s := t.irecv(dst, from, i), t.isend(src, 70000, to, i)
			runtime.GC()
			debug.FreeOSMemory()
			deep(t, 200)
			t.wait(r, s)
			t.holds(dst.b, from, i, "message during a collection")
			src.free()
			dst.free()
		}
	}},
}

// deep makes the stack grow, and so move, and then calls the engine.
func deep(t *trial, n int) byte {
	var room [512]byte
	if n == 0 {
		_, err := t.e.Test(nil, nil)
		t.must(err, "Test")
		return 0
	}
	room[n] = deep(t, n-1)
	return room[n/2]
}

// truncated sends messages from rank 0 to rank 1 that are a byte longer than the memory for them. It calls fn on rank 1 for each, with the length and the error.
func (t *trial) truncated(fn func(a *area, n int, err error)) {
	for i, n := range []int{2, 100, 20000, 300000, 1 << 20} {
		switch t.rank {
		case 0:
			t.wait(t.isend(t.area(n), n, 1, i))
		case 1:
			a := t.area(n - 1)
			fn(a, n, t.finish(t.irecv(a, 0, i))[0].Err)
		}
	}
}
