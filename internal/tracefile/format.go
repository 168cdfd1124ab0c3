// Package tracefile has the format of the traces that package buffer/trace writes, and reads them for the command and for tests.
package tracefile

import (
	"encoding/json"
	"strconv"
	"time"
)

// Entry is one event of the Trace Event Format, which Chrome and Perfetto read. Times are in microseconds since the beginning of the trace.
type Entry[A any] struct {
	Name    string  `json:"name"`
	Cat     string  `json:"cat,omitempty"`
	Phase   string  `json:"ph"`
	At      Micros  `json:"ts"`
	Took    *Micros `json:"dur,omitempty"` // of a slice
	Proc    int     `json:"pid"`
	Track   int     `json:"tid"`
	ID      uint64  `json:"id,omitempty"` // of a flow
	Binding string  `json:"bp,omitempty"` // of the end of a flow: "e", the slice that encloses it
	Scope   string  `json:"s,omitempty"`  // of an instant: "t", its track
	Args    A       `json:"args,omitempty"`
}

// Micros is a time in nanoseconds, which is a number of microseconds in the file, without loss.
type Micros int64

func (m Micros) MarshalJSON() ([]byte, error) {
	b := strconv.AppendInt(nil, int64(m/1000), 10)
	if ns := m % 1000; ns != 0 {
		b = append(b, '.', byte('0'+ns/100), byte('0'+ns/10%10), byte('0'+ns%10))
	}
	return b, nil
}

func (m *Micros) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	*m = Micros(f*1000 + 0.5)
	return nil
}

// Args are the arguments of a span's entry. Sizes and ranges are in bytes.
type Args struct {
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
	Asked   Micros `json:"asked"` // the time when the call began; ts is the time when the stream began the work
	Call    Micros `json:"call,omitempty"`
	Stream  int    `json:"stream,omitempty"`
	Kind    string `json:"kind,omitempty"`  // kind of the work that the call enqueued
	Place   string `json:"place,omitempty"` // place of the stream that got the work
}

// Named are the arguments of an entry that introduces a place or a track.
type Named struct {
	Name      string `json:"name"`
	Place     string `json:"place,omitempty"`
	Title     string `json:"title,omitempty"`
	Simulated bool   `json:"simulated,omitempty"`

	// Only for the first place: the program that wrote the trace, and when it began.
	Producer string     `json:"producer,omitempty"`
	Begun    *time.Time `json:"begun,omitempty"`
}

// Producer is the program of every trace.
const Producer = "halyard"

// AskCategory is the category of calls that enqueued work, as opposed to the work itself.
const AskCategory = "ask"
