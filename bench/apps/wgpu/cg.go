package main

import "github.com/gogpu/wgpu"

const cgText = `
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> sums: array<f32>;

const width = 64u;
var<workgroup> part: array<f32, width>;

fn add_up(me: u32, mine: f32) {
	part[me] = mine;
	for (var w = width / 2u; w > 0u; w /= 2u) {
		workgroupBarrier();
		if (me < w) { part[me] += part[me + w]; }
	}
}

@compute @workgroup_size(width)
fn product(@builtin(local_invocation_id) t: vec3<u32>, @builtin(workgroup_id) g: vec3<u32>) {
	var mine = 0.0;
	for (var j = t.x; j < n; j += width) { mine += a[g.x * n + j] * b[g.x * n + j]; }
	add_up(t.x, mine);
	if (t.x == 0u) { sums[g.x] = part[0]; }
}

@compute @workgroup_size(width)
fn total(@builtin(local_invocation_id) t: vec3<u32>) {
	var mine = 0.0;
	for (var j = t.x; j < n; j += width) { mine += a[j]; }
	add_up(t.x, mine);
	if (t.x == 0u) { sums[0] = part[0]; }
}

@compute @workgroup_size(64)
fn laplace(@builtin(global_invocation_id) t: vec3<u32>) {
	if (t.x >= n) { return; }
	let at = t.y * n + t.x;
	var around = 0.0;
	if (t.y > 0) { around += a[at - n]; }
	if (t.y < n - 1) { around += a[at + n]; }
	if (t.x > 0) { around += a[at - 1]; }
	if (t.x < n - 1) { around += a[at + 1]; }
	sums[at] = 4.0 * a[at] - around;
}
`

const stepsText = `
@group(0) @binding(0) var<storage, read> over: array<f32>;
@group(0) @binding(1) var<storage, read> under: array<f32>;
@group(0) @binding(2) var<storage, read> from1: array<f32>;
@group(0) @binding(3) var<storage, read_write> to1: array<f32>;
@group(0) @binding(4) var<storage, read> from2: array<f32>;
@group(0) @binding(5) var<storage, read_write> to2: array<f32>;

@compute @workgroup_size(64)
fn advance(@builtin(global_invocation_id) t: vec3<u32>) {
	if (t.x >= n * n) { return; }
	let alpha = over[0] / under[0];
	to1[t.x] += alpha * from1[t.x];
	to2[t.x] -= alpha * from2[t.x];
}

@compute @workgroup_size(64)
fn direct(@builtin(global_invocation_id) t: vec3<u32>) {
	if (t.x >= n * n) { return; }
	to1[t.x] = from1[t.x] + over[0] / under[0] * to1[t.x];
}
`

func cg(d *device, in []byte) []byte {
	size := 4 * n * n
	x, r, p, q, staging, out := d.buffer(size), d.buffer(size), d.buffer(size), d.buffer(size), d.staging(size), make([]byte, size)
	sums, rr, pq := d.buffer(4*n), [2]*wgpu.Buffer{d.buffer(4), d.buffer(4)}, d.buffer(4)
	text, more := d.shader(cgText), d.shader(stepsText)
	product, total := d.kernel(text, "product", "rrw"), d.kernel(text, "total", "rrw")
	dot := func(a, b, to *wgpu.Buffer) []launch {
		return []launch{d.launch(product, n, 1, a, b, sums), d.launch(total, 1, 1, sums, sums, to)}
	}
	advance, direct := d.kernel(more, "advance", "rrrwrw"), d.kernel(more, "direct", "rrrw")
	var step [2][]launch
	for i := range step {
		now, next := rr[i], rr[1-i]
		step[i] = append(step[i], d.launch(d.kernel(text, "laplace", "rrw"), groups(n, 64), n, p, p, q))
		step[i] = append(step[i], dot(p, q, pq)...)
		step[i] = append(step[i], d.launch(advance, groups(n*n, 64), 1, now, pq, p, x, q, r))
		step[i] = append(step[i], dot(r, r, next)...)
		step[i] = append(step[i], d.launch(direct, groups(n*n, 64), 1, next, now, r, p))
	}
	first := dot(r, r, rr[0])
	timed(func() {
		d.write(r, in)
		c := d.commands()
		c.ClearBuffer(x, 0, x.Size())
		c.CopyBufferToBuffer(r, 0, p, 0, r.Size())
		c.run(first...)
		for i := range steps {
			c.run(step[i%2]...)
		}
		c.read(x, staging, out)
	})
	return out
}
