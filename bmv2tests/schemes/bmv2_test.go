// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	bmv2client "github.com/pauseless/pauseless/controlplane/bmv2"
	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/internal/need"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
)

// bmv2 is simple_switch_grpc. Frames go in and out over its dataplane
// service, so that no interfaces and no privileges are needed.
type bmv2 struct {
	t      testing.TB
	binary string
	thrift *bmv2client.Client
	data   *grpc.ClientConn
	out    []frame
}

func newBMv2(t *testing.T) *bmv2 {
	t.Helper()
	return &bmv2{t: t, binary: need.Tool(t, "BMV2", "simple_switch_grpc")}
}

func (b *bmv2) options() intent.Options { return intent.Options{NoCloneClass: true} }

func (b *bmv2) arch() string { return "v1model" }

func (b *bmv2) start(t testing.TB, _ int) controlplane.Target {
	t.Helper()
	p4rt, data, thrift := freeAddr(t), freeAddr(t), freeAddr(t)
	_, thriftPort, _ := net.SplitHostPort(thrift)
	cmd := exec.Command(b.binary, "--no-p4", "--device-id", "1", "--thrift-port", thriftPort, "--",
		"--grpc-server-addr", p4rt, "--dp-grpc-server-addr", data, "--cpu-port", "510", "--priority-queues", "8")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for _, addr := range []string{p4rt, data, thrift} {
		eventually(t, "simple_switch_grpc does not listen on "+addr, func() bool {
			c, err := net.Dial("tcp", addr)
			if err == nil {
				c.Close()
			}
			return err == nil
		})
	}
	var err error
	if b.thrift, err = bmv2client.Dial(thrift); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.thrift.Close() })
	b.data, err = grpc.NewClient(data, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.data.Close() })
	return controlplane.Target{Name: "dut", Addr: p4rt, DeviceID: 1, Thrift: thrift}
}

// send opens a stream for one frame: BMv2 ends it when all that follows from
// the frame has been done.
func (b *bmv2) send(port int, data []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	stream, err := b.data.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/p4.bm.DataplaneInterface/PacketStream")
	if err != nil {
		b.t.Fatal(err)
	}
	m := encodeFrame(frame{port, data})
	if err := stream.SendMsg(&m); err != nil {
		b.t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		b.t.Fatal(err)
	}
	for {
		var m []byte
		if err := stream.RecvMsg(&m); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			b.t.Fatal(err)
		}
		f, err := decodeFrame(m)
		if err != nil {
			b.t.Fatal(err)
		}
		b.out = append(b.out, f)
	}
}

func (b *bmv2) sent() []frame {
	out := b.out
	b.out = nil
	return inOrder(out)
}

func (b *bmv2) now() uint32 {
	us, err := b.thrift.Elapsed(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	return uint32(us)
}

func (b *bmv2) wait(us int) { time.Sleep(time.Duration(us) * time.Microsecond) }

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// rawCodec passes messages on as bytes: there are two, and no stubs for them
// in any Go module.
type rawCodec struct{}

func (rawCodec) Name() string                       { return "proto" }
func (rawCodec) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = slices.Clone(data); return nil }

// Fields of PacketStreamRequest and PacketStreamResponse in BMv2's
// dataplane_interface.proto.
const (
	fieldDevice = 2
	fieldPort   = 3
	fieldPacket = 4
)

func encodeFrame(f frame) []byte {
	b := protowire.AppendTag(nil, fieldDevice, protowire.VarintType)
	b = protowire.AppendVarint(b, 1)
	b = protowire.AppendTag(b, fieldPort, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(f.port))
	b = protowire.AppendTag(b, fieldPacket, protowire.BytesType)
	return protowire.AppendBytes(b, f.data)
}

func decodeFrame(m []byte) (f frame, err error) {
	for len(m) > 0 {
		num, typ, n := protowire.ConsumeTag(m)
		if n < 0 {
			return f, protowire.ParseError(n)
		}
		m = m[n:]
		switch {
		case num == fieldPort && typ == protowire.VarintType:
			v, k := protowire.ConsumeVarint(m)
			f.port, n = int(v), k
		case num == fieldPacket && typ == protowire.BytesType:
			v, k := protowire.ConsumeBytes(m)
			f.data, n = slices.Clone(v), k
		default:
			n = protowire.ConsumeFieldValue(num, typ, m)
		}
		if n < 0 {
			return f, fmt.Errorf("field %d: %w", num, protowire.ParseError(n))
		}
		m = m[n:]
	}
	return f, nil
}
