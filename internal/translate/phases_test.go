package translate

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// phaseKernels are kernels with barriers. Running the phases of a block must do the same as running its
// threads together.
var phaseKernels = []struct{ name, body string }{
	{"halves", "s := grid.Shared[[8]int32](t)\nme, i := t.Local(0), t.Global(0)\ns[me] = x[i%len(x)] + n\nfor h := t.Size(0) / 2; h > 0; h /= 2 {\n\tt.Barrier()\n\tif me < h {\n\t\ts[me] += s[me+h]\n\t}\n}\ny[i] = s[me]"},
	{"diagonals", "me := t.Local(0)\nfor k := range 26 {\n\tif j := k - me; j >= 0 && j < int(n)*3 {\n\t\ty[me+1] = y[me+32]*3 + int32(k)\n\t}\n\tt.Barrier()\n\tif me > k-40 && k+me < 24 && n < 9 {\n\t\ty[me+32] = y[me] - y[me+1]\n\t}\n\tt.Barrier()\n}"},
	{"late", "s := grid.Shared[[64]int32](t)\nme := t.Local(0)\ns[me] = x[x[0]] + n\nt.Barrier()\ny[t.Global(0)] = s[me] * 3"},
	{"lateBeyond", "s := grid.Shared[[64]int32](t)\nme := t.Local(0)\ns[me] = x[x[5]] + n\nt.Barrier()\ny[t.Global(0)] = s[me] * 3"},
	{"keeps", "s := grid.Shared[[64]int32](t)\nme := (t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0) + t.Local(0)\nsum := int32(1)\nfor k := 0; k < int(n); k++ {\n\ts[me] = sum * int32(k)\n\tt.Barrier()\n\tsum = sum*3 + s[(me+1)%(t.Size(0)*t.Size(1)*t.Size(2))]\n\tt.Barrier()\n}\ny[t.Block(0)*8+me] = sum"},
	{"nested", "s := grid.Shared[[8]int32](t)\nme := t.Local(0)\ntotal := int32(0)\nfor i := range 3 {\n\tfor j := 1; j <= i+1; j++ {\n\t\ts[me] = x[(me+i*j)%len(x)]\n\t\tt.Barrier()\n\t\ttotal += s[7-me%8] * int32(i-j)\n\t\tt.Barrier()\n\t}\n\tfor range 2 {\n\t\tt.Barrier()\n\t\ttotal++\n\t}\n}\ngrid.AtomicAdd(&y[t.Global(0)], total)"},
	{"ends", "s := grid.Shared[[8]int32](t)\nme := t.Local(0)\ns[me] = n\nt.Barrier()\nif me == 2 {\n\treturn\n}\nfor k := range 5 {\n\tif k == me {\n\t\treturn\n\t}\n\tgrid.AtomicAdd(&y[t.Global(0)], s[(me+k)%8])\n}"},
	{"records", "s := grid.Shared[[8]S](t)\nme := t.Local(0)\nrec, list := S{n, int32(me)}, [3]int32{n, 1, int32(me)}\ns[me] = rec\nt.Barrier()\nrec.grow()\ngrow(&list[1])\nt.Barrier()\nother := s[7-me%8]\ny[t.Global(0)] = rec.Most*other.Add + rec.Add + list[0]*list[1] + list[2]"},
	{"declared", "var s = grid.Shared[[4]uint32](t)\nvar a, b int32\nvar c = n * 2\na, d := two(n)\nt.Barrier()\nb += a + d\ngrid.AtomicAdd(&s[t.Local(0)%4], uint32(b+c))\nt.Barrier()\ny[t.Global(0)] = int32(s[t.Local(0)%4])"},
	{"again", "s := grid.Shared[[8]int32](t)\nw, h := int(n), t.Size(0)\nme, row := t.Local(0), t.Global(0)*2+w\nat := row - me<<1 + h%3\ns[me] = int32(at)\nt.Barrier()\ny[t.Global(0)] = s[(me+1)%h] + int32(row&7)\nt.Barrier()\ngrid.AtomicAdd(&y[t.Global(0)], int32(at / 2))"},
	{"inner", "s := grid.Shared[[8]int32](t)\nme := t.Local(0)\nfor v := range 3 {\n\ts[me] += int32(v)\n}\nif n > 3 {\n\tme := 7 - me\n\ts[me%8] += 0\n}\nt.Barrier()\nfor v := 4; v > 0; v-- {\n\tif v == 2 {\n\t\tcontinue\n\t}\n\tswitch {\n\tcase v == 3:\n\t\tbreak\n\tdefault:\n\t\tgrid.AtomicAdd(&y[t.Global(0)], s[(me+v)%8])\n\t}\n}"},
	{"namesKept", "s := grid.Shared[[8]int32](t)\nkept, b := s[0]+n, s[1]+2\nt.Barrier()\ntx, row, threads, firstX := 1, 2, 3, t.Global(0)\ny[firstX] = kept + b + int32(tx+row+threads)\nif b == 0 {\n\treturn\n}"},
	{"planes", "s := grid.Shared[[4][4][4]int32](t)\nif t.Local(0) < 4 {\n\ts[t.Local(2)][t.Local(1)][t.Local(0)] += int32(t.Global(1)*100 + t.Global(2)*10 + t.Global(0))\n}\nt.Barrier()\nif t.Local(0) < 4 {\n\ty[(t.Block(0)*4+t.Local(2)*2+t.Local(1))*4+t.Local(0)] = s[t.Local(2)][t.Local(1)][3-t.Local(0)] + int32(t.Blocks(0))\n}"},
	{"cleared", "s := grid.Shared[[9]int32](t)\ngrid.AtomicAdd(&y[t.Global(0)], s[t.Local(0)])\nt.Barrier()\ns[t.Local(0)] = n\nt.Barrier()\ngrid.AtomicAdd(&y[t.Global(0)], s[8-t.Local(0)])"},
	{"labels", "s := grid.Shared[[8]int32](t)\nall:\nfor v := range 4 {\n\tfor m := range 4 {\n\t\tswitch {\n\t\tcase v*m == t.Local(0):\n\t\t\tcontinue all\n\t\tcase v+m > 6:\n\t\t\tbreak all\n\t\t}\n\t\ts[t.Local(0)] += int32(v)\n\t}\n}\nt.Barrier()\ny[t.Global(0)] = s[(t.Local(0)+1)%8]"},
	{"between", "s := grid.Shared[[8]int32](t)\ns[t.Local(0)] = n\nme := t.Local(0)\nm := int(n)\ns[me] += int32(m)\nt.Barrier()\ny[t.Global(0)] = s[(me+m)%8]"},
	{"blank", "s := grid.Shared[[8]int32](t)\nw, _ := len(x), t.Size(0)\nme, _ := t.Local(0), 3\ns[me] = n\nt.Barrier()\ny[t.Global(0)] = s[me] + int32(w)"},
	{"rounds", "s := grid.Shared[[64]int32](t)\nme, end, mine := t.Local(0), (t.Block(0)+1)*len(x)/t.Blocks(0), int32(0)\nfor i := t.Block(0)*len(x)/t.Blocks(0) + me; i < end; i += t.Size(0) {\n\tif x[i] > 1 {\n\t\tmine += x[i] * n\n\t} else {\n\t\tmine -= x[0]\n\t}\n}\ns[me] = mine\nt.Barrier()\ny[t.Global(0)] = s[(me+1)%t.Size(0)]"},
	{"roundsOffset", "s := grid.Shared[[64]int32](t)\nlast, mine := len(x)-3, int32(1)\nfor i := t.Local(0); last > i; i++ {\n\tv := x[i+3] + x[1-2+i+1]\n\tmine = mine*3 + v\n}\ns[t.Local(0)] = mine\nt.Barrier()\ny[t.Global(0)] = s[0] + s[t.Local(0)]"},
	{"roundsBeyond", "s := grid.Shared[[64]int32](t)\nmine := int32(0)\nfor i := t.Global(0); i < 9; i += 2 {\n\tif i > 1 {\n\t\tmine += x[i-2]\n\t}\n}\ns[t.Local(0)] = mine\nt.Barrier()\ny[t.Global(0)] = s[t.Local(0)]"},
	{"roundsShared", "s := grid.Shared[[64]int32](t)\ns[t.Local(0)] = n + int32(t.Local(0))\nt.Barrier()\nmine := float32(0)\nfor i := t.Local(0); i < 60; i += 7 {\n\tmine += float32(s[i]) / 3\n\tmine -= float32(i)\n}\nt.Barrier()\ny[t.Global(0)] = int32(mine)"},
	{"guards", "s := grid.Shared[[64]int32](t)\nme, at, h := t.Local(0), t.Global(0), int(n)-1\nif me <= h {\n\ts[me] = 5\n}\nt.Barrier()\nif 1 == me && n > 0 {\n\ts[2] = 7\n}\nt.Barrier()\nif h+4 > at && me < 6 {\n\ts[me] += 3\n}\nt.Barrier()\nif at <= h-10 {\n\ts[0] = 100\n}\nt.Barrier()\nif t.Local(0) < h-h-1 {\n\ts[0] = 100\n}\nt.Barrier()\ny[at] = s[me]"},
	{"roundsReturn", "s := grid.Shared[[64]int32](t)\ns[t.Local(0)] = n\nt.Barrier()\nif t.Local(0) == 3 {\n\treturn\n}\nmine := int32(0)\nfor i := t.Local(0); i < len(x); i += 2 {\n\tmine += x[i]\n}\ny[t.Global(0)] = mine + s[0]"},
	{"guardsCount", "s := grid.Shared[[64]uint32](t)\nif grid.AtomicAdd(&s[1], 1) < 100 && t.Local(0) < 2 {\n\ts[2+t.Local(0)] = 7\n}\nt.Barrier()\ny[t.Global(0)] = int32(s[1] + s[2])"},
	{"guardsBeyond", "s := grid.Shared[[8]int32](t)\nif x[6+t.Local(0)] > -9 && t.Local(0) < 2 {\n\ts[t.Local(0)] = n\n}\nt.Barrier()\ny[t.Global(0)] = s[1]"},
	{"roundsHide", "s := grid.Shared[[64]int32](t)\nmine, other := int32(1), int32(2)\nfor i := t.Local(0); i < len(x); i += t.Size(0) {\n\tmine += x[i] * other\n\tmine, twice := x[i]*5, n*3\n\tother += mine + twice\n\ti := other*2\n\tother -= i/3\n}\ns[t.Local(0)] = mine\nt.Barrier()\ny[t.Global(0)] = s[t.Local(0)] + other"},
	{"wide", "s := grid.Shared[[64]int32](t)\nme, mine := t.Local(0), n\nif t.Global(0) < len(x) {\n\tmine += x[t.Global(0)]\n}\ns[me] = mine * 3\nt.Barrier()\nfor h := t.Size(0) / 2; h > 0; h /= 2 {\n\tif me < h {\n\t\ts[me] += s[me+h] - mine\n\t}\n\tt.Barrier()\n\tif s[me] > 5 && me != 3 {\n\t\tmine -= s[me]\n\t}\n\tt.Barrier()\n}\ny[t.Global(0)] = mine + s[me]"},
	{"wideRounds", "s := grid.Shared[[64]int32](t)\ns[t.Local(0)] = n\nt.Barrier()\nmine, most := int32(0), int32(-99)\nfor i := t.Local(0); i < 40; i += t.Size(0) - 3 {\n\tif s[i] > n-2 {\n\t\tmine = mine*3 + s[i] + int32(i)\n\t}\n\tmost = max(most, s[i]+mine)\n}\nt.Barrier()\ny[t.Global(0)] = mine + most"},
	{"tiles", "s := grid.Shared[[24]int32](t)\nme, i := t.Local(0), t.Global(0)\nif i < len(x) {\n\ts[me+2] = x[i]\n}\nt.Barrier()\nif me <= int(n) && 3 > me {\n\ty[i+1] = s[me+2]\n}\nt.Barrier()\nif me < int(n) {\n\tme := s[2]\n\ty[i] = me\n}\nt.Barrier()\nif 2 == me {\n\ty[i] = 7\n}"},
	{"tilesBeyond", "s := grid.Shared[[20]int32](t)\ns[t.Local(0)] = x[t.Global(0)]\nt.Barrier()\ny[t.Global(0)] = s[t.Local(0)]"},
	{"twice", "me := t.Local(0)\nt.Barrier()\nfor range 2 {\n\tme := 3 + t.Local(1)\n\tt.Barrier()\n\tgrid.AtomicAdd(&y[t.Global(0)], int32(me))\n}\ngrid.AtomicAdd(&y[t.Global(0)], int32(me))"},
	{"hides", "for range 2 {\n\tx := x[0] + n\n\tt.Barrier()\n\tgrid.AtomicAdd(&y[t.Global(0)], x)\n}"},
	{"loopsAlike", "s := grid.Shared[[64]int32](t)\nme, sum := t.Local(0), n\nfor d := 1; d < 4; d++ {\n\ts[me] = sum + int32(d)\n\tt.Barrier()\n\tsum += s[(me+d)%t.Size(0)]\n\tt.Barrier()\n}\nfor d := t.Size(0) / 2; d > 0; d /= 2 {\n\tv := S{Add: int32(d)}\n\tt.Barrier()\n\tsum += v.Add\n}\nfor d := range 2 {\n\tv := int32(d)\n\tt.Barrier()\n\tsum = sum*3 + v\n}\ngrid.AtomicAdd(&y[t.Global(0)], sum)"},
	{"constants", "const k, m = 3, int32(iota)\ntype pair struct{ a, b int32 }\ns := grid.Shared[[64]int32](t)\np := pair{n + k, m}\ns[t.Local(0)] = p.a*k + p.b\nt.Barrier()\nfor range 2 {\n\tt.Barrier()\n\tsum := s[0] * k\n\tconst k = 5\n\ttype pair [2]int32\n\tgrid.AtomicAdd(&y[t.Global(0)], pair{sum, k}[1]+sum)\n}\nt.Barrier()\ngrid.AtomicAdd(&y[t.Global(0)], k*s[t.Local(0)])"},
	{"loaded", "s := grid.Shared[[64]int32](t)\nme, sum := t.Local(0), n\ns[me] = n + int32(me)\nm, own := int(x[t.Block(0)*2]), int32(me)\nfor k := 0; k < m; k++ {\n\tt.Barrier()\n\tsum = sum*3 + s[(me+k)%t.Size(0)] + own\n\tt.Barrier()\n\ts[me] = sum\n\tfor range x[k+t.Block(0)] {\n\t\tt.Barrier()\n\t\tsum++\n\t}\n}\ngrid.AtomicAdd(&y[t.Global(0)], sum)"},
	{"loadedRange", "s := grid.Shared[[64]int32](t)\nme, sum, lists := (t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0)+t.Local(0), n, [2][3]int32{{1, 2, n}, {n, 3, 5}}\nmine := x[min(t.Block(0), int(x[0])):][:max(n-2, 1)]\nfor k, v := range mine {\n\ts[me] = sum + v\n\tt.Barrier()\n\tsum = sum*3 + s[(me+k)%t.Size(0)]\n\tt.Barrier()\n\tfor range mine[k:][:1] {\n\t\tt.Barrier()\n\t\tsum++\n\t}\n}\nfor _, v := range x[x[3]:x[2]+x[8]/5] {\n\tt.Barrier()\n\tsum += v * lists[0][1]\n}\nfor k := range x {\n\tt.Barrier()\n\tsum += int32(k)\n}\nfor k := range y[:3] {\n\tt.Barrier()\n\tsum -= int32(k)\n}\ngrid.AtomicAdd(&y[t.Global(0)], sum)"},
	{"loadedBeyond", "m := int(x[int(n)+5])\nfor range m {\n\tt.Barrier()\n\ty[t.Global(0)]++\n}"},
	{"calls", "s := grid.Shared[[64]int32](t)\nme, d := (t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0) + t.Local(0), n\ns[me] = halved(t, s, n*int32(me+1))\nt.Barrier()\nfor k := range 3 {\n\td += halved(t, s, (d+int32(k))%1000)\n\tmine := s[me]\n\tt.Barrier()\n\tvar lo, hi = borders(t, s, mine+d, k)\n\td -= lo - hi\n}\nhalved(t, s, d)\ngrid.AtomicAdd(&y[t.Global(0)], d*5+s[0])"},
	{"callsHide", "s := grid.Shared[[64]int32](t)\nsum, d_, lo := n, int32(1), S{Add: n}\nlo.shift(t, s, 100)\nlo.shift(t, s, 1<<(n+2))\nd_ += largest[int32](t, s, int32(t.Local(0))*n-7)\nsum, d_ = borders(t, s, sum*d_, int(n))\nspread(t, s, &sum)\ngrid.AtomicAdd(&y[t.Global(0)], sum+d_*lo.Add)"},
	{"callsInALine", "thrice(t); y[t.Global(0)] = n; thrice(t) ; y[t.Global(0)]++"},
	{"callsEnd", "s := grid.Shared[[64]int32](t)\ns[t.Local(0)] = n\nwait(t)\ny[t.Global(0)] = s[(t.Local(0)+1)%t.Size(0)]\nwait(t)"},
	{"conditionals", "s := grid.Shared[[64]int32](t)\nme, sum := (t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0)+t.Local(0), n\nfor k := range 4 {\n\tif k&1 == 0 && (n < 2 || threeTimes(n) > 5) {\n\t\ts[me] = sum + int32(k)\n\t\tt.Barrier()\n\t\tm := s[(me+1)%(t.Size(0)*t.Size(1)*t.Size(2))]\n\t\tt.Barrier()\n\t\tsum = sum*3 + m\n\t} else if v := t.Block(0) * k; v > 2 {\n\t\tsum += int32(v)\n\t\tt.Barrier()\n\t\ts[me] = 1 + sum\n\t} else {\n\t\tsum--\n\t}\n}\nif len(x) > 100 {\n\tt.Barrier()\n\tsum = 5\n}\ngrid.AtomicAdd(&y[t.Global(0)], sum+s[me])"},
	{"conditionalLoaded", "s := grid.Shared[[64]int32](t)\nme := (t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0)+t.Local(0)\ns[me] = n\nv := x[t.Block(0)]\nif v > 2 {\n\tt.Barrier()\n\ts[me] += v\n} else {\n\tsum := s[me]\n\twait(t)\n\tsum = halved(t, s, sum)\n\ts[me] += sum\n}\nt.Barrier()\ngrid.AtomicAdd(&y[t.Global(0)], s[t.Size(0)-1]+v)"},
	{"goesOn", "s := grid.Shared[[64]int32](t)\nme, sum := (t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0)+t.Local(0), n\nall:\nfor k := range 5 {\n\ts[me] = sum\n\tt.Barrier()\n\tv := s[(me+1)%(t.Size(0)*t.Size(1)*t.Size(2))]\n\tt.Barrier()\n\tsum += v\n\tif me == k {\n\t\tcontinue\n\t}\n\tfor j := range 3 {\n\t\tif sum := sum + int32(j); sum&7 == 3 {\n\t\t\tcontinue all\n\t\t}\n\t\tsum += int32(j * k)\n\t}\n\tsum *= 3\n}\ngrid.AtomicAdd(&y[t.Global(0)], sum)"},
	{"goesOnAlone", "for range 2 {\n\tt.Barrier()\n\tif t.Local(0) == 1 {\n\t\tcontinue\n\t}\n\tgrid.AtomicAdd(&y[t.Global(0)], 1)\n}"},
	{"roundsOfCalls", "s := grid.Shared[[64]int32](t)\nme, sum := (t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0)+t.Local(0), n\nm, f := int(threeTimes(n))/4, float32(n)*0.75\nfor k := 0; k < m && threeTimes(int32(k)) < 20 && k < int(f); k++ {\n\ts[me] = sum\n\tt.Barrier()\n\tsum += s[me/2]\n\tt.Barrier()\n}\nfor k := first(x); k < threeTimes(n); k += 3 {\n\tt.Barrier()\n\tsum += k\n}\ngrid.AtomicAdd(&y[t.Global(0)], sum)"},
	{"typesKept", "type own struct{ a, b int32 }\nme := t.Local(0)\na, b, c := struct{ k [2]int32 }{[2]int32{n, int32(me)}}, held[int32]{n + int32(me)}, own{n, int32(me)}\nt.Barrier()\nc = own{c.b + b.v, c.a}\nt.Barrier()\ngrid.AtomicAdd(&y[t.Global(0)], a.k[0]*3+a.k[1]+b.v+c.a*5+c.b)"},
	{"vars", "s := grid.Shared[[64]int32](t)\nvar w, me int32 = n + 1, int32(t.Local(0))\nvar (\n\th = t.Size(0)\n\tv = x[0]\n)\nvar q, z int64 = 5, int64(v)\ns[t.Local(0)] = w + me\nt.Barrier()\ny[t.Global(0)] = s[(int(me)+1)%h] + w + v + int32(q+z)"},
	{"lengths", "s := grid.Shared[[64]int32](t)\nown := [3]int32{n, int32(t.Local(0)), 1}\nk, m := len(own), len(own[1:])\nown[0]++\nz := s[int(n)-1:]\nfor i := t.Local(0); i < len(x); i += t.Size(0) {\n\town[2] += x[i]\n}\nsum := n\nfor i := t.Local(0); i < len(x); i += t.Size(0) {\n\tsum += x[i] + x[len(own)]\n}\nz[t.Local(0)%9] = n\nt.Barrier()\ny[t.Global(0)] = own[0]*5 + int32(k+m+len(z)) + own[2] + sum"},
	{"namedInts", "type place int\ns := grid.Shared[[64]int32](t)\nme, last := place(t.Local(0)), place(len(x))\nsum := n\nfor i := me; i < last; i += place(t.Size(0)) {\n\tsum += x[i]\n}\nfor i := t.Local(0); len(x) > i; i += int(last) - len(x) + t.Size(0) {\n\tsum += x[i] * 3\n}\nif me < last-4 {\n\ts[me] = sum\n}\nt.Barrier()\ny[t.Global(0)] = s[me]"},
	{"unused", "for v := range 2 {\n\t_ = v\n\tif t.Local(0) < 3 {\n\t\tgrid.AtomicAdd(&y[t.Global(0)], n)\n\t}\n\tt.Barrier()\n}"},
	{"blocks", "s := grid.Shared[[64]int32](t)\nme, sum := (t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0)+t.Local(0), n\nt.Barrier()\n{\n\tme := t.Local(0) / 2\n\tfor i := t.Local(0); i < len(x); i += t.Size(0) {\n\t\tsum += x[i] + int32(me)\n\t}\n}\nt.Barrier()\n{\n\th := me\n\tif t.Local(0) < 3 {\n\t\ts[h] = sum\n\t}\n}\nt.Barrier()\n{\n\ts[me] = s[me] + 1\n\tk := 3\n\tif me < k {\n\t\tsum++\n\t}\n}\nfor i, m := 0, len(x)-6; i < m; i++ {\n\tt.Barrier()\n\tsum += int32(m)\n}\ngrid.AtomicAdd(&y[t.Global(0)], sum+s[me])"},
	{"outside", "s := grid.Shared[[8]int32](t)\ns[t.Local(0)] = 60 + n\nt.Barrier()\ny[int(s[t.Local(0)])] = 1"},
}

