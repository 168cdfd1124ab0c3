package tracefile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Span is one event with its beginning and end, and the place and stream at which it is shown. The fields Stream, FromDevice and ToDevice of
// its Activity are nil.
type Span struct {
	buffer.Activity

	Begin time.Time // the time when the stream began the work, after all that it waited for; At for events that are not work of a stream
	End   time.Time // equal to Begin if the event takes no time or its end is not known

	What   string // the event in a few words
	Place  string // "host" for waits and accesses of the host; else the device's name
	Stream int    // number of the stream at the place, from 1; numbers of closed streams are reused; 0 if no stream did the work
	Caller string // file:line in the program that caused the event, "" if it is not known
	ID     uint64 // number of the event, from 1
}

// Place is the host or a device, as it appears in a trace.
type Place struct {
	Name      string // "host", "cuda:0"
	Title     string // the device's model, for display; "" for the host
	Simulated bool   // the device is simulated
}

// Label returns the place's name, with " (simulated)" if it is simulated.
func (p Place) Label() string {
	if p.Simulated {
		return p.Name + " (simulated)"
	}
	return p.Name
}

// Trace has the events of a file.
type Trace struct {
	Spans  []Span  // in the order of their beginnings
	Places []Place // the host first
}

// Read reads a trace; its closing bracket may be missing. If the input is not such a trace, the error is of kind hal.ErrInvalidArgument.
func Read(in io.Reader) (*Trace, error) {
	r := reader{ended: map[uint64]bool{}}
	d := json.NewDecoder(in)
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return nil, bad("the input is not a JSON array")
	}
	for i := 0; d.More(); i++ {
		var x Entry[json.RawMessage]
		err := d.Decode(&x)
		if err == io.EOF {
			break // the file ends after a comma, which a write that is cut off leaves
		}
		if err == nil && x.Name == "process_name" {
			err = r.place(&x)
		}
		if err == nil {
			err = r.span(&x)
		}
		if err != nil {
			return nil, bad("entry %d: %v", i, err)
		}
	}
	if _, err := d.Token(); err != nil && err != io.EOF {
		return nil, bad("%v", err)
	}
	if r.begun.IsZero() {
		return nil, bad("the trace was not written by this package")
	}
	for _, s := range r.asked {
		if !r.ended[s.ID] {
			r.Spans = append(r.Spans, s)
		}
	}
	slices.SortStableFunc(r.Spans, func(a, b Span) int { return cmp.Or(a.Begin.Compare(b.Begin), cmp.Compare(a.ID, b.ID)) })
	return &r.Trace, nil
}

func bad(format string, v ...any) error {
	return hal.Errorf("read trace", hal.ErrInvalidArgument, format, v...)
}

// reader is a trace of which some entries have been read.
type reader struct {
	Trace
	begun time.Time
	ended map[uint64]bool // by the number of the event
	asked []Span          // calls that enqueued work; the work has an entry of its own if it has ended
}

// place reads an entry that introduces a place.
func (r *reader) place(x *Entry[json.RawMessage]) error {
	var n Named
	if err := json.Unmarshal(x.Args, &n); err != nil {
		return err
	}
	if x.Proc == 1 && n.Producer == Producer && n.Begun != nil {
		r.begun = *n.Begun
	}
	if x.Proc != len(r.Places)+1 {
		return fmt.Errorf("place %d follows %d other places", x.Proc, len(r.Places))
	}
	r.Places = append(r.Places, Place{n.Place, n.Title, n.Simulated})
	return nil
}

// span reads an entry that is an event or a call that enqueued work. It passes over others.
func (r *reader) span(x *Entry[json.RawMessage]) error {
	kind, ok := kindOf(x.Cat)
	if !ok && x.Cat != AskCategory || x.Phase != "X" && x.Phase != "i" {
		return nil
	}
	var a Args
	took := Micros(0)
	if x.Took != nil {
		took = *x.Took
	}
	if err := json.Unmarshal(x.Args, &a); err != nil {
		return err
	}
	if x.Cat == AskCategory {
		if kind, ok = kindOf(a.Kind); !ok {
			return fmt.Errorf("unknown kind %q", a.Kind)
		}
		if !slices.ContainsFunc(r.Places, func(p Place) bool { return p.Name == a.Place }) {
			return fmt.Errorf("unknown place %q", a.Place)
		}
	}
	switch {
	case x.Proc < 1 || x.Proc > len(r.Places):
		return fmt.Errorf("unknown place %d", x.Proc)
	case a.Lo > a.Hi || x.At < 0 || took < 0:
		return errors.New("a range ends before it begins, or a time is negative")
	case !isAction(a.Action):
		return fmt.Errorf("unknown action %q", a.Action)
	}
	when := func(m Micros) time.Time { return r.begun.Add(time.Duration(m)) }
	s := Span{Activity: buffer.Activity{Kind: kind, Buffer: a.Buffer, Name: a.Name, From: a.From, To: a.To, Lo: a.Lo, Hi: a.Hi, Cause: a.Cause,
		Action: a.Action, For: a.For, Why: a.Why, Sources: a.Sources, At: when(a.Asked), Took: time.Duration(a.Call)},
		Begin: when(x.At), End: when(x.At + took), What: x.Name, Place: r.Places[x.Proc-1].Name, Stream: a.Stream, Caller: a.Caller, ID: a.ID}
	if x.Cat == AskCategory {
		s.What, s.Place, s.Begin, s.End = a.From+" → "+a.To, a.Place, s.At, s.At
		if kind == buffer.ActivityFill {
			s.What = "zeros → " + a.To
		}
		r.asked = append(r.asked, s)
		return nil
	}
	r.ended[s.ID] = true
	r.Spans = append(r.Spans, s)
	return nil
}

func kindOf(name string) (buffer.ActivityKind, bool) {
	for k := buffer.ActivityCopy; k <= buffer.ActivityUse; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

func isAction(name string) bool {
	return slices.ContainsFunc(protocol.Actions(), func(a protocol.Action) bool { return a.String() == name })
}
