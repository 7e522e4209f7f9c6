-- A Wireshark dissector for what congestion management puts on the wire and Wireshark does not know yet:
--   CN-TAG  EtherType 0x22e9   the flow that a frame belongs to (802.1Qau)
--   CNM     EtherType 0x22e7   congestion notification message (802.1Qau)
--   CIM     EtherType 0x89a2   congestion isolation message (802.1Qcz), or UDP to the port set in its preferences
--
-- Load it with `tshark -X lua_script:quell.lua`, or put it into Wireshark's folder of personal Lua plugins
-- (Help, About, Folders). Wireshark started by root loads no scripts unless its init.lua says so.
--
-- Every field can be filtered by: cnm.feedback >= 32, cntag.flow == 7, cim.change == 1.

local ether_types = DissectorTable.get("ethertype")
local plain_data = Dissector.get("data")

---------------------------------------------------------------------------------------------------------- CN-TAG

local cntag = Proto("cntag", "Congestion Notification Tag")

local tag = {
    flow = ProtoField.uint16("cntag.flow", "Flow (RPID)", base.DEC),
    ether_type = ProtoField.uint16("cntag.etype", "Type", base.HEX),
}
cntag.fields = tag

local tag_short = ProtoExpert.new("cntag.short", "CN-TAG is cut short", expert.group.MALFORMED, expert.severity.ERROR)
cntag.experts = { tag_short }

-- Complains of what is missing, unless it is the capture that kept too little of the frame.
local function complain(packet, branch, fault)
    if packet.caplen == packet.len then
        branch:add_proto_expert_info(fault)
    end
end

function cntag.dissector(octets, packet, tree)
    if octets:len() < 4 then
        complain(packet, tree:add(cntag, octets()), tag_short)
        return octets:len()
    end
    local flow = octets(0, 2):uint()
    local ether_type = octets(2, 2):uint()
    local branch = tree:add(cntag, octets(0, 4), string.format("Congestion Notification Tag, Flow: %d", flow))
    branch:add(tag.flow, octets(0, 2))
    branch:add(tag.ether_type, octets(2, 2))
    if octets:len() > 4 then
        local rest = octets(4):tvb()
        if ether_types:try(ether_type, rest, packet, tree) == 0 then
            plain_data:call(rest, packet, tree)
        end
    end
    return octets:len()
end

ether_types:add(0x22e9, cntag)

------------------------------------------------------------------------------------------------------------- CNM

local cnm = Proto("cnm", "Congestion Notification Message")

local message = {
    version = ProtoField.uint16("cnm.version", "Version", base.DEC, nil, 0xf000),
    reserved = ProtoField.uint16("cnm.reserved", "Reserved", base.HEX, nil, 0x0fc0),
    feedback = ProtoField.uint16("cnm.feedback", "Quantized Feedback", base.DEC, nil, 0x003f),
    point = ProtoField.bytes("cnm.cpid", "Congestion Point Identifier", base.COLON),
    offset = ProtoField.int16("cnm.qoffset", "Queue Offset (64 octets)", base.DEC),
    delta = ProtoField.int16("cnm.qdelta", "Queue Delta (64 octets)", base.DEC),
    priority = ProtoField.uint16("cnm.priority", "Encapsulated Priority", base.DEC, nil, 0xe000),
    destination = ProtoField.ether("cnm.dst", "Encapsulated Destination"),
    length = ProtoField.uint16("cnm.msdu_length", "Encapsulated MSDU Length", base.DEC),
    msdu = ProtoField.bytes("cnm.msdu", "Encapsulated MSDU"),
}
cnm.fields = message

local cnm_short = ProtoExpert.new("cnm.short", "CNM is cut short", expert.group.MALFORMED, expert.severity.ERROR)
local cnm_version = ProtoExpert.new("cnm.version.unknown", "CNM version is not 0", expert.group.PROTOCOL, expert.severity.WARN)
local cnm_feedback = ProtoExpert.new("cnm.feedback.zero", "Feedback 0 is never sent", expert.group.PROTOCOL, expert.severity.WARN)
local cnm_length = ProtoExpert.new("cnm.msdu_length.wrong", "MSDU length is over 64, or beyond the frame", expert.group.MALFORMED, expert.severity.ERROR)
cnm.experts = { cnm_short, cnm_version, cnm_feedback, cnm_length }

