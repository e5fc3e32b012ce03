// SPDX-License-Identifier: Apache-2.0

package softswitch

import "github.com/pauseless/pauseless/softswitch/tm"

// Traffic returns the traffic manager, for observation; Number returns the number of one
// of its ports. Observe replaces its watcher.
func (s *Switch) Traffic() *tm.Manager { return s.tm }

// Number returns the number of a port of the traffic manager. internal is true for ports
// without a link: the controller's, and those that recirculate.
func (s *Switch) Number(index int) (number int, internal bool) {
	if index >= len(s.numbers) {
		return 0, true
	}
	return s.numbers[index], s.inside[index] || index == s.cpu
}