// rowsOnly are kernels whose threads change an element that they find by t.Local(0) or t.Global(0) alone: in a block of several rows they would
// race, and threads that run together lose a change now and then.
var rowsOnly = map[string]bool{"halves": true, "inner": true, "labels": true, "between": true, "guards": true, "wide": true, "callsInALine": true, "diagonals": true, "lengths": true, "vars": true, "roundsOfCalls": true}

// undivided are kernels whose barriers cannot be divided into phases: where each is refused, and what the refusal says.
var undivided = []struct{ name, body, says string }{
	{"conditional", "if t.Local(0) > 3 {\n\t‹t.Barrier()\n}\ny[t.Global(0)] = 1", "write it outside of the statement that begins in line 2, and only the other statements inside"},
	{"conditionalElement", "if y[0] > 3 {\n\t‹t.Barrier()\n}\ny[t.Global(0)] = 1", "run alike, because its condition depends only on constants, parameters and the like"},
	{"conditionalKept", "v := y[0]\nt.Barrier()\nif n > 2 {\n\ty[1] = 1\n} else if v > 3 {\n\t‹t.Barrier()\n}\ny[t.Global(0)] = 1", "write it outside of the statement that begins in line 6"},
	{"conditionalInit", "if k := 3; n > 2 {\n\t‹t.Barrier()\n\tk += t.Local(0)\n\ty[k] = 1\n}", "write it outside of the statement that begins in line 2"},
	{"conditionalCall", "if n > 2 && first(y) > 5 {\n\t‹t.Barrier()\n\ty[0] = 1\n}", "write it outside of the statement that begins in line 2"},
	{"conditionalReturn", "if n > 2 {\n\tt.Barrier()\n\t‹return\n}\ny[t.Global(0)] = 1", "threads that return here"},
	{"conditionalNext", "for range 3 {\n\tif n > 2 {\n\t\tt.Barrier()\n\t\t‹continue\n\t}\n\ty[t.Global(0)] = 1\n}", "threads that continue here"},
	{"nextOfOuter", "all:\nfor range 3 {\n\tfor range 2 {\n\t\tt.Barrier()\n\t\tif y[0] > 3 {\n\t\t\t‹continue all\n\t\t}\n\t}\n}", "threads that continue here"},
	{"roundsOfWrittenCall", "‹for k := 0; k < int(first(y)); k++ {\n\tt.Barrier()\n\ty[0] = 1\n}", "and functions of these"},
	{"roundsOfTwo", "a, b := two(n)\n‹for k := int32(0); k < a; k++ {\n\tt.Barrier()\n\ty[0] = b\n}", "its number of rounds can depend on"},
	{"switched", "switch n {\ncase 3:\n\t‹t.Barrier()\n}", "write it outside of the statement that begins in line 2"},
	{"block", "{\n\t‹t.Barrier()\n}", "write it outside of the statement that begins in line 2"},
	{"loaded", "‹for k := int32(0); k < y[0]; k++ {\n\tt.Barrier()\n}\ny[t.Global(0)] = 1", "its number of rounds can depend on"},
	{"own", "for ‹k := t.Local(0); k < 3; k++ {\n\tt.Barrier()\n}", "its number of rounds can depend on"},
	{"elements", "for _, v := range ‹y {\n\tt.Barrier()\n\ty[t.Global(0)] = v\n}", "its number of rounds can depend on"},
	{"elementsOfPart", "mine := y[t.Block(0):]\nfor _, v := range ‹mine[1:] {\n\tt.Barrier()\n\ty[t.Global(0)] = v\n}", "its number of rounds can depend on"},
	{"ownPart", "for range ‹x[:t.Local(0)] {\n\tt.Barrier()\n}", "its number of rounds can depend on"},
	{"changedElement", "for _, v := range x {\n\tt.Barrier()\n\t‹v++\n\ty[0] = v\n}", "must run as often for all threads"},
	{"least", "for range ‹min(n, int32(t.Local(0))) {\n\tt.Barrier()\n}", "its number of rounds can depend on"},
	{"endless", "‹for {\n\tt.Barrier()\n\tif n > 3 {\n\t\tbreak\n\t}\n}\ny[t.Global(0)] = 1", "must run as often for all threads"},
	{"set", "k := 1\nfor ‹k = 3; k > 0; k-- {\n\tt.Barrier()\n}", "must begin with variables of its own"},
	{"changed", "for k := 0; k < 3; k++ {\n\tt.Barrier()\n\t‹k++\n}", "must run as often for all threads"},
	{"changedRange", "for k := range 3 {\n\tt.Barrier()\n\t‹k++\n\ty[k] = 1\n}", "must run as often for all threads"},
	{"breaks", "for k := 0; k < 3; k++ {\n\tt.Barrier()\n\tif k == int(n) {\n\t\t‹break\n\t}\n}\ny[t.Global(0)] = 1", "threads that break here do not come to the barriers that follow"},
	{"goesOn", "for k := 0; k < 3; k++ {\n\tif k == int(n) {\n\t\t‹continue\n\t}\n\tt.Barrier()\n}\ny[t.Global(0)] = 1", "threads that continue here"},
	{"returns", "if n > 3 {\n\t‹return\n}\nt.Barrier()\ny[0] = n", "threads that return here do not come to the barriers that follow, where the others of their block wait for them; put the statements that they leave out into an if"},
	{"labelled", "all:\nfor k := 0; k < 3; k++ {\n\tfor range 2 {\n\t\tif n > 100 {\n\t\t\t‹continue all\n\t\t}\n\t}\n\tt.Barrier()\n}\ny[t.Global(0)] = 1", "threads that continue here do not come to the barriers that follow"},
	{"parameter", "t.Barrier()\n‹n++\nt.Barrier()\ny[t.Global(0)] = n", "cannot change the parameter n; use a variable for it"},
	{"passed", "t.Barrier()\nhelp(‹t, y)", "pass what the function needs of it, such as t.Global(0)"},
	{"passedToHelper", "wait(t)\nhelp(‹t, y)", "pass what the function needs of it"},
	{"calledInSwitch", "switch n {\ncase 3:\n\t‹wait(t)\n}", "write it outside of the statement that begins in line 2"},
	{"calledInBlock", "for range 3 {\n\t{\n\t\t‹wait(t)\n\t}\n}", "write it outside of the statement that begins in line 3"},
	{"calledInLabel", "all:\nfor range 3 {\n\tfor range 2 {\n\t\tif n > 9 {\n\t\t\t‹continue all\n\t\t}\n\t}\n\twait(t)\n}", "threads that continue here do not come to the barriers that follow"},
	{"calledInExpression", "s := grid.Shared[[64]int32](t)\ny[0] = 1 + ‹halved(t, s, n)", "its call must be a statement of its own, such as v := halved(..)"},
	{"calledInHead", "s := grid.Shared[[64]int32](t)\nfor k := ‹halved(t, s, n); k < 9; k++ {\n}", "its call must be a statement of its own"},
	{"calledTwice", "s := grid.Shared[[64]int32](t)\na, b := ‹halved(t, s, n), 3\ny[a] = int32(b)", "its call must be a statement of its own"},
	{"calledUnevenly", "‹for k := 0; k < t.Local(0); k++ {\n\twait(t)\n}", "a loop around a barrier must run as often for all threads"},
	{"calledAfterReturn", "if n > 3 {\n\t‹return\n}\nwait(t)\ny[0] = n", "threads that return here do not come to the barriers that follow"},
	{"partPassed", "s := grid.Shared[[2][64]int32](t)\nhalved(t, ‹&s[1], n)", "halved has a barrier, so this argument must be a variable or a parameter, or the address of one"},
	{"otherMeaning", "two := n\n‹usesTwo(t, y)\ny[0] = two", "usesTwo uses the name two in k.go:23, which means something else here; rename what is here"},
	{"local", "type own struct{ a int32 }\n‹s := grid.Shared[[8]own](t)\nt.Barrier()\ny[t.Global(0)] = s[0].a", "cannot be declared in the kernel; declare it outside"},
	{"alone", "‹t.Size(0)\nt.Barrier()\ny[t.Global(0)] = 1", "remove the call"},
	{"grids", "‹grid := n\nt.Barrier()\ny[t.Global(0)] = grid", "rename this"},
	{"predeclared", "‹len := n\nt.Barrier()\ny[t.Global(0)] = len", "rename this"},
}

