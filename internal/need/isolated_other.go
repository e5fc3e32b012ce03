// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package need

import "testing"

// Isolated returns true: this system has no namespaces, and so no networks of tests.
func Isolated(*testing.T) bool { return true }
