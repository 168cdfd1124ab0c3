package array_test

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// plain is what an array stands for, without strides: the place in the buffer of every element, counted off with
// the last index fastest.
type plain struct {
	shape  []int
	places []int
}

func product(shape []int) int {
	n := 1
	for _, e := range shape {
		n *= e
	}
	return n
}

// indices lists all indices of a shape, the last fastest.
func indices(shape []int) [][]int {
	list := [][]int{{}}
	for _, e := range shape {
		var next [][]int
		for _, head := range list {
			for i := range e {
				next = append(next, append(slices.Clone(head), i))
			}
		}
		list = next
	}
	return list
}

// number is the position of an index among the indices of its shape.
func number(shape, index []int) int {
	n := 0
	for i, e := range shape {
		n = n*e + index[i]
	}
	return n
}

// built is the array of a shape whose element at each index is the element of p at the index that from gives.
func (p plain) built(shape []int, from func(index []int) []int) plain {
	q := plain{shape: shape}
	for _, index := range indices(shape) {
		q.places = append(q.places, p.places[number(p.shape, from(index))])
	}
	return q
}

// in lists the places with the indices in the given order.
func (p plain) in(order array.Order) []int {
	if order == array.RowMajor {
		return p.places
	}
	list := indices(p.shape)
	slices.SortStableFunc(list, func(a, b []int) int {
		for i := len(a) - 1; i >= 0; i-- {
			if c := cmp.Compare(a[i], b[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	var places []int
	for _, index := range list {
		places = append(places, p.places[number(p.shape, index)])
	}
	return places
}

func (p plain) contiguous(order array.Order) bool {
	places := p.in(order)
	for i, x := range places {
		if x != places[0]+i {
			return false
		}
	}
	return true
}

// regular reports whether some offset and strides lead to the places.
func (p plain) regular() bool {
	strides := make([]int, len(p.shape))
	for i, e := range p.shape {
		if e > 1 {
			one := make([]int, len(p.shape))
			one[i] = 1
			strides[i] = p.places[number(p.shape, one)] - p.places[0]
		}
	}
	for n, index := range indices(p.shape) {
		x := p.places[0]
		for i := range index {
			x += index[i] * strides[i]
		}
		if x != p.places[n] {
			return false
		}
	}
	return true
}

// reshaped is p under another shape, counted off in an order.
func (p plain) reshaped(order array.Order, shape []int) plain {
	if order == array.RowMajor {
		return plain{shape, p.places}
	}
	places := p.in(order)
	q := plain{shape, make([]int, len(places))}
	for _, index := range indices(shape) {
		n := 0
		for i := len(shape) - 1; i >= 0; i-- {
			n = n*shape[i] + index[i]
		}
		q.places[number(shape, index)] = places[n]
	}
	return q
}

func (p plain) runs() (runs [][2]int) {
	for _, x := range slices.Sorted(slices.Values(p.places)) {
		if last := len(runs) - 1; last >= 0 && runs[last][1] == x {
			runs[last][1]++
		} else {
			runs = append(runs, [2]int{x, x + 1})
		}
	}
	return runs
}

func drawShape(t *rapid.T, rank int) []int {
	return rapid.SliceOfN(rapid.IntRange(1, 4), rank, rank).Draw(t, "shape")
}

func drawOrder(t *rapid.T) array.Order {
	return array.Order(rapid.IntRange(0, 1).Draw(t, "order"))
}

// drawFactors draws a shape of n elements.
func drawFactors(t *rapid.T, n int) []int {
	shape := []int{}
	for n > 1 {
		var divisors []int
		for d := 2; d <= n; d++ {
			if n%d == 0 {
				divisors = append(divisors, d)
			}
		}
		d := rapid.SampledFrom(divisors).Draw(t, "extent")
		shape = append(shape, d)
		n /= d
	}
	for range rapid.IntRange(0, 2).Draw(t, "ones") {
		shape = slices.Insert(shape, rapid.IntRange(0, len(shape)).Draw(t, "at"), 1)
	}
	return shape
}

// whole is the array over all of a buffer.
func whole(order array.Order, shape []int) plain {
	line := plain{places: make([]int, product(shape))}
	for i := range line.places {
		line.places[i] = i
	}
	line.shape = []int{len(line.places)}
	return line.reshaped(order, shape)
}

// step derives a view and what it should be.
func step(t *rapid.T, a *array.Array[int32], p plain) (*array.Array[int32], plain) {
	rank := len(p.shape)
	do := rapid.SampledFrom([]string{"slice", "select", "transpose", "reshape", "strides"}).Draw(t, "step")
	switch {
	case do == "slice":
		var ranges []array.Range
		from := make([]func(int) int, rank)
		shape := slices.Clone(p.shape)
		given := rapid.IntRange(0, rank).Draw(t, "ranges")
		for i := range rank {
			from[i] = func(k int) int { return k }
			if i >= given {
				continue
			}
			lo := rapid.IntRange(0, p.shape[i]-1).Draw(t, "lo")
			hi := rapid.IntRange(lo+1, p.shape[i]).Draw(t, "hi")
			by := rapid.SampledFrom([]int{1, 1, 2, 3, 100, -1, -2, -100}).Draw(t, "by")
			ranges = append(ranges, array.Between(lo, hi).By(by))
			var chosen []int
			if by > 0 {
				for k := lo; k < hi; k += by {
					chosen = append(chosen, k)
				}
			} else {
				for k := hi - 1; k >= lo; k += by {
					chosen = append(chosen, k)
				}
			}
			shape[i] = len(chosen)
			from[i] = func(k int) int { return chosen[k] }
		}
		return view(t)(a.Slice(ranges...)), p.built(shape, func(index []int) []int {
			was := make([]int, rank)
			for i, k := range index {
				was[i] = from[i](k)
			}
			return was
		})
	case do == "select" && rank > 0:
		axis := rapid.IntRange(0, rank-1).Draw(t, "axis")
		k := rapid.IntRange(0, p.shape[axis]-1).Draw(t, "index")
		return view(t)(a.Select(axis, k)), p.built(slices.Delete(slices.Clone(p.shape), axis, axis+1), func(index []int) []int {
			return slices.Insert(slices.Clone(index), axis, k)
		})
	case do == "transpose" && rank > 0:
		axes := rapid.Permutation(indices([]int{rank})).Draw(t, "axes")
		var by, shape []int
		for _, x := range axes {
			by = append(by, x[0])
			shape = append(shape, p.shape[x[0]])
		}
		return view(t)(a.Transpose(by...)), p.built(shape, func(index []int) []int {
			was := make([]int, rank)
			for i, k := range index {
				was[by[i]] = k
			}
			return was
		})
	case do == "reshape":
		q := p.reshaped(array.RowMajor, drawFactors(t, len(p.places)))
		b, err := a.Reshape(q.shape...)
		if !q.regular() {
			require.ErrorIs(t, err, hal.ErrUnsupported)
			return a, p
		}
		require.NoError(t, err, "%v %v -> %v", a.Shape(), a.Strides(), q.shape)
		return b, q
	}
	return a, p
}

func sameView(t *rapid.T, a *array.Array[int32], p plain, data []int32) {
	require.True(t, slices.Equal(p.shape, a.Shape()), "%v, %v", p.shape, a.Shape())
	require.Equal(t, len(p.places), a.Len())
	strides, want := a.Strides(), []int32{}
	for n, index := range indices(p.shape) {
		x := a.Offset()
		for i, k := range index {
			x += k * strides[i]
		}
		require.Equal(t, p.places[n], x, "place of %v", index)
		want = append(want, data[x])
	}
	require.Equal(t, want, values(t, a))
	require.Equal(t, p.contiguous(array.RowMajor), a.IsContiguous(array.RowMajor))
	require.Equal(t, p.contiguous(array.ColumnMajor), a.IsContiguous(array.ColumnMajor))
	runs := p.runs()
	require.Equal(t, runs, a.Runs())

	limit := rapid.IntRange(1, 6).Draw(t, "limit")
	pieces := a.Pieces(limit)
	require.LessOrEqual(t, len(pieces), limit)
	if len(runs) <= limit {
		require.Equal(t, runs, pieces)
	}
	for i, r := range pieces {
		require.True(t, r[0] < r[1] && (i == 0 || pieces[i-1][1] <= r[0]), "%v", pieces)
	}
	for _, x := range p.places {
		require.True(t, slices.ContainsFunc(pieces, func(r [2]int) bool { return r[0] <= x && x < r[1] }), "%v leave out %d", pieces, x)
	}
	require.Equal(t, runs[0][0], pieces[0][0])
	require.Equal(t, runs[len(runs)-1][1], pieces[len(pieces)-1][1])
}

// Any views of views have the elements that plain Go finds.
func TestViewsAreWhatPlainGoFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := drawOrder(t)
		p := whole(order, drawShape(t, rapid.IntRange(0, 4).Draw(t, "rank")))
		data := make([]int32, len(p.places))
		for i := range data {
			data[i] = int32(1000 + i)
		}
		b, err := buffer.From(data)
		require.NoError(t, err)
		defer b.Close()
		shape := slices.Clone(p.shape)
		if order == array.ColumnMajor {
			slices.Reverse(shape)
		}
		a, err := array.FromBuffer(b, shape...)
		require.NoError(t, err)
		if order == array.ColumnMajor {
			a, err = a.Transpose()
			require.NoError(t, err)
		}
		sameView(t, a, p, data)
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			a, p = step(t, a, p)
			sameView(t, a, p, data)
			again, err := array.FromStrides(b, a.Offset(), a.Shape(), a.Strides())
			require.NoError(t, err)
			sameView(t, again, p, data)
		}
	})
}

// traffic drives views of one array, on the host and on a device, and holds contents and the bytes that are copied
// against plain slices.
type traffic struct {
	a      *array.Array[int32]
	p      plain // of a
	s      *hal.Stream
	want   []int32
	onHost []bool // current there, by element
	onDev  []bool
	next   int32
	exact  bool // no view has more ranges than are held at once
}

func (m *traffic) draw(t *rapid.T) (*array.Array[int32], plain) {
	a, p := m.a, m.p
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		a, p = step(t, a, p)
	}
	return a, p
}

