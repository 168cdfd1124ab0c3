// Package model drives one buffer at random, on the host and on devices, and holds it against a plain slice: every element that is read, the number of
// bytes that each operation copies, and which replicas are current. A program is made by Generate, or read by Parse; Run runs it, and Simplify makes
// one that fails shorter.
package model

import (
	"fmt"
	"strings"
)

// Program is a sequence of operations on one buffer.
type Program struct {
	Elements   int
	Operations []Operation
}

// Operation is one access of a part of the buffer. Fields that its kind does not use are 0.
type Operation struct {
	Kind     string // of kinds
	Place    int    // 0 is the host, 1 the first device
	Stream   int    // of the device
	Lo, Hi   int    // the range of elements
	From, To int    // the part of the range that is written
}

// kind says what an operation needs.
type kind struct {
	name           string
	host, devices  bool // where it can run
	ranged, writes bool // it has a range, and writes a part of that
}

var kinds = []kind{
	{name: "view", host: true, ranged: true},
	{name: "update", host: true, ranged: true, writes: true},
	{name: "overwrite", host: true, ranged: true},
	{name: "read", devices: true, ranged: true},
	{name: "copy", devices: true, ranged: true},
	{name: "fill", devices: true, ranged: true},
	{name: "rewrite", devices: true, ranged: true, writes: true},
	{name: "mark", devices: true, ranged: true},
	{name: "prefetch", devices: true, ranged: true},
	{name: "sync", host: true, devices: true, ranged: true},
	{name: "reset", host: true, ranged: true},
	{name: "evict", host: true, devices: true},
	{name: "clone", host: true, ranged: true},
}

// format is how an operation is written.
const format = "%s %d.%d [%d,%d) [%d,%d)"

func (o Operation) String() string {
	return fmt.Sprintf(format, o.Kind, o.Place, o.Stream, o.Lo, o.Hi, o.From, o.To)
}

// String returns the program as Parse reads it: the number of elements, and a line for each operation.
func (p Program) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, p.Elements)
	for _, o := range p.Operations {
		fmt.Fprintln(&b, o)
	}
	return b.String()
}
