// SPDX-License-Identifier: Apache-2.0

package stf

import (
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/p4src"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// programs returns all generated programs and those of testdata.
var programs = sync.OnceValues(func() ([]*softswitch.Program, error) {
	var list []*softswitch.Program
	add := func(o compiler.Options) error {
		r, errs := compiler.Compile(o)
		if err := errs.Err(); err != nil {
			return err
		}
		p, err := interp.Compile(r.Program, interp.Options{})
		list = append(list, p)
		return err
	}
	err := fs.WalkDir(p4src.FS, "v1model", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".p4") {
			return err
		}
		text, err := p4src.FS.ReadFile(path)
		if err != nil {
			return err
		}
		return add(compiler.Options{File: path, Source: text})
	})
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob("testdata/*.p4")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := add(compiler.Options{File: file}); err != nil {
			return nil, err
		}
	}
	return list, nil
})

// FuzzPacket sends arbitrary bytes into our programs. Each packet is sent or dropped,
// and none remains in a queue.
func FuzzPacket(f *testing.F) {
	list, err := programs()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(byte(0), byte(1), uint16(0), []byte{})
	f.Add(byte(3), byte(2), uint16(1000), []byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00\x45\x00\x00\x2e\x00\x01\x40\x00\x40\x11\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02"))
	f.Add(byte(5), byte(1), uint16(0), []byte("\x01\x80\xc2\x00\x00\x01\x02\x00\x00\x00\x00\x02\x88\x08\x01\x01\x00\xff\xff\xff"))
	for i := range list {
		f.Add(byte(i), byte(i), uint16(40), []byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x88\xb5\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"))
	}
	f.Fuzz(func(t *testing.T, program, port byte, elided uint16, data []byte) {
		cfg := softswitch.Config{Name: "fuzz", Ports: []softswitch.Port{{Number: 1}, {Number: 2}, {Number: softswitch.DefaultRecircPort, Internal: true}}}
		sw, err := softswitch.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		net := solo.New(sw)
		sw.Load(list[int(program)%len(list)])
		sw.SetGroup(1, []softswitch.Replica{{Port: 2}, {Port: 1}})
		sw.SetSession(1, []softswitch.Replica{{Port: 2}}, 0, 20)
		for range 2 {
			net.Inject(int(port)%2+1, data, int(elided))
			net.RunUntil(net.Now() + vtime.Millisecond)
		}
		if st := sw.Stats(); st.BufferBytes != 0 {
			t.Errorf("%d bytes are left in the buffer", st.BufferBytes)
		}
	})
}