// moved checks that do copies to the host exactly those of the elements that are not current there.
func (m *traffic) moved(t *rapid.T, places []int, do func()) {
	before, want := m.a.Stats().BytesCopied, uint64(0)
	for _, x := range places {
		if !m.onHost[x] {
			want += 4
		}
	}
	do()
	got := m.a.Stats().BytesCopied - before
	if m.exact {
		require.Equal(t, want, got, "bytes copied")
	} else {
		require.GreaterOrEqual(t, got, want, "bytes copied")
	}
	m.sync(t)
	for _, x := range places {
		require.True(t, m.onHost[x])
	}
}

// sync asks the buffer what is current where; when all is exact, it holds the answer against the oracle.
func (m *traffic) sync(t *rapid.T) {
	line, err := array.FromStrides(m.buffer(t), 0, []int{len(m.want)}, []int{1})
	require.NoError(t, err)
	for x := range m.want {
		one, err := line.Slice(array.Between(x, x+1))
		require.NoError(t, err)
		m.onHost[x], m.onDev[x] = false, false
		for _, place := range one.State().Places {
			if place.Device == nil {
				m.onHost[x] = place.Valid
			} else {
				m.onDev[x] = place.Valid
			}
		}
	}
}

func (m *traffic) buffer(t *rapid.T) *buffer.Buffer[int32] {
	b, err := m.a.Memory()
	require.NoError(t, err)
	return b
}

