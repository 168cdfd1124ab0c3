package build

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// Packer packs modules for a Go file. What stood before in the same module, or in one that it packed before, is not written again.
type Packer struct {
	b  []byte           // all modules so far, a number for each word
	at map[uint32][]int // where four bytes begin
}

// Most words are small, and take a byte or two. A text is a list of runs: new bytes, and then bytes from before.
const (
	fewest   = 4  // bytes that are looked up
	mostSeen = 32 // places that are tried
)

// Pack returns a module as text.
func (p *Packer) Pack(words []uint32) string {
	begin := len(p.b)
	p.b = binary.AppendUvarint(p.b, uint64(words[3])) // the rest of the header is the same in all modules
	for i := 5; i < len(words); {
		n := int(words[i] >> 16)
		p.b = binary.AppendUvarint(p.b, uint64(words[i]&0xffff))
		p.b = binary.AppendUvarint(p.b, uint64(n))
		for _, w := range words[i+1 : i+n] {
			p.b = binary.AppendUvarint(p.b, uint64(w))
		}
		i += n
	}
	packed := base64.StdEncoding.EncodeToString(p.runs(begin))
	var lines strings.Builder
	for at, width := 0, 120; at < len(packed); at += width {
		lines.WriteString(packed[at:min(at+width, len(packed))] + "\n")
	}
	return lines.String()
}

// runs returns the runs of the bytes from begin on: how many bytes are new, these bytes, how many come again, and how far back they are.
func (p *Packer) runs(begin int) (out []byte) {
	if p.at == nil {
		p.at = map[uint32][]int{}
	}
	run := func(from, to, again, back int) {
		out = append(binary.AppendUvarint(out, uint64(to-from)), p.b[from:to]...)
		out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(again)), uint64(back))
	}
	fresh, end := begin, len(p.b)
	for i := begin; i < end; {
		again, from := p.again(i)
		if costs := len(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(again)), uint64(i-from))) + 1; again <= costs {
			p.note(i)
			i++
			continue
		}
		run(fresh, i, again, i-from)
		for range again {
			p.note(i)
			i++
		}
		fresh = i
	}
	if fresh < end {
		run(fresh, end, 0, 0)
	}
	return out
}

// again looks for the longest sequence of bytes from i on that also stands before i. It returns its length, and where it
// stands.
func (p *Packer) again(i int) (most, from int) {
	if i+fewest > len(p.b) {
		return 0, 0
	}
	seen := p.at[binary.LittleEndian.Uint32(p.b[i:])]
	for _, at := range seen[max(len(seen)-mostSeen, 0):] {
		if n := common(p.b[at:], p.b[i:]); n >= most {
			most, from = n, at
		}
	}
	return most, from
}

func (p *Packer) note(i int) {
	if i+fewest <= len(p.b) {
		four := binary.LittleEndian.Uint32(p.b[i:])
		p.at[four] = append(p.at[four], i)
	}
}

// common returns how many bytes a begins with as b does.
func common(a, b []byte) (n int) {
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
