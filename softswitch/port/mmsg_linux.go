// SPDX-License-Identifier: Apache-2.0

package port

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/pauseless/pauseless/internal/packet"
	"golang.org/x/sys/unix"
)

// recvmmsg and sendmmsg transfer several frames per call. Package unix has no
// functions for them.

// outMsgs and inMsgs limit the frames of one call. A received frame needs a
// buffer for the longest that the kernel may deliver: 2 MB per switch, whatever
// its ports.
const (
	outMsgs = batchFrames
	inMsgs  = 32
)

// mmsghdr is struct mmsghdr: a message with the number of received bytes.
type mmsghdr struct {
	unix.Msghdr
	n uint32
}

// mmsg calls recvmmsg or sendmmsg on a nonblocking socket; hence the raw system
// call, which bypasses Go's scheduler. It returns the number of messages. An
// error is that of the first message.
func mmsg(call uintptr, fd int, msgs []mmsghdr) (int, error) {
	n, _, errno := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&msgs[0])), uintptr(len(msgs)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// inbox is memory for received frames.
type inbox struct {
	msgs [inMsgs]mmsghdr
	iovs [inMsgs]unix.Iovec
	oobs [inMsgs][64]byte // auxiliary data
	bufs []byte           // a virtio_net_hdr and a frame each
	cut  *Batch           // frames with pending offloads
}

const inboxFrame = vnetLen + maxFrame

func newInbox() *inbox {
	in := &inbox{bufs: make([]byte, inMsgs*inboxFrame), cut: &Batch{}}
	for i := range in.msgs {
		in.iovs[i].Base = &in.bufs[i*inboxFrame]
		in.iovs[i].SetLen(inboxFrame)
		m := &in.msgs[i]
		m.Iov, m.Control = &in.iovs[i], &in.oobs[i][0]
		m.SetIovlen(1)
		m.SetControllen(len(in.oobs[i]))
	}
	return in
}

// receive receives the frames queued at a link, and returns their number.
func (in *inbox) receive(l *ifLink) (int, error) {
	n, err := mmsg(unix.SYS_RECVMMSG, l.fd, in.msgs[:])
	switch {
	case err == nil, errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return n, nil
	}
	return 0, fmt.Errorf("interface %s: %w", l.name, err)
}

// frames appends the frames of n messages to a list, and resets the messages.
// The frames are valid until the next call of receive.
func (in *inbox) frames(n int, list [][]byte) [][]byte {
	in.cut.reset()
	for i := range n {
		m := &in.msgs[i]
		data, oob := in.bufs[i*inboxFrame:][:m.n], in.oobs[i][:m.Controllen]
		m.SetControllen(len(in.oobs[i]))
		if len(data) < vnetLen+packet.EthernetLen {
			continue
		}
		head, frame := data[:vnetLen], data[vnetLen:]
		if tag, ok := vlanTag(oob); ok {
			frame = insertTag(frame, tag)
		}
		if complete(head) {
			list = append(list, frame)
			continue
		}
		first := in.cut.Len()
		finishOffload(head, frame, in.cut)
		for j := first; j < in.cut.Len(); j++ {
			list = append(list, in.cut.Frame(j))
		}
	}
	return list
}

// outbox is memory for frames to send.
type outbox struct {
	msgs [outMsgs]mmsghdr
	iovs [outMsgs]unix.Iovec
}

func newOutbox() *outbox {
	o := &outbox{}
	for i := range o.msgs {
		o.msgs[i].Iov = &o.iovs[i]
		o.msgs[i].SetIovlen(1)
	}
	return o
}

// fill fills the messages with frames and returns the number of frames.
func (o *outbox) fill(frames []*packet.Frame) int {
	n := min(len(frames), outMsgs)
	for i, f := range frames[:n] {
		data := f.Data
		if f.Elided > 0 {
			data = wire(f)
		}
		o.iovs[i].Base = unsafe.SliceData(data)
		o.iovs[i].SetLen(len(data))
	}
	return n
}
