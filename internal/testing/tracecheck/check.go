// Package tracecheck checks trace files against those rules of the Trace Event Format on which viewers rely.
package tracecheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

type event struct {
	Name string
	Ph   string
	Ts   *float64
	Dur  *float64
	Pid  *int
	Tid  *int
	ID   any
	Bp   string
	S    string
	Args map[string]any
}

type slice struct{ begin, end float64 }

type track struct{ pid, tid int }

// Check reports the first way in which a trace in the array form breaks a rule:
//
//   - it is JSON; the closing bracket may be missing, with a comma left at the end;
//   - every event has a name, a known phase, and numbers for its process, track and time, and the time is not negative;
//   - metadata names every process and every track that has an event, once;
//   - on a track, the slices do not overlap, and slices and instants come in the order of their times; so do the
//     values of a counter, which are numbers;
//   - an instant has a scope;
//   - an arrow begins before it ends, and both ends lie on a slice; an arrow that begins and does not end is allowed.
func Check(in io.Reader) error {
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var events []event
	if data = bytes.TrimSpace(data); !bytes.HasSuffix(data, []byte("]")) {
		data = append(bytes.TrimSuffix(data, []byte(",")), ']')
	}
	if err := json.Unmarshal(data, &events); err != nil {
		return err
	}
	c := checker{map[int]bool{}, map[track]bool{}, map[track][]slice{}, map[track]float64{}, map[string]float64{}, map[string]event{}, nil}
	for i, e := range events {
		if bad := c.event(e); bad != "" {
			return fmt.Errorf("event %d, %q of phase %q: %s", i, e.Name, e.Ph, bad)
		}
	}
	return c.arrows()
}

// checker is what the events so far have said.
type checker struct {
	processes map[int]bool
	threads   map[track]bool
	onTrack   map[track][]slice
	latest    map[track]float64
	counters  map[string]float64
	begun     map[string]event
	ends      []event
}

// event takes the next event. It returns which rule that breaks, or "".
func (c *checker) event(e event) string {
	if e.Name == "" || e.Ts == nil || e.Pid == nil || e.Tid == nil {
		return "a name, time, process or track is missing"
	}
	if *e.Ts < 0 || e.Dur != nil && *e.Dur < 0 {
		return "the time or the duration is negative"
	}
	at := track{*e.Pid, *e.Tid}
	bad := ""
	switch e.Ph {
	case "M":
		return c.metadata(e, at)
	case "C":
		bad = c.counter(e, at)
	case "X":
		if e.Dur == nil {
			return "no duration"
		}
		bad = c.moment(e, at, "begins", *e.Dur)
		c.onTrack[at] = append(c.onTrack[at], slice{*e.Ts, *e.Ts + *e.Dur})
	case "i":
		if e.S != "t" && e.S != "p" && e.S != "g" {
			return fmt.Sprintf("an instant of scope %q", e.S)
		}
		bad = c.moment(e, at, "is", 0)
	case "s":
		if e.ID == nil || c.begun[fmt.Sprint(e.ID)].Name != "" {
			return "an arrow without a number, or with the number of another arrow"
		}
		c.begun[fmt.Sprint(e.ID)] = e
	case "f":
		if e.Bp != "e" {
			return "an arrow that does not end on the slice around it"
		}
		c.ends = append(c.ends, e)
	default:
		return "no such phase"
	}
	if bad == "" && !c.processes[at.pid] {
		bad = fmt.Sprintf("process %d has no name", at.pid)
	}
	return bad
}

func (c *checker) metadata(e event, at track) string {
	name, _ := e.Args["name"].(string)
	switch e.Name {
	case "process_name":
		if name == "" || c.processes[at.pid] {
			return fmt.Sprintf("process %d gets no name, or a second one", at.pid)
		}
		c.processes[at.pid] = true
	case "thread_name":
		if name == "" || c.threads[at] {
			return fmt.Sprintf("track %v gets no name, or a second one", at)
		}
		c.threads[at] = true
	case "process_sort_index", "thread_sort_index":
	default:
		return "no such metadata"
	}
	return ""
}

func (c *checker) counter(e event, at track) string {
	key := fmt.Sprint(at.pid, e.Name)
	if *e.Ts < c.counters[key] {
		return "the counter goes back in time"
	}
	c.counters[key] = *e.Ts
	for k, v := range e.Args {
		if _, ok := v.(float64); !ok {
			return k + " is not a number"
		}
	}
	return ""
}

// moment is for what has a place on a track, after what was there before.
func (c *checker) moment(e event, at track, does string, lasts float64) string {
	if !c.threads[at] {
		return fmt.Sprintf("track %v has no name", at)
	}
	// Rounding can make two times differ by a nanosecond.
	if *e.Ts < c.latest[at]-0.001 {
		return fmt.Sprintf("%s at %v on track %v, before the last event ended at %v", does, *e.Ts, at, c.latest[at])
	}
	c.latest[at] = *e.Ts + lasts
	return ""
}

// arrows checks the ends of all arrows.
func (c *checker) arrows() error {
	on := func(e event) bool {
		return slices.ContainsFunc(c.onTrack[track{*e.Pid, *e.Tid}], func(s slice) bool { return s.begin <= *e.Ts && *e.Ts <= s.end })
	}
	for _, f := range c.ends {
		s, ok := c.begun[fmt.Sprint(f.ID)]
		switch {
		case !ok:
			return fmt.Errorf("arrow %v ends and does not begin", f.ID)
		case *f.Ts < *s.Ts:
			return fmt.Errorf("arrow %v ends before it begins", f.ID)
		case s.Name != f.Name:
			return fmt.Errorf("arrow %v has two names", f.ID)
		case !on(s) || !on(f):
			return fmt.Errorf("an end of arrow %v lies on no slice", f.ID)
		}
	}
	return nil
}
