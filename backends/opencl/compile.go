//go:build opencl

package opencl

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/siglib"
)

// CompilerID implements driver.Compiler.
func (d *device) CompilerID(target string) (string, error) {
	const op = "identify the compiler"
	if err := d.canCompile(op, target); err != nil {
		return "", err
	}
	return d.identity(), nil
}

// identity names the platform, the device and the versions of both. A binary can be loaded where the identity is
// the one that it was compiled with.
func (d *device) identity() string {
	h := d.hw
	version := factsOf(d.t.getPlatformInfo, h.platform.id).text(platformVersion)
	return strings.Join([]string{h.platformText, version, h.name, h.driver, h.version}, "; ")
}

func (d *device) canCompile(op, target string) error {
	switch {
	case !d.hw.compiler:
		return d.refuse(op, driver.ErrUnsupported, "the device has no compiler")
	case target != "":
		return d.refuse(op, driver.ErrUnsupported, "an OpenCL device compiles for itself only, not for %q", target)
	}
	return nil
}

// Compile implements driver.Compiler.
func (d *device) Compile(target string, src *driver.Source) (*driver.Image, error) {
	const op = "compile"
	if err := d.canCompile(op, target); err != nil {
		return nil, err
	}
	b := builder{dev: d, op: op, name: src.Name, options: src.Options}
	program, err := b.source(src.Text, src.Headers)
	if err != nil {
		return nil, err
	}
	defer d.t.releaseProgram(program)
	image := &driver.Image{Format: driver.FormatOpenCLBinary, Params: map[string][]driver.Param{}}
	for _, name := range d.kernelNames(program) {
		cl, st := d.t.createKernel(program, name)
		if st != success {
			return nil, d.check(op, "clCreateKernel", st)
		}
		params, err := d.params(op, name, cl)
		_ = d.t.releaseKernel(cl)
		// Module.Kernel refuses a kernel whose parameters are not supported; the program's other kernels can be used.
		if err == nil && !slices.ContainsFunc(params, unknown) {
			image.Params[name] = params
		}
	}
	code, err := d.code(op, program)
	if err != nil {
		return nil, err
	}
	if image.Data = d.seal(code); len(code) == 0 {
		if len(src.Headers) > 0 {
			return nil, d.refuse(op, driver.ErrUnsupported, "the driver gives no binary, and source with headers cannot be loaded as it is")
		}
		image.Format, image.Data, image.Options = driver.FormatOpenCLC, []byte(src.Text), strings.Join(src.Options, " ")
	}
	return image, nil
}

// code returns the program's binary, or nil if the driver gives none.
func (d *device) code(op string, program uintptr) ([]byte, error) {
	const api = "clGetProgramInfo"
	var size [8]byte
	if _, st := d.t.programInfo(program, programBinarySizes, size[:wordSize]); st != success {
		return nil, d.check(op, api, st)
	}
	n := binary.NativeEndian.Uint64(size[:])
	if n == 0 {
		return nil, nil
	}
	code := make([]byte, n)
	return code, d.check(op, api, d.t.programBinary(program, []unsafe.Pointer{address(code)}))
}

// A binary that Compile returns begins with a header, which Load checks before it passes the rest to the driver: PoCL ends the process
// when it is given a binary that was cut short. The header consists of sealMagic, the SHA-256 of the identity, the number of bytes that
// follow the header, and the SHA-256 of those bytes.
const (
	sealMagic = "halyard opencl 1"
	sealSize  = len(sealMagic) + sha256.Size + 8 + sha256.Size
)

// seal returns the code with its header.
func (d *device) seal(code []byte) []byte {
	whose, sum := sha256.Sum256([]byte(d.identity())), sha256.Sum256(code)
	sealed := slices.Grow([]byte(sealMagic), sealSize-len(sealMagic)+len(code))
	sealed = append(sealed, whose[:]...)
	sealed = binary.LittleEndian.AppendUint64(sealed, uint64(len(code)))
	sealed = append(sealed, sum[:]...)
	return append(sealed, code...)
}

