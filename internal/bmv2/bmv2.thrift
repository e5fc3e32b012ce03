// SPDX-License-Identifier: Apache-2.0

// What pauseless needs of BMv2's Thrift interface: registers, which BMv2 does
// not serve over P4Runtime, and egress queues, ports and clock, for which
// P4Runtime has no words. Tables belong to P4Runtime and are not here.
//
// client.go speaks exactly this; a test compares the two. Services are
// multiplexed under the names "standard" and "simple_switch".

exception InvalidRegisterOperation { 1: i32 code }
exception InvalidDevMgrOperation { 1: i32 code }

struct DevMgrPortInfo {
  1: i32 port_num
  2: string iface_name
  3: bool is_up
  4: map<string, string> extra
}

service Standard {
  list<i64> bm_register_read_all(1: i32 cxt_id, 2: string register_array_name) throws (1: InvalidRegisterOperation ouch)
  // The cells from start_index up to, not including, end_index.
  void bm_register_write_range(1: i32 cxt_id, 2: string register_array_name, 3: i32 start_index, 4: i32 end_index, 5: i64 value) throws (1: InvalidRegisterOperation ouch)
  void bm_register_reset(1: i32 cxt_id, 2: string register_array_name) throws (1: InvalidRegisterOperation ouch)
  list<DevMgrPortInfo> bm_dev_mgr_show_ports() throws (1: InvalidDevMgrOperation ouch)
}

service SimpleSwitch {
  // Return 0 if all went well. A depth counts packets, a rate packets per
  // second, with 0 for no limit.
  i32 set_egress_priority_queue_depth(1: i32 port_num, 2: i32 priority, 3: i32 depth_pkts)
  i32 set_egress_queue_depth(1: i32 port_num, 2: i32 depth_pkts)
  i32 set_all_egress_queue_depths(1: i32 depth_pkts)
  i32 set_egress_priority_queue_rate(1: i32 port_num, 2: i32 priority, 3: i64 rate_pps)
  i32 set_egress_queue_rate(1: i32 port_num, 2: i64 rate_pps)
  i32 set_all_egress_queue_rates(1: i64 rate_pps)
  i64 get_time_elapsed_us()
}
