// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrttest"
	"github.com/pauseless/pauseless/controlplane/p4rttest"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/tofino"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

const tofinoNetwork = `
name: wedges
leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}
switch: {buffer: 22MB, pfc: {xoff: 256KB}}
`

// compiledForTofino returns a folder like one of `pauseless tofino build --topology`, but
// without the binary, made by pauseless's compiler.
func compiledForTofino(t *testing.T, profile, topology string) string {
	t.Helper()
	p, err := gen.Builtin(profile)
	if err != nil {
		t.Fatal(err)
	}
	return profileForTofino(t, p, topology)
}

// profileForTofino is compiledForTofino for a profile that may be changed.
func profileForTofino(t *testing.T, p *gen.Profile, topology string) string {
	t.Helper()
	profile := p.Name
	dir := filepath.Join(t.TempDir(), profile)
	if err := forTopology([]*gen.Profile{p}, topology, 0); err != nil {
		t.Fatal(err)
	}
	prog, err := gen.Generate(p, "tna")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, f := range prog.Files() {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, list := compiler.Compile(compiler.Options{File: filepath.Join(dir, profile+".p4")})
	if list.HasErrors() {
		t.Fatal(list)
	}
	info, err := prototext.Marshal(r.P4Info)
	if err != nil {
		t.Fatal(err)
	}
	bfrt, err := bfrttest.Schema(r.P4Info)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"p4info.txtpb": info, "bfrt.json": bfrt, "pipe/context.json": []byte("{}"), "pipe/tofino.bin": {1}} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Apply writes a switch's program, ports, PFC, sessions and entries. A second one
// changes nothing, and another client's changes are reverted.
func TestTofinoApply(t *testing.T) {
	for _, profile := range []string{"ecmp", "plb", "rlb-drill"} {
		t.Run(profile, func(t *testing.T) {
			address, network := tofinoServer(t)
			testTofinoApply(t, address, network, compiledForTofino(t, profile, network), profile)
		})
	}
}

// tofinoServer starts a switch with BF Runtime and returns its address, and a
// topology file.
func tofinoServer(t *testing.T) (address, network string) {
	t.Helper()
	_, address = bfrttest.Start(t)

	network = filepath.Join(t.TempDir(), "wedges.yaml")
	if err := os.WriteFile(network, []byte(tofinoNetwork), 0o666); err != nil {
		t.Fatal(err)
	}
	return address, network
}

func testTofinoApply(t *testing.T, address, network, dir, profile string) {
	apply := func(more ...string) (string, int) {
		t.Helper()
		var out bytes.Buffer
		code := run(append([]string{"tofino", "apply", network, dir, "--addr", "l1=" + address}, more...), nil, &out, &out)
		return out.String(), code
	}
	want := func(text string, code int, parts ...string) {
		t.Helper()
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, text)
		}
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("there is no %q in\n%s", p, text)
			}
		}
	}
	text, code := apply("--dry-run")
	want(text, code, "l1: program "+profile+" to be pushed", "+ Forward out_port=4 -> send(port=156)", "+ $PORT $DEV_PORT=132 -> ")
	text, code = apply("--diff")
	want(text, code, "l1: program pushed, ", "l1: base round trip between leaves: 4.", "l1: hosts must: mark data with DSCP 26; send frames of at most 1592 bytes",
		"+ $PORT $DEV_PORT=132 -> $FEC=BF_FEC_TYP_RS $PORT_ENABLE=true $RX_PFC_EN_MAP=8 $SPEED=BF_SPEED_100G $TX_PFC_EN_MAP=8",
		"~ tf1.tm.port.flowcontrol dev_port=156 -> cos_to_icos=[0 1 2 3 4 5 6 7] mode_tx=PFC", "+ tf1.tm.ppg.cfg ppg_id=29 -> dev_port ", "pool_max_cells=3200",
		"~ tf1.tm.pool.cfg pool=IG_SKID_POOL -> size_cells=4000", "~ tf1.tm.queue.buffer pg_id=1 pg_queue=3 -> shared_pool tail_drop_enable=false",
		"+ route dst_addr=", "+ clone 1000 -> 196/1 cos 7 truncate 100")
	text, code = apply()
	want(text, code, "l1: as desired already\n")
	text, code = apply("--dry-run", "--panel", "4=3/0", "--panel", "3=4/0", "--tables")
	want(text, code, "~ Forward out_port=3 -> send(port=156)", "~ clone 4 -> 148/1 cos 7 truncate 100")
	if profile != "ecmp" { // ecmp does not use the ingress port
		want(text, code, "~ port_number ingress_port=148 -> is_port(port=4)")
	}
	// A port of the other pipeline: copies reach both, unless that cannot work.
	text, code = apply("--dry-run", "--panel", "4=17/0")
	if profile == "ecmp" {
		want(text, code, "~ clone 1000 -> 68/1, 196/1", "+ $pre.node $MULTICAST_NODE_ID=33768 -> $DEV_PORT=[68 196]", "+ $pre.mgid $MGID=33768")
	} else if code == 0 || !strings.Contains(text, "Ports 4 in pipeline 0, 1 to 3 in pipeline 1. In pipeline 1 they fit with --panel 1=1/0 --panel 2=2/0 --panel 3=3/0 --panel 4=4/0") {
		t.Errorf("exit code %d: %s", code, text)
	}
	// Without PFC between switches.
	wedges := network
	network = filepath.Join(t.TempDir(), "hosts-only.yaml")
	if err := os.WriteFile(network, []byte(strings.Replace(tofinoNetwork, "xoff: 256KB", "xoff: 256KB, hosts_only: true", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	text, code = apply("--dry-run", "--diff")
	if profile == "ecmp" {
		want(text, code, "~ $PORT $DEV_PORT=148 -> $RX_PFC_EN_MAP=0 $TX_PFC_EN_MAP=0", "~ $PORT $DEV_PORT=156 -> $RX_PFC_EN_MAP=0 $TX_PFC_EN_MAP=0")
	} else if code == 0 || !strings.Contains(text, "(switch.pfc.hosts_only): remove this line") {
		t.Errorf("exit code %d: %s", code, text)
	}
	network = wedges
	text, code = apply("--panel", "3=4/0")
	if code == 0 || !strings.Contains(text, "ports 3 and 4 of l1 are both") {
		t.Errorf("exit code %d: %s", code, text)
	}
	text, code = apply("--panel", "4=37/0")
	if code == 0 || !strings.Contains(text, "the switch has no port 37/0 of the front panel") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// Over P4Runtime, as with Stratum: the same entries, with the command line's port
// numbers.
func TestCtlApplyForTofino(t *testing.T) {
	_, network := tofinoServer(t)
	dir := compiledForTofino(t, "plb", network)
	packed := filepath.Join(t.TempDir(), "plb.pb")
	must(t, "tofino", "pack", dir, "-o", packed)
	server := new(p4rttest.Server)
	server.DeviceID = 1
	p4rttest.Start(t, server)
	apply := []string{"ctl", "apply", network, "--p4info", filepath.Join(dir, "p4info.txtpb"), "--config", packed,
		"--manifest", filepath.Join(dir, "plb.manifest.json"), "--addr", "l1=" + server.Addr(),
		"--number", "1=132", "--number", "2=140", "--number", "3=148", "--number", "4=4", "--diff"}
	text := must(t, apply...)
	for _, p := range []string{"+ port_number ingress_port=148 -> is_port(port=3)", "+ Forward out_port=4 -> send(port=4)", "+ clone 1000 -> 68/1, 196/1 cos 7 truncate 100"} {
		if !strings.Contains(text, p) {
			t.Errorf("there is no %q in\n%s", p, text)
		}
	}
	if text := must(t, apply...); text != "1 of 1 switches are as desired already\n" {
		t.Errorf("the same again: %s", text)
	}
}

// must runs a command that must succeed, and returns its output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if code := run(args, nil, &out, os.Stderr); code != 0 {
		t.Fatalf("%v: exit code %d", args, code)
	}
	return out.String()
}

// Pack packs the files that p4c writes, under the name of p4c's pipe, in the format of
// p4c's schema.
func TestTofinoPackOfWhatP4CMakes(t *testing.T) {
	_, err := tofino.FindCompiler(os.Getenv("P4C_TOFINO"))
	need.No(t, err)
	need.Time(t, "p4c takes seconds for a program")
	out := t.TempDir()
	dir, packed := filepath.Join(out, "ecmp"), filepath.Join(out, "ecmp.pb")
	must(t, "tofino", "build", "-o", out, "ecmp")
	must(t, "tofino", "pack", dir, "-o", packed, "--pipes", "1")
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(b) == 0 {
			t.Fatalf("%s: %d bytes, %v", name, len(b), err)
		}
		return b
	}
	var manifest struct {
		Programs []struct {
			Name  string `json:"program_name"`
			Pipes []struct {
				Name  string `json:"pipe_name"`
				Files struct {
					Context struct {
						Path string `json:"path"`
					} `json:"context"`
				} `json:"files"`
			} `json:"pipes"`
		} `json:"programs"`
	}
	if err := json.Unmarshal(read("manifest.json"), &manifest); err != nil || len(manifest.Programs) != 1 || len(manifest.Programs[0].Pipes) != 1 {
		t.Fatalf("p4c's manifest: %+v, %v", manifest, err)
	}
	pipe := manifest.Programs[0].Pipes[0]
	b, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	got := new(bfrtpb.ForwardingPipelineConfig)
	if err := proto.Unmarshal(b, got); err != nil {
		t.Fatal(err)
	}
	want := &bfrtpb.ForwardingPipelineConfig{P4Name: strings.TrimSuffix(manifest.Programs[0].Name, ".p4"), BfruntimeInfo: read("bfrt.json"),
		Profiles: []*bfrtpb.ForwardingPipelineConfig_Profile{{ProfileName: pipe.Name, Context: read(pipe.Files.Context.Path),
			Binary: read(filepath.Join(pipe.Name, "tofino.bin")), PipeScope: []uint32{1}}}}
	if !proto.Equal(got, want) {
		t.Errorf("packed %d bytes, want %d", len(b), proto.Size(want))
	}
	address, network := tofinoServer(t)
	testTofinoApply(t, address, network, dir, "ecmp")
}
