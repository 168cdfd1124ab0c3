// Package ir represents kernels.
package ir