// A barrier that the host could run only with a stack for each thread is refused at its line, with a sentence that says what to write
// instead.
func TestBarriersThatCannotBeDivided(t *testing.T) {
	for _, k := range undivided {
		src := fmt.Sprintf("func %s(t grid.Thread, n int32, x, y []int32) {\n%s\n}\n", k.name, k.body)
		at := strings.Index(src, "‹")
		before := strings.Replace(phaseHead, "package main", "package p", 1) + "//halyard:kernel\n"
		// Lines are counted from the kernel's first, so that the table can name them.
		_, err := translated(t, before+strings.Replace(src, "‹", "", 1))
		var all load.Errors
		if !assert.ErrorAs(t, err, &all, k.name) || !assert.Len(t, all, 1, "%s: %v", k.name, err) {
			continue
		}
		first := strings.Count(before, "\n")
		says := regexp.MustCompile(`line \d+`).ReplaceAllStringFunc(k.says, func(s string) string {
			var n int
			fmt.Sscanf(s, "line %d", &n)
			return fmt.Sprintf("line %d", n+first)
		})
		whole := before + src[:at]
		assert.Equal(t, [2]int{strings.Count(whole, "\n") + 1, len(whole) - strings.LastIndexByte(whole, '\n')}, [2]int{all[0].Pos.Line, all[0].Pos.Column}, "%s: %v", k.name, err)
		assert.Contains(t, all[0].Text, says, k.name)
	}
}

