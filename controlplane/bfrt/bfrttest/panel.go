// SPDX-License-Identifier: Apache-2.0

package bfrttest

import (
	"encoding/binary"
	"fmt"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
)

// PutPanel adds front panel ports to the switch: channel 0 of each, by its
// number, and the target's number. Eight of them share a port group of the
// traffic manager, with eight queues each.
func (s *Server) PutPanel(ports map[int]int) error {
	for panel, port := range ports {
		var queues []uint32
		for i := range 8 {
			queues = append(queues, uint32(port%8*8+i))
		}
		for _, e := range []struct {
			table string
			key   []int
			data  map[string]*bfrtpb.DataField
		}{
			{"$PORT_HDL_INFO", []int{panel, 0}, map[string]*bfrtpb.DataField{
				"$DEV_PORT": {Value: &bfrtpb.DataField_Stream{Stream: binary.BigEndian.AppendUint32(nil, uint32(port))}}}},
			{"tf1.tm.port.cfg", []int{port}, map[string]*bfrtpb.DataField{
				"pg_id":             {Value: &bfrtpb.DataField_Stream{Stream: []byte{byte(port % 128 / 8)}}},
				"egress_qid_queues": {Value: &bfrtpb.DataField_IntArrVal{IntArrVal: &bfrtpb.DataField_IntArray{Val: queues}}}}},
		} {
			t, err := s.deviceTable(e.table)
			if err != nil {
				return err
			}
			x := &bfrtpb.TableEntry{TableId: t.ID, Key: new(bfrtpb.TableKey), Data: new(bfrtpb.TableData)}
			for i, v := range e.key {
				x.Key.Fields = append(x.Key.Fields, &bfrtpb.KeyField{FieldId: t.Key[i].ID, MatchType: &bfrtpb.KeyField_Exact_{
					Exact: &bfrtpb.KeyField_Exact{Value: binary.BigEndian.AppendUint32(nil, uint32(v))}}})
			}
			for _, f := range t.DataFields(nil) {
				if d := e.data[f.Name]; d != nil {
					d.FieldId = f.ID
					x.Data.Fields = append(x.Data.Fields, d)
				}
			}
			s.Put(x)
		}
	}
	return nil
}

// deviceTable finds a table of the device.
func (s *Server) deviceTable(name string) (*bfrt.Table, error) {
	info, err := bfrt.ParseInfo(s.device)
	if err != nil {
		return nil, err
	}
	t, err := info.Table(name)
	if err != nil {
		return nil, fmt.Errorf("the device: %w", err)
	}
	return t, nil
}
