// SPDX-License-Identifier: Apache-2.0

package bmv2_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pauseless/pauseless/internal/bmv2"

	"github.com/apache/thrift/lib/go/thrift"
)

// server is a fake of BMv2 with the interface in bmv2.thrift. It reads calls
// with the Thrift library alone, without the client's code.
type server struct {
	mu    sync.Mutex
	cells map[string][]int64
	calls []string // service:method(arguments)
	fail  int32    // result of queue calls
	// starting is the number of calls that are answered as by BMv2 before its
	// services are registered.
	starting int
}

func start(t *testing.T) (*server, *bmv2.Client) {
	t.Helper()
	s := &server{cells: map[string][]int64{"ingress.Readqlen": {1, 2, -1}}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			go s.serve(conn)
		}
	}()
	c, err := bmv2.Dial(l.Addr().String(), 2*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return s, c
}

func (s *server) serve(conn net.Conn) {
	ctx := context.Background()
	conf := &thrift.TConfiguration{}
	p := thrift.NewTBinaryProtocolConf(thrift.NewTBufferedTransport(thrift.NewTSocketFromConnConf(conn, conf), 4096), conf)
	for {
		name, _, seq, err := p.ReadMessageBegin(ctx)
		if err != nil {
			conn.Close()
			return
		}
		args := readArgs(ctx, p)
		p.ReadMessageEnd(ctx)
		_, method, _ := strings.Cut(name, ":")
		typ := thrift.REPLY
		if !slices.Contains(known, method) {
			typ = thrift.EXCEPTION
		}
		s.mu.Lock()
		if s.starting > 0 {
			s.starting--
			method = ""
		}
		s.mu.Unlock()
		p.WriteMessageBegin(ctx, method, thrift.TMessageType(typ), seq)
		if typ == thrift.EXCEPTION {
			thrift.NewTApplicationException(thrift.UNKNOWN_METHOD, "unknown method "+method).Write(ctx, p)
		} else {
			s.answer(ctx, p, name, args)
		}
		p.WriteMessageEnd(ctx)
		p.Flush(ctx)
		s.mu.Lock()
		drop := len(args) > 1 && args[1] == "hang up"
		s.mu.Unlock()
		if drop {
			conn.Close()
			return
		}
	}
}

var known = []string{"bm_register_read_all", "bm_register_write_range", "bm_register_reset", "bm_dev_mgr_show_ports", "get_time_elapsed_us",
	"set_egress_priority_queue_depth", "set_egress_queue_depth", "set_all_egress_queue_depths",
	"set_egress_priority_queue_rate", "set_egress_queue_rate", "set_all_egress_queue_rates"}

func readArgs(ctx context.Context, p thrift.TProtocol) (args []any) {
	p.ReadStructBegin(ctx)
	for {
		_, typ, _, err := p.ReadFieldBegin(ctx)
		if err != nil || typ == thrift.STOP {
			p.ReadStructEnd(ctx)
			return args
		}
		var v any
		switch typ {
		case thrift.I32:
			v, _ = p.ReadI32(ctx)
		case thrift.I64:
			v, _ = p.ReadI64(ctx)
		case thrift.STRING:
			v, _ = p.ReadString(ctx)
		}
		args = append(args, v)
		p.ReadFieldEnd(ctx)
	}
}