const phaseHead = `package main

import "github.com/go-halyard/halyard/kernel/grid"

type S struct{ Most, Add int32 }

func (s *S) grow() { s.Add += 5 }

func grow(n *int32) { *n += 4 }

func two(n int32) (int32, int32) { return n + 1, n * 2 }

func threeTimes(n int32) int32 { return n * 3 }

func first(y []int32) int32 { return y[0] }

type held[T any] struct{ v T }

func help(t grid.Thread, y []int32) { y[t.Global(0)] = 1 }

func wait(t grid.Thread) { t.Barrier() }

func usesTwo(t grid.Thread, y []int32) { t.Barrier(); a, b := two(4); y[0] = a + b }

func thrice(t grid.Thread) { wait(t); wait(t); wait(t) }

func halved(t grid.Thread, all *[64]int32, v int32) int32 {
	wait(t)
	me, n := (t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0) + t.Local(0), t.Size(0)*t.Size(1)*t.Size(2)/2
	all[me] = v
	for d := n; d > 0; d /= 2 {
		t.Barrier()
		if me < d {
			all[me] += all[me+d]
		}
	}
	t.Barrier()
	v = all[0] * 3
	wait(t)
	return v / 3
}

func borders(t grid.Thread, s *[64]int32, v int32, k int) (first, last int32) {
	v = v%17 + int32(k)
	s[(t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0) + t.Local(0)] = v
	t.Barrier()
	first, last = s[0], s[t.Size(0)-1]
	wait(t)
	return
}

func (s *S) shift(t grid.Thread, all *[64]int32, by int8) {
	const n, sum = 2, 5
	t.Barrier()
	all[(t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0) + t.Local(0)] = s.Add*n + sum
	t.Barrier()
	s.Add = all[(t.Local(0)+1)%t.Size(0)] + int32(by*3)
	t.Barrier()
}

func largest[T grid.Number](t grid.Thread, s *[64]T, v T) T {
	s[(t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0) + t.Local(0)] = v
	t.Barrier()
	var most T
all:
	for i := range t.Size(0) {
		for range 2 {
			if s[i] <= most {
				continue all
			}
			most = s[i]
		}
	}
	t.Barrier()
	return most
}

func spread(t grid.Thread, s *[64]int32, v *int32) {
	w := largest(t, s, *v)
	*v += w
	next := largest[int32](t, s, -*v)
	*v -= next
}

`

