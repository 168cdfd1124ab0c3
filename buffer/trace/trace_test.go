package trace_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/trace"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/hooked"
	"github.com/go-halyard/halyard/internal/testing/tracecheck"
	"github.com/go-halyard/halyard/internal/tracefile"
)

func TestMain(m *testing.M) {
	if how := os.Getenv(childVariable); how != "" {
		childMain(how)
	}
	goleak.VerifyTestMain(m)
}

// open opens a device of the host backend that answers the first question about each event with not yet. So a call that waits for work has to wait, also
// if the work has ended at once.
func open(tb testing.TB, name string, discrete, ordinal int) *hal.Device {
	tb.Helper()
	asked := sync.Map{}
	b := &hooked.Backend{Backend: host.New(host.Options{Name: name, Discrete: discrete})}
	b.QueryEvent = func(e *hooked.Event) (bool, error) {
		if _, again := asked.LoadOrStore(e, nil); !again {
			return false, nil
		}
		return e.Event.Query()
	}
	d, err := hal.OpenWith(context.Background(), b, ordinal)
	require.NoError(tb, err)
	return d
}

// work moves 4000 bytes to the device and back, with one access that finds its bytes in place, and two evictions, one
// of them to make room for a second buffer.
func work(tb testing.TB) {
	tb.Helper()
	ctx := context.Background()
	d := open(tb, "demo", 1, 1)
	defer func() { require.NoError(tb, d.Close()) }()
	buffer.SetBudget(d, 5000)
	b, err := buffer.From(make([]float32, 1000))
	require.NoError(tb, err)
	defer func() { require.NoError(tb, b.Close()) }()
	other, err := buffer.From(make([]float32, 500))
	require.NoError(tb, err)
	defer func() { require.NoError(tb, other.Close()) }()
	require.NoError(tb, b.SyncTo(ctx, d))
	s, err := d.CopyStream(false)
	require.NoError(tb, err)
	require.NoError(tb, b.MarkModified(s))
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(tb, err)
	require.NoError(tb, l.Release())
	require.NoError(tb, other.Prefetch(s))
	require.NoError(tb, b.View(ctx, func([]float32) error { return nil }))
	require.NoError(tb, other.Evict(ctx, d))
}

// did is what work does, without waits, which hang on timing.
var did = []string{
	"alloc at host: Overwrite",
	"use at host: Overwrite",
	"alloc at host: Overwrite",
	"use at host: Overwrite",
	"alloc at demo:1: SyncTo",
	"copy at demo:1 on stream 1: SyncTo, 4000 bytes of host",
	"avoided at demo:1: TryAcquire",
	"use at demo:1 on stream 1: TryAcquire",
	"copy at host on stream 2: Prefetch, 4000 bytes of demo:1, room for the other",
	"evict at demo:1: Prefetch, room for the other",
	"free at demo:1: Prefetch, room for the other",
	"alloc at demo:1: Prefetch",
	"copy at demo:1 on stream 1: Prefetch, 2000 bytes of host",
	"avoided at host: View",
	"use at host: View",
	"evict at demo:1: Evict",
	"free at demo:1: Evict",
	"free at host: Close",
	"free at host: Close",
}

// told are the spans, in the order of their events and in the form of did.
func told(tb testing.TB, spans []tracefile.Span) []string {
	tb.Helper()
	slices.SortFunc(spans, func(a, b tracefile.Span) int { return int(a.ID) - int(b.ID) })
	var lines []string
	for _, s := range spans {
		assert.False(tb, s.End.Before(s.Begin))
		assert.False(tb, s.Begin.Before(s.At))
		assert.Regexp(tb, `/trace_test\.go:\d+$`, s.Caller)
		if s.Kind == buffer.ActivityWait {
			continue
		}
		l := fmt.Sprintf("%v at %s", s.Kind, s.To)
		if s.Stream > 0 {
			assert.Equal(tb, "demo:1", s.Place)
			l += fmt.Sprintf(" on stream %d", s.Stream)
		}
		l += ": " + s.Cause
		if s.Kind == buffer.ActivityCopy {
			l += fmt.Sprintf(", %d bytes of %s", s.Hi-s.Lo, s.Sources)
		}
		if s.For != 0 {
			assert.Equal(tb, "budget", s.Why)
			assert.Equal(tb, s.Buffer+1, s.For)
			l += ", room for the other"
		}
		lines = append(lines, l)
	}
	return lines
}

// recorder writes a trace to a file.
type recorder struct {
	name   string
	closer io.Closer
}

func record(tb testing.TB) *recorder {
	tb.Helper()
	r := &recorder{name: filepath.Join(tb.TempDir(), "t.json")}
	var err error
	r.closer, err = trace.Create(r.name)
	require.NoError(tb, err)
	return r
}

