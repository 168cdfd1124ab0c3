package trace

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/go-halyard/halyard/buffer"
)

// entry is one event of the Trace Event Format, which Chrome and Perfetto read. Times are in
// microseconds since the beginning of the trace.
type entry struct {
	Name    string  `json:"name"`
	Cat     string  `json:"cat,omitempty"`
	Phase   string  `json:"ph"`
	At      micros  `json:"ts"`
	Took    *micros `json:"dur,omitempty"` // of a slice
	Proc    int     `json:"pid"`
	Track   int     `json:"tid"`
	ID      uint64  `json:"id,omitempty"` // of a flow
	Binding string  `json:"bp,omitempty"` // of the end of a flow: "e", the slice that encloses it
	Scope   string  `json:"s,omitempty"`  // of an instant: "t", its track
	Args    any     `json:"args,omitempty"`
}

// micros is a time in nanoseconds that is encoded in microseconds without loss.
type micros int64

func (m micros) MarshalJSON() ([]byte, error) {
	b := strconv.AppendInt(nil, int64(m/1000), 10)
	if ns := m % 1000; ns != 0 {
		b = append(b, '.', byte('0'+ns/100), byte('0'+ns/10%10), byte('0'+ns%10))
	}
	return b, nil
}

// args are the arguments of a span's entry. Sizes and ranges are in bytes.
type args struct {
	ID      uint64 `json:"id"`
	Buffer  uint64 `json:"buffer"`
	Name    string `json:"name,omitempty"` // of the buffer
	Lo      uint64 `json:"lo"`
	Hi      uint64 `json:"hi"`
	Bytes   uint64 `json:"bytes"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Action  string `json:"action,omitempty"`
	For     uint64 `json:"for_buffer,omitempty"`
	Why     string `json:"why,omitempty"`
	Sources string `json:"sources,omitempty"`
	Caller  string `json:"caller,omitempty"`
	Asked   micros `json:"asked"` // the time when the call began; ts is the time when the stream began the work
	Call    micros `json:"call,omitempty"`
	Stream  int    `json:"stream,omitempty"`
	Kind    string `json:"kind,omitempty"`  // kind of the work that the call enqueued
	Place   string `json:"place,omitempty"` // place of the stream that got the work
}

type named struct {
	Name      string `json:"name"`
	Place     string `json:"place,omitempty"`
	Title     string `json:"title,omitempty"`
	Simulated bool   `json:"simulated,omitempty"`

	// Only for the first place: the program that wrote the trace, and when it began.
	Producer string     `json:"producer,omitempty"`
	Begun    *time.Time `json:"begun,omitempty"`
}

const producer = "halyard"

type sorted struct {
	Index int `json:"sort_index"`
}

type resident struct {
	Bytes int64 `json:"bytes"`
}

// askCategory is the category of calls that enqueued work, as opposed to the work itself.
const askCategory = "ask"

// encoder turns spans into entries. The host and each device is a process of the trace, with a track for each stream, a track for
// allocations and evictions, and a track for calls and waits of the program. Spans come in the order of their ends or of
// their beginnings.
type encoder struct {
	begun time.Time
	write func(entry)

	procs  []string // names of the places; a pid is the index plus 1
	tracks []*lane  // a tid is the index plus 1
	bytes  map[string]int64
	latest map[string]micros // latest time of each place's counter: several buffers may report at once, out of order
}

// lane is one track. Spans on a track must not overlap, so overlapping spans are spread over several tracks.
type lane struct {
	proc  int
	name  string
	n     int // number among the tracks with the same name, from 1
	until micros
}

func newEncoder(begun time.Time, write func(entry)) *encoder {
	return &encoder{begun: begun, write: write, bytes: map[string]int64{}, latest: map[string]micros{}}
}

func (e *encoder) at(t time.Time) micros { return micros(max(0, t.Sub(e.begun))) }

// place introduces a place.
func (e *encoder) place(p place) {
	e.procs = append(e.procs, p.Name)
	pid := len(e.procs)
	n := named{Name: p.label(), Place: p.Name, Title: p.Title, Simulated: p.Simulated}
	if pid == 1 {
		begun := e.begun.UTC()
		n.Producer, n.Begun = producer, &begun
	}
	e.write(entry{Name: "process_name", Phase: "M", Proc: pid, Args: n})
	e.write(entry{Name: "process_sort_index", Phase: "M", Proc: pid, Args: sorted{pid}})
	e.write(e.counter(p.Name, 0))
}

func (e *encoder) pid(place string) int { return slices.Index(e.procs, place) + 1 }

// lane returns the tid of the first track with the name that is free from the time at on.
func (e *encoder) lane(place, name string, order int, at, until micros) int {
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
	e.write(entry{Name: "thread_name", Phase: "M", Proc: pid, Track: tid, Args: named{Name: shown}})
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
	at, took := e.at(s.At), micros(s.Took)
	a := e.args(s)
	a.Kind, a.Place = s.Kind.String(), s.Place
	tid := e.lane("host", callsTrack, 0, at, at+took)
	e.write(entry{Name: s.Cause, Cat: askCategory, Phase: "X", At: at, Took: &took, Proc: 1, Track: tid, Args: a})
	e.write(entry{Name: "asked for", Cat: askCategory, Phase: "s", At: at, Proc: 1, Track: tid, ID: s.ID})
}

// span writes a span that has ended.
func (e *encoder) span(s span) {
	at, until := e.at(s.Begin), e.at(s.End)
	took := until - at
	x := entry{Name: s.String(), Cat: s.Kind.String(), Phase: "X", At: at, Took: &took, Proc: e.pid(s.Place), Args: e.args(s)}
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
		e.write(entry{Name: "asked for", Cat: askCategory, Phase: "f", At: at, Proc: x.Proc, Track: x.Track, ID: s.ID, Binding: "e"})
	}
}

func (e *encoder) resident(s span, sign int64) entry {
	e.bytes[s.To] += sign * int64(s.Hi-s.Lo)
	return e.counter(s.To, e.at(s.Begin))
}

// counter returns the change of the bytes of replicas at a place since the trace began. It is negative if replicas that
// existed before have been freed.
func (e *encoder) counter(place string, at micros) entry {
	at = max(at, e.latest[place])
	e.latest[place] = at
	return entry{Name: "resident", Phase: "C", At: at, Proc: e.pid(place), Args: resident{e.bytes[place]}}
}

func (e *encoder) args(s span) args {
	return args{ID: s.ID, Buffer: s.Buffer, Name: s.Name, Lo: s.Lo, Hi: s.Hi, Bytes: s.Hi - s.Lo, From: s.From, To: s.To, Cause: s.Cause,
		Action: s.Action, For: s.For, Why: s.Why, Sources: s.Sources, Caller: s.Caller, Asked: e.at(s.At),
		Call: micros(s.Took), Stream: s.Stream}
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
