// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"bytes"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

func TestTelemetryKeepsEveryField(t *testing.T) {
	b := AsINT(make([]byte, INTLen))
	b[0], b[1] = 3<<4|0xa, 0xbc
	h := b.Hop(2)
	h.Set(INTRateCode(100*vtime.Gbps), 0x123456, 0xabcde, 4000)
	want := []byte{6<<4 | 0x1, 0x23, 0x45, 0x6a, 0xbc, 0xde, 0, 50}
	if !bytes.Equal(h, want) {
		t.Errorf("record is % x, want % x", h, want)
	}
	if b.Hops() != 3 || b.Path() != 0xabc || h.Rate() != 100*vtime.Gbps || h.Time() != 0x123456 || h.TxBytes() != 0xabcde || h.Queue() != 4000 {
		t.Errorf("read back %d %x %v %x %x %d", b.Hops(), b.Path(), h.Rate(), h.Time(), h.TxBytes(), h.Queue())
	}
	if b.Reset(); b.Hops() != 0 || b.Hop(2).Time() != 0 {
		t.Error("reset left something behind")
	}
}

func TestTelemetrySaturatesItsQueue(t *testing.T) {
	h := INTHop(make([]byte, 8))
	h.Set(1, 0, 0, 1<<30)
	if got := h.Queue(); got != 65535*INTQueueUnit {
		t.Errorf("queue is %d", got)
	}
}

func TestViewsRejectInvalidFrames(t *testing.T) {
	long := make([]byte, 64)
	for name, none := range map[string]bool{
		"short INT":      AsINT(long[:INTLen-1]) == nil,
		"six hops":       AsINT(append([]byte{6 << 4}, long...)) == nil,
		"short postcard": AsPostcard([]byte{PostcardVersion}) == nil,
		"version":        AsPostcard(long) == nil,
		"short CNM":      AsCNM([]byte{KindWarning}) == nil,
		"CNM kind":       AsCNM(long) == nil,
		"short CNP":      AsCNP([]byte{byte(OpCongestionNotific)}) == nil,
		"CNP opcode":     AsCNP(long) == nil,
	} {
		if !none {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestTagPostcardCNMAndCNPKeepEveryField(t *testing.T) {
	b := make([]byte, 64)
	Tag(b).Set(5, TagNoPath, 0x1234, EtherTypeIPv4)
	if !bytes.Equal(b[:TagLen], []byte{KindTag, 5, TagNoPath, 0, 0x12, 0x34, 0x08, 0}) {
		t.Errorf("tag % x", b[:TagLen])
	}
	Postcard(b).Set(7, 0xff123456, 1, 2, 3, 4, 5)
	p := AsPostcard(b)
	all, marked := p.Recent()
	if p.Switch() != 7 || p.DestQP() != 0x123456 || p.Arriving() != 1 || p.Queue() != 2 || p.Rate() != 3 || all != 4 || marked != 5 {
		t.Errorf("postcard % x", b[:PostcardLen])
	}
	m := AsCNM([]byte{KindWarning, 3, 1, 2, 0, 9, 1, 6, 0xff, 0xff, 0, 0, 0x64, 0})
	sw, port := m.Origin()
	if m.Kind() != KindWarning || !m.Active() || sw != 9 || port != 0x106 {
		t.Errorf("CNM % x", []byte(m))
	}
	BTH(b).Set(OpCongestionNotific, 0x42, 0, false)
	c := AsCNP(b)
	c.SetRecRate(39_500)
	if c.RecRate() != 39_500 || c.BTH().DestQP() != 0x42 || b[BTHLen+4] != 0 {
		t.Errorf("CNP % x", b[:CNPLen])
	}
}

func TestPriorityOfTheUsualDSCPs(t *testing.T) {
	for dscp, want := range map[uint8]uint8{0: 0, 26: 3, 26 | DSCPMark: 3, 48: 6, DSCPPostcard: 7} {
		if got := Priority(dscp); got != want {
			t.Errorf("priority of DSCP %d is %d, want %d", dscp, got, want)
		}
	}
}
