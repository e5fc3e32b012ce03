// SPDX-License-Identifier: Apache-2.0

package port

import (
	"unsafe"

	"github.com/pauseless/pauseless/internal/packet"
	"golang.org/x/sys/unix"
)

// The kernel takes and gives several frames a call: recvmmsg and sendmmsg,
// which package unix has no functions for.

// outMsgs and inMsgs are how many frames one call gives or takes at most. A frame
// that is taken needs room for the longest that the kernel may hand over: 1 MB a
// port, which counts against the switch's memory whether it is used or not.
const (
	outMsgs = batchFrames
	inMsgs  = 16
)

// mmsghdr is struct mmsghdr: a message, and how many bytes were received.
type mmsghdr struct {
	unix.Msghdr
	n uint32
}

// mmsg is recvmmsg or sendmmsg on a socket that does not block. It returns how
// many messages there were; an error is that of the first.
func mmsg(call, fd uintptr, msgs []mmsghdr) (int, error) {
	n, _, errno := unix.Syscall6(call, fd, uintptr(unsafe.Pointer(&msgs[0])), uintptr(len(msgs)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// inbox is memory for frames that come in.
type inbox struct {
	msgs [inMsgs]mmsghdr
	iovs [inMsgs]unix.Iovec
	oobs [inMsgs][64]byte // auxiliary data
	bufs []byte           // a virtio_net_hdr and a frame each
}

const inboxFrame = vnetLen + maxFrame

func newInbox() *inbox {
	in := &inbox{bufs: make([]byte, inMsgs*inboxFrame)}
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

// add adds the frame of a message to a batch, and makes room for another.
func (in *inbox) add(i int, b *Batch) {
	m := &in.msgs[i]
	data, oob := in.bufs[i*inboxFrame:][:m.n], in.oobs[i][:m.Controllen]
	m.SetControllen(len(in.oobs[i]))
	if len(data) < vnetLen+packet.EthernetLen {
		return
	}
	frame := data[vnetLen:]
	if tag, ok := vlanTag(oob); ok {
		frame = insertTag(frame, tag)
	}
	finishOffload(data[:vnetLen], frame, b)
}

// outbox is frames that go out.
type outbox struct {
	msgs [outMsgs]mmsghdr
	iovs [outMsgs][2]unix.Iovec
	head [vnetLen]byte // nothing is left undone
}

func newOutbox() *outbox {
	o := &outbox{}
	for i := range o.msgs {
		o.iovs[i][0].Base = &o.head[0]
		o.iovs[i][0].SetLen(vnetLen)
		o.msgs[i].Iov = &o.iovs[i][0]
		o.msgs[i].SetIovlen(2)
	}
	return o
}

// fill takes as many frames as there is room for and returns how many.
func (o *outbox) fill(frames []*packet.Frame) int {
	n := min(len(frames), outMsgs)
	for i, f := range frames[:n] {
		data := f.Data
		if f.Elided > 0 {
			data = wire(f)
		}
		o.iovs[i][1].Base = unsafe.SliceData(data)
		o.iovs[i][1].SetLen(len(data))
	}
	return n
}
