package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// plain is the style of tables without lines: columns two spaces apart.
var plain = func() table.Style {
	s := table.StyleDefault
	s.Name = "plain"
	s.Box.PaddingLeft, s.Box.PaddingRight = "", "  "
	s.Options = table.OptionsNoBordersAndSeparators
	s.Format.Header = text.FormatUpper
	return s
}()

// newTable returns a table that is written to out when it is rendered. widths limits columns, from the left; 0 means no limit.
func newTable(out io.Writer, widths ...int) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(out)
	t.SetStyle(plain)
	t.SuppressTrailingSpaces()
	var columns []table.ColumnConfig
	for i, w := range widths {
		if w > 0 {
			columns = append(columns, table.ColumnConfig{Number: i + 1, WidthMax: w, WidthMaxEnforcer: wrap})
		}
	}
	t.SetColumnConfigs(columns)
	return t
}

// wrap breaks each line of s at spaces, so that it is at most width wide.
func wrap(s string, width int) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		wrapped := strings.Split(text.WrapSoft(l, width), "\n")
		for j, w := range wrapped {
			wrapped[j] = strings.TrimRight(w, " ")
		}
		lines[i] = strings.Join(wrapped, "\n")
	}
	return strings.Join(lines, "\n")
}

// bytesText formats a number of bytes for display: "23.4 GiB".
func bytesText(n uint64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, u := float64(n)/1024, 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + units[u:u+1] + "iB"
}

// plural returns "1 check", "2 checks".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
