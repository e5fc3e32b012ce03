-- SPDX-License-Identifier: Apache-2.0
--
-- A Wireshark dissector for what pauseless puts on the wire beside RoCEv2 and
-- PFC: the header between leaves (EtherType 0x88b5), messages of switches and
-- tags of hosts (0x88b6), PB-FS postcards (UDP port 54792), HPCC's telemetry (UDP
-- port 54791) and PINT's digest (UDP port 54793).
--
--   pauseless wireshark >pauseless.lua
--   wireshark -X lua_script:pauseless.lua capture.pcap
--
-- or put it into Wireshark's folder of personal Lua plugins.

local ethertype = DissectorTable.get("ethertype")
local udp_port = DissectorTable.get("udp.port")
local on_off = {[0] = "no longer", [1] = "from now on"}

-- next_layer hands the rest to the dissector of an EtherType.
local function next_layer(kind, buf, pinfo, tree)
	local d = ethertype:get_dissector(kind)
	if d and buf:len() > 0 then d:call(buf:tvb(), pinfo, tree) end
end

-- The header between leaves. Its first five bytes are always the same; what
-- follows depends on the program, and shows in the header's length, which no
-- two programs share.

local fabric = Proto("pauseless", "pauseless header between leaves")
local f = {
	type = ProtoField.uint16("pauseless.ether_type", "EtherType of what follows", base.HEX),
	src = ProtoField.uint16("pauseless.src_leaf", "Source leaf"),
	path = ProtoField.uint8("pauseless.path", "Path that the source leaf chose"),
	stamped = ProtoField.bool("pauseless.stamped", "Stamped", 8, nil, 0x80),
	echoed = ProtoField.bool("pauseless.echoed", "Echoed", 8, nil, 0x40),
	stamp = ProtoField.uint32("pauseless.stamp", "Stamp, when it passed the source leaf"),
	echo_path = ProtoField.uint8("pauseless.echo_path", "Path of the echo"),
	echo = ProtoField.uint32("pauseless.echo", "Echo, a stamp of the other direction"),
	dst = ProtoField.uint16("pauseless.dst_leaf", "Destination leaf"),
	probe = ProtoField.uint8("pauseless.probe", "Probe, ends at the destination leaf"),
	load = ProtoField.uint8("pauseless.load", "Largest load of the links so far, of 255"),
	echo_load = ProtoField.uint8("pauseless.echo_load", "Load of the echoed packet"),
	tolerable = ProtoField.uint32("pauseless.tolerable", "Delay that the path may still cost"),
	congestion = ProtoField.uint8("pauseless.congestion", "Largest congestion of the links so far"),
	fed_path = ProtoField.uint8("pauseless.fed_path", "Path that feedback is about, plus one"),
	fed_value = ProtoField.uint8("pauseless.fed_value", "Its congestion"),
	packet = ProtoField.uint8("pauseless.kind", "Kind of the packet (ConWeave)", base.HEX),
	epoch = ProtoField.uint8("pauseless.epoch", "Epoch"),
	mark = ProtoField.uint32("pauseless.mark", "Time at the source leaf, or of TAIL; in answers the flow"),
	rest = ProtoField.bytes("pauseless.rest", "Fields of the scheme"),
}
fabric.fields = f

local function rtt(t, buf, at)
	t:add(f.stamped, buf(at, 1)); t:add(f.echoed, buf(at, 1)); t:add(f.stamp, buf(at + 1, 4))
	t:add(f.echo_path, buf(at + 5, 1)); t:add(f.echo, buf(at + 6, 4))
	return at + 10
end
local function plb(t, buf, at)
	t:add(f.dst, buf(at, 2)); t:add(f.probe, buf(at + 2, 1)); t:add(f.load, buf(at + 3, 1))
	t:add(f.echo_load, buf(at + 4, 1)); t:add(f.tolerable, buf(at + 5, 4))
	return at + 9
end
local function conga(t, buf, at)
	t:add(f.congestion, buf(at, 1)); t:add(f.fed_path, buf(at + 1, 1)); t:add(f.fed_value, buf(at + 2, 1))
	return at + 3
end
local function conweave(t, buf, at)
	t:add(f.packet, buf(at, 1)); t:add(f.epoch, buf(at + 1, 1)); t:add(f.mark, buf(at + 2, 4))
	return at + 6
end
local layouts = {[5] = {}, [8] = {conga}, [11] = {conweave}, [14] = {plb}, [15] = {rtt}, [18] = {rtt, conga}, [24] = {rtt, plb}}

