package main

const kmeansText = `
@group(0) @binding(0) var<storage, read> points: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> centres: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> sums: array<f32>;

const k = 32u;
const threads = 1024u;

// Each thread has sums of its own, for a part of the points; the ninth number of a sum counts its points.
@compute @workgroup_size(64)
fn add(@builtin(global_invocation_id) t: vec3<u32>) {
	let mine = t.x * k * 9u;
	for (var i = 0u; i < k * 9u; i++) { sums[mine + i] = 0.0; }
	for (var p = t.x; p < n; p += threads) {
		let low = points[2u * p];
		let high = points[2u * p + 1u];
		var best = 0u;
		var least = 1e38;
		for (var c = 0u; c < k; c++) {
			let a = low - centres[2u * c];
			let b = high - centres[2u * c + 1u];
			let away = dot(a, a) + dot(b, b);
			if (away < least) {
				best = c;
				least = away;
			}
		}
		let sum = mine + best * 9u;
		for (var i = 0u; i < 4u; i++) {
			sums[sum + i] += low[i];
			sums[sum + 4u + i] += high[i];
		}
		sums[sum + 8u] += 1.0;
	}
}

@compute @workgroup_size(64)
fn move_all(@builtin(global_invocation_id) t: vec3<u32>) {
	var sum = vec4<f32>();
	var count = 0.0;
	for (var part = 0u; part < threads; part++) {
		let at = (part * k + t.x / 2u) * 9u;
		let from4 = at + t.x % 2u * 4u;
		sum += vec4<f32>(sums[from4], sums[from4 + 1u], sums[from4 + 2u], sums[from4 + 3u]);
		count += sums[at + 8u];
	}
	centres[t.x] = sum / max(count, 1.0);
}
`

func kmeans(d *device, in []byte) []byte {
	const k, threads = 32, 1024
	points, centres, sums, staging, out := d.buffer(32*n), d.buffer(32*k), d.buffer(4*9*k*threads), d.staging(32*k), make([]byte, 32*k)
	text := d.shader(kmeansText)
	add := d.launch(d.kernel(text, "add", "rww"), threads/64, 1, points, centres, sums)
	move := d.launch(d.kernel(text, "move_all", "rww"), 1, 1, points, centres, sums)
	timed(func() {
		d.write(points, in)
		d.write(centres, in[:32*k])
		c := d.commands()
		for range steps {
			c.run(add, move)
		}
		c.read(centres, staging, out)
	})
	return out
}
