// SPDX-License-Identifier: Apache-2.0

//go:build linux

package native

import asm "github.com/pauseless/pauseless/internal/amd64"

// clearing emits the code that clears slots for a new packet.
func (t *translator) clearing() asm.Label {
	at := t.Here()
	t.clear()
	t.Return()
	return at
}

func (t *translator) clear() {
	t.ZeroPair(0)
	for _, s := range t.prog.Pairs {
		t.StorePair(mem(s), 0)
	}
}