// wrote checks that the host holds the places alone, and that nothing else has become old on the device.
func (m *traffic) wrote(t *rapid.T, places []int, do func()) {
	before := slices.Clone(m.onDev)
	do()
	m.sync(t)
	for x := range m.want {
		switch written := slices.Contains(places, x); {
		case written:
			require.True(t, m.onHost[x] && !m.onDev[x], "element %d was written on the host", x)
		case m.exact:
			require.Equal(t, before[x], m.onDev[x], "element %d was not written", x)
		}
	}
}

func (m *traffic) expect(p plain) []int32 {
	out := []int32{}
	for _, x := range p.places {
		out = append(out, m.want[x])
	}
	return out
}

func (m *traffic) DeviceWrites(t *rapid.T) {
	a, p := m.draw(t)
	if _, ok := a.Order(); !ok {
		_, err := a.TryAcquire(m.s, coherence.Overwrite)
		require.ErrorIs(t, err, hal.ErrUnsupported)
		return
	}
	m.next++
	l, err := a.TryAcquire(m.s, coherence.Overwrite)
	require.NoError(t, err)
	require.NoError(t, m.s.Fill(l.Region(), hal.Pattern32(uint32(m.next))))
	require.NoError(t, l.Release())
	for _, x := range p.places {
		m.want[x] = m.next
	}
	m.sync(t)
	for _, x := range p.places {
		require.True(t, m.onDev[x] && !m.onHost[x])
	}
}

func (m *traffic) DeviceReads(t *rapid.T) {
	a, p := m.draw(t)
	order, ok := a.Order()
	if !ok {
		return
	}
	l, err := a.TryAcquire(m.s, coherence.Read)
	require.NoError(t, err)
	raw := make([]byte, 4*a.Len())
	require.NoError(t, m.s.CopyOut(raw, l.Region()))
	require.NoError(t, l.Release())
	require.NoError(t, m.s.Sync(ctx))
	for i, x := range p.in(order) {
		require.Equal(t, m.want[x], int32(raw[4*i])|int32(raw[4*i+1])<<8|int32(raw[4*i+2])<<16|int32(raw[4*i+3])<<24)
	}
	m.sync(t)
}

