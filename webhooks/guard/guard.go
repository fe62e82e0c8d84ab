// Package guard keeps deliveries from reaching where they must not: the network
// of whoever runs the portal, and the metadata services of clouds.
//
// The address that is dialled is what is checked, inside the dialer and after the
// name was resolved, once, for the check and the dial alike. So a name that first
// resolves to a good address and then to a bad one gains nothing, and an address
// written in any form (decimal, octal, IPv4 inside IPv6) is judged by what the
// kernel is asked to connect to.
package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Errors of a target that is refused. They are final for the target as it is.
var (
	ErrBlocked = errors.New("the address is not one that webhooks may be sent to")
	ErrPort    = errors.New("the port is not one that webhooks may be sent to")
	ErrURL     = errors.New("the URL is not one that webhooks may be sent to")
)

// blocked are the ranges of IPv4 that are nobody's public server, with their
// reasons; IPv6 is refused outside blockedUnless.
var blocked = ranges(
	"0.0.0.0/8",         // this network
	"10.0.0.0/8",        // private
	"100.64.0.0/10",     // carrier-grade NAT, and Alibaba's metadata service
	"127.0.0.0/8",       // loopback
	"168.63.129.16/32",  // Azure's platform address
	"169.254.0.0/16",    // link-local, and most clouds' metadata services
	"172.16.0.0/12",     // private
	"192.0.0.0/24",      // protocol assignments, and Oracle's metadata service
	"192.0.2.0/24",      // documentation
	"192.88.99.0/24",    // 6to4 relays
	"192.168.0.0/16",    // private
	"198.18.0.0/15",     // benchmarks
	"198.51.100.0/24",   // documentation
	"203.0.113.0/24",    // documentation
	"224.0.0.0/4",       // multicast
	"240.0.0.0/4",       // reserved, and broadcast
	"2001::/23",         // protocol assignments: Teredo, benchmarks, ORCHID
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4: carries any IPv4 address
	"3fff::/20",         // documentation
	"2620:4f:8000::/48", // AS112
	"2001:4:112::/48",   // AS112
)

// public6 is what is assigned of IPv6; everything else (loopback, unique local,
// link-local, multicast, mapped, NAT64, fd00:ec2::254) is refused.
var public6 = netip.MustParsePrefix("2000::/3")

func ranges(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// Resolver finds the addresses of a name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Guard decides where deliveries may go. Safe for concurrent use; the zero value
// allows public addresses and the default ports.
type Guard struct {
	// Allow opens ranges that are refused otherwise, with every port of them.
	Allow []netip.Prefix

	// Resolver is asked for names. Nil is the system's.
	Resolver Resolver
}

// ParseAllow reads the operator's list of CIDRs or single addresses.
func ParseAllow(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, t := range texts {
		t = strings.TrimSpace(t)
		if t == "" {
			continue
		}
		p, err := netip.ParsePrefix(t)
		if err != nil {
			a, errAddr := netip.ParseAddr(t)
			if errAddr != nil {
				return nil, fmt.Errorf("%q is neither a CIDR (10.1.0.0/16) nor an address", t)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// Check judges one address: nil, ErrBlocked or ErrPort.
func (g *Guard) Check(to netip.AddrPort) error {
	addr := to.Addr().WithZone("").Unmap() // ::ffff:a.b.c.d is dialled as a.b.c.d
	for _, p := range g.Allow {
		if p.Contains(addr) {
			return nil
		}
	}
	if !addr.IsValid() || addr.Is6() && !public6.Contains(addr) {
		return fmt.Errorf("%w: %s", ErrBlocked, addr)
	}
	for _, p := range blocked {
		if p.Contains(addr) {
			return fmt.Errorf("%w: %s is in %s", ErrBlocked, addr, p)
		}
	}
	if !portAllowed(to.Port()) {
		return fmt.Errorf("%w: %d; use 443, 80 or one above 1024", ErrPort, to.Port())
	}
	return nil
}

// portAllowed lets the ports of HTTP pass and all that are not reserved for other services.
func portAllowed(port uint16) bool { return port == 443 || port == 80 || port > 1024 }

// CheckURL judges what can be judged of a URL without resolving its name: the
// scheme, no credentials in it, an address written out, the port of a name. A
// name that would be refused when it is dialled passes: the dial decides.
func (g *Guard) CheckURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%w: it must begin with https:// or http://", ErrURL)
	case u.Hostname() == "":
		return fmt.Errorf("%w: it has no host", ErrURL)
	case u.User != nil:
		return fmt.Errorf("%w: it must hold no user name or password; use a custom header", ErrURL)
	}
	port, err := portOf(u)
	if err != nil {
		return err
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		return g.Check(netip.AddrPortFrom(addr, port))
	}
	if len(g.Allow) == 0 && !portAllowed(port) {
		return fmt.Errorf("%w: %d; use 443, 80 or one above 1024", ErrPort, port)
	}
	return nil
}

func portOf(u *url.URL) (uint16, error) {
	switch {
	case u.Port() != "":
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || n == 0 {
			return 0, fmt.Errorf("%w: port %q", ErrURL, u.Port())
		}
		return uint16(n), nil
	case u.Scheme == "http":
		return 80, nil
	}
	return 443, nil
}

// connectTime bounds one connection, so that an address that does not answer
// leaves time for the next.
const connectTime = 5 * time.Second

// Dial connects to host:port: it resolves the name once, leaves out the addresses
// that are refused and dials the others in order. When all are refused the error is
// ErrBlocked or ErrPort. The check is made again for what is really dialled.
func (g *Guard) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	addrs, err := g.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: connectTime, Control: g.control}
	var failed, refused error
	for _, addr := range addrs {
		to := netip.AddrPortFrom(addr.Unmap(), uint16(port))
		if err := g.Check(to); err != nil {
			refused = err
			continue
		}
		conn, err := dialer.DialContext(ctx, network, to.String())
		if err == nil {
			return conn, nil
		}
		failed = err
	}
	if failed != nil {
		return nil, failed
	}
	return nil, refused
}

func (g *Guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	var r Resolver = net.DefaultResolver
	if g.Resolver != nil {
		r = g.Resolver
	}
	addrs, err := r.LookupNetIP(ctx, "ip", host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return addrs, err
}

// control runs between the socket's making and its connect: address is the one the
// kernel will be given.
func (g *Guard) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrBlocked, address)
	}
	return g.Check(to)
}