// so is what the file has now.
func (r *recorder) so(tb testing.TB) (*tracefile.Trace, string) {
	tb.Helper()
	data, err := os.ReadFile(r.name)
	for before := []byte(nil); !bytes.Equal(data, before); { // work that ends may add to it between two parts that are read
		require.NoError(tb, err)
		before = data
		data, err = os.ReadFile(r.name)
	}
	require.NoError(tb, err)
	require.NoError(tb, tracecheck.Check(bytes.NewReader(data)))
	t, err := tracefile.Read(bytes.NewReader(data))
	require.NoError(tb, err)
	return t, string(data)
}

// stop ends the trace and returns it.
func (r *recorder) stop(tb testing.TB) (*tracefile.Trace, string) {
	tb.Helper()
	require.NoError(tb, r.closer.Close())
	return r.so(tb)
}

func TestTraceInChromesFormat(t *testing.T) {
	rec := record(t)
	work(t)
	r, out := rec.stop(t)
	require.Equal(t, did, told(t, r.Spans))
	assert.Equal(t, []tracefile.Place{{Name: "host"}, {Name: "demo:1", Title: r.Places[1].Title, Simulated: true}}, r.Places)
	for _, says := range []string{`"name":"demo:1 (simulated)"`, `"name":"stream 1"`, `"name":"memory"`, `"name":"calls"`,
		`"ph":"C"`, `"args":{"bytes":4000}`, `"ph":"s"`, `"ph":"f"`, `"cause":"Prefetch","action":"Evict"`} {
		assert.Contains(t, out, says)
	}
	assert.Equal(t, strings.Count(out, `"ph":"f"`), strings.Count(out, `"ph":"s"`))
	assert.Equal(t, 3, strings.Count(out, `"ph":"f"`), "an arrow for each copy")
}

func TestWhatIsNoTraceIsRefused(t *testing.T) {
	rec := record(t)
	work(t)
	_, out := rec.stop(t)
	for _, c := range []struct{ old, new string }{
		{`"producer":"halyard"`, `"producer":"other"`},
		{`[`, `{`},
		{`}},`, `}},,`},
		{`"ph":"X"`, `"ph":X`},
		{`"action":"Overwrite"`, `"action":"Sing"`},
		{`"lo":0,"hi":4000`, `"lo":5000,"hi":4000`},
		{`"pid":1,"tid":0`, `"pid":3,"tid":0`},
		{`"bytes":4000,"to"`, `"bytes":"x","to"`},
		{`"kind":"copy"`, `"kind":"cope"`},
		{`"kind":"copy","place":"demo:1"`, `"kind":"copy","place":"demo:2"`},
	} {
		require.Contains(t, out, c.old)
		_, err := tracefile.Read(strings.NewReader(strings.Replace(out, c.old, c.new, 1)))
		assert.ErrorIs(t, err, hal.ErrInvalidArgument, "%s -> %s", c.old, c.new)
	}
	whole := strings.TrimRight(out, "]\n")
	_, err := tracefile.Read(strings.NewReader(whole))
	assert.NoError(t, err, "the closing bracket may be missing")
	for _, text := range []string{"", "[", "[]", "{}", whole[:len(whole)-1], whole + "}"} {
		_, err := tracefile.Read(strings.NewReader(text))
		assert.ErrorIs(t, err, hal.ErrInvalidArgument)
	}
}

// At every moment of the run the file is a whole trace.
func TestFileIsCompleteAfterEachEvent(t *testing.T) {
	rec := record(t)
	whole := func() []tracefile.Span { r, _ := rec.so(t); return r.Spans }
	require.Empty(t, whole())
	stop := buffer.Observe(func(buffer.Activity) { whole() })
	work(t)
	stop()
	rec.stop(t)
	r, _ := rec.stop(t)
	require.Equal(t, did, told(t, r.Spans))
	work(t)
	require.Len(t, whole(), len(r.Spans), "nothing is written after Close")

	name := filepath.Join(t.TempDir(), "trace-%p.json")
	f, err := trace.Create(name)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.FileExists(t, strings.Replace(name, "%p", fmt.Sprint(os.Getpid()), 1))
	_, err = trace.Create("")
	assert.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, err = trace.Create(filepath.Join(t.TempDir(), "no", "such", "folder"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// What a write leaves if it ends at any boundary between two pages, as it does when the process is killed, can be read.
func TestFileIsCutBetweenItsEntries(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t.json")
	f, err := trace.Create(name)
	require.NoError(t, err)
	x, err := buffer.From(make([]byte, 100))
	require.NoError(t, err)
	cuts := 0
	for end := 1; cuts < 10; {
		require.NoError(t, x.View(context.Background(), func([]byte) error { return nil }))
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		if at := len(data) / 4096 * 4096; at >= end {
			cuts++
			require.NoError(t, tracecheck.Check(bytes.NewReader(data[:at])), "%s", data[at-100:])
			_, err = tracefile.Read(bytes.NewReader(data[:at]))
			require.NoError(t, err)
		}
		end = len(data)
	}
	require.NoError(t, x.Close())
	require.NoError(t, f.Close())
}

// Traces of programs that do many things at once keep the rules too.
func TestManyGoroutines(t *testing.T) {
	first, second := record(t), record(t)
	ctx := context.Background()
	devs := []*hal.Device{open(t, "many", 2, 1), open(t, "many", 2, 2)}
	shared, err := buffer.New[int64](1000)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			x, err := shared.Slice(i*100, i*100+150)
			if !assert.NoError(t, err) {
				return
			}
			for range 10 {
				assert.NoError(t, x.Update(ctx, func(s []int64) error { s[0]++; return nil }))
				assert.NoError(t, x.SyncTo(ctx, devs[i%2]))
			}
		})
	}
	wg.Wait()
	require.NoError(t, shared.Close())
	a, _ := first.stop(t)
	b, _ := second.stop(t)
	for _, d := range devs {
		require.NoError(t, d.Close())
	}
	assert.Len(t, b.Spans, len(a.Spans))
}

