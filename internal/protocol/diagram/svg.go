package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/svg"
)

const (
	canvasWidth, canvasHeight = 1400, 1090

	nodeWidth  = 340
	titleSize  = 17
	textSize   = 13
	lineHeight = 18

	hostColour   = "#0b5cad"
	deviceColour = "#b34700"
	darkColour   = "#1b2229"
	greyColour   = "#38424d"
)

type point struct{ x, y float64 }

// box is a rectangle around its centre.
type box struct{ x, y, w, h float64 }

func (b box) overlaps(c box) bool {
	return 2*abs(b.x-c.x) < b.w+c.w && 2*abs(b.y-c.y) < b.h+c.h
}

func abs(x float64) float64 { return max(x, -x) }

// centres places the nodes: what concerns the host is on the left, the device on the right.
var centres = map[protocol.Name]point{
	protocol.Uninitialized: {700, 130},
	protocol.HostOnly:      {270, 330},
	protocol.DeviceOnly:    {1130, 330},
	protocol.HostDirty:     {270, 660},
	protocol.DeviceDirty:   {1130, 660},
	protocol.Synchronized:  {700, 900},
}

// route is how an edge runs, from a point in one node to a point in another, and where its label is
// centred. What lies inside the nodes is cut off.
type route struct {
	path  []point
	label point
}

type ends struct{ from, to protocol.Name }

// routes has one entry for each edge between two names, except those of Reset.
var routes = map[ends]route{
	{protocol.Uninitialized, protocol.HostOnly}:    {[]point{{560, 120}, {300, 320}}, point{404, 236}},
	{protocol.Uninitialized, protocol.DeviceOnly}:  {[]point{{840, 120}, {1100, 320}}, point{1003, 245}},
	{protocol.Uninitialized, protocol.HostDirty}:   {[]point{{660, 130}, {340, 660}}, point{592, 258}},
	{protocol.Uninitialized, protocol.DeviceDirty}: {[]point{{740, 130}, {1060, 660}}, point{800, 258}},

	{protocol.DeviceOnly, protocol.HostOnly}: {[]point{{1130, 318}, {270, 318}}, point{700, 318}},

	{protocol.HostOnly, protocol.DeviceDirty}: {[]point{{270, 330}, {1130, 640}}, point{560, 410}},
	{protocol.DeviceDirty, protocol.HostOnly}: {[]point{{1130, 670}, {270, 360}}, point{880, 596}},
	{protocol.DeviceOnly, protocol.HostDirty}: {[]point{{1130, 330}, {270, 640}}, point{840, 410}},
	{protocol.HostDirty, protocol.DeviceOnly}: {[]point{{270, 670}, {1130, 360}}, point{520, 596}},

	{protocol.HostDirty, protocol.HostOnly}:     {[]point{{190, 660}, {190, 330}}, point{190, 500}},
	{protocol.DeviceDirty, protocol.DeviceOnly}: {[]point{{1210, 660}, {1210, 330}}, point{1210, 500}},

	{protocol.HostDirty, protocol.DeviceDirty}: {[]point{{270, 668}, {1130, 668}}, point{700, 660}},
	{protocol.DeviceDirty, protocol.HostDirty}: {[]point{{1130, 704}, {270, 704}}, point{700, 712}},

	{protocol.HostDirty, protocol.Synchronized}:   {[]point{{200, 660}, {200, 876}, {700, 876}}, point{330, 876}},
	{protocol.Synchronized, protocol.HostDirty}:   {[]point{{660, 900}, {300, 660}}, point{490, 790}},
	{protocol.DeviceDirty, protocol.Synchronized}: {[]point{{1200, 660}, {1200, 876}, {700, 876}}, point{1070, 876}},
	{protocol.Synchronized, protocol.DeviceDirty}: {[]point{{740, 900}, {1100, 660}}, point{910, 790}},

	{protocol.HostOnly, protocol.Synchronized}:   {[]point{{270, 320}, {40, 320}, {40, 932}, {700, 932}}, point{330, 932}},
	{protocol.Synchronized, protocol.HostOnly}:   {[]point{{700, 904}, {76, 904}, {76, 350}, {270, 350}}, point{330, 904}},
	{protocol.DeviceOnly, protocol.Synchronized}: {[]point{{1130, 320}, {1360, 320}, {1360, 932}, {700, 932}}, point{1070, 932}},
	{protocol.Synchronized, protocol.DeviceOnly}: {[]point{{700, 904}, {1324, 904}, {1324, 350}, {1130, 350}}, point{1070, 904}},
}