const phaseMain = `package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

func main() {
	if !gridgen.InPhases() {
		fmt.Println("FAILED: not in phases")
	}
	for _, c := range comparisons {
		for _, size := range [][3]uint32{{8, 1, 1}, {4, 2, 1}, {2, 2, 2}, {1, 1, 1}, {20, 1, 1}, {18, 2, 1}, {16, 1, 1}, {8, 2, 2}} {
			if c.row && size[1]*size[2] > 1 {
				continue
			}
			for index := range uint32(3) {
				results := [2][]int32{}
				failed := [2]string{}
				for i := range results {
					y, x := make([]int32, 64), []int32{3, -1, 4, 1, -5, 9, 2, 6, 5}
					func() {
						defer func() {
							if p := recover(); p != nil {
								failed[i] = fmt.Sprint(p)
							}
						}()
						b := &kernel.Block{Size: size, Index: [3]uint32{index, 0, 0}, Grid: [3]uint32{3, 1, 1}}
						if i == 0 {
							grid.RunTogether(b, func(t grid.Thread) { c.function(t, 4, x, y) })
						} else {
							c.phases(b, 4, x, y)
						}
					}()
					results[i] = y
				}
				if (failed[0] == "") != (failed[1] == "") || failed[0] == "" && !slices.Equal(results[0], results[1]) {
					fmt.Println("FAILED", c.name, size, index, failed, results)
				}
				if failed[0] != "" {
					fmt.Println("failed as expected:", c.name)
				}
			}
		}
		fmt.Println("compared", c.name)
		if c.name == "halves" || c.name == "wideRounds" {
			b, x, y := &kernel.Block{Size: [3]uint32{8, 1, 1}, Grid: [3]uint32{1, 1, 1}}, make([]int32, 64), make([]int32, 64)
			if n := testing.AllocsPerRun(100, func() { c.phases(b, 4, x, y) }); n != 0 {
				fmt.Println("FAILED: a block allocates", n, c.name)
			}
		}
	}
}
`