// nextTick gives others a turn until the clock, which may stand still for a while, has gone on, and returns its time.
func nextTick() time.Time {
	for before := time.Now(); ; runtime.Gosched() {
		if now := time.Now(); now.After(before) {
			return now
		}
	}
}

// A stream does its work in order, so work behind a shut gate has not begun.
func TestWorkOfAStreamIsShownInItsOrder(t *testing.T) {
	d := open(t, "order", 1, 1)
	s, err := d.NewStream()
	require.NoError(t, err)
	x, err := buffer.From(make([]byte, 100))
	require.NoError(t, err)
	y, err := buffer.From(make([]byte, 100))
	require.NoError(t, err)
	rec := record(t)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, x.Prefetch(s))
	require.NoError(t, y.Prefetch(s))
	opened := nextTick()
	nextTick()
	require.NoError(t, g.Signal())
	r, _ := rec.stop(t)
	var copies []tracefile.Span
	for _, s := range r.Spans {
		if s.Kind == buffer.ActivityCopy {
			copies = append(copies, s)
		}
	}
	require.Len(t, copies, 2)
	assert.True(t, copies[0].At.Before(opened) && copies[1].At.Before(opened), "asked for while the gate was shut")
	assert.True(t, copies[0].End.After(opened))
	assert.Less(t, copies[0].Buffer, copies[1].Buffer)
	assert.False(t, copies[1].Begin.Before(copies[0].End), "the second begins when the first has ended")
	require.NoError(t, x.Close())
	require.NoError(t, y.Close())
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}

// Streams that are gone leave nothing behind: their numbers are used again, also if one that works lives on.
func TestStreamsThatAreGoneAreForgotten(t *testing.T) {
	d := open(t, "short", 1, 1)
	x, err := buffer.From(make([]byte, 100))
	require.NoError(t, err)
	rec := record(t)
	uses := func() (numbers []int) { // of the streams
		r, _ := rec.so(t)
		for _, s := range r.Spans {
			if s.Kind == buffer.ActivityUse && s.Place == "short:1" {
				numbers = append(numbers, s.Stream)
			}
		}
		return numbers
	}
	kept, err := d.NewStream()
	require.NoError(t, err)
	require.NoError(t, use(x, kept))
	g, err := kept.Gate()
	require.NoError(t, err)
	require.NoError(t, use(x, kept))
	for range 200 {
		s, err := d.NewStream()
		require.NoError(t, err)
		seen := len(uses())
		require.NoError(t, use(x, s))
		for len(uses()) == seen { // until its end is recorded
			runtime.Gosched()
		}
		require.NoError(t, s.Close())
	}
	require.NoError(t, g.Signal())
	require.NoError(t, use(x, kept))
	rec.stop(t)
	require.Len(t, uses(), 203)
	require.LessOrEqual(t, slices.Max(uses()), 20)
	ofKept := slices.DeleteFunc(uses(), func(n int) bool { return n != 1 })
	require.Len(t, ofKept, 3, "a stream that lives on keeps its number to itself")
	require.NoError(t, kept.Close())
	require.NoError(t, x.Close())
	require.NoError(t, d.Close())
}

// use has the stream read x.
func use(x *buffer.Buffer[byte], s *hal.Stream) error {
	l, err := x.TryAcquire(s, coherence.Read)
	if err != nil {
		return err
	}
	return l.Release()
}