// visible returns the path of an edge without what lies inside its two nodes.
func (r route) visible(from, to box) []point {
	path := slices.Clone(r.path)
	path[0] = leave(path[0], path[1], from)
	last := len(path) - 1
	path[last] = leave(path[last], path[last-1], to)
	return path
}

// leave returns where the line from a point inside a box to one outside crosses the border.
func leave(in, out point, b box) point {
	dx, dy := out.x-in.x, out.y-in.y
	f := 1.0
	if dx != 0 {
		side := b.x + b.w/2
		if dx < 0 {
			side = b.x - b.w/2
		}
		f = min(f, (side-in.x)/dx)
	}
	if dy != 0 {
		side := b.y + b.h/2
		if dy < 0 {
			side = b.y - b.h/2
		}
		f = min(f, (side-in.y)/dy)
	}
	return point{in.x + f*dx, in.y + f*dy}
}

// node is the box of a name: what is valid, which actions stay, which are refused.
type node struct {
	name  protocol.Name
	lines []string
	box   box
}

func nodes() (all []node) {
	for _, n := range protocol.Names() {
		lines := []string{describe(n)}
		var stay, refused []cause
		for _, e := range edges() {
			if e.from != n || e.to != n {
				continue
			}
			for _, c := range e.causes {
				switch {
				case c.refused:
					refused = append(refused, c)
				case c.action != protocol.Reset:
					stay = append(stay, c)
				}
			}
		}
		lines = append(lines, list("stays: ", stay)...)
		lines = append(lines, list("refused: ", refused)...)
		c := centres[n]
		all = append(all, node{n, lines, box{c.x, c.y, nodeWidth, float64(34 + lineHeight*len(lines))}})
	}
	return all
}

func describe(n protocol.Name) string {
	for _, s := range states() {
		switch {
		case s.Name() != n:
		case s.Valid == 0:
			return "valid nowhere: reads as zeros"
		case s.Valid == s.Allocated:
			return "valid and allocated: " + shortSet(s.Valid)
		default:
			return "valid: " + shortSet(s.Valid) + "  allocated: both"
		}
	}
	return ""
}

