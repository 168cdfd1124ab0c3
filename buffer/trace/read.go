package trace

import (
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Read reads a trace of [Recording.WriteJSON] or of [Create]; its closing bracket may be missing. If the input is not such a trace, the error is
// of kind hal.ErrInvalidArgument.
func Read(in io.Reader) (*Recording, error) {
	bad := func(format string, v ...any) error {
		return hal.Errorf("read trace", hal.ErrInvalidArgument, format, v...)
	}
	r := &Recording{}
	ended := map[uint64]bool{}
	var asked []Span
	when := func(m micros) time.Time { return r.begun.Add(time.Duration(m)) }
	d := json.NewDecoder(in)
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return nil, bad("the input is not a JSON array")
	}
	for i := 0; d.More(); i++ {
		var x struct {
			Name, Cat string
			Phase     string `json:"ph"`
			At        micros `json:"ts"`
			Took      micros `json:"dur"`
			Proc      int    `json:"pid"`
			Args      json.RawMessage
		}
		if err := d.Decode(&x); err == io.EOF {
			break // the file ends after a comma: see file.write
		} else if err != nil {
			return nil, bad("entry %d: %v", i, err)
		}
		if x.Name == "process_name" {
			var n named
			if err := json.Unmarshal(x.Args, &n); err != nil {
				return nil, bad("entry %d: %v", i, err)
			}
			if x.Proc == 1 && n.Producer == producer && n.Begun != nil {
				r.begun, r.ended = *n.Begun, *n.Begun
			}
			if x.Proc != len(r.places)+1 {
				return nil, bad("entry %d: place %d follows %d other places", i, x.Proc, len(r.places))
			}
			r.places = append(r.places, Place{n.Place, n.Title, n.Simulated})
		}
		kind, ok := kindOf(x.Cat)
		if !ok && x.Cat != askCategory || x.Phase != "X" && x.Phase != "i" {
			continue
		}
		var a args
		if err := json.Unmarshal(x.Args, &a); err != nil {
			return nil, bad("entry %d: %v", i, err)
		}
		if x.Cat == askCategory {
			if kind, ok = kindOf(a.Kind); !ok {
				return nil, bad("entry %d: unknown kind %q", i, a.Kind)
			}
			if !slices.ContainsFunc(r.places, func(p Place) bool { return p.Name == a.Place }) {
				return nil, bad("entry %d: unknown place %q", i, a.Place)
			}
		}
		switch {
		case x.Proc < 1 || x.Proc > len(r.places):
			return nil, bad("entry %d: unknown place %d", i, x.Proc)
		case a.Lo > a.Hi || x.At < 0 || x.Took < 0:
			return nil, bad("entry %d: a range ends before it begins, or a time is negative", i)
		case !isAction(a.Action):
			return nil, bad("entry %d: unknown action %q", i, a.Action)
		}
		s := Span{Activity: buffer.Activity{Kind: kind, Buffer: a.Buffer, Name: a.Name, From: a.From, To: a.To, Lo: a.Lo, Hi: a.Hi, Cause: a.Cause,
			Action: a.Action, For: a.For, Why: a.Why, Sources: a.Sources, At: when(a.Asked), Took: time.Duration(a.Call)},
			Begin: when(x.At), End: when(x.At + x.Took), Place: r.places[x.Proc-1].Name, Stream: a.Stream, Caller: a.Caller, ID: a.ID}
		if s.End.After(r.ended) {
			r.ended = s.End
		}
		if x.Cat == askCategory {
			s.Place, s.Begin, s.End = a.Place, s.At, s.At
			asked = append(asked, s)
			continue
		}
		ended[s.ID] = true
		r.spans = append(r.spans, s)
	}
	if _, err := d.Token(); err != nil && err != io.EOF {
		return nil, bad("%v", err)
	}
	if r.begun.IsZero() {
		return nil, bad("the trace was not written by this package")
	}
	for _, s := range asked {
		if !ended[s.ID] {
			r.spans = append(r.spans, s)
		}
	}
	return r, nil
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
