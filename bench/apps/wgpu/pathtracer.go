package main

const pathtracerText = `
@group(0) @binding(0) var<storage, read> spheres: array<array<f32, 9>>;
@group(0) @binding(1) var<storage, read_write> picture: array<u32>;

var<private> s: u32;

fn next() -> f32 {
	s = s * 747796405u + 2891336453u;
	let word = ((s >> ((s >> 28u) + 4u)) ^ s) * 277803737u;
	return f32(((word >> 22u) ^ word) >> 8u) / 16777216.0;
}

fn inside() -> vec3<f32> {
	loop {
		let x = 2.0 * next() - 1.0;
		let y = 2.0 * next() - 1.0;
		let p = vec3<f32>(x, y, 2.0 * next() - 1.0);
		if (dot(p, p) < 1.0) { return p; }
	}
}

fn unit(v: vec3<f32>) -> vec3<f32> { return v / sqrt(dot(v, v)); }
fn mirror(v: vec3<f32>, across: vec3<f32>) -> vec3<f32> { return v - across * (2.0 * dot(v, across)); }

fn bend(ray: vec3<f32>, across: vec3<f32>, ratio: f32) -> vec3<f32> {
	let c = min(-dot(ray, across), 1.0);
	let r = (1.0 - ratio) / (1.0 + ratio);
	let f = 1.0 - c;
	let aside = (ray + across * c) * ratio;
	let rest = 1.0 - dot(aside, aside);
	if (rest > 0.0) {
		if (r * r + (1.0 - r * r) * (f * f * f * f) * f <= next()) { return aside - across * sqrt(rest); }
	}
	return mirror(ray, across);
}

fn place(i: u32) -> vec3<f32> { return vec3<f32>(spheres[i][0], spheres[i][1], spheres[i][2]); }

fn colour(start: vec3<f32>, first: vec3<f32>) -> vec3<f32> {
	var from1 = start;
	var ray = first;
	var light = vec3<f32>(1.0);
	for (var bounce = 0; bounce < 20; bounce++) {
		var far = 3e38;
		var hit = 1000u;
		for (var i = 0u; i < arrayLength(&spheres); i++) {
			let to = place(i) - from1;
			let h = dot(ray, to);
			let d = h * h - dot(to, to) + spheres[i][3] * spheres[i][3];
			if (d < 0.0) { continue; }
			var near = h - sqrt(d);
			if (near < 1e-3) { near = h + sqrt(d); }
			if (near >= 1e-3 && near < far) {
				hit = i;
				far = near;
			}
		}
		if (hit == 1000u) { return light * mix(vec3<f32>(1.0), vec3<f32>(0.5, 0.7, 1.0), 0.5 * (ray.y + 1.0)); }
		from1 += ray * far;
		var across = (from1 - place(hit)) / spheres[hit][3];
		light *= vec3<f32>(spheres[hit][4], spheres[hit][5], spheres[hit][6]);
		let kind = spheres[hit][7];
		let fuzz = spheres[hit][8];
		if (kind == 1.0) {
			ray = unit(mirror(ray, across) + inside() * fuzz);
		} else if (kind == 2.0) {
			var ratio = 1.0 / fuzz;
			if (dot(ray, across) > 0.0) {
				across = -across;
				ratio = fuzz;
			}
			ray = unit(bend(ray, across, ratio));
		} else {
			ray = unit(across + unit(inside()));
		}
	}
	return vec3<f32>();
}

@compute @workgroup_size(64)
fn trace(@builtin(global_invocation_id) t: vec3<u32>) {
	if (t.x >= n) { return; }
	s = t.y * n + t.x;
	let half = f32(n) / 2.0;
	var sum = vec3<f32>();
	for (var i = 0; i < steps; i++) {
		let right = (f32(t.x) + next() - half) / f32(n);
		let up = (half - f32(t.y) - next()) / f32(n);
		sum += colour(vec3<f32>(0.0, 1.0, 4.0), unit(vec3<f32>(right, up - 0.15, -1.0)));
	}
	let c = vec3<u32>(255.0 * sqrt(sum / f32(steps)));
	picture[t.y * n + t.x] = c.x | c.y << 8u | c.z << 16u | 255u << 24u;
}
`

func pathtracer(d *device, in []byte) []byte {
	size := 4 * n * n
	spheres, picture, staging, out := d.buffer(len(in)), d.buffer(size), d.staging(size), make([]byte, size)
	trace := d.launch(d.kernel(d.shader(pathtracerText), "trace", "rw"), groups(n, 64), n, spheres, picture)
	timed(func() {
		d.write(spheres, in)
		c := d.commands()
		c.run(trace)
		c.read(picture, staging, out)
	})
	return out
}
