#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Network small in Mininet: 3 switches that run drill-bmv2, 4 hosts.

    sudo ./small.py           a command line: h1 ping h2, pingall, exit
    sudo ./small.py --test    ping between all hosts, and end
    sudo ./small.py --serve   without entries, until the standard input ends

everything runs 5000 times slower than in the topology: 40Gbps are 8Mbps here (1000 packets/s of 1KB); a delay of 2us is 10ms.
Written by pauseless deploy mininet. You may edit it.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import zlib

from mininet.cli import CLI
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Switch

# Name, address, MAC address, switch, port of the switch.
HOSTS = [
    ("h1", "10.0.0.1/8", "02:00:00:00:00:00", "l1", 1),
    ("h2", "10.0.0.2/8", "02:00:00:00:00:01", "l1", 2),
    ("h3", "10.0.1.1/8", "02:00:00:00:00:02", "l2", 1),
    ("h4", "10.0.1.2/8", "02:00:00:00:00:03", "l2", 2),
]

# Switch, port, switch, port.
LINKS = [
    ("l1", 3, "s1", 1),
    ("l2", 3, "s1", 2),
]

# The command that carries frames between the interfaces of links, and its file: the
# topology's delays and rates, slower by the scale, are added there, not by Mininet.
RELAY = ["pauseless", "deploy", "relay", "/run/pauseless/small/relay.json"]
CABLES = "{\"cables\":[{\"interfaces\":[\"l1-eth1h\",\"l1-eth1r\"],\"delay_ns\":10000000,\"rate_bps\":8000000,\"overhead\":0,\"loss\":0},{\"interfaces\":[\"l1-eth2h\",\"l1-eth2r\"],\"delay_ns\":10000000,\"rate_bps\":8000000,\"overhead\":0,\"loss\":0},{\"interfaces\":[\"l2-eth1h\",\"l2-eth1r\"],\"delay_ns\":10000000,\"rate_bps\":8000000,\"overhead\":0,\"loss\":0},{\"interfaces\":[\"l2-eth2h\",\"l2-eth2r\"],\"delay_ns\":10000000,\"rate_bps\":8000000,\"overhead\":0,\"loss\":0},{\"interfaces\":[\"l1-eth3r\",\"s1-eth1r\"],\"delay_ns\":10000000,\"rate_bps\":8000000,\"overhead\":0,\"loss\":0},{\"interfaces\":[\"l2-eth3r\",\"s1-eth2r\"],\"delay_ns\":10000000,\"rate_bps\":8000000,\"overhead\":0,\"loss\":0}],\"control\":\"/run/pauseless/small/relay.sock\",\"seed\":0}"

# Name: command line, P4Runtime server, Thrift server (BMv2 only), and the
# packets per second of each port (BMv2 only; softswitch's rates are in its
# configuration file).
SWITCHES = {
    "l1": (
        ["simple_switch_grpc", "--name", "l1", "a \"quoted\" \\ word"],
        "127.0.0.1:9559", "127.0.0.1:9090",
        {1: 1000, 2: 1000, 3: 1000, 509: 25000},
    ),
    "l2": (
        ["simple_switch_grpc", "--name", "l2", "a \"quoted\" \\ word"],
        "127.0.0.1:9560", "127.0.0.1:9091",
        {1: 1000, 2: 1000, 3: 1000, 509: 25000},
    ),
    "s1": (
        ["simple_switch_grpc", "--name", "s1", "a \"quoted\" \\ word"],
        "127.0.0.1:9561", "127.0.0.1:9092",
        {1: 1000, 2: 1000, 509: 25000},
    ),
}

# Packets that each of BMv2's egress queues holds.
QUEUE_PACKETS = 9000

# p4-utils' description of the network, and where its controllers look for it.
P4UTILS = "/tmp/n.p4utils/topology.json"
P4UTILS_TO = ["/run/pauseless/n/topology.json"]

# The command that computes entries from the topology and writes them.
APPLY = ["pauseless", "ctl", "apply", "small.yaml"]
PAUSELESS = "pauseless"

# Directory of logs and of the journal, which lists all objects of the network,
# so that `pauseless deploy mininet --down small` removes them even if this
# script is killed.
RUN_DIR = "/run/pauseless/small"


def journal(kind, *words):
    line = " ".join([kind, *map(str, words)])
    with open(os.path.join(RUN_DIR, "journal"), "a") as f:
        print(line, f"{zlib.crc32(line.encode()):08x}", file=f, flush=True)


def journal_process(pid, name):
    with open(f"/proc/{pid}/stat") as f:
        started = f.read().rpartition(")")[2].split()[19]
    journal("process", pid, started, name)


def last(name):
    """The last line of a log, which is removed with the network."""
    with open(os.path.join(RUN_DIR, name + ".log")) as f:
        return (f.read().strip().splitlines() or ["its log is empty"])[-1]


def quiet(node, interface):
    """Switches offloads and IPv6 off, whose frames would disturb measurements."""
    for offload in "tso", "gso", "gro", "tx", "rx", "sg":
        node.pexec(["ethtool", "-K", interface, offload, "off"])
    # With slashes, as a name may contain a dot.
    node.pexec(["sysctl", "-qw", f"net/ipv6/conf/{interface}/disable_ipv6=1"])


def check_free(address):
    """Exits if a server listens already, which would be mistaken for the switch."""
    host, port = address.split(":")
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((host, int(port)))
        except OSError as error:
            raise SystemExit(f"{address}: {error}; is another network up? `pauseless deploy list` shows them")


