package demo

import (
	"fmt"
	"time"
)

// fault is the error event of a request that failed.
func (d *day) fault(r route, at time.Time, trace string) {
	f := faults[min(d.rng.IntN(len(faults)+3), d.rng.IntN(len(faults)))]
	if !d.bad(at) && d.rng.IntN(3) > 0 {
		f = faults[1+d.rng.IntN(len(faults)-1)]
	}
	if d.bad(at) && r.service == "checkout" {
		f = faults[0]
	}
	e := f(d)
	e["release"], e["environment"], e["service"] = "shop@"+d.release(at), pick(d, []string{"production", "production", "production", "staging"}), r.service
	e["request"] = data{"method": r.method, "url": "https://shop.example" + r.path, "ip": d.address()}
	e["traceId"] = trace
	d.add("error", at, e)
}

// failures are errors whose requests were not traced: a few all day, a storm while the bad release is out.
func (d *day) failures(n int) {
	for range n {
		d.fault(pick(d, routes), d.moment(), d.hex(32))
	}
	for range n {
		d.fault(routes[3], d.at(badFrom+(badUntil-badFrom)*d.rng.Float64()), d.hex(32))
	}
}

// faults are the shop's usual ones; the first is what the bad release does.
var faults = []func(*day) data{
	func(d *day) data {
		return data{"name": "PaymentTimeout", "message": fmt.Sprintf("charge of order %d did not finish within 3000 ms", 100000+d.rng.IntN(90000)),
			"stack": "goroutine 214 [running]:\nshop/payments.(*Client).Charge(0xc0001b2000, {0x7ff3, 0x18})\n\t/srv/shop/payments/client.go:118 +0x1d4\nshop/checkout.(*Service).pay(0xc00011a0f0, 0xc0004f6000)\n\t/srv/shop/checkout/service.go:204 +0x98\nshop/checkout.(*Service).Place(0xc00011a0f0)\n\t/srv/shop/checkout/service.go:91 +0x3b1\nnet/http.HandlerFunc.ServeHTTP(0x9e4a20, {0xb3d1c0, 0xc0003ce000}, 0xc0002b8000)\n\t/usr/local/go/src/net/http/server.go:2294 +0x29\nnet/http.(*conn).serve(0xc000170000)\n\t/usr/local/go/src/net/http/server.go:2102 +0x625\ncreated by net/http.(*Server).Serve in goroutine 1\n\t/usr/local/go/src/net/http/server.go:3454 +0x485"}
	},
	func(d *day) data {
		return data{"name": "KeyError", "message": fmt.Sprintf("'sku-%d'", d.rng.IntN(9000)),
			"stack": "Traceback (most recent call last):\n  File \"/srv/catalog/app/views.py\", line 88, in product\n    item = stock.load(sku)\n  File \"/srv/catalog/app/stock.py\", line 41, in load\n    return self._rows[sku]\nKeyError: 'sku'"}
	},
	func(d *day) data {
		return data{"name": "TypeError", "message": "Cannot read properties of undefined (reading 'price')",
			"stack": "TypeError: Cannot read properties of undefined (reading 'price')\n    at total (/srv/web/src/cart/total.ts:32:21)\n    at Array.reduce (<anonymous>)\n    at Cart.render (/srv/web/src/cart/Cart.tsx:77:14)\n    at renderWithHooks (/srv/web/node_modules/react-dom/cjs/react-dom.development.js:15486:18)\n    at updateFunctionComponent (/srv/web/node_modules/react-dom/cjs/react-dom.development.js:19617:20)\n    at beginWork (/srv/web/node_modules/react-dom/cjs/react-dom.development.js:21640:16)"}
	},
	func(d *day) data {
		return data{"name": "java.sql.SQLTransientConnectionException", "message": fmt.Sprintf("HikariPool-1 - Connection is not available, request timed out after %dms", 30000+d.rng.IntN(20)),
			"stack": "java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available\n\tat com.zaxxer.hikari.pool.HikariPool.createTimeoutException(HikariPool.java:686)\n\tat com.zaxxer.hikari.pool.HikariPool.getConnection(HikariPool.java:179)\n\tat com.shop.orders.OrderStore.recent(OrderStore.java:64)\n\tat com.shop.orders.OrderApi.list(OrderApi.java:38)\nCaused by: org.postgresql.util.PSQLException: FATAL: too many connections for role \"orders\"\n\tat org.postgresql.core.v3.ConnectionFactoryImpl.doAuthentication(ConnectionFactoryImpl.java:711)"}
	},
	func(d *day) data {
		return data{"name": "SearchUnavailable", "message": fmt.Sprintf("opensearch answered 429 for index products-v%d", 7+d.rng.IntN(2))}
	},
	func(d *day) data {
		return data{"name": "ValidationError", "message": fmt.Sprintf("address of user u_%05d has no postcode", d.rng.IntN(4000)), "kind": "handled"}
	},
}
