// SPDX-License-Identifier: Apache-2.0

package controlplane

import "fmt"

// EventKind says what happened.
type EventKind uint8

// Kinds of events.
const (
	Connected    EventKind = iota // a stream stands, for the first time or again
	Lost                          // the stream broke, or the switch does not answer
	Retrying                      // an attempt to connect again failed
	Primary                       // this controller may write from now on
	Backup                        // another controller is the primary
	Orphaned                      // there is no primary; the standby takes over
	StreamError                   // the switch refused a packet or digest acknowledgement
	Dropped                       // packets or digests were dropped because nobody took them
	Reconciled                    // a switch was made as desired, with writes
	NotAsDesired                  // a switch could not be made as desired
	Foreign                       // someone else changed the switch
	Alert                         // the data plane sent a digest
	ClockSet                      // someone has set a clock that the switch counts time by
)

var eventKinds = [...]string{"connected", "lost", "retrying", "primary", "backup", "orphaned",
	"stream error", "dropped", "reconciled", "not as desired", "foreign write", "alert", "clock set"}

func (k EventKind) String() string { return eventKinds[k] }

// Event is something an operator should know of.
type Event struct {
	Switch string
	Kind   EventKind
	Text   string // a sentence without the switch's name: what, why, and what happens next
	Err    error  // the cause, if there is one
}

func (e Event) String() string { return fmt.Sprintf("%s: %s", e.Switch, e.Text) }