func (s *server) answer(ctx context.Context, p thrift.TProtocol, name string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name+fmt.Sprint(args))
	field := func(typ thrift.TType, id int16, write func()) {
		p.WriteStructBegin(ctx, "result")
		p.WriteFieldBegin(ctx, "", typ, id)
		write()
		p.WriteFieldEnd(ctx)
		p.WriteFieldStop(ctx)
		p.WriteStructEnd(ctx)
	}
	void := func() {
		p.WriteStructBegin(ctx, "result")
		p.WriteFieldStop(ctx)
		p.WriteStructEnd(ctx)
	}
	refuse := func(code int32) {
		field(thrift.STRUCT, 1, func() { field(thrift.I32, 1, func() { p.WriteI32(ctx, code) }) })
	}
	service, method, _ := strings.Cut(name, ":")
	var cells []int64
	if service == "standard" && len(args) > 1 {
		if cells = s.cells[args[1].(string)]; cells == nil {
			refuse(1)
			return
		}
	}
	switch method {
	case "bm_register_read_all":
		field(thrift.LIST, 0, func() {
			p.WriteListBegin(ctx, thrift.I64, len(cells))
			for _, v := range cells {
				p.WriteI64(ctx, v)
			}
			p.WriteListEnd(ctx)
		})
	case "bm_register_write_range":
		first, end := int(args[2].(int32)), int(args[3].(int32))
		if end > len(cells) {
			refuse(2)
			return
		}
		for i := first; i < end; i++ {
			cells[i] = args[4].(int64)
		}
		void()
	case "bm_register_reset":
		clear(cells)
		void()
	case "bm_dev_mgr_show_ports":
		field(thrift.LIST, 0, func() {
			p.WriteListBegin(ctx, thrift.STRUCT, 2)
			for i := range 2 {
				p.WriteStructBegin(ctx, "DevMgrPortInfo")
				p.WriteFieldBegin(ctx, "", thrift.I32, 1)
				p.WriteI32(ctx, int32(i+1))
				p.WriteFieldBegin(ctx, "", thrift.STRING, 2)
				p.WriteString(ctx, fmt.Sprintf("veth%d", i))
				p.WriteFieldBegin(ctx, "", thrift.BOOL, 3)
				p.WriteBool(ctx, i == 0)
				p.WriteFieldBegin(ctx, "", thrift.MAP, 4)
				p.WriteMapBegin(ctx, thrift.STRING, thrift.STRING, 1)
				p.WriteString(ctx, "k")
				p.WriteString(ctx, "v")
				p.WriteMapEnd(ctx)
				p.WriteFieldStop(ctx)
				p.WriteStructEnd(ctx)
			}
			p.WriteListEnd(ctx)
		})
	case "get_time_elapsed_us":
		field(thrift.I64, 0, func() { p.WriteI64(ctx, 123456) })
	default:
		field(thrift.I32, 0, func() { p.WriteI32(ctx, s.fail) })
	}
}

