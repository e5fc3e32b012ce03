// SPDX-License-Identifier: Apache-2.0

package bmv2_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/pauseless/pauseless/internal/bmv2"
)

// FuzzAnswers: whatever a server answers, a call ends with an error or a value,
// and allocates no more than the answer's size.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("\x80\x01\x00\x02\x7f\xff\xff\xff"))
	f.Add([]byte("\x80\x01\x00\x02\x00\x00\x00\x11bm_mt_get_all\x00\x00\x00\x00\x00\x00\x01\x0f\x00\x00\x0a\x7f\xff\xff\xff\x00"))
	f.Add([]byte("\x80\x01\x00\x02\x00\x00\x00\x14bm_register_read_all\x00\x00\x00\x01\x0f\x00\x00\x0a\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00"))
	f.Add([]byte("\x80\x01\x00\x03\x00\x00\x00\x01x\x00\x00\x00\x01\x0b\x00\x01\x00\x00\x00\x02no\x00"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Skip("SKIP: needs a free TCP port of the loopback interface: ", err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.SetDeadline(time.Now().Add(time.Second))
				c.Write(answer)
				c.(*net.TCPConn).SetLinger(0)
				c.(*net.TCPConn).CloseWrite()
				c.Read(make([]byte, 1<<12))
				c.Close()
			}
		}()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, call := range []func(*bmv2.Client) error{
			func(c *bmv2.Client) error { _, err := c.ReadRegister(ctx, "x"); return err },
			func(c *bmv2.Client) error { _, err := c.Ports(ctx); return err },
			func(c *bmv2.Client) error { _, err := c.Elapsed(ctx); return err },
		} {
			c, err := bmv2.Dial(l.Addr().String(), time.Second)
			if err != nil {
				continue
			}
			call(c)
			c.Close()
		}
		if ctx.Err() != nil {
			t.Fatal("the calls took a minute")
		}
	})
}
