package lanes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var dims = [...]string{"", "Y", "Z"} // fields of gridgen.Row

// clear is the last line of a function. It clears the upper halves of vector registers, which would make scalar code on floats slow.
const clear = "lanes.ClearUpper()\n"

// frame writes the function around the lines.
type frame struct {
	*writer
	count, end string // the number of threads
	number     string // of those that run as vectors
}

// function returns the function with the lines.
func (w *frame) function() *Vectors {
	w.number = w.fresh("count")
	w.count, w.end = w.number, w.fresh("end")
	if w.Part != nil {
		w.count = w.fresh("threads")
	}
	var params, kinds, args string // each with a comma in front
	for _, p := range w.Params {
		params, kinds, args = params+", "+p.Name+" "+p.Type, kinds+", "+p.Type, args+", "+p.Name
	}
	var text string
	lines := w.needed()
	name := func() string { return "\x00" } // a placeholder: File.Names is called only for a text that is not refused
	typ := fmt.Sprintf("func(gridgen.Row%s) gridgen.Row", kinds)
	switch first := strings.TrimPrefix(params, ", "); {
	case w.Part == nil:
		text = w.ofRow(name(), params, args, lines)
	case w.Part.Round != "":
		text, typ = w.ofRounds(name(), first, lines), fmt.Sprintf("func(%s, int, int, int) int", strings.TrimPrefix(kinds, ", "))
	default:
		text, typ = w.ofPhase(name(), first, lines), fmt.Sprintf("func(%s, int) int", strings.TrimPrefix(kinds, ", "))
	}
	maps.DeleteFunc(w.imports, func(name, _ string) bool { return !mentions(text, name) }) // lines that needed it may have been left out
	hook, unique := w.Names()
	return &Vectors{hook, typ, unique, w.imports, strings.ReplaceAll(text, name(), unique), w.fused}
}

// limited returns the text of the place after the last thread that the limits allow.
func (w *frame) limited(end string) string {
	for _, l := range w.limits {
		if l.Dim == 0 {
			end = fmt.Sprintf("min(%s, %s)", end, w.shared.Text(l.At))
		}
	}
	return end
}

// narrowed returns the lines that leave out threads at the ends of the row whose elements would be out of range.
func (w *frame) narrowed() string {
	var b strings.Builder
	for _, v := range w.views {
		fmt.Fprintf(&b, "%[1]s, %[2]s = gridgen.Within(%[1]s, %[2]s, %[3]s, len(%[4]s))\n", w.from, w.to, v.offset, v.slice)
	}
	for _, v := range w.spread {
		fmt.Fprintf(&b, "%[1]s, %[2]s = lanes.Within(%[1]s, %[2]s, %[3]d, %[4]s, len(%[5]s))\n", w.from, w.to, v.index.step, v.index.text, v.slice)
	}
	return b.String()
}