// unseal checks the header and returns the code after it. Data without a header is returned as it is, with sealed false.
func (d *device) unseal(op string, data []byte) (code []byte, sealed bool, err error) {
	if n := min(len(data), len(sealMagic)); string(data[:n]) != sealMagic[:n] {
		return data, false, nil
	}
	if len(data) < sealSize {
		return nil, true, d.refuse(op, driver.ErrInvalidArgument, "the binary is damaged: it ends inside its header, after %d bytes",
			len(data))
	}
	whose, rest := data[len(sealMagic):][:sha256.Size], data[len(sealMagic)+sha256.Size:]
	n, sum := binary.LittleEndian.Uint64(rest), rest[8:][:sha256.Size]
	code = data[sealSize:]
	if uint64(len(code)) != n {
		return nil, true, d.refuse(op, driver.ErrInvalidArgument,
			"the binary is damaged: it has %d bytes of code, and should have %d", len(code), n)
	}
	if got := sha256.Sum256(code); !bytes.Equal(got[:], sum) {
		return nil, true, d.refuse(op, driver.ErrInvalidArgument, "the binary is damaged: its checksum is wrong")
	}
	if own := sha256.Sum256([]byte(d.identity())); !bytes.Equal(own[:], whose) {
		return nil, true, d.refuse(op, driver.ErrUnsupported,
			"the binary was compiled for another device, or by another version of the driver, than %s", d.identity())
	}
	return code, true, nil
}

// diesOfBinaries reports whether the driver ends the process when it is given bytes that are not one of its binaries. An assertion in
// PoCL 3.1 does that, and one in Mesa's Rusticl 22.3.
func (h *hardware) diesOfBinaries() bool {
	return strings.EqualFold(h.platformText, "rusticl") || h.platformText == pocl
}

// binary loads a binary, with the header that Compile writes or without.
func (b *builder) binary(data []byte) (uintptr, error) {
	d := b.dev
	if err := b.checkOptions(); err != nil {
		return 0, err
	}
	code, sealed, err := d.unseal(b.op, data)
	if err != nil {
		return 0, err
	}
	if !sealed && d.hw.diesOfBinaries() {
		return 0, d.refuse(b.op, driver.ErrUnsupported,
			"the binary was not made by Compile: %s ends the process when a binary is damaged, so only binaries with a checksum are loaded",
			d.hw.platformText)
	}
	program, st := d.t.createBinaryProgram(d.ctx.cl, d.hw.id, code)
	if st != success {
		err := d.fail(b.op, "clCreateProgramWithBinary", st)
		err.Detail = "the driver does not take the binary"
		if sealed { // the checksum is right, so the driver has changed
			err.Kind = driver.ErrUnsupported
		}
		return 0, err
	}
	return b.made(program, b.line()) // PoCL needs the options of the build here, too
}

// spirv builds a module of SPIR-V.
func (b *builder) spirv(data []byte) (uintptr, error) {
	d := b.dev
	if err := b.checkOptions(); err != nil {
		return 0, err
	}
	const header, magic = 20, 0x07230203
	if len(data) < header || len(data)%4 != 0 || binary.LittleEndian.Uint32(data) != magic && binary.BigEndian.Uint32(data) != magic {
		return 0, d.refuse(b.op, driver.ErrInvalidArgument, "the %d bytes are not a module of SPIR-V", len(data))
	}
	program, st := d.hw.createIL(d.ctx.cl, data)
	if st != success {
		return 0, d.check(b.op, "clCreateProgramWithIL", st)
	}
	return b.made(program, b.line())
}