def ahead():
    """Gives a switch a higher priority, since one that runs late loses packets."""
    os.setpgrp()
    os.setpriority(os.PRIO_PROCESS, 0, -10)


def in_real_time():
    """The same in real time, where this is allowed. BMv2 is not: while it holds packets
    it occupies a processor, for which links would wait."""
    ahead()
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        pass


class P4Switch(Switch):
    """A process with a P4Runtime server, and interfaces as ports."""

    process = None

    def start(self, controllers):
        command, grpc, thrift, _ = SWITCHES[self.name]
        for interface in self.intfNames():
            if interface != "lo":
                quiet(self, interface)
        for address in filter(None, (grpc, thrift)):
            check_free(address)
        log = open(os.path.join(RUN_DIR, self.name + ".log"), "w")
        self.process = subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=ahead if thrift else in_real_time)
        journal_process(self.process.pid, self.name)
        for address in filter(None, (grpc, thrift)):
            self.await_listen(address)

    def await_listen(self, address):
        host, port = address.split(":")
        for _ in range(600):
            if self.process.poll() is not None:
                raise SystemExit(f"switch {self.name} ended at once: {last(self.name)}")
            try:
                socket.create_connection((host, int(port)), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"switch {self.name} does not listen at {address}")

    def stop(self, deleteIntfs=True):
        if self.process:
            self.process.terminate()
            self.process.wait()
        super().stop(deleteIntfs)


class Relay(Switch):
    """The other ends of all links, in this namespace, and the process between them."""

    process = None

    def start(self, controllers):
        with open(RELAY[-1], "w") as f:
            f.write(CABLES)
        for interface in self.intfNames():
            if interface != "lo":
                quiet(self, interface)
                subprocess.run(["ip", "link", "set", interface, "promisc", "on"], check=True)
        log = open(os.path.join(RUN_DIR, "relay.log"), "w")
        self.process = subprocess.Popen(RELAY, stdout=log, stderr=log, preexec_fn=in_real_time)
        journal_process(self.process.pid, "relay")
        for _ in range(600):
            if self.process.poll() is not None:
                raise SystemExit(f"the relay of the links ended at once: {last('relay')}")
            if os.path.exists(os.path.join(RUN_DIR, "relay.sock")):
                return
            time.sleep(0.05)
        raise SystemExit("the relay of the links does not start")

    def stop(self, deleteIntfs=True):
        if self.process:
            self.process.terminate()
            self.process.wait()
        super().stop(deleteIntfs)


def pace(name):
    """Sets the depths and rates of BMv2's queues, in packets."""
    _, grpc, thrift, rates = SWITCHES[name]
    if not thrift:
        return
    queues = [PAUSELESS, "ctl", "--addr", grpc, "--thrift", thrift, "queues"]
    subprocess.run(queues + ["--depth", str(QUEUE_PACKETS)], check=True)
    for port, rate in rates.items():
        subprocess.run(queues + ["--port", str(port), "--rate", str(rate)], check=True)


def build():
    net = Mininet(controller=None)
    for number, name in enumerate(SWITCHES, 1):
        net.addSwitch(name, cls=P4Switch, dpid=f"{number:x}")
    relay = net.addSwitch("relay", cls=Relay, dpid="ffff")
    for name, ip, mac, switch, port in HOSTS:
        host = net.addHost(name, ip=ip, mac=mac)
        journal_process(host.pid, name)
        journal("link", f"{switch}-eth{port}")
        net.addLink(host, relay, intfName2=f"{switch}-eth{port}h")
        net.addLink(net[switch], relay, port1=port, intfName2=f"{switch}-eth{port}r")
        host.defaultIntf().rename("eth0")  # as the commands of a topology.json expect
    for a, a_port, b, b_port in LINKS:
        for name, port in (a, a_port), (b, b_port):
            journal("link", f"{name}-eth{port}")
            net.addLink(net[name], relay, port1=port, intfName2=f"{name}-eth{port}r")
            for interface in f"{name}-eth{port}", f"{name}-eth{port}r":
                subprocess.run(["ip", "link", "set", interface, "mtu", "1600"], check=True)
    return net


def main():
    if os.geteuid() != 0:
        raise SystemExit("Mininet needs root: run this with sudo")
    if "--test" in sys.argv and shutil.which("ping") is None:
        raise SystemExit("--test needs ping: apt install iputils-ping")
    if os.path.exists(os.path.join(RUN_DIR, "journal")):
        raise SystemExit("this network is up already, or was not taken down: pauseless deploy mininet --down small")
    ports = [end[3:] for end in HOSTS]
    for a, a_port, b, b_port in LINKS:
        ports += [(a, a_port), (b, b_port)]
    for name, port in ports:  # before the journal has them, by which --down removes them
        if os.path.exists(f"/sys/class/net/{name}-eth{port}"):
            raise SystemExit(f"interface {name}-eth{port} exists already: is another network up? `pauseless deploy list` shows them")
    os.makedirs(RUN_DIR, exist_ok=True)
    setLogLevel("output")
    for file in P4UTILS_TO:
        shutil.copyfile(P4UTILS, file)
    net = build()
    failed = 0
    try:
        net.start()
        net.staticArp()  # switches do not support ARP
        for host in net.hosts:
            quiet(host, host.defaultIntf().name)
        for name in SWITCHES:
            pace(name)
        if "--serve" in sys.argv:
            print("ready", flush=True)
            sys.stdin.read()
            return
        subprocess.run(APPLY, check=True)
        if "--test" in sys.argv:
            failed = net.pingAll(timeout="2")
        else:
            CLI(net)
    finally:
        net.stop()
        shutil.rmtree(RUN_DIR)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
