// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package netns

import (
	"context"
	"errors"
	"time"

	"github.com/pauseless/pauseless/testbed/real/local"
)

var errLinux = errors.New("network namespaces need Linux; elsewhere, use virtual time (`pauseless exp run`)")

// Config describes a network.
type Config struct {
	Name             string
	Plan             *local.Plan
	Program          func(s *local.Switch) (program string, args []string, err error)
	QueuePackets     int
	Recirculation    int
	RecirculationPPS int64
	Relay            func(file string) (program string, args []string, err error)
	Progress         func(text string)
}

// Network is a running network, which this system does not support.
type Network struct{ Config }

// Possible returns why networks cannot be built here.
func Possible() error { return errLinux }

// Up fails: this system has no network namespaces.
func Up(context.Context, Config) (*Network, error) { return nil, errLinux }

// StartSwitch starts a switch.
func (n *Network) StartSwitch(context.Context, string) error { return errLinux }

// HostCommands executes the commands of hosts.
func (n *Network) HostCommands(context.Context, func(string)) error { return errLinux }

// KillSwitch kills a switch.
func (n *Network) KillSwitch(string) error { return errLinux }

// Waited returns how long a switch has waited for a processor.
func (n *Network) Waited(string) time.Duration { return 0 }

// Adopt fails.
func Adopt(Config) (*Network, error) { return nil, errLinux }

// RunScripts fails.
func (n *Network) RunScripts() error { return errLinux }

// EndHostCommands does nothing.
func (n *Network) EndHostCommands() {}

// WithinHost fails.
func (n *Network) WithinHost(string, func() error) error { return errLinux }

// DropRoCE fails.
func DropRoCE() error { return errLinux }

// AwaitCarrier fails.
func AwaitCarrier(string) error { return errLinux }

// RunAhead does nothing.
func RunAhead() (end func()) { return func() {} }

// Waited returns how long a process has waited for a processor.
func Waited(int) time.Duration { return 0 }

// Down removes the network.
func (n *Network) Down() error { return errLinux }

// Down removes a network.
func Down(string) error { return errLinux }

// StartController runs a controller as a process of the network.
func (n *Network) StartController(string, []string, error) error { return errLinux }

// Socket sends and receives whole Ethernet frames on one interface.
type Socket struct{}

// Captured is a captured frame.
type Captured struct {
	Time time.Time
	Out  bool
	Data []byte
}

// Open opens an interface.
func Open(namespace, iface string) (*Socket, error) { return nil, errLinux }

// Close closes the socket.
func (s *Socket) Close() error { return errLinux }

// Send sends a frame.
func (s *Socket) Send([]byte) error { return errLinux }

// Read waits for a frame.
func (s *Socket) Read() (Captured, error) { return Captured{}, errLinux }

// Each calls do for every frame.
func (s *Socket) Each(context.Context, func(Captured) bool) error { return errLinux }

// Missed returns how many frames the kernel dropped.
func (s *Socket) Missed() int { return 0 }

// Within runs do on a thread in a network namespace.
func Within(string, func() error) error { return errLinux }
