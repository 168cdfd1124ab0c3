// Package zerotest calls every exported method of a type on nil and on the zero value, and on valid values with
// arguments that are nil or zero. No call may panic, and a method that returns an error must return one of the documented kinds.
package zerotest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

// Receivers calls every exported method of *T on nil and on the zero T, with valid arguments.
func Receivers[T any](t *testing.T) {
	t.Helper()
	for what, recv := range map[string]*T{"nil": nil, "zero": new(T)} {
		v := reflect.ValueOf(recv)
		if v.NumMethod() == 0 {
			t.Errorf("%T has no method", recv)
		}
		for i := range v.NumMethod() {
			m := v.Type().Method(i)
			refused(t, fmt.Sprintf("%s %T: %s", what, recv, m.Name), v.Method(i), arguments(m.Type, nil), true)
		}
	}
}

// Arguments calls every exported method that takes handles, such as pointers or regions, on values that fresh makes, with each handle
// nil or zero in turn. allowed are the methods that may accept such a handle.
func Arguments[T any](t *testing.T, fresh func() *T, allowed ...string) {
	t.Helper()
	typ := reflect.TypeFor[*T]()
	count := 0
	for i := range typ.NumMethod() {
		m := typ.Method(i)
		for j := 1; j < m.Type.NumIn(); j++ {
			for what, bad := range handles(m.Type.In(j)) {
				count++
				name := fmt.Sprintf("%v: %s with a %s argument %d", typ, m.Name, what, j)
				refused(t, name, reflect.ValueOf(fresh()).Method(i), arguments(m.Type, map[int]reflect.Value{j: bad}), !slices.Contains(allowed, m.Name))
			}
		}
	}
	if count == 0 {
		t.Errorf("%v has no method that takes a handle", typ)
	}
}

// handles returns the invalid values of a type of handle, and nothing for other types.
func handles(t reflect.Type) map[string]reflect.Value {
	switch {
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		return map[string]reflect.Value{"nil": reflect.Zero(t), "zero": reflect.New(t.Elem())}
	case t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).IsExported() && t.Field(0).Type.Kind() == reflect.Pointer:
		of := reflect.New(t).Elem()
		of.Field(0).Set(reflect.New(t.Field(0).Type.Elem()))
		return map[string]reflect.Value{"zero": reflect.Zero(t), "hollow": of}
	}
	return nil
}

// arguments returns the given arguments of a method, and for the others values that are valid as far as their types tell.
func arguments(method reflect.Type, given map[int]reflect.Value) (args []reflect.Value) {
	for j := 1; j < method.NumIn(); j++ {
		in := method.In(j)
		v, ok := given[j]
		switch {
		case ok:
		case method.IsVariadic() && j == method.NumIn()-1:
			continue
		case in == reflect.TypeFor[context.Context]():
			v = reflect.ValueOf(context.Background())
		case in.Kind() == reflect.Func:
			v = reflect.MakeFunc(in, func([]reflect.Value) (out []reflect.Value) {
				for k := range in.NumOut() {
					out = append(out, reflect.Zero(in.Out(k)))
				}
				return out
			})
		case in.Kind() == reflect.Slice:
			v = reflect.MakeSlice(in, 1, 1)
		default:
			v = reflect.New(in).Elem()
			if v.CanInt() {
				v.SetInt(1)
			} else if v.CanUint() {
				v.SetUint(1)
			}
		}
		args = append(args, v)
	}
	return args
}

func refused(t *testing.T, name string, method reflect.Value, args []reflect.Value, always bool) {
	t.Helper()
	defer func() {
		t.Helper()
		if r := recover(); r != nil {
			t.Errorf("%s panics: %v", name, r)
		}
	}()
	out := method.Call(args)
	if len(out) == 0 || out[len(out)-1].Type() != reflect.TypeFor[error]() {
		return
	}
	err, _ := out[len(out)-1].Interface().(error)
	var e *driver.Error
	switch {
	case !always:
	case err == nil:
		t.Errorf("%s: no error", name)
	case !errors.As(err, &e) || !slices.Contains(driver.Kinds(), e.Kind):
		t.Errorf("%s: %v is of no documented kind", name, err)
	}
}
