package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/protocol"
)

func TestDocumentsAreCurrent(t *testing.T) {
	for _, d := range documents {
		got, err := os.ReadFile(filepath.Join("..", "..", "..", d.path))
		require.NoError(t, err)
		want, err := d.text(string(got))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "%s: run go generate ./internal/protocol", d.path)
	}
}

func TestDocumentsAreWritten(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"docs", "coherence"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	doc := filepath.Join(root, "coherence", "doc.go")
	require.NoError(t, os.WriteFile(doc, []byte("// before\n//\n//\taction is old\n//\tand so is this\n//\n// after\n"), 0o644))
	for _, d := range documents {
		require.NoError(t, d.write(root))
		text, err := os.ReadFile(filepath.Join(root, d.path))
		require.NoError(t, err)
		assert.NotEmpty(t, text)
	}
	text, err := os.ReadFile(doc)
	require.NoError(t, err)
	assert.Equal(t, "// before\n//\n"+table()+"//\n// after\n", string(text))

	require.NoError(t, os.WriteFile(doc, []byte("// no table\n"), 0o644))
	assert.ErrorContains(t, documents[len(documents)-1].write(root), "no table")
	assert.Error(t, documents[0].write(filepath.Join(root, "absent")))
}

func TestEveryTransitionIsOnAnEdge(t *testing.T) {
	require.Len(t, states(), 9)
	require.Len(t, occasions(), 11)
	for _, s := range states() {
		for _, c := range occasions() {
			next, c := apply(s, c)
			found := 0
			for _, e := range edges() {
				for _, other := range e.causes {
					if e.from == s.Name() && e.to == next.Name() && other == c {
						found++
					}
				}
			}
			assert.Equal(t, 1, found, "%v in %v", c, s)
		}
	}
}

func TestEveryEdgeIsDrawnOnce(t *testing.T) {
	shown := map[ends]bool{}
	for _, e := range drawn() {
		shown[ends{e.from, e.to}] = true
		assert.Contains(t, routes, ends{e.from, e.to})
		for _, c := range e.causes {
			assert.Equal(t, e.causes[0].place, c.place, "an edge has one colour: %v", e)
		}
	}
	assert.Len(t, shown, len(routes), "a route without an edge")
	assert.True(t, resets())
}

func TestNothingOverlaps(t *testing.T) {
	type named struct {
		what string
		box  box
	}
	var boxes []named
	for _, n := range nodes() {
		boxes = append(boxes, named{n.name.String(), n.box})
		for _, line := range n.lines {
			assert.Less(t, 0.62*textSize*float64(len(line)), n.box.w, "%q is wider than its node", line)
		}
	}
	for _, e := range drawn() {
		l := labelOf(e, routes[ends{e.from, e.to}].label)
		boxes = append(boxes, named{e.from.String() + " → " + e.to.String(), l.box})
	}
	for i, a := range boxes {
		for _, b := range boxes[:i] {
			assert.False(t, a.box.overlaps(b.box), "%s and %s", a.what, b.what)
		}
		assert.True(t, a.box.x-a.box.w/2 >= 10 && a.box.x+a.box.w/2 <= canvasWidth-10, a.what)
		assert.True(t, a.box.y-a.box.h/2 >= 50 && a.box.y+a.box.h/2 <= canvasHeight-80, a.what)
	}
}

// A label lies on its own edge, which runs from node to node and through none.
func TestEdgesAndLabelsBelongTogether(t *testing.T) {
	boxes := map[protocol.Name]box{}
	for _, n := range nodes() {
		boxes[n.name] = n.box
	}
	for _, e := range drawn() {
		pair := ends{e.from, e.to}
		r := routes[pair]
		path := r.visible(boxes[e.from], boxes[e.to])
		l := labelOf(e, r.label)
		touches := false
		for _, p := range along(path) {
			touches = touches || l.box.overlaps(box{p.x, p.y, 1, 1})
			for name, b := range boxes {
				assert.False(t, b.overlaps(box{p.x, p.y, 0, 0}), "%v runs through %v", pair, name)
			}
		}
		assert.True(t, touches, "the label of %v is away from its edge", pair)
		first, last := path[0], path[len(path)-1]
		assert.True(t, boxes[e.from].overlaps(box{first.x, first.y, 1, 1}), "%v starts apart", pair)
		assert.True(t, boxes[e.to].overlaps(box{last.x, last.y, 1, 1}), "%v ends apart", pair)
	}
}

// along samples a path.
func along(path []point) (all []point) {
	for i := 1; i < len(path); i++ {
		a, b := path[i-1], path[i]
		for k := range 200 {
			f := (float64(k) + 0.5) / 200
			all = append(all, point{a.x + f*(b.x-a.x), a.y + f*(b.y-a.y)})
		}
	}
	return all
}

func TestPictureIsWellFormed(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(picture()))
	texts := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "text" {
			texts++
		}
	}
	assert.Greater(t, texts, 40)
}

func TestTableHasARowForEachRule(t *testing.T) {
	text := markdown()
	for _, r := range protocol.Table() {
		assert.Contains(t, text, "| "+r.Doc+" |")
	}
	for _, n := range protocol.Names() {
		assert.Contains(t, text, "| "+n.String()+" | "+definitions[n])
	}
}
