package translate

import "strings"

// kernelName returns the name of a kernel in C. It is the name in Go, so that messages and profilers show that name, unless a dialect
// may use the same name.
func kernelName(name string) string {
	taken := strings.ToUpper(name) == name || words[name] || words[strings.TrimRight(name, "0123456789")] || words[strings.TrimRight(name, "0123456789fl")] ||
		strings.ContainsFunc(name, func(r rune) bool { return r >= 0x80 })
	for _, prefix := range prefixes {
		taken = taken || strings.HasPrefix(name, prefix)
	}
	if taken {
		return mangle("f_", name)
	}
	return name
}

// prefixes are the beginnings of names that dialects or translations use.
var prefixes = []string{"_", "h_", "f_", "T_", "R_", "v_", "go_", "halyard", "get_", "atom_", "atomic", "native_", "half_", "convert_", "as_", "vload", "vstore", "read_", "write_",
	"async_", "work_group_", "sub_group", "enqueue_", "make_", "to_", "cuda", "nv", "hip", "tex", "surf", "is", "str", "mem", "wcs", "mul_", "mad_", "mul64", "umul", "image"}

// words are names that a dialect uses, without digits at the end.
var words = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`
		abs acos acosh acospi add alignas alignof all and any asin asinh asinpi asm assert atan atanh atanpi auto barrier bitselect bool break ceil case catch cbrt char
		clamp class clz complex const constant constexpr copysign cos cosh cospi cross ctz cyl_bessel_i decltype default degrees delete dim distance div do dot double else enum erf erfc
		erfcinv erfcx erfinv event exp expm explicit export extern fabs fast_distance fast_length fast_normalize fdim fdivide false ffs float floor fma fmax fmin fmod for fract free frexp
		friend generic global goto half hadd hypot if ilogb image inline int isinf isnan j jn kernel ldexp length lgamma local log logb long longlong lround main mad malloc max
		memcpy memset min mix mod modf mul mutable nan namespace nearbyint new nextafter norm normalize normcdf noexcept not nullptr operator or pipe popc popcount pow pown powr
		prefetch printf private protected ptrdiff_t public queue radians rand rcbrt register reinterpret_cast remainder remquo restrict rhadd rhypot rint rnorm root rootn rotate
		round rsqrt sampler scalbln scalbn select shared shuffle short sign signbit signed sin sincos sincospi sinh sinpi size_t sizeof smoothstep sqrt static static_assert
		step struct sub_sat switch tan tanh tanpi template tgamma this thread threadfence throw trunc try true typedef typeid typename uchar uint ulong union unsigned upsample
		ushort using vec vec_step virtual void volatile wait wchar_t while xor y yn clock bitcount byte_perm saturate lerp warpSize threadIdx blockIdx blockDim gridDim
		printf trap brev clzll ffsll popcll exit abort index signal time link read write open close send listen accept select half kernel f i u`) {
		m[w] = true
	}
	return m
}()
