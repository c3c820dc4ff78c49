// The part of a kubelet that answers port-forwards, with the library that kubelets use for it.
//
//	port-forwarder -listen 127.0.0.1:10250 -ports 8087=40001
//
// There are no containers here: a "pod" is a process of the test on this machine, and the ports of all pods are
// mapped to ports of loopback. A port that is not mapped is refused, as one where nothing listens would be.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

type pods map[int32]int

func (ports pods) PortForward(_ context.Context, name, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	local, known := ports[port]
	if !known {
		return fmt.Errorf("pod %s: nothing listens at port %d", name, port)
	}
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", local))
	if err != nil {
		return err
	}
	defer connection.Close()
	answered := make(chan struct{})
	go func() {
		io.Copy(stream, connection)
		close(answered)
	}()
	go func() {
		io.Copy(connection, stream)
		connection.(*net.TCPConn).CloseWrite()
	}()
	<-answered
	return nil
}

func read(text string) (pods, error) {
	ports := pods{}
	for _, pair := range strings.Split(text, ",") {
		from, to, _ := strings.Cut(pair, "=")
		port, err := strconv.ParseInt(from, 10, 32)
		if err != nil {
			return nil, err
		}
		local, err := strconv.Atoi(to)
		if err != nil {
			return nil, err
		}
		ports[int32(port)] = local
	}
	return ports, nil
}

// The API server does not judge a kubelet's certificate unless it is told an authority for them.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func main() {
	listen := flag.String("listen", "127.0.0.1:10250", "where to listen")
	mapped := flag.String("ports", "", "port of a pod=port of loopback,...")
	flag.Parse()
	ports, err := read(*mapped)
	if err != nil {
		log.Fatal(err)
	}
	shown, err := certificate()
	if err != nil {
		log.Fatal(err)
	}
	// /portForward/NAMESPACE/POD, and with the UID as a last part.
	http.HandleFunc("/portForward/", func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		if len(parts) < 3 {
			http.NotFound(w, r)
			return
		}
		options, err := portforward.NewV4Options(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		name := parts[1] + "/" + parts[2]
		portforward.ServePortForward(w, r, ports, name, "", options, time.Hour, 30*time.Second, portforward.SupportedProtocols)
	})
	server := http.Server{
		Addr: *listen,
		// Streams are upgraded connections, which HTTP/2 does not have.
		TLSConfig:    &tls.Config{Certificates: []tls.Certificate{shown}, NextProtos: []string{"http/1.1"}},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	log.Fatal(server.ListenAndServeTLS("", ""))
}