func TestRegistersAreReadAndWritten(t *testing.T) {
	ctx := t.Context()
	_, c := start(t)
	read := func(want ...uint64) {
		t.Helper()
		if got, err := c.ReadRegister(ctx, "ingress.Readqlen"); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	read(1, 2, 1<<64-1)
	if err := c.WriteRegister(ctx, "ingress.Readqlen", 1, 2, 9); err != nil {
		t.Fatal(err)
	}
	read(1, 9, 9)
	if err := c.ResetRegister(ctx, "ingress.Readqlen"); err != nil {
		t.Fatal(err)
	}
	read(0, 0, 0)
	if _, err := c.ReadRegister(ctx, "x"); err == nil || err.Error() != `BMv2 has no register array "x"` {
		t.Errorf("got %v", err)
	}
	if err := c.WriteRegister(ctx, "ingress.Readqlen", 3, 3, 1); err == nil || err.Error() != `index is beyond the end of register array "ingress.Readqlen"` {
		t.Errorf("got %v", err)
	}
}

func TestQueuesPortsAndClock(t *testing.T) {
	ctx := t.Context()
	s, c := start(t)
	for _, err := range []error{
		c.SetQueueDepth(ctx, bmv2.Queue{bmv2.All, bmv2.All}, 100),
		c.SetQueueDepth(ctx, bmv2.Queue{3, bmv2.All}, 100),
		c.SetQueueDepth(ctx, bmv2.Queue{3, 7}, 100),
		c.SetQueueRate(ctx, bmv2.Queue{bmv2.All, bmv2.All}, 1000),
		c.SetQueueRate(ctx, bmv2.Queue{3, bmv2.All}, 1000),
		c.SetQueueRate(ctx, bmv2.Queue{3, 0}, 1000),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := []string{
		"simple_switch:set_all_egress_queue_depths[100]",
		"simple_switch:set_egress_queue_depth[3 100]",
		"simple_switch:set_egress_priority_queue_depth[3 7 100]",
		"simple_switch:set_all_egress_queue_rates[1000]",
		"simple_switch:set_egress_queue_rate[3 1000]",
		"simple_switch:set_egress_priority_queue_rate[3 0 1000]",
	}
	if !slices.Equal(s.calls, want) {
		t.Errorf("got %v", s.calls)
	}
	if us, err := c.Elapsed(ctx); err != nil || us != 123456 {
		t.Errorf("got %d, %v", us, err)
	}
	ports, err := c.Ports(ctx)
	if err != nil || !slices.Equal(ports, []bmv2.Port{{1, "veth0", true}, {2, "veth1", false}}) {
		t.Errorf("got %v, %v", ports, err)
	}
	s.mu.Lock()
	s.fail = 1
	s.mu.Unlock()
	if err := c.SetQueueDepth(ctx, bmv2.Queue{bmv2.All, 0}, 1); err == nil || !strings.Contains(err.Error(), "BMv2 returned error code 1") {
		t.Errorf("got %v", err)
	}
}

func TestABrokenConnectionIsOpenedAgain(t *testing.T) {
	ctx := t.Context()
	s, c := start(t)
	s.mu.Lock()
	s.cells["hang up"] = []int64{1}
	s.mu.Unlock()
	if _, err := c.ReadRegister(ctx, "hang up"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadRegister(ctx, "ingress.Readqlen"); err != nil {
		t.Error(err)
	}
}

func TestAClientWaitsForTheSwitchBehindTheServer(t *testing.T) {
	s, c := start(t)
	s.mu.Lock()
	s.starting = 3
	s.mu.Unlock()
	if err := c.SetQueueDepth(t.Context(), bmv2.Queue{Port: 1, Priority: bmv2.All}, 1); err == nil || !strings.Contains(err.Error(), "wrong method name") {
		t.Errorf("while the switch starts: %v", err)
	}
	if err := c.Await(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.ReadRegister(t.Context(), "ingress.Readqlen"); err != nil {
		t.Error(err)
	}
}

func TestGarbageIsAnError(t *testing.T) {
	for _, garbage := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "\x80\x01\x00\x02\x7f\xff\xff\xff", "\x00"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				conn.Write([]byte(garbage))
				conn.Close()
			}
		}()
		c, err := bmv2.Dial(l.Addr().String(), 2*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadRegister(t.Context(), "x"); err == nil {
			t.Errorf("%q is taken for an answer", garbage)
		}
		c.Close()
		l.Close()
	}
	if _, err := bmv2.Dial("127.0.0.1:1", bmv2.Timeout); err == nil || !strings.Contains(err.Error(), "no Thrift server at 127.0.0.1:1") || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The client and bmv2.thrift have the same methods with the same arguments.
func TestTheClientSpeaksItsInterfaceDefinition(t *testing.T) {
	idl, err := os.ReadFile("bmv2.thrift")
	if err != nil {
		t.Fatal(err)
	}
	goText, err := os.ReadFile("calls.go")
	if err != nil {
		t.Fatal(err)
	}
	method := regexp.MustCompile(`(?m)^  \S.* (\w+)\((.*?)\)(?: throws.*)?$`)
	var defined []string
	for _, m := range method.FindAllStringSubmatch(string(idl), -1) {
		defined = append(defined, m[1])
		if !strings.Contains(string(goText), `"`+m[1]+`"`) {
			t.Errorf("calls.go does not call %s", m[1])
		}
		for i, arg := range strings.Split(m[2], ", ") {
			if arg != "" && !strings.HasPrefix(arg, fmt.Sprintf("%d: ", i+1)) {
				t.Errorf("argument %q of %s is not number %d", arg, m[1], i+1)
			}
		}
	}
	slices.Sort(defined)
	want := slices.Clone(known)
	slices.Sort(want)
	if !slices.Equal(defined, want) {
		t.Errorf("bmv2.thrift has %v\nthe server here has %v", defined, want)
	}
}
