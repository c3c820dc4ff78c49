// pionclient is the pion/turn peer of the interop tests: it allocates, echoes messages of several sizes
// through a peer, first in Send indications and then over a bound channel, lets a peer speak first, and
// with -relay tcp does the same over RFC 6062 connections. It prints what it did and exits 1 at the first
// difference.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pion/turn/v5"
)

const patience = 10 * time.Second

func main() {
	transport := flag.String("transport", "udp", "how to reach the server: udp, tcp, tls or dtls")
	server := flag.String("server", "", "address of the TURN server")
	user := flag.String("user", "", "user name")
	pass := flag.String("pass", "", "password")
	peer := flag.String("peer", "", "address of an echo peer")
	relay := flag.String("relay", "udp", "transport of the relay: udp or tcp (RFC 6062)")
	sizes := flag.String("sizes", "1,100,1200", "message sizes, comma separated")
	ca := flag.String("ca", "", "CA file for tls and dtls")
	name := flag.String("name", "localhost", "name to verify in the certificate")
	flag.Parse()

	if err := run(*transport, *server, *user, *pass, *peer, *relay, *sizes, *ca, *name); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println("ok")
}

func run(transport, server, user, pass, peer, relay, sizeList, ca, name string) error {
	sizes, err := parseSizes(sizeList)
	if err != nil {
		return err
	}
	conn, err := dial(transport, server, ca, name)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()

	client, err := turn.NewClient(&turn.ClientConfig{
		STUNServerAddr: server,
		TURNServerAddr: server,
		Conn:           conn,
		Username:       user,
		Password:       pass,
		// pion would take the family of its local socket, which a dual-stack wildcard does not tell.
		RequestedAddressFamily: familyOf(peer),
	})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Listen(); err != nil {
		return err
	}
	mapped, err := client.SendBindingRequest()
	if err != nil {
		return fmt.Errorf("binding: %w", err)
	}
	fmt.Println("mapped", mapped)

	if relay == "tcp" {
		return relayTCP(client, peer, sizes)
	}
	return relayUDP(client, peer, sizes)
}

func relayUDP(client *turn.Client, peer string, sizes []int) error {
	peerAddr, err := net.ResolveUDPAddr("udp", peer)
	if err != nil {
		return err
	}
	relayed, err := client.Allocate()
	if err != nil {
		return fmt.Errorf("allocate: %w", err)
	}
	defer relayed.Close()
	fmt.Println("relayed", relayed.LocalAddr())

	// pion sends Send indications until its channel is bound in the background. The second round comes
	// after it has had the time to bind.
	for _, round := range []string{"send", "channel"} {
		for _, size := range sizes {
			if err := echo(relayed, peerAddr, size); err != nil {
				return fmt.Errorf("%s, %d bytes: %w", round, size, err)
			}
		}
		time.Sleep(300 * time.Millisecond)
	}
	return peerSpeaksFirst(client, relayed)
}

// echo sends one message and wants it back unchanged. A lost datagram is not repeated: on loopback
// nothing may be lost.
func echo(conn net.PacketConn, peer net.Addr, size int) error {
	sent := pattern(size)
	if _, err := conn.WriteTo(sent, peer); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	buffer := make([]byte, 65536)
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	n, from, err := conn.ReadFrom(buffer)
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	if from.String() != peer.String() {
		return fmt.Errorf("came from %v instead of %v", from, peer)
	}
	return same(sent, buffer[:n])
}

// peerSpeaksFirst lets a socket of our own, permitted but without a channel, start the exchange.
func peerSpeaksFirst(client *turn.Client, relayed net.PacketConn) error {
	host, _, err := net.SplitHostPort(relayed.LocalAddr().String())
	if err != nil {
		return err
	}
	peer, err := net.ListenPacket("udp", net.JoinHostPort(host, "0"))
	if err != nil {
		return err
	}
	defer peer.Close()
	if err := client.CreatePermission(peer.LocalAddr()); err != nil {
		return fmt.Errorf("permission: %w", err)
	}
	sent := pattern(333)
	if _, err := peer.WriteTo(sent, relayed.LocalAddr()); err != nil {
		return err
	}
	buffer := make([]byte, 65536)
	if err := relayed.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	n, from, err := relayed.ReadFrom(buffer)
	if err != nil {
		return fmt.Errorf("from the peer: %w", err)
	}
	if from.String() != peer.LocalAddr().String() {
		return fmt.Errorf("peer %v appears as %v", peer.LocalAddr(), from)
	}
	return same(sent, buffer[:n])
}

func familyOf(address string) turn.RequestedAddressFamily {
	host, _, err := net.SplitHostPort(address)
	if err == nil && net.ParseIP(host).To4() == nil {
		return turn.RequestedAddressFamilyIPv6
	}
	return turn.RequestedAddressFamilyIPv4
}

func pattern(size int) []byte {
	bytes := make([]byte, size)
	for i := range bytes {
		bytes[i] = byte(i*7 + size)
	}
	return bytes
}

func same(want, got []byte) error {
	if string(want) == string(got) {
		return nil
	}
	return fmt.Errorf("%d bytes came back as %d, or changed", len(want), len(got))
}

func parseSizes(list string) ([]int, error) {
	var sizes []int
	for _, text := range strings.Split(list, ",") {
		size, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, size)
	}
	if len(sizes) == 0 {
		return nil, errors.New("no sizes")
	}
	return sizes, nil
}
