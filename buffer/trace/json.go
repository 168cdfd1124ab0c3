package trace

import (
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/go-halyard/halyard/buffer"
)

// entry is one event of the trace event format, which Chrome and Perfetto read. Times are in
// microseconds.
type entry struct {
	Name  string  `json:"name"`
	Cat   string  `json:"cat,omitempty"`
	Phase string  `json:"ph"`
	At    float64 `json:"ts"`
	Took  float64 `json:"dur,omitempty"`
	Proc  int     `json:"pid"`
	Track int     `json:"tid"`
	Scope string  `json:"s,omitempty"`
	Args  any     `json:"args,omitempty"`
}

type args struct {
	Name    string `json:"name,omitempty"`
	Buffer  uint64 `json:"buffer,omitempty"`
	Lo      uint64 `json:"lo,omitempty"`
	Hi      uint64 `json:"hi,omitempty"`
	Bytes   uint64 `json:"bytes,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Sources string `json:"sources,omitempty"`
}

// WriteJSON writes the recording as a Chrome trace: a track per device and direction, and one for the
// host; each event carries its buffer, range in bytes, cause, and the places that had the bytes.
func (r *Recording) WriteJSON(w io.Writer) error {
	spans := r.Spans()
	names := tracks(spans)
	var out struct {
		Entries []entry `json:"traceEvents"`
		Unit    string  `json:"displayTimeUnit"`
	}
	out.Unit = "ns"
	out.Entries = append(out.Entries, entry{Name: "process_name", Phase: "M", Proc: 1, Args: args{Name: "halyard"}})
	for i, n := range names {
		out.Entries = append(out.Entries, entry{Name: "thread_name", Phase: "M", Proc: 1, Track: i + 1, Args: args{Name: n}})
	}
	for _, s := range spans {
		e := entry{Name: s.label(), Cat: s.Kind.String(), Phase: "X", At: micros(s.At.Sub(r.begun)), Took: micros(s.End.Sub(s.At)),
			Proc: 1, Track: slices.Index(names, s.Track) + 1,
			Args: args{Buffer: s.Buffer, Lo: s.Lo, Hi: s.Hi, Bytes: s.Hi - s.Lo, Cause: s.Cause}}
		if s.Kind == buffer.EventCopy {
			a := e.Args.(args)
			a.Sources = s.Sources.String()
			e.Args = a
		}
		if s.Kind == buffer.EventAlloc || s.Kind == buffer.EventFree {
			e.Phase, e.Scope = "i", "t"
		}
		out.Entries = append(out.Entries, e)
	}
	return json.NewEncoder(w).Encode(out)
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
