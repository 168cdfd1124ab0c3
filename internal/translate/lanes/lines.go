package lanes

import (
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// line is a line of the function, and the position of the statement that it is from.
type line struct {
	text string
	pos  token.Pos
	name string // if the line only assigns to a variable: its name
	head bool   // the line also begins a loop
	keep bool   // the line is a use such as _ = x, which is needed only if no other line uses x
}

// lineWriter writes the lines of the function.
type lineWriter struct {
	File
	names   map[string]bool
	lines   []line
	frozen  map[string]bool   // Go variables that are assigned only once
	hoisted []line            // vectors that are the same in the whole function
	named   map[string]string // the names of these vectors, by their texts
	pos     token.Pos         // of the statement that is written
	foreign token.Pos         // while a function of another package is written: the call of it in the kernel
}

// fresh returns a name that nothing else has in the function, the package or Go.
func (w *lineWriter) fresh(name string) string {
	unique := name
	for i := 2; w.names[unique] || w.Taken(unique) || slices.Contains(Imports, unique); i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	w.names[unique] = true
	return unique
}

// write adds a line.
func (w *lineWriter) write(format string, args ...any) {
	w.lines = append(w.lines, line{text: fmt.Sprintf(format, args...), pos: w.pos})
}

// put writes a line that only assigns to a variable.
func (w *lineWriter) put(name, op, text string) {
	w.lines = append(w.lines, line{text: name + " " + op + " " + text, pos: w.pos, name: name})
}

// temp declares a variable that the kernel does not have, and returns its name.
func (w *lineWriter) temp(name, text string) string {
	name = w.fresh(name)
	w.put(name, ":=", text)
	w.frozen[name] = true
	return name
}

// captured returns the lines that f writes.
func (w *lineWriter) captured(f func()) []line {
	before := w.lines
	w.lines = nil
	f()
	lines := w.lines
	w.lines = before
	return lines
}

// withLines returns the text of lines with the line numbers of the kernel's file.
func (w *lineWriter) withLines(lines []line) string {
	var b strings.Builder
	file, at := "", 0
	for _, t := range lines {
		if pos := w.At(t.pos); t.text[0] != '}' && (filepath.Base(pos.Filename) != file || pos.Line != at) {
			file, at = filepath.Base(pos.Filename), pos.Line
			fmt.Fprintf(&b, "//line %s:%d\n", file, at)
		}
		b.WriteString(t.text + "\n")
		at++
	}
	b.WriteString(w.BackHere + "\n")
	return b.String()
}

// needed returns the lines without assignments to variables that no other line uses, because Go refuses unused variables.
func (w *lineWriter) needed() []line {
	lines := slices.Clone(w.lines)
	for {
		unused := map[string]bool{}
		for _, t := range lines {
			if t.name != "" && !t.keep && !t.head && !slices.ContainsFunc(lines, func(o line) bool { return o.name != t.name && mentions(o.text, t.name) }) {
				unused[t.name] = true
			}
		}
		before := len(lines)
		lines = slices.DeleteFunc(lines, func(t line) bool { return unused[t.name] })
		if len(lines) == before {
			break
		}
	}
	return slices.DeleteFunc(lines, func(t line) bool {
		return t.keep && slices.ContainsFunc(lines, func(o line) bool { return o.name != t.name && mentions(o.text, t.name) })
	})
}

// before returns the text of those hoisted lines that other lines use.
func (w *lineWriter) before(lines []line) (text string) {
	lines = slices.Clone(lines)
	for _, h := range slices.Backward(w.hoisted) {
		if mentioned(lines, h.name) {
			lines = append(lines, h)
			text = h.text + "\n" + text
		}
	}
	return text
}

func mentioned(lines []line, name string) bool {
	return slices.ContainsFunc(lines, func(t line) bool { return mentions(t.text, name) })
}

// mentions reports whether a name is a word of a text.
func mentions(text, name string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		i += at
		at = i + len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[at:])
		if part := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }; !part(before) && !part(after) && before != '.' {
			return true
		}
	}
}

// unique returns the texts without repetitions.
func unique(all []string) (found []string) {
	for _, s := range all {
		if !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return found
}

// hoist returns the name of a vector that is made once, before the first thread runs.
func (w *lineWriter) hoist(base, text string) string {
	if w.named[text] == "" {
		w.named[text] = w.fresh(fmt.Sprintf("%s%d", base, len(w.hoisted)))
		w.hoisted = append(w.hoisted, line{text: w.named[text] + " := " + text, name: w.named[text]})
	}
	return w.named[text]
}
