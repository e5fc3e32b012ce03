// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// extracted returns the text of a header that was just extracted.
func (m *Machine) extracted(x *ops.Extraction) string {
	base, name := x.Base, x.Name
	if x.Next >= 0 {
		n := int(m.f[x.Next]) - 1
		if n < 0 || n >= x.N {
			return "extract " + name
		}
		base, name = base+n*x.Stride, fmt.Sprintf("%s[%d]", name, n)
	}
	v := HeaderValue{Name: name, Fields: m.fieldsOf(&ops.Header{Name: name, Type: x.Type, Base: base}, base)}
	return "extract " + v.String()
}

// number formats the value of a field.
func (m *Machine) number(f ops.FieldAt) string {
	limbs := append([]uint64(nil), m.f[f.Slot:f.Slot+f.Limbs]...)
	x := new(big.Int)
	if f.Signed && int64(limbs[len(limbs)-1]) < 0 {
		zero := make([]uint64, len(limbs))
		bitvec.Sub(limbs, zero, limbs)
		x.SetBytes(bitvec.AppendBytes(nil, limbs, 8*len(limbs)))
		return "-" + x.String()
	}
	bitvec.Mask(limbs, f.Width)
	return x.SetBytes(bitvec.AppendBytes(nil, limbs, 8*len(limbs))).String()
}

// format replaces the braces of a message by values, as in log_msg: \{ is a
// brace.
func (m *Machine) format(msg *ops.Message) string {
	if msg.Header != nil {
		return m.extracted(msg.Header)
	}
	var b strings.Builder
	arg := 0
	text := msg.Text
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == '{' || text[i+1] == '}'):
			i++
			b.WriteByte(text[i])
		case text[i] == '{' && arg < len(msg.Args):
			end := strings.IndexByte(text[i:], '}')
			if end < 0 {
				b.WriteByte('{')
				continue
			}
			if at := msg.Args[arg]; msg.Name == "" || at.Signed {
				b.WriteString(m.number(at))
			} else {
				b.WriteString(valueText(msg.Name, at.Width, m.f[at.Slot:at.Slot+at.Limbs]))
			}
			arg++
			i += end
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