// Running the phases of a block does the same as running its threads together.
func TestPhases(t *testing.T) {
	t.Parallel()
	src := phaseHead
	table := "package main\n\nimport (\n\t\"github.com/go-halyard/halyard/kernel\"\n\t\"github.com/go-halyard/halyard/kernel/grid\"\n)\n\nvar comparisons = []struct {\n\tname string\n\tfunction func(grid.Thread, int32, []int32, []int32)\n\tphases func(*kernel.Block, int32, []int32, []int32)\n\trow bool\n}{\n"
	for _, k := range phaseKernels {
		src += fmt.Sprintf("//halyard:kernel\nfunc %s(t grid.Thread, n int32, x, y []int32) {\n%s\n}\n\n", k.name, k.body)
		table += fmt.Sprintf("\t{%q, %s, %[2]sPhases, %t},\n", k.name, k.name, rowsOnly[k.name])
	}
	dir := module(t, map[string]string{"kernels.go": src, "main.go": phaseMain, "table.go": table + "}\n"})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	require.Len(t, packages, 1)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	require.NoError(t, os.WriteFile(made.SIMDFile, made.SIMD, 0o600))
	for _, parts := range []string{"halvesPhase1Lanes(h int, s []int32,", "wideRoundsPhase3Lanes(round int,", "widePhase4Lanes(", "diagonalsPhase1Lanes(", "diagonalsPhase2Lanes(", "latePhase1Lanes("} {
		assert.Contains(t, string(made.SIMD), parts)
	}
	for _, copies := range []string{"s[:], to, x, from, count)", "y, to_, s[:], from_, count_)"} {
		assert.Contains(t, string(made.Go), "gridgen.Copies("+copies)
	}
	for _, args := range [][]string{{"vet", "-mod=mod", "."}, {"run", "-mod=mod", "."}, {"vectors", "128"}, {"vectors", "256"}} {
		t.Run(args[0]+" "+args[1], func(t *testing.T) {
			cmd := exec.Command("go", args...)
			if args[0] == "vectors" {
				cmd = exec.Command("go", "run", "-mod=mod", "-ldflags", "-s -w", ".")
				cmd.Env = append(os.Environ(), append(vectorBuild(t), "GODEBUG=simd="+args[1])...)
			}
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", out, made.Go)
			if args[0] != "vet" {
				assert.NotContains(t, string(out), "FAILED", "%s\n%s", made.Go, made.SIMD)
				assert.Equal(t, len(phaseKernels), strings.Count(string(out), "compared"))
				assert.Equal(t, 24, strings.Count(string(out), "failed as expected: outside"))
			}
		})
	}
}

