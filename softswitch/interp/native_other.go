// SPDX-License-Identifier: Apache-2.0

//go:build !(amd64 && linux)

package interp

// translate returns nil: no program is translated for this platform.
func translate(*Program, *offsets, bool) *native { return nil }

// printNative returns ok = false.
func printNative(*Program) (text string, ok bool) { return "", false }
