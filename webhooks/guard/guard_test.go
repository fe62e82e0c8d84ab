package guard

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	for text, want := range map[string]error{
		"93.184.216.34:443": nil, "8.8.8.8:80": nil, "1.1.1.1:8443": nil, "1.1.1.1:8080": nil, "1.1.1.1:1025": nil, "1.1.1.1:65535": nil,
		"[2606:4700::1111]:443": nil, "[2a00:1450:4001::1]:443": nil,
		"1.1.1.1:22": ErrPort, "1.1.1.1:25": ErrPort, "1.1.1.1:1024": ErrPort, "1.1.1.1:0": ErrPort, "[2606:4700::1111]:22": ErrPort,

		"0.0.0.0:80": ErrBlocked, "0.1.2.3:80": ErrBlocked, "10.0.0.1:80": ErrBlocked, "10.255.255.255:80": ErrBlocked,
		"100.64.0.1:80": ErrBlocked, "100.100.100.200:80": ErrBlocked, "100.127.255.255:80": ErrBlocked, "100.128.0.0:80": nil, "100.63.255.255:80": nil,
		"127.0.0.1:80": ErrBlocked, "127.255.255.254:80": ErrBlocked, "168.63.129.16:80": ErrBlocked, "168.63.129.17:80": nil,
		"169.254.0.1:80": ErrBlocked, "169.254.169.254:80": ErrBlocked, "169.254.170.2:80": ErrBlocked,
		"172.16.0.1:80": ErrBlocked, "172.31.255.255:80": ErrBlocked, "172.32.0.0:80": nil, "172.15.255.255:80": nil,
		"192.0.0.192:80": ErrBlocked, "192.0.2.1:80": ErrBlocked, "192.88.99.1:80": ErrBlocked, "192.168.1.1:80": ErrBlocked,
		"198.18.0.1:80": ErrBlocked, "198.19.255.255:80": ErrBlocked, "198.20.0.0:80": nil, "198.51.100.7:80": ErrBlocked, "203.0.113.7:80": ErrBlocked,
		"224.0.0.1:80": ErrBlocked, "239.255.255.255:80": ErrBlocked, "240.0.0.1:80": ErrBlocked, "255.255.255.255:80": ErrBlocked,

		"[::]:80": ErrBlocked, "[::1]:80": ErrBlocked, "[fe80::1]:80": ErrBlocked, "[fe80::1%eth0]:80": ErrBlocked, "[fc00::1]:80": ErrBlocked,
		"[fd00:ec2::254]:80": ErrBlocked, "[fec0::1]:80": ErrBlocked, "[ff02::1]:80": ErrBlocked, "[100::1]:80": ErrBlocked, "[4000::1]:80": ErrBlocked,
		"[2001:db8::1]:80": ErrBlocked, "[3fff::1]:80": ErrBlocked, "[2001::1]:80": ErrBlocked, "[2001:2::1]:80": ErrBlocked, "[2001:20::1]:80": ErrBlocked,
		// IPv4 in another form.
		"[::ffff:127.0.0.1]:80": ErrBlocked, "[::ffff:169.254.169.254]:80": ErrBlocked, "[::ffff:8.8.8.8]:80": nil,
		"[::127.0.0.1]:80": ErrBlocked, "[64:ff9b::7f00:1]:80": ErrBlocked, "[64:ff9b::808:808]:80": ErrBlocked, "[64:ff9b:1::a9fe:a9fe]:80": ErrBlocked,
		"[2002:7f00:1::]:80": ErrBlocked, "[2002:a9fe:a9fe::]:80": ErrBlocked, "[::ffff:0:127.0.0.1]:80": ErrBlocked,
	} {
		to, err := netip.ParseAddrPort(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Guard{}).Check(to); !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if got := (&Guard{}).control("tcp", text, nil); !errors.Is(got, want) {
			t.Errorf("%s in the dialer: %v, want %v", text, got, want)
		}
	}
}

func TestURLs(t *testing.T) {
	for text, want := range map[string]error{
		"https://example.com/hook": nil, "http://example.com:8080/": nil, "https://example.com:8443": nil,
		"ftp://example.com/": ErrURL, "file:///etc/passwd": ErrURL, "gopher://example.com": ErrURL, "https://": ErrURL,
		"https://user:pw@example.com/": ErrURL, "https://example.com:0/": ErrURL, "https://example.com:22/": ErrPort,
		"http://127.0.0.1/": ErrBlocked, "http://[::1]/": ErrBlocked, "http://169.254.169.254/latest/meta-data": ErrBlocked,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Guard{}).CheckURL(u); !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestAllow(t *testing.T) {
	allow, err := ParseAllow([]string{"127.0.0.0/8", " ::1", "10.1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	g := &Guard{Allow: allow}
	for text, want := range map[string]error{
		"127.0.0.1:22": nil, "[::1]:80": nil, "[::ffff:127.0.0.1]:80": nil, "10.1.2.3:80": nil, "10.1.2.4:80": ErrBlocked, "169.254.169.254:80": ErrBlocked,
	} {
		if got := g.Check(netip.MustParseAddrPort(text)); !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if _, err := ParseAllow([]string{"all"}); err == nil {
		t.Error("all is no CIDR")
	}
}

// answers is a resolver that gives another answer each time: DNS rebinding.
type answers struct {
	all   [][]netip.Addr
	asked int
}

func (a *answers) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	a.asked++
	return a.all[min(a.asked, len(a.all))-1], nil
}

func TestRebinding(t *testing.T) {
	reached := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	good, bad := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	get := func(g *Guard) error {
		client := &http.Client{Transport: &http.Transport{DialContext: g.Dial, DisableKeepAlives: true}}
		res, err := client.Get("http://rebind.test:" + port)
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	allow := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	t.Run("good, then bad", func(t *testing.T) {
		r := &answers{all: [][]netip.Addr{{good}, {bad}}}
		g := &Guard{Allow: allow, Resolver: r}
		if err := get(g); err != nil || r.asked != 1 {
			t.Fatalf("first: %v after %d questions, want one question for check and dial", err, r.asked)
		}
		if err := get(g); !errors.Is(err, ErrBlocked) {
			t.Errorf("second: %v, want blocked", err)
		}
	})
	t.Run("both at once", func(t *testing.T) {
		before := reached
		if err := get(&Guard{Allow: allow, Resolver: &answers{all: [][]netip.Addr{{bad, good}}}}); err != nil || reached != before+1 {
			t.Errorf("%v, reached %d: the good one should serve", err, reached-before)
		}
	})
	t.Run("only bad", func(t *testing.T) {
		if err := get(&Guard{Resolver: &answers{all: [][]netip.Addr{{good, netip.MustParseAddr("::1"), netip.MustParseAddr("::ffff:10.0.0.1")}}}}); !errors.Is(err, ErrBlocked) {
			t.Errorf("%v, want blocked", err)
		}
	})
	t.Run("written out in other ways", func(t *testing.T) {
		client := &http.Client{Transport: &http.Transport{DialContext: (&Guard{}).Dial}}
		for _, host := range []string{"127.0.0.1", "localhost", "2130706433", "0x7f000001", "127.1", "0177.0.0.1", "[::ffff:7f00:1]"} {
			res, err := client.Get("http://" + host + ":" + port)
			if err == nil {
				_ = res.Body.Close()
				t.Errorf("%s was reached", host)
			}
		}
	})
}
