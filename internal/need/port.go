// SPDX-License-Identifier: Apache-2.0

package need

import (
	"testing"

	"github.com/pauseless/pauseless/internal/tool"
)

// Port returns host:port for a program that needs an address to listen on. It
// returns the same port to no other test until this one ends.
func Port(t testing.TB) string {
	t.Helper()
	addr, release, err := tool.HoldPort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return addr
}
