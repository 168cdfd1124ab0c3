package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// readJSON keeps the output of a program that prints JSON.
func readJSON(p *Part, output []byte) error {
	output = bytes.TrimSpace(output)
	if !json.Valid(output) {
		return errors.New("the output is not JSON")
	}
	p.Result = output
	return nil
}

// readTable expects a page with a table, which stays in the folder of outputs.
func readTable(_ *Part, output []byte) error {
	if !bytes.Contains(output, []byte("\n| program")) {
		return errors.New("the output has no table")
	}
	return nil
}

// notInstalled is what compare.py says of a library that Python does not have.
const notInstalled = "not installed"

// readLibrary keeps what compare.py measured with a library. The part is skipped if it says why it measured nothing.
func readLibrary(p *Part, output []byte) error {
	if err := readJSON(p, output); err != nil {
		return err
	}
	var result struct {
		Unavailable string `json:"unavailable"`
	}
	switch err := json.Unmarshal(p.Result, &result); {
	case err != nil:
		return err
	case result.Unavailable == notInstalled:
		return skipped(notInstalled)
	case result.Unavailable != "":
		return skipped("not available: " + result.Unavailable)
	}
	return nil
}

var testLine = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+)`)

var (
	runningLine = regexp.MustCompile(`^=== (?:RUN|CONT|NAME)\s+(\S+)`)
	saidLine    = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*\S)`)
)

// readTests reads the output of a test binary with -test.v. The reason of a skipped test is the last line that it logged.
func readTests(p *Part, output []byte) error {
	p.Tests = make(map[string]string)
	passed, running, said := false, "", make(map[string]string)
	for line := range bytes.Lines(output) {
		if m := runningLine.FindSubmatch(line); m != nil {
			running = string(m[1])
		} else if m := saidLine.FindSubmatch(line); m != nil {
			said[running] = string(m[1])
		}
		if m := testLine.FindSubmatch(line); m != nil {
			name := string(m[2])
			p.Tests[name] = strings.ToLower(string(m[1]))
			passed = passed || string(m[1]) == "PASS"
			if why := said[name]; string(m[1]) == "SKIP" && why != "" {
				if p.Reasons == nil {
					p.Reasons = make(map[string]string)
				}
				p.Reasons[name] = why
			}
		}
	}
	if !passed {
		return errors.New("no test passed")
	}
	return nil
}

// readDeviceTests reads tests with a subtest for each device. At least one must have passed on a CUDA device.
func readDeviceTests(p *Part, output []byte) error {
	if err := readTests(p, output); err != nil {
		return err
	}
	for name, result := range p.Tests {
		if result == "pass" && strings.Contains(name, "/cuda:") {
			return nil
		}
	}
	for name, why := range p.Reasons {
		if strings.Contains(name, "/cuda:") {
			return fmt.Errorf("no test passed on a CUDA device: %s", why)
		}
	}
	return errors.New("no test passed on a CUDA device")
}

// readTestsOrSkip reads tests that may all be skipped. Then the part is skipped too.
func readTestsOrSkip(p *Part, output []byte) error {
	err := readTests(p, output)
	if err == nil {
		return nil
	}
	for _, result := range p.Tests {
		if result != "skip" {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Reasons)) {
		return skipped(p.Reasons[name])
	}
	return err
}

// readBenchmarks reads lines of a name, a count and pairs of a value and its unit.
func readBenchmarks(p *Part, output []byte) error {
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		b := Benchmark{Name: procs.ReplaceAllString(fields[0], ""), Values: make(map[string]float64)}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return fmt.Errorf("%q: %w", strings.TrimSpace(line), err)
			}
			b.Values[fields[i+1]] = v
		}
		p.Benchmarks = append(p.Benchmarks, b)
	}
	if len(p.Benchmarks) == 0 {
		return errors.New("no benchmark was run")
	}
	return nil
}

// procs finds the number of processors, which package testing adds to a benchmark's name.
var procs = regexp.MustCompile(`-\d+$`)

// simulatedDevices reports whether a CUDA device that was listed is simulated.
func simulatedDevices(devices *Part) bool {
	var list struct {
		Backends []struct {
			Backend string `json:"backend"`
			Devices []struct {
				Simulated bool `json:"simulated"`
			} `json:"devices"`
		} `json:"backends"`
	}
	if json.Unmarshal(devices.Result, &list) != nil {
		return false
	}
	for _, b := range list.Backends {
		for _, d := range b.Devices {
			if b.Backend == "cuda" && d.Simulated {
				return true
			}
		}
	}
	return false
}