function cnm.dissector(octets, packet, tree)
    packet.cols.protocol = "CNM"
    local branch = tree:add(cnm, octets())
    if octets:len() < 24 then
        complain(packet, branch, cnm_short)
        return octets:len()
    end
    local feedback = octets(0, 2):bitfield(10, 6)
    packet.cols.info = string.format("Congestion notification, feedback %d, offset %d, delta %d octets",
        feedback, octets(10, 2):int() * 64, octets(12, 2):int() * 64)
    branch:append_text(string.format(", Feedback: %d", feedback))
    local version = branch:add(message.version, octets(0, 2))
    if octets(0, 2):bitfield(0, 4) ~= 0 then
        version:add_proto_expert_info(cnm_version)
    end
    branch:add(message.reserved, octets(0, 2))
    local item = branch:add(message.feedback, octets(0, 2))
    if feedback == 0 then
        item:add_proto_expert_info(cnm_feedback)
    end
    branch:add(message.point, octets(2, 8))
    branch:add(message.offset, octets(10, 2)):append_text(string.format(" (%d octets)", octets(10, 2):int() * 64))
    branch:add(message.delta, octets(12, 2)):append_text(string.format(" (%d octets)", octets(12, 2):int() * 64))
    branch:add(message.priority, octets(14, 2))
    branch:add(message.destination, octets(16, 6))
    local length = octets(22, 2):uint()
    local told = branch:add(message.length, octets(22, 2))
    local kept = math.min(length, octets:len() - 24)
    if length > 64 then
        told:add_proto_expert_info(cnm_length)
    elseif kept < length then
        complain(packet, told, cnm_length)
    end
    if length <= 64 and kept > 0 then
        branch:add(message.msdu, octets(24, kept))
    end
    return octets:len()
end

ether_types:add(0x22e7, cnm)

------------------------------------------------------------------------------------------------------------- CIM

local cim = Proto("cim", "Congestion Isolation Message")

local isolation = {
    version = ProtoField.uint8("cim.version", "Version", base.DEC, nil, 0xf0),
    change = ProtoField.uint8("cim.change", "Change", base.DEC, { [0] = "Isolate", [1] = "Release" }, 0x01),
    destination = ProtoField.ether("cim.dst", "Destination of the Flow"),
    source = ProtoField.ether("cim.src", "Source of the Flow"),
    vlan = ProtoField.uint16("cim.vlan", "VLAN of the Flow", base.DEC, nil, 0x0fff),
    length = ProtoField.uint16("cim.msdu_length", "Encapsulated MSDU Length", base.DEC),
    msdu = ProtoField.bytes("cim.msdu", "Encapsulated MSDU"),
}
cim.fields = isolation

local cim_short = ProtoExpert.new("cim.short", "CIM is cut short", expert.group.MALFORMED, expert.severity.ERROR)
local cim_version = ProtoExpert.new("cim.version.unknown", "CIM version is not 0", expert.group.PROTOCOL, expert.severity.WARN)
local cim_length = ProtoExpert.new("cim.msdu_length.wrong", "MSDU length is over 512, or beyond the frame", expert.group.MALFORMED, expert.severity.ERROR)
cim.experts = { cim_short, cim_version, cim_length }

function cim.dissector(octets, packet, tree)
    packet.cols.protocol = "CIM"
    local branch = tree:add(cim, octets())
    if octets:len() < 17 then
        complain(packet, branch, cim_short)
        return octets:len()
    end
    local change = octets(0, 1):bitfield(7, 1) == 0 and "isolate" or "release"
    packet.cols.info = string.format("Congestion isolation, %s %s > %s", change, tostring(octets(7, 6):ether()), tostring(octets(1, 6):ether()))
    local version = branch:add(isolation.version, octets(0, 1))
    if octets(0, 1):bitfield(0, 4) ~= 0 then
        version:add_proto_expert_info(cim_version)
    end
    branch:add(isolation.change, octets(0, 1))
    branch:add(isolation.destination, octets(1, 6))
    branch:add(isolation.source, octets(7, 6))
    branch:add(isolation.vlan, octets(13, 2))
    local length = octets(15, 2):uint()
    local told = branch:add(isolation.length, octets(15, 2))
    local kept = math.min(length, octets:len() - 17)
    if length > 512 then
        told:add_proto_expert_info(cim_length)
    elseif kept < length then
        complain(packet, told, cim_length)
    end
    if length <= 512 and kept > 0 then
        branch:add(isolation.msdu, octets(17, kept))
    end
    return octets:len()
end

ether_types:add(0x89a2, cim)

-- Each bridge chooses its own UDP port and advertises it by LLDP, so Wireshark has to be told.
cim.prefs.port = Pref.uint("UDP port", 0, "The port that congestion isolation messages are sent to; 0 for none")
local udp_ports = DissectorTable.get("udp.port")
local port_in_use = 0

function cim.prefs_changed()
    if port_in_use ~= 0 then
        udp_ports:remove(port_in_use, cim)
    end
    port_in_use = cim.prefs.port
    if port_in_use ~= 0 then
        udp_ports:add(port_in_use, cim)
    end
end
