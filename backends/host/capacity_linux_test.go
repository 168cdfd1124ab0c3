package host

import (
	"testing"
	"testing/fstest"
)

func TestMemoryOf(t *testing.T) {
	const kib = 1 << 10
	meminfo := "MemTotal:       1000 kB\nMemFree:        100 kB\nMemAvailable:   600 kB\n"
	for name, row := range map[string]struct {
		files       map[string]string
		free, total uint64
		unknown     bool
	}{
		"nothing":      {unknown: true},
		"old kernel":   {files: map[string]string{"proc/meminfo": "MemTotal: 1000 kB\n"}, total: 1000 * kib, unknown: true},
		"damaged":      {files: map[string]string{"proc/meminfo": "MemTotal:\nMemAvailable: x kB\n"}, unknown: true},
		"machine only": {files: map[string]string{"proc/meminfo": meminfo}, free: 600 * kib, total: 1000 * kib},
		"version 2": {files: map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "204800\n", "sys/fs/cgroup/a/b/memory.current": "102400\n",
			"sys/fs/cgroup/a/b/memory.stat": "anon 1\ninactive_file 2048\n"}, free: 102 * kib, total: 200 * kib},
		"version 2, a tighter parent": {files: map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.current": "5\n",
			"sys/fs/cgroup/a/memory.max": "409600\n", "sys/fs/cgroup/a/memory.current": "512000\n"}, free: 0, total: 400 * kib},
		"version 2, in a container": {files: map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "102400\n", "sys/fs/cgroup/memory.current": "0\n"}, free: 100 * kib, total: 100 * kib},
		"version 1": {files: map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "3:cpuset:/x\n4:cpu,memory:/c\n",
			"sys/fs/cgroup/memory/c/memory.limit_in_bytes": "307200\n", "sys/fs/cgroup/memory/c/memory.usage_in_bytes": "204800\n",
			"sys/fs/cgroup/memory/c/memory.stat": "inactive_file 1\ntotal_inactive_file 102400\n"}, free: 200 * kib, total: 300 * kib},
		"version 1, no limit": {files: map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "204800\n"}, free: 600 * kib, total: 1000 * kib},
	} {
		root := fstest.MapFS{}
		for file, text := range row.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		free, total, ok := memoryOf(root)
		if free != row.free || total != row.total || ok == row.unknown {
			t.Errorf("%s: %d of %d bytes free, known %v; want %d of %d, known %v",
				name, free, total, ok, row.free, row.total, !row.unknown)
		}
	}
}

// The real figures make sense.
func TestMemoryNow(t *testing.T) {
	free, total, ok := memoryNow()
	if !ok || free == 0 || free > total || total < 16<<20 {
		t.Errorf("%d of %d bytes free, known %v", free, total, ok)
	}
	if m := platform(); m.total > total || !m.free || m.processor == "" || m.locking == "" {
		t.Errorf("machine %+v", m)
	}
}
