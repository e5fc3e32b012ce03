// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/infile"
)

// Public files of other tools are read, with as many nodes, layers and connections as
// they have. PUBLIC_TRACES names a folder with copies of them:
//
//   - astra: custom_allreduce.*.et and all_reduce.*.et of astra-sim/astra-sim, for 8 NPUs and 1 MB
//   - chakra: chakra.0.et of mlcommons/chakra, tests/data/feeder_tests_trace.tar.gz
//   - aicb: workload/simAI of aliyun/aicb
//   - htsim: connection_matrices and topologies of ultraethernet/uet-htsim
func TestPublicFilesAreRead(t *testing.T) {
	dir := os.Getenv("PUBLIC_TRACES")
	if dir == "" {
		t.Skip("SKIP: PUBLIC_TRACES names no folder with public traces")
	}
	refused := map[string]string{
		"a2a.cm": "Connections is 3600, but there are 240", "test_cr_1f10m10p.cm": `"msg" is unknown`, "test_cr_1f10m1p.cm": `"msg" is unknown`,
		"L65B-M1-C05_Llama65B_megatron_tp8_pp1_mbs1_A100.txt": "the file says 839 layers and has 33",
	}
	read := func(name string, do func(io.Reader) error) {
		f, err := infile.OpenLines(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		err = do(f)
		if want := refused[filepath.Base(name)]; want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	counts := func(name string) map[int]int {
		data, err := infile.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		tr := trace{src: source{name: name}}
		if err := tr.read(data); err != nil {
			t.Fatal(err)
		}
		n := map[int]int{0: len(tr.nodes)}
		for i := range tr.nodes {
			n[tr.nodes[i].kind]++
		}
		return n
	}
	for r := range 8 {
		n := counts(filepath.Join(dir, "astra", fmt.Sprintf("custom_allreduce.%d.et", r)))
		if n[chakraSend] != 14 || n[chakraRecv] != 14 || n[chakraCompute] != 7 {
			t.Errorf("custom ring, rank %d: %v", r, n)
		}
		if n := counts(filepath.Join(dir, "astra", fmt.Sprintf("all_reduce.%d.et", r))); n[chakraColl] != 1 || n[0] != 1 {
			t.Errorf("all-reduce, rank %d: %v", r, n)
		}
	}
	if n := counts(filepath.Join(dir, "chakra", "chakra.0.et")); n[0] != 3664 || n[chakraColl] != 21 {
		t.Errorf("chakra.0.et: %v", n)
	}
	net := plain(t, 8)
	for _, name := range []string{"custom_allreduce.%d.et", "all_reduce.%d.et"} {
		flows, err := jobFlows(&Job{File: filepath.Join(dir, "astra", name), Flops: 1e14, MemoryRate: 16e12}, net)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(flows) != 8*14 {
			t.Errorf("%s: %d flows", name, len(flows))
		}
		simulate(t, net, flows)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "aicb", "*.txt"))
	for _, name := range files {
		read(name, func(f io.Reader) error {
			m, err := readSimAI(name, f, &Job{})
			if err == nil {
				t.Logf("%s: %d layers", filepath.Base(name), len(m.layers))
			}
			return err
		})
	}
	files, _ = filepath.Glob(filepath.Join(dir, "htsim", "*.cm"))
	for _, name := range files {
		read(name, func(f io.Reader) error {
			m, err := readCM(name, f)
			if err == nil {
				t.Logf("%s: %d nodes, %d connections, %d triggers", filepath.Base(name), m.nodes, len(m.connections), len(m.triggers))
			}
			return err
		})
	}
	files, _ = filepath.Glob(filepath.Join(dir, "htsim", "*.topo"))
	for _, name := range files {
		data, err := infile.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		net, err := ParseTopo(name, data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		t.Logf("%s: %d hosts, %d switches", filepath.Base(name), len(net.Hosts()), len(net.Switches()))
	}
}
