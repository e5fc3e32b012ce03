// SPDX-License-Identifier: Apache-2.0

package controlplane

import "fmt"

// EventKind is the kind of an event.
type EventKind uint8

// Kinds of events.
const (
	Connected    EventKind = iota // a stream is open, for the first time or again
	Lost                          // the stream broke, or the switch does not answer
	Retrying                      // an attempt to connect again failed
	Primary                       // this controller has become the primary
	Backup                        // another controller is the primary
	Orphaned                      // there is no primary; the standby takes over
	StreamError                   // the switch refused a packet or digest acknowledgement
	Dropped                       // packets or digests were dropped, since the program did not take them in time
	Reconciled                    // a switch was brought to its desired state, with writes
	NotAsDesired                  // a switch could not be brought to its desired state
	Foreign                       // another controller changed the switch
	Alert                         // the data plane sent a digest
	ClockSet                      // the clock by which the switch counts time was set
)

var eventKinds = [...]string{"connected", "lost", "retrying", "primary", "backup", "orphaned",
	"stream error", "dropped", "reconciled", "not as desired", "foreign write", "alert", "clock set"}

func (k EventKind) String() string { return eventKinds[k] }

// Event is a change that concerns an operator.
type Event struct {
	Switch string
	Kind   EventKind
	Text   string // a sentence without the switch's name: the change, its cause, and what happens next
	Err    error  // the cause, if there is one
}

func (e Event) String() string { return fmt.Sprintf("%s: %s", e.Switch, e.Text) }
