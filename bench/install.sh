# Functions for the scripts of measurements, which source this file (Debian 12 or similar, python3, and root or sudo for packages that are missing).

# install_packages PACKAGE... installs the packages of Debian that are missing, and names those that there are not.
install_packages() {
	local missing=() p root=()
	for p in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null | cut -c1-2)" = ii ] || missing+=("$p")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	[ "$(id -u)" -eq 0 ] || root=(sudo -n)
	"${root[@]}" apt-get update -q >/dev/null
	for p in "${missing[@]}"; do
		DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -q -y --no-install-recommends "$p" >/dev/null || echo "no package $p" >&2
	done
}

# install_wheels FOLDER WHEEL... makes FOLDER/venv a Python environment with these wheels, unless it is one already.
install_wheels() {
	local folder=$1
	shift
	mkdir -p "$folder"
	[ "$(cat "$folder/wheels" 2>/dev/null)" != "$*" ] || return 0
	python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
	rm -rf "$folder/venv"
	python3 -m venv "$folder/venv" && "$folder/venv/bin/python" -m pip install -q --disable-pip-version-check "$@" && echo "$*" >"$folder/wheels"
}

# Intel's runtime for processors.
intel_opencl=("intel-opencl-rt==2026.2.0" "intel-cmplr-lib-rt==2026.2.0")

# use_platforms FOLDER lets programs find the OpenCL platforms of Intel, from FOLDER/venv, and PoCL, and no others.
use_platforms() {
	mkdir -p "$1/icd"
	find "$1/venv" -name libintelocl.so -print -quit >"$1/icd/intel.icd"
	find /usr/lib -name 'libpocl.so.2' -print -quit >"$1/icd/pocl.icd"
	export OCL_ICD_VENDORS=$1/icd
}