// A copy that is still under way when a program ends is in its file, without an end.
func TestFileHasCopiesThatAreNotDone(t *testing.T) {
	d := open(t, "slow", 1, 1)
	s, err := d.NewStream()
	require.NoError(t, err)
	x, err := buffer.From(make([]byte, 100))
	require.NoError(t, err)
	rec := record(t)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, x.Prefetch(s))
	copied := func() tracefile.Span {
		r, _ := rec.so(t)
		copies := slices.DeleteFunc(r.Spans, func(s tracefile.Span) bool { return s.Kind != buffer.ActivityCopy })
		require.Len(t, copies, 1)
		return copies[0]
	}
	before := copied()
	require.NoError(t, g.Signal())
	rec.stop(t)
	after := copied()
	assert.Equal(t, before.Begin, before.End)
	assert.True(t, after.End.After(before.End))
	after.Begin, after.End = before.Begin, before.End
	assert.Equal(t, before, after)
	require.NoError(t, x.Close())
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	stop := trace.Log(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug - 4})))
	work(t)
	stop()
	for _, line := range []string{
		`level=DEBUG msg="halyard: copy" buffer=\d+ at=demo:1 from=host sources=host lo=0 hi=4000 bytes=4000 cause=SyncTo action=Read took=\S+ simulated=true site=\S+/trace_test\.go:\d+\n`,
		`level=DEBUG msg="halyard: copy" buffer=\d+ at=host from=demo:1 .* cause=Prefetch action=Evict why=budget for_buffer=\d+ .*simulated=true`,
		`level=DEBUG msg="halyard: evict" buffer=\d+ at=demo:1 lo=0 hi=4000 bytes=4000 cause=Prefetch action=Evict why=budget for_buffer=\d+ .*simulated=true`,
		`level=DEBUG msg="halyard: alloc" buffer=\d+ at=demo:1 lo=0 hi=4000 bytes=4000 cause=SyncTo`,
		`level=DEBUG msg="halyard: wait" .* cause=SyncTo .*why=work`,
		`level=DEBUG-4 msg="halyard: avoided" buffer=\d+ at=host lo=0 hi=4000 bytes=4000 cause=View`,
	} {
		assert.Regexp(t, line, out.String())
	}
	assert.NotRegexp(t, `at=host lo=.*cause=View.*simulated`, out.String(), "the host is real")
	n := out.Len()
	work(t)
	require.Equal(t, n, out.Len(), "nothing is logged after stop")

	stop = trace.Log(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})))
	work(t)
	stop()
	require.Equal(t, n, out.Len(), "nothing is logged above level debug")
}

// What a copy waits for on other streams is not its own time.
func TestTheTimeOfACopyBeginsAfterWhatItWaitsFor(t *testing.T) {
	ctx := t.Context()
	d := open(t, "waits", 1, 1)
	defer func() { require.NoError(t, d.Close()) }()
	s, err := d.NewStream()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	b, err := buffer.New[float32](1000)
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	g, err := s.Gate()
	require.NoError(t, err)
	l, err := b.Acquire(ctx, s, coherence.Overwrite)
	require.NoError(t, err)
	require.NoError(t, l.Release()) // its work stands behind the gate

	asked := make(chan struct{})
	stop := buffer.Observe(func(e buffer.Activity) {
		if e.Kind == buffer.ActivityCopy {
			close(asked)
		}
	})
	defer stop()
	rec := record(t)
	viewed := make(chan error)
	go func() { viewed <- b.View(ctx, func([]float32) error { return nil }) }()
	<-asked
	opened := time.Now()
	require.NoError(t, g.Signal())
	require.NoError(t, <-viewed)
	r, _ := rec.stop(t)
	copies := 0
	for _, span := range r.Spans {
		if span.Kind == buffer.ActivityCopy {
			copies++
			const step = time.Microsecond // clocks of several processors differ by some steps on Windows
			assert.False(t, span.Begin.Before(opened.Add(-step)), "it begins %v before the work that it waits for is done", opened.Sub(span.Begin))
			assert.False(t, span.At.After(opened.Add(step))) // a clock may stand still for a while
		}
	}
	assert.Equal(t, 1, copies)
}

// The name of a buffer is in logs and in traces that are read again.
func TestBuffersHaveNames(t *testing.T) {
	var log bytes.Buffer
	stop := trace.Log(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 4})))
	rec := record(t)
	b, err := buffer.From([]float32{1}, buffer.WithName("pressure"))
	require.NoError(t, err)
	require.NoError(t, b.Close())
	r, _ := rec.stop(t)
	stop()
	assert.Contains(t, log.String(), "name=pressure")
	require.NotEmpty(t, r.Spans)
	for _, s := range r.Spans {
		assert.Equal(t, "pressure", s.Name)
	}
}
