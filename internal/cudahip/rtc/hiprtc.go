package rtc

import (
	"runtime"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// EnvHIPRTC is the environment variable that names hipRTC's library.
const EnvHIPRTC = "HALYARD_HIPRTC_LIBRARY"

// hiprtc is AMD's compiler.
var hiprtc = &vendor{
	name: "hipRTC", backend: "hip", env: EnvHIPRTC, prefix: "hiprtc", one: true,
	libraries: hiprtcLibraries,
	folders:   hiprtcFolders,
	beside:    []string{"libhiprtc-builtins.so*", "hiprtc-builtins*.dll"},
	bind:      (*Compiler).bindAMD,
	plan:      (*Compiler).planAMD,
}

// hiprtcLibraries returns the usual names. Before ROCm 7 the runtime's library, libamdhip64, has the calls too. In
// Debian 12 it is the only one that has them.
func hiprtcLibraries() []string {
	if runtime.GOOS == "windows" {
		return []string{"hiprtc0701.dll", "hiprtc0700.dll", "hiprtc0604.dll", "hiprtc0603.dll", "hiprtc0602.dll",
			"hiprtc0601.dll", "hiprtc0600.dll", "hiprtc0507.dll", "hiprtc.dll"}
	}
	return []string{"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", "libamdhip64.so.6", "libamdhip64.so.5"}
}

func hiprtcFolders() []string {
	if runtime.GOOS == "windows" {
		return append(under("HIP_PATH", "bin"), under("ROCM_PATH", "bin")...)
	}
	list := append(under("ROCM_PATH", "lib"), under("HIP_PATH", "lib")...)
	list = append(list, "/opt/rocm/lib")
	list = append(list, under("CONDA_PREFIX", "lib")...)
	return append(list, wheels("_rocm_sdk_core/lib")...)
}

func (c *Compiler) bindAMD() (missing []string) {
	if c.calls.codeSize == nil || c.calls.code == nil {
		return []string{"hiprtcGetCode"}
	}
	// hipRTC is linked with this library, or opens it by the same name.
	names := []string{"libamd_comgr.so.2", "libamd_comgr.so.3"}
	if strings.Contains(c.lib.Name(), ".so.7") {
		names[0], names[1] = names[1], names[0]
	}
	if runtime.GOOS == "windows" {
		names = []string{"amd_comgr_3.dll", "amd_comgr_2.dll", "amd_comgr.dll"}
	}
	if lib, err := dl.Open("", names...); err == nil {
		c.comgr, _ = loadComgr(lib.Proc)
		c.comgrPath = lib.Proc("amd_comgr_create_action_info").Path()
	}
	return nil
}

// planAMD compiles for the target itself.
func (c *Compiler) planAMD(target string) (plan, error) {
	if !strings.HasPrefix(target, "gfx") || strings.ContainsAny(target, " ,;\x00") {
		return plan{}, c.vendor.refuse(driver.ErrUnsupported,
			"%q is not a target of %s; targets are names such as gfx906 and gfx90a:xnack-",
			target, c.vendor.name)
	}
	if !c.knows(target) {
		return plan{}, c.vendor.refuse(driver.ErrUnsupported, "%s %s does not know the target %s", c.vendor.name, c.version, target)
	}
	code := product{driver.FormatCodeObject, c.calls.codeSize, c.calls.code, "GetCode"}
	return plan{target: target, option: "--offload-arch=" + target, made: []product{code}}, nil
}

// knows reports whether comgr knows the target; it is true if comgr was not found. hipRTC 5.2 ends the process if
// it is given an unknown target.
func (c *Compiler) knows(target string) bool {
	if c.comgr == nil {
		return true
	}
	action, st := c.comgr.createAction()
	if st != 0 {
		return true
	}
	defer c.comgr.destroyAction(action)
	return c.comgr.setISA(action, "amdgcn-amd-amdhsa--"+target) == 0
}
