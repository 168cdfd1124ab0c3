package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
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

var testLine = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+)`)

// readTests reads the output of a test binary with -test.v.
func readTests(p *Part, output []byte) error {
	p.Tests = make(map[string]string)
	for s := bufio.NewScanner(bytes.NewReader(output)); s.Scan(); {
		if m := testLine.FindStringSubmatch(s.Text()); m != nil {
			p.Tests[m[2]] = strings.ToLower(m[1])
		}
	}
	if len(p.Tests) == 0 {
		return errors.New("no test was run")
	}
	return nil
}

// readBenchmarks reads lines of a name, a count and pairs of a value and its unit.
func readBenchmarks(p *Part, output []byte) error {
	for s := bufio.NewScanner(bytes.NewReader(output)); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		b := Benchmark{Name: fields[0], Values: make(map[string]float64)}
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return err
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