// ofRow returns the text of a kernel's function.
func (w *frame) ofRow(name, params, args string, lines []line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s runs the front threads of a row as vectors, and returns the rest of the row.\nfunc %[1]s(%[2]s gridgen.Row%[3]s) gridgen.Row {\n", name, w.row, params)
	for _, l := range w.limits {
		if l.Dim > 0 {
			fmt.Fprintf(&b, "if %s.%s >= %s {\nreturn %[1]s\n}\n", w.row, dims[l.Dim], w.shared.Text(l.At))
		}
	}
	head := b.String()
	b.Reset()
	fmt.Fprintf(&b, "%s, %s := %s.First(), %s\n%s", w.from, w.to, w.row, w.limited(w.row+".End"), w.narrowed())
	for _, line := range w.inside {
		b.WriteString(line)
	}
	scalar := slices.Concat([]string{fmt.Sprintf("%s-%s < %s", w.to, w.from, w.lanesOf())}, w.fits)
	fmt.Fprintf(&b, "if %s {\nreturn %s\n}\n", strings.Join(scalar, " || "), w.row)
	w.vectors(&b, lines, "return "+w.row, fmt.Sprintf("if %s > %s.First() {\n%s(%[2]s.Until(%[1]s)%[4]s)\n}\n", w.from, w.row, w.Loop, args))
	fmt.Fprintf(&b, "%sreturn %s.From(%s + %s)\n}\n", clear, w.row, w.from, w.at)
	return head + w.rowsOf(b.String()) + b.String()
}

// vectors writes the declarations of the views, and the loops over the vectors. If a thread uses what another one stores, the function
// ends with the statement back.
func (w *frame) vectors(b *strings.Builder, lines []line, back string, before ...string) {
	fmt.Fprintf(b, "%s := %s - %s\n", w.number, w.to, w.from)
	apart := strings.Join(w.apart(), " || ")
	for _, v := range w.views {
		if mentioned(lines, v.name) || mentions(apart, v.name) {
			fmt.Fprintf(b, "%s := %s[%s+%s:][:%s]\n", v.name, v.slice, w.from, parenthesized(v.offset), w.number)
		}
	}
	if apart != "" {
		fmt.Fprintf(b, "if %s {\n%s // a thread uses what another one stores\n}\n", apart, back)
	}
	fmt.Fprintf(b, "%s%s%s := 0\n", strings.Join(before, ""), w.before(lines), w.at)
	never, twice := w.twice()
	if twice {
		b.WriteString("for {\n")
	}
	fmt.Fprintf(b, "%sfor ; %s <= %s-%s; %[2]s += %[4]s {\n", w.labelled(lines), w.at, w.number, w.lanesOf())
	fmt.Fprintf(b, "%s%s}\n", w.places(lines, w.from+" + "+w.at), w.withLines(lines))
	if twice {
		fmt.Fprintf(b, "if %s {\nbreak\n}\n", strings.Join(append([]string{fmt.Sprintf("%s == %s", w.at, w.number)}, never...), " || "))
		fmt.Fprintf(b, "%s = %s - %s // some threads run again, to the same effect\n}\n", w.at, w.number, w.lanesOf())
	}
}

// labelled returns the label of the loop over the vectors, if lines use it.
func (w *frame) labelled(lines []line) string {
	return either(mentioned(lines, w.label), w.label+":\n", "")
}

// places returns the lines that declare the place of a vector's first thread, and those of all its threads, where lines use them.
func (w *frame) places(lines []line, first string) (text string) {
	all := mentioned(lines, w.xs)
	if all || mentioned(lines, w.x) {
		text = fmt.Sprintf("%s := %s\n", w.x, first)
	}
	if all {
		text += fmt.Sprintf("%s := lanes.Int%ds(%s)\n", w.xs, w.bits, w.x)
	}
	return text
}

// rowsOf returns the lines that declare the rows of matrices that a text uses.
func (w *frame) rowsOf(text string) string {
	var b strings.Builder
	for _, row := range slices.Sorted(maps.Keys(w.spans)) {
		if mentions(text, w.spans[row]) {
			fmt.Fprintf(&b, "%s := %s\n", w.spans[row], row)
		}
	}
	return b.String()
}

// ofRounds returns the text of the function of rounds that threads take together.
func (w *frame) ofRounds(name, params string, lines []line) string {
	apart := w.apart()
	for _, t := range lines {
		if strings.HasPrefix(t.text, "return ") {
			refuse(t.pos, "an index that is checked while the threads of a block run keeps them from running as vectors")
		}
	}
	views := ""
	for _, v := range w.views {
		if mentioned(lines, v.name) {
			views += fmt.Sprintf("%s := %s[%s:][:%s]\n", v.name, v.slice, v.offset, w.to)
		}
	}
	loop := fmt.Sprintf("%sfor %s := 0; %[2]s < %[3]s; %[2]s += %[4]s {\n", w.labelled(lines), w.at, w.to, w.lanesOf()) +
		w.places(lines, w.at) + w.withLines(lines) + "}\n"
	if len(w.limits) > 0 || len(w.spread) > 0 || len(apart) > 0 || len(w.spans) > 0 || w.late {
		refuse(w.Pos, "the rounds of this loop do not become vector code")
	}
	var b strings.Builder
	stop, step, round := w.fresh("stop"), w.fresh("step"), w.Part.Round
	fmt.Fprintf(&b, "// %s takes rounds of a loop as vectors while all threads take part, and returns where the next round begins.\n", name)
	fmt.Fprintf(&b, "func %s(%s, %s, %s, %s int) int {\n", name, params, stop, step, w.to)
	fmt.Fprintf(&b, "if %[1]s < %[2]s || %[1]s%%%[2]s != 0 {\nreturn %[3]s\n}\n", w.to, w.lanesOf(), round)
	fmt.Fprintf(&b, "%sfor ; %s-%s >= %s; %[3]s += %[5]s {\n", w.before(lines), stop, round, w.to, step)
	if len(w.fits) > 0 {
		fmt.Fprintf(&b, "if %s {\nbreak\n}\n", strings.Join(w.fits, " || "))
	}
	fmt.Fprintf(&b, "%s%s}\n%sreturn %s\n}\n", views, loop, clear, round)
	return b.String()
}

// ofPhase returns the text of a phase's function.
func (w *frame) ofPhase(name, params string, lines []line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s := %s\n", w.end, w.limited(w.count))
	if len(w.sane) > 0 {
		fmt.Fprintf(&b, "if %s {\nreturn 0\n}\n", strings.Join(w.sane, " || "))
	}
	fmt.Fprintf(&b, "%s, %s := 0, %s\n%s", w.from, w.to, w.end, strings.Join(w.only, ""))
	if len(w.only) > 0 {
		fmt.Fprintf(&b, "if %s >= %s {\nreturn %s\n}\n", w.from, w.to, w.count)
	}
	first, last := w.fresh("first"), w.fresh("last")
	fmt.Fprintf(&b, "%s, %s := %s, %s\n%s%s", first, last, w.from, w.to, w.narrowed(), strings.Join(w.inside, ""))
	scalar := append([]string{fmt.Sprintf("%s != %s || %s-%[1]s < %[4]s", w.from, first, w.to, w.lanesOf())}, w.fits...)
	fmt.Fprintf(&b, "if %s {\nreturn 0\n}\n", strings.Join(scalar, " || "))
	w.vectors(&b, lines, "return 0")
	fmt.Fprintf(&b, "%sif %s+%s == %s {\nreturn %s\n}\nreturn %[2]s + %[3]s\n}\n", clear, w.from, w.at, last, w.count)
	head := fmt.Sprintf("// %s runs the front threads of a row of a block as vectors, and returns how many threads are done.\nfunc %[1]s(%[2]s, %[3]s int) int {\n",
		name, params, w.count)
	return head + w.rowsOf(b.String()) + b.String()
}
