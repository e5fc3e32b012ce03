// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/testbed/result"
)

// Sizes of a record in bytes. The runs of built-in experiments take from 10 KB to
// some MB.
const (
	// MaxRecord is the greatest size of a record as Encode returns it.
	MaxRecord = 256 << 20
	// maxRecordText is the greatest size of one of its lines.
	maxRecordText = 1 << 30
)

// bulk are the large fields of a run.
type bulk struct {
	Flows     []result.Flow     `json:"flows"`
	Lines     []result.Line     `json:"lines,omitempty"`
	Rates     []result.Line     `json:"rates,omitempty"`
	Pauses    []result.Pause    `json:"pauses,omitempty"`
	Registers []result.Register `json:"registers,omitempty"`
}

// Encode returns a record in the store's format: two members of gzip. The first has
// two lines of JSON, the second of them with the large fields. The second member has
// a line with the SHA-256 of the key and the first member. It is deterministic.
func (r *Record) Encode() ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	head, run := *r, *r.Run
	rest := bulk{run.Flows, run.Lines, run.Rates, run.Pauses, run.Registers}
	run.Flows, run.Lines, run.Rates, run.Pauses, run.Registers = nil, nil, nil, nil, nil
	head.Run = &run
	enc := json.NewEncoder(z)
	if err := errors.Join(enc.Encode(head), enc.Encode(rest), z.Close()); err != nil {
		return nil, err
	}
	data := append(b.Bytes(), seal(r.Key, b.Bytes())...)
	if len(data) > MaxRecord {
		return nil, fmt.Errorf("the run takes %d bytes, more than the %d that are kept; measure fewer flows, or leave sample out", len(data), MaxRecord)
	}
	return data, nil
}

// DecodeRecord reads what Encode returned for a run with a key. Any other bytes are
// an error.
func DecodeRecord(key string, data []byte) (*Record, error) { return decode(data, key, true) }

// errChanged is the error of a record that has been changed since it was written.
var errChanged = errors.New("it is not as it was written: its checksum is another, or is missing")

// decode reads a record and, if all is set, its large fields. The checksum covers
// every bit, and is compared before anything is decoded.
func decode(data []byte, key string, all bool) (*Record, error) {
	n := len(data) - len(seal(key, nil))
	if n < 0 || !bytes.Equal(data[n:], seal(key, data[:n])) {
		return nil, errChanged
	}
	r := bytes.NewReader(data[:n])
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	head, rest, err := twoLines(z)
	if err != nil {
		return nil, err
	}
	if r.Len() > 0 {
		return nil, errors.New("there are bytes after its end")
	}
	var rec Record
	if err := infile.JSON(head, &rec); err != nil {
		return nil, err
	}
	if rec.Key != key || rec.Run == nil {
		return nil, errors.New("it has another key, or no run")
	}
	if all {
		err = infile.JSON(rest, rec.Run)
	}
	return &rec, err
}

// twoLines returns the lines of a text. It reads to the end, where gzip's checksum
// is.
func twoLines(r io.Reader) (head, rest []byte, err error) {
	text, err := infile.From(r, "the record", maxRecordText)
	if err != nil {
		return nil, nil, err
	}
	head, rest, ok := bytes.Cut(text, []byte{'\n'})
	if !ok || !bytes.HasSuffix(rest, []byte{'\n'}) {
		return nil, nil, errors.New("it is not two lines of JSON")
	}
	return head, rest, nil
}

// seal returns the second member of a record: one stored block of RFC 1951, so that
// its length does not depend on its content.
func seal(key string, data []byte) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "pauseless record\n%s\n", key)
	h.Write(data)
	line := fmt.Appendf(nil, "{\"sha256\":\"%s\"}\n", hex.EncodeToString(h.Sum(nil)))
	out := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1}
	out = binary.LittleEndian.AppendUint16(out, uint16(len(line)))
	out = binary.LittleEndian.AppendUint16(out, ^uint16(len(line)))
	out = append(out, line...)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(line))
	return binary.LittleEndian.AppendUint32(out, uint32(len(line)))
}
