// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/result"
)

func run(profile string, scale int64) *result.Run {
	r := &result.Run{Profile: profile}
	for i := int64(1); i <= 20; i++ {
		r.Flows = append(r.Flows, result.Flow{Bytes: i * i * 1000, FCTNS: scale * i * 1000, IdealNS: i * 1000})
	}
	r.Lines = []result.Line{{Name: "l1 port 5", Unit: "bytes", TNS: []int64{0, 1000, 2000}, V: []uint64{0, 9, 3}}}
	r.Pauses = []result.Pause{{Node: "l1", Port: 5, Class: 3, StartNS: 500, EndNS: 1500}}
	r.Registers = []result.Register{{Switch: "l1", Name: "egress_<qlen>", Values: []uint64{1, 2}}}
	return r
}

func TestReportHasAllFiguresAndIsWellFormed(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, "demo", []*result.Run{run("drill", 3), run("rlb-drill", 2)}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"Flow completion times", "Slowdown by flow size", "Queues and pauses: drill", "Queues and pauses: rlb-drill", "egress_&lt;qlen&gt;", "average FCT"} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if n := strings.Count(page, "<svg"); n != 4 {
		t.Errorf("page has %d pictures, want 4", n)
	}
	for _, part := range strings.Split(page, "<svg")[1:] {
		dec := xml.NewDecoder(strings.NewReader("<svg" + part[:strings.Index(part, "</svg>")+len("</svg>")]))
		for {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("picture is not well formed: %v", err)
			}
		}
	}
}

// The report says over which server registers were read.
func TestReportNamesTheServerOfRegisters(t *testing.T) {
	bmv2 := run("rlb-drill", 2)
	bmv2.RegistersOver, bmv2.Remarks = "BMv2 Thrift", []string{"the machine was busy"}
	var b bytes.Buffer
	if err := Write(&b, "both", []*result.Run{run("drill", 3), bmv2}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Registers of drill, as the controller reads them over P4Runtime", "Registers of rlb-drill, as the controller reads them over BMv2 Thrift",
		"rlb-drill, seed 0: the machine was busy"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("page lacks %q", want)
		}
	}
}

func TestReportIsTheSameEachTime(t *testing.T) {
	var a, b bytes.Buffer
	for _, w := range []io.Writer{&a, &b} {
		if err := Write(w, "demo", []*result.Run{run("drill", 3), run("rlb-drill", 2)}); err != nil {
			t.Fatal(err)
		}
	}
	if a.String() != b.String() {
		t.Error("two reports of the same runs differ")
	}
}

func TestReportOfUnfinishedRunHasTableOnly(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, "demo", []*result.Run{{Profile: "drill", Flows: []result.Flow{{Bytes: 1}}}}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<svg") {
		t.Error("a picture of nothing")
	}
	if err := Write(io.Discard, "demo", nil); err == nil {
		t.Error("a report of no runs is no error")
	}
}