-- ipv4 reports whether an IPv4 header begins at a place: its lengths fit the frame,
-- and its checksum is right, or its protocol is UDP. The second result is true for a
-- right checksum.
local function ipv4(buf, at, reported)
	if buf:len() < at + 20 then return false end
	local first, total = buf(at, 1):uint(), buf(at + 2, 2):uint()
	local length = 4 * (first % 16)
	if math.floor(first / 16) ~= 4 or length < 20 or total < length or total > reported - at then return false end
	local sum = 0
	for i = 0, math.min(length, buf:len() - at) - 2, 2 do sum = sum + buf(at + i, 2):uint() end
	while sum > 0xffff do sum = sum % 0x10000 + math.floor(sum / 0x10000) end
	local right = sum == 0xffff and buf:len() >= at + length
	return right or buf(at + 9, 1):uint() == 17, right
end

-- ipv6 and arp do the same for an IPv6 header and for a message of ARP.
local function ipv6(buf, at, reported)
	return buf:len() >= at + 40 and math.floor(buf(at, 1):uint() / 16) == 6 and buf(at + 4, 2):uint() + 40 <= reported - at
end
local function arp(buf, at)
	return buf:len() >= at + 8 and buf(at, 4):uint() == 0x00010800 and buf(at + 4, 2):uint() == 0x0604
end

-- header_length finds where what follows begins: at what the EtherType says, or at a
-- host's tag before it. A right checksum counts more than a length that fits.
local function header_length(kind, buf, reported)
	local likely
	for _, n in ipairs({5, 8, 11, 14, 15, 18, 24}) do
		local at, what = n, kind
		if kind == 0x88b6 and buf:len() > n + 8 and buf(n, 1):uint() == 0x10 then at, what = n + 8, buf(n + 6, 2):uint() end
		if what == 0x0800 then
			local is, right = ipv4(buf, at, reported)
			if right then return n end
			if is then likely = likely or n end
		end
		if what == 0x86dd and ipv6(buf, at, reported) then likely = likely or n end
		if what == 0x0806 and arp(buf, at) then return n end
	end
	if likely then return likely end
	-- Nothing follows: a probe. PLB's is the only one.
	if kind ~= 0x0800 and kind ~= 0x0806 and kind ~= 0x86dd and kind ~= 0x88b6 then
		if buf:len() >= 24 then return 24 end
		if buf:len() >= 14 then return 14 end
	end
	return 5
end

function fabric.dissector(buf, pinfo, tree)
	if buf:len() < 5 then return 0 end
	local kind = buf(0, 2):uint()
	local n = header_length(kind, buf, buf:reported_len())
	pinfo.cols.protocol = "pauseless"
	local t = tree:add(fabric, buf(0, n), string.format("Between leaves, from leaf %d on path %d", buf(2, 2):uint(), buf(4, 1):uint()))
	t:add(f.type, buf(0, 2)); t:add(f.src, buf(2, 2)); t:add(f.path, buf(4, 1))
	local at = 5
	for _, fields in ipairs(layouts[n]) do at = fields(t, buf, at) end
	if n < buf:len() then next_layer(kind, buf(n), pinfo, tree) end
	return buf:len()
end
ethertype:add(0x88b5, fabric)

-- Messages of switches, and tags of hosts. The first byte says which.

local message = Proto("pauseless_message", "pauseless message")
local kinds = {[1] = "warning of a pause", [2] = "kick-out of a path", [0x10] = "tag of a host"}
local m = {
	kind = ProtoField.uint8("pauseless_message.kind", "Kind", base.DEC, kinds),
	class = ProtoField.uint8("pauseless_message.class", "Class that is meant"),
	active = ProtoField.uint8("pauseless_message.active", "Holds", base.DEC, on_off),
	hops = ProtoField.uint8("pauseless_message.hops", "Switches that may still hear of it"),
	origin = ProtoField.uint16("pauseless_message.origin", "Switch that says so"),
	port = ProtoField.uint16("pauseless_message.port", "Its ingress port"),
	scope = ProtoField.uint16("pauseless_message.scope", "Packets to this leaf are meant", base.HEX),
	hold = ProtoField.uint32("pauseless_message.hold", "Counts no longer than this time"),
	path = ProtoField.uint8("pauseless_message.path", "Path"),
	dst = ProtoField.uint16("pauseless_message.dst_leaf", "Destination leaf"),
	host = ProtoField.ipv4("pauseless_message.host", "Host on the leaf that is told"),
	upper = ProtoField.uint8("pauseless_message.upper_path", "Path of the aggregation switch"),
	coflow = ProtoField.uint16("pauseless_message.coflow", "Coflow"),
	type = ProtoField.uint16("pauseless_message.ether_type", "EtherType of what follows", base.HEX),
}
message.fields = m

