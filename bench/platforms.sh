# Sourced by the scripts of measurements that need the two OpenCL platforms for processors (Debian 12 or similar, python3, and root or sudo for packages
# that are missing). It installs PoCL as a package, Intel's runtime as a wheel in .cache/platforms, and a compiler for programs in C, and lets programs
# find these two platforms only.
install_platforms() {
	local built=$PWD/.cache/platforms missing=() p
	local wheels=("intel-opencl-rt==2026.2.0" "intel-cmplr-lib-rt==2026.2.0")
	for p in gcc libc6-dev opencl-c-headers ocl-icd-opencl-dev pocl-opencl-icd; do
		[ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null | cut -c1-2)" = ii ] || missing+=("$p")
	done
	python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
	if [ ${#missing[@]} -gt 0 ]; then
		local root=()
		[ "$(id -u)" -eq 0 ] || root=(sudo -n)
		"${root[@]}" apt-get update -q >/dev/null
		DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}" >/dev/null
	fi
	mkdir -p "$built/icd"
	if [ "$(cat "$built/wheels" 2>/dev/null)" != "${wheels[*]}" ]; then
		rm -rf "$built/venv"
		python3 -m venv "$built/venv"
		"$built/venv/bin/python" -m pip install -q --disable-pip-version-check "${wheels[@]}"
		echo "${wheels[*]}" >"$built/wheels"
	fi
	find "$built/venv" -name libintelocl.so -print -quit >"$built/icd/intel.icd"
	find /usr/lib -name 'libpocl.so.2' -print -quit >"$built/icd/pocl.icd"
	export OCL_ICD_VENDORS=$built/icd
}
install_platforms
