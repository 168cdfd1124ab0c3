package main

import "encoding/binary"

const mandelbrotText = `
@group(0) @binding(0) var<storage, read_write> picture: array<u32>;

@compute @workgroup_size(64)
fn escape(@builtin(global_invocation_id) t: vec3<u32>) {
	if (t.x >= n) { return; }
	let step = 2.4 / f32(n);
	let a = -1.7 + step * f32(t.x);
	let b = -1.2 + step * f32(t.y);
	var x = 0.0;
	var y = 0.0;
	var count = 0u;
	while (count < steps && x * x + y * y <= 4.0) {
		let was = x;
		x = x * x - y * y + a;
		y = 2.0 * was * y + b;
		count++;
	}
	picture[t.y * n + t.x] = count;
}
`

// mandelbrot draws the picture in numbers of 32 bits, since WGSL has none of 16.
func mandelbrot(d *device, _ []byte) (result []byte) {
	size := 4 * n * n
	picture, staging, out := d.buffer(size), d.staging(size), make([]byte, size)
	escape := d.launch(d.kernel(d.shader(mandelbrotText), "escape", "w"), groups(n, 64), n, picture)
	timed(func() {
		c := d.commands()
		c.run(escape)
		c.read(picture, staging, out)
	})
	for ; len(out) > 0; out = out[4:] {
		result = binary.NativeEndian.AppendUint16(result, uint16(binary.NativeEndian.Uint32(out)))
	}
	return result
}
