package main

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/pion/turn/v5"
)

// relayTCP dials an echo peer through the relay, then accepts a connection that a peer opens to it.
func relayTCP(client *turn.Client, peer string, sizes []int) error {
	allocation, err := client.AllocateTCP()
	if err != nil {
		return fmt.Errorf("allocate: %w", err)
	}
	defer allocation.Close()
	fmt.Println("relayed", allocation.Addr())

	out, err := allocation.Dial("tcp", peer)
	if err != nil {
		return fmt.Errorf("connect to the peer: %w", err)
	}
	defer out.Close()
	for _, size := range sizes {
		if err := echoStream(out, out, size); err != nil {
			return fmt.Errorf("dialled, %d bytes: %w", size, err)
		}
	}

	// The peer comes from the same address, which the Connect has already permitted (RFC 6062 5.3).
	dialled := make(chan net.Conn, 1)
	failed := make(chan error, 1)
	go func() {
		conn, err := net.DialTimeout("tcp", allocation.Addr().String(), patience)
		if err != nil {
			failed <- err
			return
		}
		dialled <- conn
	}()
	if err := allocation.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	in, err := allocation.Accept()
	if err != nil {
		select {
		case dialError := <-failed:
			return fmt.Errorf("the peer cannot connect: %w", dialError)
		default:
			return fmt.Errorf("accept: %w", err)
		}
	}
	defer in.Close()
	peerSide := <-dialled
	defer peerSide.Close()
	for _, size := range sizes {
		if err := echoStream(peerSide, in, size); err != nil {
			return fmt.Errorf("accepted, %d bytes: %w", size, err)
		}
	}
	return nil
}

// echoStream writes on one end and reads the same on the other.
func echoStream(from, to net.Conn, size int) error {
	sent := pattern(size)
	if err := to.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := from.Write(sent); err != nil {
		return err
	}
	got := make([]byte, size)
	if _, err := io.ReadFull(to, got); err != nil {
		return err
	}
	return same(sent, got)
}
