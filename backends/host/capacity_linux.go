package host

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

func adviseHuge(b []byte) {
	// A hint: a kernel without huge pages refuses it.
	_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
}

// memoryNow returns the free and the total bytes of memory; ok reports whether free is known.
func memoryNow() (free, total uint64, ok bool) { return memoryOf(os.DirFS("/")) }

// memoryOf reads the machine's memory (proc_meminfo(5)) and the limits of the control groups that the process is in (cgroup v1 memory.txt,
// cgroup-v2.rst "Memory") from the files below root. total and free are the lowest of what these allow.
func memoryOf(root fs.FS) (free, total uint64, ok bool) {
	info, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0, 0, false
	}
	total, _ = field(info, "MemTotal:", 1024)
	free, ok = field(info, "MemAvailable:", 1024)
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		g := group{base: "sys/fs/cgroup", limit: "memory.max", usage: "memory.current", cache: "inactive_file"}
		if parts[1] != "" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			g = group{base: "sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes",
				cache: "total_inactive_file"}
		}
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			if left, limit, limited := g.read(root, g.base+at); limited && limit < total {
				total = limit
				free = min(free, left)
			} else if limited {
				free = min(free, left)
			}
			if at == "/" {
				break
			}
		}
	}
	return min(free, total), total, ok
}

// group names the files in which one version of control groups keeps its figures.
type group struct{ base, limit, usage, cache string }

// read returns the limit of the group in folder dir, if it has one, and how much of it is left. File
// pages that the kernel would drop first count as free.
func (g group) read(root fs.FS, dir string) (left, limit uint64, limited bool) {
	dir = strings.TrimSuffix(dir, "/")
	limit, ok := number(root, dir+"/"+g.limit)
	if !ok {
		return 0, 0, false
	}
	usage, ok := number(root, dir+"/"+g.usage)
	if !ok {
		return 0, 0, false
	}
	if stat, err := fs.ReadFile(root, dir+"/memory.stat"); err == nil {
		cache, _ := field(stat, g.cache+" ", 1)
		usage -= min(usage, cache)
	}
	return limit - min(limit, usage), limit, true
}

// number reads a file that holds one number, and reports false if it holds anything else, such as "max".
func number(root fs.FS, name string) (uint64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(b)), 10, 64)
	return n, err == nil
}

// field finds the number after a name at the start of a line, and multiplies it by unit.
func field(text []byte, name string, unit uint64) (uint64, bool) {
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte(name)); found {
			words := bytes.Fields(rest)
			if len(words) == 0 {
				return 0, false
			}
			n, err := strconv.ParseUint(string(words[0]), 10, 64)
			return n * unit, err == nil
		}
	}
	return 0, false
}

// lockLimit returns how many bytes the process may page-lock: RLIMIT_MEMLOCK, unless it has CAP_IPC_LOCK (mlock(2)).
func lockLimit() (uint64, bool) {
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(status)) {
			const ipcLock = 1 << 14
			if hex, found := strings.CutPrefix(line, "CapEff:"); found {
				if set, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64); err == nil && set&ipcLock != 0 {
					return unlimited, true
				}
			}
		}
	}
	limits, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		return 0, false
	}
	if n, ok := field(limits, "Max locked memory ", 1); ok {
		return n, true
	}
	return unlimited, bytes.Contains(limits, []byte("Max locked memory         unlimited"))
}

// processorName returns the kernel's name of the processor, or "".
func processorName() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(info)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