func (m *traffic) View(t *rapid.T) {
	a, p := m.draw(t)
	m.moved(t, p.places, func() {
		require.NoError(t, a.View(ctx, func(g array.Accessor[int32]) error {
			got := m.expect(p)
			for n, index := range indices(p.shape) {
				v, err := g.At(index...)
				require.NoError(t, err)
				require.Equal(t, got[n], v)
			}
			for n, e := range g.All() {
				require.Equal(t, got[n], *e)
			}
			return nil
		}))
	})
}

func (m *traffic) Update(t *rapid.T) {
	a, p := m.draw(t)
	m.moved(t, p.places, func() {
		m.wrote(t, p.places, func() {
			require.NoError(t, a.Update(ctx, func(g array.Accessor[int32]) error {
				for n, index := range indices(p.shape) {
					v, err := g.At(index...)
					require.NoError(t, err)
					require.Equal(t, m.want[p.places[n]], v)
					require.NoError(t, g.Set(v+1, index...))
					m.want[p.places[n]]++
				}
				return nil
			}))
		})
	})
}

func (m *traffic) Overwrite(t *rapid.T) {
	a, p := m.draw(t)
	before := m.a.Stats().BytesCopied
	m.wrote(t, p.places, func() {
		require.NoError(t, a.Overwrite(ctx, func(g array.Accessor[int32]) error {
			for n, e := range g.All() {
				m.next++
				*e, m.want[p.places[n]] = m.next, m.next
			}
			return nil
		}))
	})
	require.Equal(t, before, m.a.Stats().BytesCopied, "overwriting copies nothing")
}

func (m *traffic) Element(t *rapid.T) {
	a, p := m.draw(t)
	n := rapid.IntRange(0, len(p.places)-1).Draw(t, "element")
	index, x := indices(p.shape)[n], p.places[n]
	m.moved(t, []int{x}, func() {
		v, err := a.At(ctx, index...)
		require.NoError(t, err)
		require.Equal(t, m.want[x], v)
	})
	m.next++
	before := m.a.Stats().BytesCopied
	m.wrote(t, []int{x}, func() { require.NoError(t, a.Set(ctx, m.next, index...)) })
	m.want[x] = m.next
	require.Equal(t, before, m.a.Stats().BytesCopied)
}

func (m *traffic) Pack(t *rapid.T) {
	a, p := m.draw(t)
	before, host := m.a.Stats().BytesCopied, slices.Clone(m.onHost)
	c, err := a.Pack(ctx)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	want := uint64(0)
	if !a.IsContiguous(array.RowMajor) {
		for _, x := range p.places {
			if !host[x] {
				want += 4
			}
		}
	}
	require.Equal(t, want, m.a.Stats().BytesCopied-before, "packing moves the elements and nothing else, however many ranges")
	require.True(t, c.IsContiguous(array.RowMajor))
	require.Equal(t, m.expect(p), values(t, c))
	m.sync(t)
}

func (m *traffic) File(t *rapid.T) {
	a, p := m.draw(t)
	m.moved(t, p.places, func() {
		var file bytes.Buffer
		n, err := a.WriteNPY(ctx, &file)
		require.NoError(t, err)
		require.Equal(t, int64(file.Len()), n)
		file.WriteString("behind")
		c, err := array.ReadNPY[int32](&file)
		require.NoError(t, err)
		require.Equal(t, "behind", file.String())
		require.Equal(t, a.Shape(), c.Shape())
		require.Equal(t, m.expect(p), values(t, c))
		require.NoError(t, c.Close())
	})
}

func (m *traffic) Check(t *rapid.T) {}

func driveTraffic(t *testing.T, atMost int) {
	if atMost > 0 {
		defer array.HoldAtMost(atMost)()
	}
	d, s := openDevice(t)
	rapid.Check(t, func(t *rapid.T) {
		order := drawOrder(t)
		p := whole(order, drawShape(t, rapid.IntRange(1, 3).Draw(t, "rank")))
		data := make([]int32, len(p.places))
		for i := range data {
			data[i] = int32(-1 - i)
		}
		a, err := array.FromIn(order, data, p.shape...)
		require.NoError(t, err)
		m := &traffic{a: a, p: p, s: s, want: data, onHost: make([]bool, len(data)), onDev: make([]bool, len(data)), exact: atMost == 0}
		m.sync(t)
		t.Repeat(rapid.StateMachineActions(m))
		require.Equal(t, m.expect(p), values(t, a))
		require.NoError(t, a.Close())
	})
	require.NoError(t, s.Sync(ctx))
	require.Eventually(t, func() bool { return d.Usage().Held == 0 }, patience, tick)
}

func TestTrafficIsTheLeast(t *testing.T) { driveTraffic(t, 0) }

// With more ranges than are held at once everything is still right.
func TestTrafficInLargerPieces(t *testing.T) { driveTraffic(t, 2) }
