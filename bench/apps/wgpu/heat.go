package main

const heatText = `
@group(0) @binding(0) var<storage, read> now: array<f32>;
@group(0) @binding(1) var<storage, read_write> next: array<f32>;

// Both have one row more than the square on each side.
@compute @workgroup_size(64)
fn spread(@builtin(global_invocation_id) t: vec3<u32>) {
	let j = i32(t.x);
	if (j >= n) { return; }
	let at = (i32(t.y) + 1) * n + j;
	var left = 0.0;
	var right = 0.0;
	if (j > 0) { left = now[at - 1]; }
	if (j < n - 1) { right = now[at + 1]; }
	next[at] = now[at] + 0.1 * (now[at - n] + now[at + n] + left + right - 4.0 * now[at]);
}
`

func heat(d *device, in []byte) []byte {
	size := 4 * n * (n + 2)
	now, next, staging, out := d.buffer(size), d.buffer(size), d.staging(size), make([]byte, size)
	spread := d.kernel(d.shader(heatText), "spread", "rw")
	there, back := d.launch(spread, groups(n, 64), n, now, next), d.launch(spread, groups(n, 64), n, next, now)
	plate := append(make([]byte, 4*n), in...)
	timed(func() {
		d.write(now, plate)
		c := d.commands()
		for range steps / 2 {
			c.run(there, back)
		}
		c.read(now, staging, out)
	})
	return out[4*n : 4*n*(n+1)]
}
