package trace

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/internal/tracefile"
)

type (
	entry = tracefile.Entry[any]
	span  = tracefile.Span
	place = tracefile.Place
)

type sorted struct {
	Index int `json:"sort_index"`
}

type resident struct {
	Bytes int64 `json:"bytes"`
}

// encoder turns spans into entries. The host and each device is a process of the trace, with a track for each stream, a track for
// allocations and evictions, and a track for calls and waits of the program. Spans come in the order of their ends or of
// their beginnings.
type encoder struct {
	begun time.Time
	write func(entry)

	procs  []string // names of the places; a pid is the index plus 1
	tracks []*lane  // a tid is the index plus 1
	bytes  map[string]int64
	latest map[string]tracefile.Micros // latest time of each place's counter: several buffers may report at once, out of order
}

// lane is one track. Spans on a track must not overlap, so overlapping spans are spread over several tracks.
type lane struct {
	proc  int
	name  string
	n     int // number among the tracks with the same name, from 1
	until tracefile.Micros
}

func newEncoder(begun time.Time, write func(entry)) *encoder {
	return &encoder{begun: begun, write: write, bytes: map[string]int64{}, latest: map[string]tracefile.Micros{}}
}

func (e *encoder) at(t time.Time) tracefile.Micros { return tracefile.Micros(max(0, t.Sub(e.begun))) }

// place introduces a place.
func (e *encoder) place(p place) {
	e.procs = append(e.procs, p.Name)
	pid := len(e.procs)
	n := tracefile.Named{Name: p.Label(), Place: p.Name, Title: p.Title, Simulated: p.Simulated}
	if pid == 1 {
		begun := e.begun.UTC()
		n.Producer, n.Begun = tracefile.Producer, &begun
	}
	e.write(entry{Name: "process_name", Phase: "M", Proc: pid, Args: n})
	e.write(entry{Name: "process_sort_index", Phase: "M", Proc: pid, Args: sorted{pid}})
	e.write(e.counter(p.Name, 0))
}

func (e *encoder) pid(place string) int { return slices.Index(e.procs, place) + 1 }

// lane returns the tid of the first track with the name that is free from the time at on.
func (e *encoder) lane(place, name string, order int, at, until tracefile.Micros) int {
	pid, n := e.pid(place), 0
	for i, l := range e.tracks {
		if l.proc != pid || l.name != name {
			continue
		}
		n++
		if l.until <= at {
			l.until = until
			return i + 1
		}
	}
	e.tracks = append(e.tracks, &lane{proc: pid, name: name, n: n + 1, until: until})
	tid := len(e.tracks)
	shown := name
	if n > 0 {
		shown += " (" + strconv.Itoa(n+1) + ")"
	}
	e.write(entry{Name: "thread_name", Phase: "M", Proc: pid, Track: tid, Args: tracefile.Named{Name: shown}})
	e.write(entry{Name: "thread_sort_index", Phase: "M", Proc: pid, Track: tid, Args: sorted{order}})
	return tid
}

// The tracks of a place, in their order.
const (
	callsTrack  = "calls"
	memoryTrack = "memory"
	streamTrack = "stream "
)

// ask writes the call that enqueued the work, and the start of the arrow from the call to the work.
func (e *encoder) ask(s span) {
	at, took := e.at(s.At), tracefile.Micros(s.Took)
	a := e.args(s)
	a.Kind, a.Place = s.Kind.String(), s.Place
	tid := e.lane("host", callsTrack, 0, at, at+took)
	e.write(entry{Name: s.Cause, Cat: tracefile.AskCategory, Phase: "X", At: at, Took: &took, Proc: 1, Track: tid, Args: a})
	e.write(entry{Name: "asked for", Cat: tracefile.AskCategory, Phase: "s", At: at, Proc: 1, Track: tid, ID: s.ID})
}

// span writes a span that has ended.
func (e *encoder) span(s span) {
	at, until := e.at(s.Begin), e.at(s.End)
	took := until - at
	x := entry{Name: words(&s), Cat: s.Kind.String(), Phase: "X", At: at, Took: &took, Proc: e.pid(s.Place), Args: e.args(s)}
	switch {
	case s.Stream > 0:
		x.Track = e.lane(s.Place, streamTrack+strconv.Itoa(s.Stream), 1+s.Stream, at, until)
	case s.Kind == buffer.ActivityAlloc || s.Kind == buffer.ActivityFree || s.Kind == buffer.ActivityEvict:
		x.Track = e.lane(s.Place, memoryTrack, 1, at, until)
	default:
		x.Track = e.lane(s.Place, callsTrack, 0, at, until)
	}
	if s.Kind == buffer.ActivityAlloc || s.Kind == buffer.ActivityFree || s.Kind == buffer.ActivityAvoided {
		x.Phase, x.Scope, x.Took = "i", "t", nil
	}
	e.write(x)
	switch {
	case s.Kind == buffer.ActivityAlloc:
		e.write(e.resident(s, +1))
	case s.Kind == buffer.ActivityFree:
		e.write(e.resident(s, -1))
	case s.Stream > 0 && s.Kind != buffer.ActivityUse:
		e.write(entry{Name: "asked for", Cat: tracefile.AskCategory, Phase: "f", At: at, Proc: x.Proc, Track: x.Track, ID: s.ID, Binding: "e"})
	}
}

func (e *encoder) resident(s span, sign int64) entry {
	e.bytes[s.To] += sign * int64(s.Hi-s.Lo)
	return e.counter(s.To, e.at(s.Begin))
}

// counter returns the change of the bytes of replicas at a place since the trace began. It is negative if replicas that
// existed before have been freed.
func (e *encoder) counter(place string, at tracefile.Micros) entry {
	at = max(at, e.latest[place])
	e.latest[place] = at
	return entry{Name: "resident", Phase: "C", At: at, Proc: e.pid(place), Args: resident{e.bytes[place]}}
}

func (e *encoder) args(s span) tracefile.Args {
	return tracefile.Args{ID: s.ID, Buffer: s.Buffer, Name: s.Name, Lo: s.Lo, Hi: s.Hi, Bytes: s.Hi - s.Lo, From: s.From, To: s.To, Cause: s.Cause,
		Action: s.Action, For: s.For, Why: s.Why, Sources: s.Sources, Caller: s.Caller, Asked: e.at(s.At),
		Call: tracefile.Micros(s.Took), Stream: s.Stream}
}

// A trace is an array of entries, one on each line. Its closing bracket is optional in the format.
const (
	head = "["
	tail = "\n]\n"
)

func line(x entry) []byte {
	var b bytes.Buffer
	j := json.NewEncoder(&b)
	j.SetEscapeHTML(false)
	_ = j.Encode(x) // cannot fail: it writes to memory, and all types can be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
