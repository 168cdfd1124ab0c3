package main

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Comparison is the times of one operation, in nanoseconds, by who performs it. A ratio is Halyard's time divided by the
// other's: 1 is as fast, below 1 is faster.
type Comparison struct {
	Name   string             `json:"name"` // "copy/4096/in-pinned"
	NS     map[string]float64 `json:"ns"`   // by who does it: "halyard", "halyard-linked", "raw", "raw-linked", "cupy", "torch", "rmm"
	Ratios map[string]float64 `json:"ratios"`

	// Simulated says that the driver was simulated. The times then say nothing about hardware.
	Simulated bool `json:"simulated,omitempty"`
}

// The benchmarks of the backend and what the report calls them.
const (
	hardwarePrefix = "BenchmarkHardware/"
	poolPrefix     = "BenchmarkHardwarePool/"
)

// measured returns the operations that the parts measured, each with the times of all parts.
func (r *Report) measured() []Comparison {
	list := []Comparison{}
	at := make(map[string]int)
	add := func(name, who string, ns float64) {
		if ns <= 0 {
			return // it was not measured
		}
		i, ok := at[name]
		if !ok {
			i = len(list)
			at[name] = i
			list = append(list, Comparison{Name: name, NS: make(map[string]float64), Ratios: make(map[string]float64)})
		}
		list[i].NS[who] = ns
	}
	for _, part := range []struct{ name, suffix string }{{"benchmarks", ""}, {"benchmarks-linked", "-linked"}} {
		for _, b := range r.part(part.name).Benchmarks {
			addBenchmark(b, part.suffix, add)
		}
	}
	addLaunches(r.part("bench").Result, add)
	for _, library := range pythonLibraries {
		addPython(r.part(library).Result, library, add)
	}
	return list
}

// comparisons returns the operations that were measured for Halyard and at least one other, with ratios.
func comparisons(r *Report) []Comparison {
	list := r.measured()
	both := list[:0]
	for _, c := range list {
		for who, ns := range c.NS {
			if mine := c.NS[c.ours(who)]; !strings.HasPrefix(who, "halyard") && mine > 0 {
				c.Ratios[who] = mine / ns
			}
		}
		c.Simulated = r.Simulated
		if len(c.Ratios) > 0 {
			both = append(both, c)
		}
	}
	return both
}

// ours returns the name of Halyard's time with which another's is compared. For the driver's own calls it is that of the same binding.
func (c Comparison) ours(who string) string {
	if binding, raw := strings.CutPrefix(who, "raw"); raw {
		return "halyard" + binding
	}
	return "halyard"
}

// addBenchmark adds a benchmark of the backend, named SIZE/WHAT/WHO or call/WHAT.
func addBenchmark(b Benchmark, suffix string, add func(name, who string, ns float64)) {
	if rest, ok := strings.CutPrefix(b.Name, poolPrefix); ok {
		if size, _, ok := strings.Cut(rest, "/"); ok {
			add("pool/"+size, "halyard"+suffix, b.Values["ns/op"])
		}
		return
	}
	rest, ok := strings.CutPrefix(b.Name, hardwarePrefix)
	if !ok {
		return
	}
	if what, ok := strings.CutPrefix(rest, "call/"); ok {
		add("call/"+what, "halyard"+suffix, b.Values["hal-ns"])
		add("call/"+what, "raw"+suffix, b.Values["raw-ns"])
		return
	}
	part := strings.Split(rest, "/")
	if len(part) != 3 {
		return
	}
	name := "copy/" + part[0] + "/" + part[1]
	if part[1] == "alloc" || part[1] == "alloc-stream" {
		name = part[1] + "/" + part[0]
	}
	add(name, part[2]+suffix, b.Values["ns/op"])
}

// addLaunches adds what bench/devices measured of launches on the first CUDA device.
func addLaunches(result json.RawMessage, add func(name, who string, ns float64)) {
	type summary struct{ Median float64 }
	var measured struct {
		Results []struct {
			Device, Name string
			Ours         summary  `json:"ours_ns"`
			Raw          *summary `json:"raw_ns"`
		}
	}
	if json.Unmarshal(result, &measured) != nil {
		return
	}
	for _, m := range measured.Results {
		if m.Device != "cuda:0" || !strings.HasPrefix(m.Name, "launch/") {
			continue
		}
		add(m.Name, "halyard", m.Ours.Median)
		if m.Raw != nil {
			add(m.Name, "raw", m.Raw.Median)
		}
	}
}

// pythonLibraries are the libraries of Python with which Halyard is compared.
var pythonLibraries = []string{"cupy", "torch", "rmm"}

// addPython adds what compare.py measured with one library.
func addPython(result json.RawMessage, library string, add func(name, who string, ns float64)) {
	var sizes map[string]json.RawMessage
	if json.Unmarshal(result, &sizes) != nil {
		return
	}
	var launch map[string]struct {
		NS float64 `json:"ns/op"`
	}
	if json.Unmarshal(sizes["launch"], &launch) == nil {
		for what, t := range launch {
			add("launch/"+what, library, t.NS)
		}
	}
	for _, size := range pythonSizes {
		type times map[string]struct {
			NS float64 `json:"ns/op"`
		}
		var measured struct{ Alloc, Copy times }
		key := strconv.Itoa(size)
		if json.Unmarshal(sizes[key], &measured) != nil {
			continue
		}
		for what, t := range measured.Copy {
			add("copy/"+key+"/"+what, library, t.NS)
		}
		if t, ok := measured.Alloc["raw"]; ok {
			add("alloc/"+key, library, t.NS)
		}
		if t, ok := measured.Alloc["stream"]; ok {
			add("alloc-stream/"+key, library, t.NS)
		}
		if t, ok := measured.Alloc["pool"]; ok {
			add("pool/"+key, library, t.NS)
		}
	}
}

// pythonSizes are SIZES of compare.py.
var pythonSizes = []int{4 << 10, 1 << 20, 64 << 20}
