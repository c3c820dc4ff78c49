package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/pion/dtls/v3"
	"github.com/pion/turn/v5"
)

// dial opens the client's side of the TURN connection and presents it the way pion wants it: a packet
// connection. Certificates are always verified, against the CA file that the test hands over.
func dial(transport, server, caFile, serverName string) (net.PacketConn, error) {
	switch transport {
	case "udp":
		return net.ListenPacket("udp", localWildcard(server))
	case "tcp":
		conn, err := net.DialTimeout("tcp", server, 10*time.Second)
		if err != nil {
			return nil, err
		}
		return turn.NewSTUNConn(conn), nil
	case "tls":
		roots, err := readRoots(caFile)
		if err != nil {
			return nil, err
		}
		dialer := &net.Dialer{Timeout: 10 * time.Second}
		conn, err := tls.DialWithDialer(dialer, "tcp", server, &tls.Config{
			RootCAs:    roots,
			ServerName: serverName,
			MinVersion: tls.VersionTLS12,
			NextProtos: []string{"stun.turn"},
		})
		if err != nil {
			return nil, err
		}
		if got := conn.ConnectionState().NegotiatedProtocol; got != "stun.turn" {
			return nil, fmt.Errorf("ALPN: negotiated %q instead of stun.turn", got)
		}
		return turn.NewSTUNConn(conn), nil
	case "dtls":
		roots, err := readRoots(caFile)
		if err != nil {
			return nil, err
		}
		addr, err := net.ResolveUDPAddr("udp", server)
		if err != nil {
			return nil, err
		}
		conn, err := dtls.DialWithOptions("udp", addr, dtls.WithRootCAs(roots), dtls.WithServerName(serverName))
		if err != nil {
			return nil, err
		}
		if err := conn.Handshake(); err != nil {
			return nil, fmt.Errorf("DTLS handshake: %w", err)
		}
		return &datagrams{conn, addr}, nil
	default:
		return nil, fmt.Errorf("unknown transport %q", transport)
	}
}

// datagrams presents a DTLS connection as the packet connection it is. pion's STUNConn would look for stream
// framing in it and wait for the padding of ChannelData, which datagrams need not have (RFC 8656 12.5).
type datagrams struct {
	net.Conn
	server net.Addr
}

func (d *datagrams) ReadFrom(buffer []byte) (int, net.Addr, error) {
	n, err := d.Read(buffer)
	return n, d.server, err
}

func (d *datagrams) WriteTo(message []byte, _ net.Addr) (int, error) {
	return d.Write(message)
}

func localWildcard(server string) string {
	host, _, err := net.SplitHostPort(server)
	if err == nil && net.ParseIP(host).To4() == nil {
		return "[::]:0"
	}
	return "0.0.0.0:0"
}

func readRoots(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no certificate in %s", file)
	}
	return pool, nil
}
