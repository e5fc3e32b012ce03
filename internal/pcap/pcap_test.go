// SPDX-License-Identifier: Apache-2.0

package pcap

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

var at = time.Unix(1_700_000_000, 123_456_789)

// Gopacket reads the files of Writer.
func TestAnotherReaderAgrees(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(at, []byte("first frame"), 0), w.Write(at.Add(time.Nanosecond), []byte("second"), 9000)); err != nil {
		t.Fatal(err)
	}
	r, err := pcapgo.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]byte{[]byte("first frame"), append([]byte("second"), make([]byte, 9000)...)} {
		b, info, err := r.ReadPacketData()
		if err != nil || !bytes.Equal(b, want) || info.Length != len(want) || !info.Timestamp.Equal(at.Add(time.Duration(i))) {
			t.Errorf("frame %d: %d bytes of %d at %v, %v", i, len(b), info.Length, info.Timestamp, err)
		}
	}
}

// Reader reads gopacket's files, including partly captured frames.
func TestAnotherWriterIsRead(t *testing.T) {
	for name, write := range map[string]func(io.Writer) *pcapgo.Writer{"nanoseconds": pcapgo.NewWriterNanos, "microseconds": pcapgo.NewWriter} {
		var file bytes.Buffer
		w := write(&file)
		info := gopacket.CaptureInfo{Timestamp: at, CaptureLength: 4, Length: 60}
		if err := errors.Join(w.WriteFileHeader(1<<16, layers.LinkTypeEthernet), w.WritePacket(info, []byte("head"))); err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(&file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := r.Next()
		want := at
		if name == "microseconds" {
			want = at.Truncate(time.Microsecond)
		}
		if err != nil || string(f.Data) != "head" || f.Size != 60 || !f.At.Equal(want) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%s: at the end: %v", name, err)
		}
	}
}

// Any bytes give frames or an error.
func FuzzReader(f *testing.F) {
	var file bytes.Buffer
	w, _ := NewWriter(&file)
	w.Write(at, []byte("frame"), 3)
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader(bytes.NewReader(b))
		for err == nil {
			var fr Frame
			if fr, err = r.Next(); err == nil && fr.Size < len(fr.Data) {
				t.Errorf("a frame of %d bytes of which %d were captured", fr.Size, len(fr.Data))
			}
		}
	})
}
