// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"math/rand/v2"
	"testing"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// A CRC computed from slots equals that of the bytes, whatever bits are above a
// field's width.
func TestCRCsOfSlotsAreThoseOfBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, name := range []string{"crc16", "crc16_custom", "crc32", "crc32_custom"} {
		algo := ops.Algorithms[name]
		for range 1000 {
			k := &ops.Calc{Algo: algo, Aligned: true}
			m := &Machine{f: make([]uint64, 6)}
			for i := range rng.IntN(len(m.f)) {
				m.f[i] = rng.Uint64()
				k.Inputs = append(k.Inputs, ops.CalcInput{Slot: ops.Slot(i), Limbs: 1, Width: 8 * (1 + rng.IntN(8)), Valid: ops.NoValid})
			}
			k.PlanCRC()
			if got, want := m.quickCRC(k), algo.Hash(m.input(k), nil); got != want {
				t.Fatalf("%s of %x in %+v = %#x, want %#x", name, m.f, k.Words, got, want)
			}
		}
	}
}