// A function with barriers may be in another file, which imports packages by other names. Its lines are in panics and in what is said of the kernel, and a
// change of it is a change of the kernel.
func TestFunctionWithBarriersInAnotherFile(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"kernels.go": `package main

import (
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

//halyard:kernel
func turned(t grid.Thread, x, y []float64) {
	s := grid.Shared[[4]float64](t)
	me := t.Local(0)
	math := x[me]
	s[me] = math // a comment
	v := next(t, s, int(x[4])) /* and one more */
	y[me] = v + 0*math
}

func main() {
	b := &kernel.Block{Size: [3]uint32{4, 1, 1}, Grid: [3]uint32{1, 1, 1}}
	x, y := []float64{-1, 2, -3, 4, 1}, make([]float64, 4)
	turnedPhases(b, x, y)
	for _, v := range y {
		println(int(v))
	}
	x[4] = 4
	turnedPhases(b, x, y)
}
`, "next.go": `package main

import (
	"math"

	threads "github.com/go-halyard/halyard/kernel/grid"
)

func next(t threads.Thread, s *[4]float64, by int) float64 {
	t.Barrier()

	v := math.Abs(s[t.Local(0)^by]) // a comment of next
	t.Barrier()
	return v
}
`})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	assert.Contains(t, string(made.Go), `"next.go:12", `)
	assert.Contains(t, string(made.Go), `"next.go next `)
	assert.Contains(t, string(made.Go), "// a comment\n")
	assert.NotContains(t, string(made.Go), "/*line")
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	builds(t, dir)
	cmd := exec.Command("go", "run", "-mod=mod", ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "2\n1\n4\n3\n")
	assert.Contains(t, string(out), "next.go:12 +")
}

// Lines of another file never pass for lines of the kernel's file, wherever they are.
func TestLinesOfAnotherFile(t *testing.T) {
	imp, err := imports()
	require.NoError(t, err)
	const head = "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n"
	for line := range 12 {
		texts := map[string][]byte{
			"k.go": []byte(head + "//halyard:kernel\nfunc k(t grid.Thread, x []int32) {\n\tt.Barrier()\n\tx[t.Global(0)] = 1\n\tf(t, x)\n}\n"),
			"f.go": []byte(head + strings.Repeat("\n", line) + "func f(t grid.Thread, x []int32) {\n\tx[t.Global(0)] = 2\n\tt.Barrier()\n\tx[t.Global(0)] = 3\n}\n"),
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range []string{"k.go", "f.go"} {
			file, bad := load.Parse(fset, name, texts[name])
			require.Empty(t, bad)
			files = append(files, file)
		}
		p := check(fset, "p", files, imp)
		p.Package = p.Expanded(texts, imp)
		made, err := p.Translate()
		require.NoError(t, err)
		assert.Contains(t, string(made.Go), fmt.Sprintf("//line f.go:%d\n", line+6))
		assert.Contains(t, string(made.Go), fmt.Sprintf("//line f.go:%d\n", line+8))
	}
}

// A statement may leave out the results of a function with barriers, also if the function returns those of another call.
func TestResultsOfFunctionWithBarriersAreLeftOut(t *testing.T) {
	t.Parallel()
	_, err := translated(t, "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n//halyard:kernel\n"+
		"func k(t grid.Thread, x []int32) {\n\tboth(t, x)\n\tx[t.Global(0)] = 1\n}\n"+
		"func both(t grid.Thread, x []int32) (a, b int32) {\n\tt.Barrier()\n\treturn pair(x[0])\n}\nfunc pair(n int32) (int32, int32) { return n, n }\n")
	require.NoError(t, err)
}

// What is between two barriers has vectors of its own. The first line is told that keeps another part from having them.
func TestWhatHasVectorsBetweenBarriers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, why string
		line      int
		vectors   bool
	}{
		{"s[me] = n\nt.Barrier()\ny[i] = s[me] * 2", "", 0, true},
		{"s[me] = n\nt.Barrier()\ny[i] = s[me^1] * 2", "the elements of the threads are not neighbours", 10, true},
		{"k := me\ns[63-me] = n\nk++\nt.Barrier()\ny[i] = s[k%4]", "what is between two barriers here uses memory, or a variable, that does not become a vector", 8, false},
		{"if me == 0 {\n\ts[me] = n\n}\nt.Barrier()\nif me == 1 {\n\ty[i] = s[0]\n}", "nothing between the barriers of this kernel is for all threads", 6, false},
	} {
		made, err := translated(t, "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n//halyard:kernel\nfunc k(t grid.Thread, n int32, y []int32) {\n"+
			"s := grid.Shared[[64]int32](t); me, i := t.Local(0), t.Global(0)\n"+c.body+"\n}\n")
		if !assert.NoError(t, err, c.body) {
			continue
		}
		l := made.Loops[0]
		assert.Equal(t, c.vectors, l.Vectors, c.body)
		assert.Equal(t, c.vectors, made.SIMD != nil, c.body)
		if c.why == "" {
			assert.Nil(t, l.Why, c.body)
		} else if assert.NotNil(t, l.Why, c.body) {
			assert.Contains(t, l.Why.Text, c.why, c.body)
			assert.Equal(t, c.line, l.Why.Pos.Line, c.body)
		}
	}
}

