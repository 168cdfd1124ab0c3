package npy

// TypeOf is the type of T.
func TypeOf[T any]() (Type, error) { return typeOf[T]() }
