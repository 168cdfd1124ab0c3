package main

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/go-halyard/halyard/internal/protocol"
)

const indent = "//\t"

// withTable replaces the preformatted block that starts with the heading of the table.
func withTable(old string) (string, error) {
	lines := strings.SplitAfter(old, "\n")
	first := 0
	for ; first < len(lines); first++ {
		if strings.HasPrefix(lines[first], indent+"action ") {
			break
		}
	}
	if first == len(lines) {
		return "", errors.New("there is no table to replace")
	}
	last := first
	for strings.HasPrefix(lines[last], indent) {
		last++
	}
	return strings.Join(lines[:first], "") + table() + strings.Join(lines[last:], ""), nil
}

// table is the transition table in columns.
func table() string {
	rows := [][]string{{"action", "p is", "transfer first", "Valid becomes", "Allocated becomes"}}
	var last protocol.Action
	for i, r := range protocol.Table() {
		row := make([]string, 5)
		if i == 0 || r.Action != last {
			row[0] = call(r.Action)
		}
		last = r.Action
		row[1] = r.When.String()
		if r.Refuse != nil {
			row[2] = "refused: ErrConflict"
		} else {
			row[2] = strings.ReplaceAll(transfer(r.Supply), "*", "")
			row[3] = effect(r.Valid, "Valid", r.Supply)
			row[4] = effect(r.Allocated, "Allocated", r.Supply)
		}
		rows = append(rows, row)
	}
	widths := make([]int, 5)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell)+2)
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := indent
		for i, cell := range row {
			line += cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func call(a protocol.Action) string {
	if a.Placed() {
		return a.String() + "(p)"
	}
	return a.String()
}
