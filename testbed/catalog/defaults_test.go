// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"testing"
)

// A catalogue file states which hosts it has: the defaults of scenarios may change, and
// its outcomes may not.
func TestCatalogueStatesItsHosts(t *testing.T) {
	for _, name := range append(Names(), RealNames()...) {
		text, err := Text(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("defaults: papers")) && !(bytes.Contains(text, []byte("mtu: ")) && bytes.Contains(text, []byte("cc: "))) {
			t.Errorf("%s.yaml: write hosts: {defaults: papers}, or mtu and cc", name)
		}
	}
}
