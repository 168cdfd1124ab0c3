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
	processes, threads := map[int]bool{}, map[track]bool{}
	onTrack := map[track][]slice{}
	latest := map[track]float64{}
	counters := map[string]float64{}
	begun := map[string]event{}
	var ends []event
	for i, e := range events {
		bad := func(format string, v ...any) error {
			return fmt.Errorf("event %d, %q of phase %q: %s", i, e.Name, e.Ph, fmt.Sprintf(format, v...))
		}
		if e.Name == "" || e.Ts == nil || e.Pid == nil || e.Tid == nil {
			return bad("a name, time, process or track is missing")
		}
		if *e.Ts < 0 || e.Dur != nil && *e.Dur < 0 {
			return bad("the time or the duration is negative")
		}
		at := track{*e.Pid, *e.Tid}
		switch e.Ph {
		case "M":
			name, _ := e.Args["name"].(string)
			switch e.Name {
			case "process_name":
				if name == "" || processes[at.pid] {
					return bad("process %d gets no name, or a second one", at.pid)
				}
				processes[at.pid] = true
			case "thread_name":
				if name == "" || threads[at] {
					return bad("track %v gets no name, or a second one", at)
				}
				threads[at] = true
			case "process_sort_index", "thread_sort_index":
			default:
				return bad("no such metadata")
			}
			continue
		case "C":
			key := fmt.Sprint(at.pid, e.Name)
			if *e.Ts < counters[key] {
				return bad("the counter goes back in time")
			}
			counters[key] = *e.Ts
			for k, v := range e.Args {
				if _, ok := v.(float64); !ok {
					return bad("%s is not a number", k)
				}
			}
		case "X":
			if e.Dur == nil {
				return bad("no duration")
			}
			if !threads[at] {
				return bad("track %v has no name", at)
			}
			// Rounding can make two times differ by a nanosecond.
			if *e.Ts < latest[at]-0.001 {
				return bad("begins at %v on track %v, before the last event ended at %v", *e.Ts, at, latest[at])
			}
			latest[at] = *e.Ts + *e.Dur
			onTrack[at] = append(onTrack[at], slice{*e.Ts, *e.Ts + *e.Dur})
		case "i":
			if e.S != "t" && e.S != "p" && e.S != "g" {
				return bad("an instant of scope %q", e.S)
			}
			if !threads[at] {
				return bad("track %v has no name", at)
			}
			if *e.Ts < latest[at]-0.001 {
				return bad("is at %v on track %v, before the last event ended at %v", *e.Ts, at, latest[at])
			}
			latest[at] = *e.Ts
		case "s":
			if e.ID == nil || begun[fmt.Sprint(e.ID)].Name != "" {
				return bad("an arrow without a number, or with the number of another arrow")
			}
			begun[fmt.Sprint(e.ID)] = e
		case "f":
			if e.Bp != "e" {
				return bad("an arrow that does not end on the slice around it")
			}
			ends = append(ends, e)
		default:
			return bad("no such phase")
		}
		if !processes[at.pid] {
			return bad("process %d has no name", at.pid)
		}
	}
	on := func(e event) bool {
		return slices.ContainsFunc(onTrack[track{*e.Pid, *e.Tid}], func(s slice) bool { return s.begin <= *e.Ts && *e.Ts <= s.end })
	}
	for _, f := range ends {
		s, ok := begun[fmt.Sprint(f.ID)]
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
