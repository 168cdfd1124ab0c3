package svg

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// A picture is XML, whatever its texts are, and coordinates have no more digits than one can see.
func TestPictureIsXML(t *testing.T) {
	var p Picture
	p.Rect(1, -0.04, 2.25, 1000000, "class", `a"b<c`, "rx", 3)
	p.Line(0, 0, 1.0/3, 1)
	p.Path("M0 0L1 1z", "fill", "none")
	p.Text(1, 2, "a < b & c", "text-anchor", "end")
	p.Element("rect", Tip("x < y"), "x", 1)
	var q Picture
	q.Raw("<g></g>\n")
	p.Add(&q)
	var b strings.Builder
	if err := p.Write(&b, 10, 20.5, "the <title>"); err != nil {
		t.Fatal(err)
	}
	want := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 20.5" width="10" height="20.5" role="img" aria-labelledby="title" ` +
		`font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" font-size="12">
<title id="title">the &lt;title&gt;</title>
<rect x="1" y="0" width="2.3" height="1000000" class="a&#34;b&lt;c" rx="3"/>
<line x1="0" y1="0" x2="0.3" y2="1"/>
<path d="M0 0L1 1z" fill="none"/>
<text x="1" y="2" text-anchor="end">a &lt; b &amp; c</text>
<rect x="1"><title>x &lt; y</title></rect>
<g></g>
</svg>
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
