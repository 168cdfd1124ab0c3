package main

import "github.com/gogpu/wgpu"

const nbodyText = `
@group(0) @binding(0) var<storage, read> old: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> v: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> now: array<vec4<f32>>;

@compute @workgroup_size(64)
fn move_all(@builtin(global_invocation_id) t: vec3<u32>) {
	if (t.x >= n) { return; }
	let me = old[t.x];
	var sum = vec3<f32>();
	for (var k = 0; k < n; k++) {
		let away = old[k].xyz - me.xyz;
		let d = dot(away, away) + 0.01;
		sum += away * (old[k].w / (d * sqrt(d)));
	}
	let faster = v[t.x].xyz + sum * 0.01;
	v[t.x] = vec4<f32>(faster, 0.0);
	now[t.x] = vec4<f32>(me.xyz + faster * 0.01, me.w);
}
`

func nbody(d *device, in []byte) []byte {
	size := 16 * n
	places := [2]*wgpu.Buffer{d.buffer(size), d.buffer(size)}
	v, staging, out := d.buffer(size), d.staging(size), make([]byte, size)
	move := d.kernel(d.shader(nbodyText), "move_all", "rww")
	turns := [2]launch{d.launch(move, groups(n, 64), 1, places[0], v, places[1]), d.launch(move, groups(n, 64), 1, places[1], v, places[0])}
	timed(func() {
		d.write(places[0], in)
		c := d.commands()
		c.ClearBuffer(v, 0, v.Size())
		for i := range steps {
			c.run(turns[i%2])
		}
		c.read(places[steps%2], staging, out)
	})
	return out
}
