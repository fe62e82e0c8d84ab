package clickhouse

import (
	"fmt"
	"net"
	"strconv"
)

// loopback is the only address the engine listens on and takes clients from.
const loopback = "127.0.0.1"

type ports struct{ native, http int }

func (p ports) nativeAddr() string { return net.JoinHostPort(loopback, strconv.Itoa(p.native)) }
func (p ports) httpAddr() string   { return net.JoinHostPort(loopback, strconv.Itoa(p.http)) }

// freePorts picks two ports that are free now. Another process may take one before the engine
// does; the start is then tried again with others.
func freePorts() (ports, error) {
	var numbers [2]int
	for i := range numbers {
		listener, err := net.Listen("tcp", loopback+":0")
		if err != nil {
			return ports{}, fmt.Errorf("no free port on %s for ClickHouse: %w", loopback, err)
		}
		defer listener.Close()
		numbers[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports{native: numbers[0], http: numbers[1]}, nil
}