// source builds a program of OpenCL C. headers are the texts that it may include, by name.
func (b *builder) source(text string, headers map[string]string) (uintptr, error) {
	d := b.dev
	if err := b.checkOptions(); err != nil {
		return 0, err
	}
	program, st := d.t.createProgram(d.ctx.cl, text)
	if st != success {
		return 0, d.check(b.op, "clCreateProgramWithSource", st)
	}
	if len(headers) == 0 {
		return b.made(program, b.line())
	}
	defer d.t.releaseProgram(program)
	if !d.hw.linker {
		return 0, d.refuse(b.op, driver.ErrUnsupported, "the device's compiler takes no headers")
	}
	var included []uintptr
	var names []string
	defer func() {
		for _, h := range included {
			_ = d.t.releaseProgram(h)
		}
	}()
	for name, text := range headers {
		if name == "" || strings.ContainsRune(name, 0) {
			return 0, d.refuse(b.op, driver.ErrInvalidArgument, "%q cannot be the name of a header", name)
		}
		h, st := d.t.createProgram(d.ctx.cl, text)
		if st != success {
			return 0, d.check(b.op, "clCreateProgramWithSource", st)
		}
		included, names = append(included, h), append(names, name)
	}
	siglib.Enter()
	defer siglib.Leave()
	if st := d.t.compileProgram(program, d.hw.id, b.line(), included, names); st != success {
		return 0, b.failed("clCompileProgram", st, program)
	}
	linked, st := d.t.linkProgram(d.ctx.cl, d.hw.id, program)
	if st != success {
		err := b.failed("clLinkProgram", st, linked)
		if linked != 0 {
			_ = d.t.releaseProgram(linked)
		}
		return 0, err
	}
	return linked, nil
}

// builder makes one program.
type builder struct {
	dev     *device
	op      string
	name    string // of the source
	options []string
}

// argInfo makes drivers keep information about the parameters of kernels.
const argInfo = "-cl-kernel-arg-info"

// line returns the options for the compiler, as one text.
func (b *builder) line() string {
	if slices.Contains(b.options, argInfo) {
		return strings.Join(b.options, " ")
	}
	return strings.Join(append([]string{argInfo}, b.options...), " ")
}

// made builds the program with the options. It returns the program, or releases it if the build fails.
func (b *builder) made(program uintptr, options string) (uintptr, error) {
	d := b.dev
	siglib.Enter()
	st := d.t.buildProgram(program, d.hw.id, options)
	siglib.Leave()
	if st == success {
		return program, nil
	}
	err := b.failed("clBuildProgram", st, program)
	_ = d.t.releaseProgram(program)
	return 0, err
}

// failed returns the error of a call that builds, with the compiler's log.
func (b *builder) failed(api string, st status, program uintptr) *driver.Error {
	d := b.dev
	err := d.fail(b.op, api, st)
	switch st {
	case invalidOptions, -66, -67: // -66 and -67: CL_INVALID_COMPILER_OPTIONS and CL_INVALID_LINKER_OPTIONS
		err.Kind = driver.ErrBuild
	}
	if err.Kind == driver.ErrBuild {
		log := ""
		if program != 0 {
			log = d.buildLog(program)
		}
		if log == "" {
			log = "the driver's compiler gives no reason"
		}
		err.Err = &driver.BuildError{Source: b.name, Options: b.options, Log: log}
	}
	return err
}

// buildLog returns the compiler's log for a program.
func (d *device) buildLog(program uintptr) string {
	build := facts{func(param uint32, value []byte) (uint64, status) {
		return d.t.programBuildInfo(program, d.hw.id, param, value)
	}}
	return strings.TrimSpace(strings.TrimRight(string(build.bytes(programBuildLog)), "\x00"))
}

// checkOptions refuses options that contain a zero byte, where C would cut them short.
func (b *builder) checkOptions() error {
	for _, o := range b.options {
		if strings.ContainsRune(o, 0) {
			return b.dev.refuse(b.op, driver.ErrInvalidArgument, "option %q contains a zero byte", o)
		}
	}
	return nil
}