// list puts causes in one line: "stays: every access at host, Evict device".
func list(prefix string, causes []cause) []string {
	var parts []string
	for _, p := range []protocol.Place{protocol.Host, device} {
		var here []string
		for _, c := range causes {
			if c.place == p && c.action != protocol.Evict {
				here = append(here, c.String())
			}
		}
		if len(here) == 4 {
			here = []string{"every access at " + placeName(p)}
		}
		parts = append(parts, here...)
	}
	if len(parts) == 2 && parts[0] == "MarkModified host" && parts[1] == "MarkModified device" {
		parts = []string{"MarkModified anywhere"}
	}
	for _, c := range causes {
		if c.action == protocol.Evict {
			parts = append(parts, c.String())
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{prefix + strings.Join(parts, ", ")}
}

// label is the text of an edge, with the box that it fills.
type label struct {
	lines []string
	box   box
}

func labelOf(e edge, at point) label {
	var lines []string
	for _, c := range e.causes {
		lines = append(lines, c.String())
	}
	longest := 0
	for _, l := range lines {
		longest = max(longest, len(l))
	}
	return label{lines, box{at.x, at.y, 0.62*textSize*float64(longest) + 8, float64(16*len(lines) + 4)}}
}

// drawn lists the edges of the picture: those between two names, without Reset.
func drawn() (all []edge) {
	for _, e := range edges() {
		e.causes = slices.DeleteFunc(slices.Clone(e.causes), func(c cause) bool { return c.action == protocol.Reset })
		if e.from != e.to && len(e.causes) > 0 {
			all = append(all, e)
		}
	}
	return all
}

// resets reports whether Reset leads to Uninitialized from everywhere without a transfer, which
// the picture says in words.
func resets() bool {
	for _, s := range states() {
		next, c := apply(s, cause{action: protocol.Reset})
		if next.Name() != protocol.Uninitialized || c.moves || c.refused {
			return false
		}
	}
	return true
}

// picture draws the diagram.
func picture() string {
	var p svg.Picture
	p.Raw("<!-- Made from the transition table by: go generate ./internal/protocol -->\n")
	for _, c := range []struct{ id, colour string }{{"host", hostColour}, {"device", deviceColour}} {
		p.Element("marker", fmt.Sprintf(`<path d="M0 0L10 5L0 10z" fill="%s"/>`, c.colour), "id", c.id, "viewBox", "0 0 10 10", "refX", 9, "refY", 5,
			"markerWidth", 11, "markerHeight", 11, "markerUnits", "userSpaceOnUse", "orient", "auto")
	}
	p.Rect(1, 1, canvasWidth-2, canvasHeight-2, "rx", 14, "fill", "#ffffff", "stroke", "#9aa4af", "stroke-width", 1.5)
	p.Text(40, 44, "Coherence of one host and one device", "font-size", 22, "font-weight", "bold", "fill", darkColour)

	all := drawn()
	boxes := map[protocol.Name]box{}
	for _, n := range nodes() {
		boxes[n.name] = n.box
	}
	for _, e := range all {
		path := routes[ends{e.from, e.to}].visible(boxes[e.from], boxes[e.to])
		line := []any{"fill", "none", "stroke", colourOf(e), "stroke-linejoin", "round",
			"marker-end", "url(#" + placeName(e.causes[0].place) + ")"}
		if slices.ContainsFunc(e.causes, func(c cause) bool { return c.moves && !c.zeros }) {
			line = append(line, "stroke-width", 3)
		}
		if e.kept {
			line = append(line, "stroke-dasharray", "7 5")
		}
		p.Path(pathOf(path), line...)
	}
	for _, e := range all {
		l := labelOf(e, routes[ends{e.from, e.to}].label)
		p.Rect(l.box.x-l.box.w/2, l.box.y-l.box.h/2, l.box.w, l.box.h, "rx", 4, "fill", "#ffffff")
		for i, line := range l.lines {
			p.Text(l.box.x, l.box.y-l.box.h/2+14+16*float64(i), line, "font-size", textSize, "text-anchor", "middle", "fill", colourOf(e))
		}
	}
	for _, n := range nodes() {
		left, top := n.box.x-n.box.w/2, n.box.y-n.box.h/2
		p.Rect(left, top, n.box.w, n.box.h, "rx", 10, "fill", "#f2f5f8", "stroke", greyColour, "stroke-width", 1.5)
		p.Text(n.box.x, top+23, n.name.String(), "font-size", titleSize, "font-weight", "bold", "text-anchor", "middle",
			"fill", darkColour)
		for i, line := range n.lines {
			p.Text(n.box.x, top+43+lineHeight*float64(i), line, "font-size", textSize, "text-anchor", "middle", "fill", greyColour)
		}
	}
	for i, line := range legend() {
		p.Element("text", line, "x", 40, "y", canvasHeight-74+22*i, "font-size", 14, "fill", greyColour)
	}
	var b strings.Builder
	_ = p.Write(&b, canvasWidth, canvasHeight, "Coherence states of one host and one device") // a strings.Builder does not fail
	return b.String()
}

func legend() []string {
	lines := []string{
		fmt.Sprintf(`<tspan fill="%s" font-weight="bold">Blue</tspan>: actions of the host. <tspan fill="%s" font-weight="bold">Orange</tspan>: actions of the device. Thick: an action on this edge copies bytes first.`, hostColour, deviceColour),
		"Dashed: only where the other side has memory although nothing is valid, as after a Reset.",
	}
	if resets() {
		lines = append(lines, "Reset leads from every state to UNINITIALIZED, copies nothing and leaves all memory allocated.")
	}
	return lines
}

func colourOf(e edge) string {
	if e.causes[0].place == protocol.Host {
		return hostColour
	}
	return deviceColour
}

// pathOf draws straight lines with rounded corners.
func pathOf(points []point) string {
	const radius = 14
	s := fmt.Sprintf("M%.0f %.0f", points[0].x, points[0].y)
	for i := 1; i < len(points)-1; i++ {
		before, at, after := points[i-1], points[i], points[i+1]
		in, out := towards(at, before, radius), towards(at, after, radius)
		s += fmt.Sprintf("L%.0f %.0fQ%.0f %.0f %.0f %.0f", in.x, in.y, at.x, at.y, out.x, out.y)
	}
	last := points[len(points)-1]
	return s + fmt.Sprintf("L%.0f %.0f", last.x, last.y)
}

// towards goes a distance from one point towards another on the same row or column.
func towards(from, to point, distance float64) point {
	step := func(a, b float64) float64 { return a + max(-distance, min(distance, b-a)) }
	return point{step(from.x, to.x), step(from.y, to.y)}
}