function message.dissector(buf, pinfo, tree)
	if buf:len() < 1 then return 0 end
	local kind = buf(0, 1):uint()
	local need = ({[1] = 14, [2] = 8, [0x10] = 8})[kind]
	local t = tree:add(message, buf(0, math.min(need or buf:len(), buf:len())))
	t:add(m.kind, buf(0, 1))
	pinfo.cols.protocol = "pauseless"
	if not need or buf:len() < need then return buf:len() end
	if kind == 1 then
		t:add(m.class, buf(1, 1)); t:add(m.active, buf(2, 1)); t:add(m.hops, buf(3, 1)); t:add(m.origin, buf(4, 2))
		t:add(m.port, buf(6, 2)); t:add(m.scope, buf(8, 2)); t:add(m.hold, buf(10, 4))
		pinfo.cols.info = string.format("Warning %s: class %d, switch %d port %d", on_off[buf(2, 1):uint()] or "?", buf(1, 1):uint(), buf(4, 2):uint(), buf(6, 2):uint())
	elseif kind == 2 then
		t:add(m.path, buf(1, 1)); t:add(m.dst, buf(2, 2)); t:add(m.host, buf(4, 4))
		pinfo.cols.info = string.format("Leave path %d to leaf %d", buf(1, 1):uint(), buf(2, 2):uint())
	else
		t:add(m.path, buf(1, 1)); t:add(m.upper, buf(2, 1)); t:add(m.coflow, buf(4, 2)); t:add(m.type, buf(6, 2))
		if buf:len() > 8 then next_layer(buf(6, 2):uint(), buf(8), pinfo, tree) end
	end
	return buf:len()
end
ethertype:add(0x88b6, message)

-- Postcards of PB-FS.

local postcard = Proto("pauseless_postcard", "PB-FS postcard")
local p = {
	version = ProtoField.uint8("pauseless_postcard.version", "Version"),
	switch = ProtoField.uint16("pauseless_postcard.switch", "Switch"),
	qp = ProtoField.uint24("pauseless_postcard.dest_qp", "Destination queue pair of the packet", base.HEX),
	arriving = ProtoField.uint32("pauseless_postcard.arriving", "Bytes seen and expected"),
	queue = ProtoField.uint32("pauseless_postcard.queue", "Bytes queued half a round trip ago"),
	rate = ProtoField.uint32("pauseless_postcard.rate", "Rate of the port, Mbit/s"),
	recent = ProtoField.uint32("pauseless_postcard.recent", "Bytes that came lately"),
	marked = ProtoField.uint32("pauseless_postcard.recent_marked", "Those of marked packets"),
}
postcard.fields = p

function postcard.dissector(buf, pinfo, tree)
	if buf:len() < 28 or buf(0, 1):uint() ~= 1 then return 0 end
	local t = tree:add(postcard, buf(0, 28))
	t:add(p.version, buf(0, 1)); t:add(p.switch, buf(2, 2)); t:add(p.qp, buf(5, 3)); t:add(p.arriving, buf(8, 4))
	t:add(p.queue, buf(12, 4)); t:add(p.rate, buf(16, 4)); t:add(p.recent, buf(20, 4)); t:add(p.marked, buf(24, 4))
	pinfo.cols.protocol = "PB-FS"
	pinfo.cols.info = string.format("Postcard of switch %d: queue %d bytes", buf(2, 2):uint(), buf(12, 4):uint())
	return 28
end
udp_port:add(54792, postcard)

-- Telemetry: HPCC's block between UDP and the transport header.

local telemetry = Proto("pauseless_int", "In-band telemetry")
local i = {
	hops = ProtoField.uint8("pauseless_int.hops", "Records", base.DEC, nil, 0xf0),
	path = ProtoField.uint16("pauseless_int.path", "Path, switches' numbers xored", base.HEX, nil, 0x0fff),
	record = ProtoField.bytes("pauseless_int.record", "Record"),
}
telemetry.fields = i

function telemetry.dissector(buf, pinfo, tree)
	if buf:len() < 42 then return 0 end
	local t = tree:add(telemetry, buf(0, 42))
	t:add(i.hops, buf(0, 1)); t:add(i.path, buf(0, 2))
	for k = 0, math.min(bit.rshift(buf(0, 1):uint(), 4), 5) - 1 do t:add(i.record, buf(2 + 8 * k, 8)) end
	local roce = udp_port:get_dissector(4791)
	if roce and buf:len() > 42 then roce:call(buf(42):tvb(), pinfo, tree) end
	return buf:len()
end
udp_port:add(54791, telemetry)

-- PINT's digest in the same place.

local digest = Proto("pauseless_pint", "PINT's digest")
local digest_code = ProtoField.uint16("pauseless_pint.code", "Utilisation of the busiest link, as a code")
digest.fields = { digest_code }

function digest.dissector(buf, pinfo, tree)
	if buf:len() < 2 then return 0 end
	tree:add(digest, buf(0, 2)):add(digest_code, buf(0, 2))
	local roce = udp_port:get_dissector(4791)
	if roce and buf:len() > 2 then roce:call(buf(2):tvb(), pinfo, tree) end
	return buf:len()
end
udp_port:add(54793, digest)