// A variable of another package's type can be used between two barriers, and cannot be kept over one: the generated file may not import the
// package.
func TestTypesOfOtherPackagesAreNotKept(t *testing.T) {
	const src = "package p\n\nimport (\n\t\"time\"\n\n\t\"github.com/go-halyard/halyard/kernel/grid\"\n)\n\n" +
		"//halyard:kernel\nfunc k(t grid.Thread, n int32, y []int32) {\n%s}\n\nvar _ time.Duration\n"
	const before = "\td := time.Duration(n)\n\td++\n\ty[t.Global(0)] = int32(d)\n\tt.Barrier()\n"
	_, err := translated(t, fmt.Sprintf(src, before+"\ty[t.Global(0)]++\n"))
	require.NoError(t, err)
	_, err = translated(t, fmt.Sprintf(src, before+"\ty[t.Global(0)] = int32(d)\n"))
	assert.EqualError(t, err, "k.go:11:2: the type of d cannot be kept for the code after a barrier; use a number, an array, or a type that this package declares")
	const loop = "\tfor i := t.Local(0); i < len(y); i += t.Size(0) {\n\t\td += time.Duration(y[i])\n\t}\n\tn2 := int32(d)\n\tt.Barrier()\n\ty[t.Global(0)] = n2\n"
	made, err := translated(t, fmt.Sprintf(src, "\td := time.Duration(n)\n"+loop))
	require.NoError(t, err, "there is no barrier between the loop and the other uses of d")
	assert.NotContains(t, string(made.Go), "gridgen.Within")
	made, err = translated(t, fmt.Sprintf(src, "\td := n\n"+strings.ReplaceAll(loop, "time.Duration", "int32")))
	require.NoError(t, err)
	assert.Contains(t, string(made.Go), "gridgen.Within")
}

// A variable is kept for the code after a barrier if its type is an alias that the package declares.
func TestAliasesAreKeptOverBarriers(t *testing.T) {
	t.Parallel()
	made, err := translated(t, `package p

import "github.com/go-halyard/halyard/kernel/grid"

type T = float32

//halyard:kernel
func k(t grid.Thread, x []T) {
	v := T(x[t.Global(0)])
	t.Barrier()
	x[t.Global(0)] = v + 1
}
`)
	require.NoError(t, err)
	assert.Regexp(t, `v +\[\]T\n`, string(made.Go))
}

// A slice is computed again behind a barrier if it depends on the thread's place, on parameters and on shared memory only. Vectors are not made of what uses a
// part of shared memory, as that shares elements with the whole.
func TestSlicesBehindBarriers(t *testing.T) {
	const src = "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n//halyard:kernel\nfunc k(t grid.Thread, y []float32) {\n\ts := grid.Shared[[64]float32](t)\n" +
		"\tl := t.Local(0)\n\tvar own [4]float32\n\town[0] = y[l]\n\t_ = l\n%s\n\tt.Barrier()\n\ty[t.Global(0)] += z[0] + own[0]\n\ts[t.Local(0)] += z[0]\n}\n"
	for _, c := range []struct{ part, why string }{
		{"\tz := s[l:]", ""},
		{"\tz := s[:4]", ""},
		{"\tz := y[l:][:2]", ""},
		{"\tz := own[:]", "k.go:12:2: a slice that depends on more than the thread's place, or that is of an array of the thread, cannot be kept"},
		{"\tz := y[int(own[0]):]", "k.go:12:2: a slice that depends on more than the thread's place"},
	} {
		made, err := translated(t, fmt.Sprintf(src, c.part))
		if c.why != "" {
			assert.ErrorContains(t, err, c.why, c.part)
			continue
		}
		require.NoError(t, err, c.part)
		assert.NotContains(t, string(made.SIMD), "z []float32", c.part)
	}
	const whole = "\tl, n := t.Local(0), t.Size(0)\n\t%s\n\tv := y[l]\n\tt.Barrier()\n\tif l < n {\n\t\ts[l] = v * z[1]\n\t}\n"
	for part, vectors := range map[string]bool{"z := s[:4]": false, "z := y": false} {
		made, err := translated(t, strings.Split(src, "\tl :=")[0]+fmt.Sprintf(whole, part)+"}\n")
		require.NoError(t, err, part)
		assert.Equal(t, vectors, strings.Contains(string(made.SIMD), "z []float32"), "%s\n%s", part, made.Loops[0].Why)
	}
}

// The code of a generic kernel is written once, so it is divided as all types of its list allow: what a float rounds is not computed twice, and what may panic
// for an integer is not computed in another order.
func TestGenericKernelsAreDividedForAllTypes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		types          string
		kept, together bool
	}{{"int32 uint32", false, false}, {"int32 float32", true, false}, {"float32 int32", true, false}, {"float32 float64", true, true}} {
		made, err := translated(t, `package p

import "github.com/go-halyard/halyard/kernel/grid"

type number interface { int32 | uint32 | float32 | float64 }

//halyard:kernel `+c.types+`
func k[T number](t grid.Thread, n, d T, x, y []T) {
	twice, sum := n * 2, T(0)
	for i := t.Local(0); i < len(x); i += t.Size(0) {
		sum += x[i] / d
	}
	t.Barrier()
	y[t.Global(0)] = sum + twice
}
`)
		require.NoError(t, err)
		assert.Equal(t, c.kept, strings.Contains(string(made.Go), "twice []T"), c.types)
		assert.Equal(t, c.together, strings.Contains(string(made.Go), "gridgen.Within"), c.types)
	}
}

// The name of a variable whose type cannot be kept is the one that its author gave to it, also in a function that is written into the kernel.
func TestVariablesThatCannotBeKeptHaveTheirNames(t *testing.T) {
	t.Parallel()
	_, err := translated(t, `package p

import (
	"time"

	"github.com/go-halyard/halyard/kernel/grid"
)

//halyard:kernel
func k(t grid.Thread, y []int32) {
	v := y[0]
	later(t, y, v)
}

func later(t grid.Thread, y []int32, p int32) {
	v := time.Duration(y[1])
	v++
	t.Barrier()
	y[0] = int32(v) + p
}
`)
	assert.ErrorContains(t, err, "k.go:16:2: the type of v cannot be kept")
	assert.NotContains(t, err.Error(), "v_")
}
