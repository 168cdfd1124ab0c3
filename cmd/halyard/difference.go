package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// around is the number of equal lines that difference shows on each side of a change.
const around = 3

// difference returns what to change in old to get new, in the unified format of diff.
func difference(name, old, new string) string {
	a, b := strings.SplitAfter(old, "\n"), strings.SplitAfter(new, "\n")
	var lines []string // each with ' ', '-' or '+' before it
	same := 0          // lines at the beginning that are equal
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	tail := 0 // and at the end
	for tail < min(len(a), len(b))-same && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[same:len(a)-tail], b[same:len(b)-tail]
	for _, l := range a[:same] {
		lines = append(lines, " "+l)
	}
	// length[i][j] is the number of lines in the longest common subsequence of x[i:] and y[j:].
	length := make([][]int32, len(x)+1)
	for i := range length {
		length[i] = make([]int32, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if length[i][j] = max(length[i+1][j], length[i][j+1]); x[i] == y[j] {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			lines = append(lines, " "+x[i])
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && length[i+1][j] >= length[i][j+1]:
			lines = append(lines, "-"+x[i])
			i++
		default:
			lines = append(lines, "+"+y[j])
			j++
		}
	}
	for _, l := range a[len(a)-tail:] {
		lines = append(lines, " "+l)
	}
	return "--- " + name + "\n+++ what halyard kernels would write\n" + hunks(lines)
}

// hunks returns the lines near a change, with their numbers.
func hunks(lines []string) string {
	var b strings.Builder
	atOld, atNew, data := 1, 1, 0
	for len(lines) > 0 {
		first := slices.IndexFunc(lines, changed)
		if first < 0 {
			break
		}
		skip := max(0, first-around)
		atOld, atNew, lines = atOld+skip, atNew+skip, lines[skip:]
		end, equal := 0, 0 // the hunk ends where more equal lines follow than two hunks show between them
		for end < len(lines) && equal <= 2*around {
			equal++
			if changed(lines[end]) {
				equal = 0
			}
			end++
		}
		end -= max(0, equal-around)
		counts := [2]int{}
		for _, l := range lines[:end] {
			if l[0] != '+' {
				counts[0]++
			}
			if l[0] != '-' {
				counts[1]++
			}
		}
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", atOld, counts[0], atNew, counts[1])
		for _, l := range lines[:end] {
			if packed.MatchString(l) {
				data++
				continue
			}
			if data > 0 {
				fmt.Fprintf(&b, " (%d lines of SPIR-V)\n", data)
				data = 0
			}
			b.WriteString(strings.TrimSuffix(l, "\n") + "\n")
		}
		if data > 0 {
			fmt.Fprintf(&b, " (%d lines of SPIR-V)\n", data)
			data = 0
		}
		atOld, atNew, lines = atOld+counts[0], atNew+counts[1], lines[end:]
	}
	return b.String()
}

// packed matches a line of a packed module, which tells a reader nothing.
var packed = regexp.MustCompile(`^[-+ ](?:[A-Za-z0-9+/]{40,}|[A-Za-z0-9+/]+={0,2}` + "`" + `.*)\n?$`)

func changed(line string) bool { return line[0] != ' ' }
