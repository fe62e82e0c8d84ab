package readmodel

import (
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"weir/readmodel/tables"
)

// cost is a partial row of cost_rollups.
type cost struct {
	project, day, currency, provider, service, region, amount string
}

func (p *portal) costs(all ...cost) {
	p.t.Helper()
	p.insert(tables.CostRollups(), len(all), func(i int) []any {
		c := all[i]
		if c.project == "" {
			c.project = "prj_one"
		}
		if c.currency == "" {
			c.currency = "EUR"
		}
		day, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			p.t.Fatal(err)
		}
		return []any{c.project, day, c.currency, c.provider, c.service, c.region, decimal.RequireFromString(c.amount), uint64(1)}
	})
}

func TestCosts(t *testing.T) {
	p := newPortal(t)
	p.costs(
		cost{day: "2026-10-31", provider: "aws", service: "s3", region: "eu", amount: "0.1"},
		cost{day: "2026-10-31", provider: "aws", service: "s3", region: "eu", amount: "0.2"},
		cost{day: "2026-11-01", provider: "aws", service: "s3", region: "us", amount: "12.3"},
		cost{day: "2026-11-02", provider: "gcp", service: "run", amount: "99999999999999999999999999.000000000000000000000000000000000001"},
		cost{day: "2026-11-02", provider: "gcp", service: "run", amount: "0.000000000000000000000000000000000001"},
		cost{day: "2026-11-02", provider: "gcp", service: "run", currency: "USD", amount: "-5"},
		cost{day: "2200-12-31", provider: "x", amount: "1"}, cost{day: "1970-01-01", provider: "x", amount: "0"},
		cost{day: "2026-11-02", provider: "foreign", amount: "7", project: "prj_two"},
	)
	line := func(c map[string]any) string {
		return strings.Join([]string{fmt.Sprint(c["period"]), fmt.Sprint(c["provider"]), fmt.Sprint(c["service"]), fmt.Sprint(c["region"]),
			fmt.Sprint(c["currency"]), fmt.Sprint(c["amount"]), fmt.Sprint(c["events"])}, "|")
	}
	huge := "99999999999999999999999999.000000000000000000000000000000000002"
	tests := []struct {
		query string
		want  []string
	}{
		{"from=2026-10&to=2026-12", []string{"2026-11|aws|s3|us|EUR|12.30|1", "2026-11|gcp|run||EUR|" + huge + "|2", "2026-11|gcp|run||USD|-5.00|1", "2026-10|aws|s3|eu|EUR|0.30|2"}},
		{"from=2026-11-01&to=2026-11-02&interval=day", []string{"2026-11-01|aws|s3|us|EUR|12.30|1"}},
		{"from=2026-10-31T23:59:59Z&to=2026-11-01T00:00:01Z&interval=day", []string{"2026-11-01|aws|s3|us|EUR|12.30|1", "2026-10-31|aws|s3|eu|EUR|0.30|2"}},
		{"from=2026-10&to=2026-11&group_by=region", []string{"2026-10|<nil>|<nil>|eu|EUR|0.30|2"}},
		{"from=2026-10&to=2026-11&group_by=service,provider", []string{"2026-10|aws|s3|<nil>|EUR|0.30|2"}},
		{"from=2026-10&to=2026-11&group_by=", []string{"2026-10|<nil>|<nil>|<nil>|EUR|0.30|2"}},
		{"from=2200-01-01", []string{"2200-12|x|||EUR|1.00|1"}},
		{"to=1971-01", []string{"1970-01|x|||EUR|0.00|1"}},
	}
	for _, tt := range tests {
		var got []string
		for _, c := range items(p.get("one", "/api/cost/rollups?"+tt.query)) {
			got = append(got, line(c))
		}
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s:\n got %q\nwant %q", tt.query, got, tt.want)
		}
	}
}

// TestCostSumsAreExact compares sums with big rationals over random amounts of up to 38 digits on each side.
func TestCostSumsAreExact(t *testing.T) {
	p := newPortal(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		project := fmt.Sprintf("prj_%d", n)
		amounts := rapid.SliceOfN(rapid.StringMatching(`-?(0|[1-9][0-9]{0,34})\.[0-9]{1,38}`), 1, 20).Draw(rt, "amounts")
		sum, rows := new(big.Rat), make([]cost, len(amounts))
		for i, a := range amounts {
			v, _ := new(big.Rat).SetString(a)
			sum.Add(sum, v)
			rows[i] = cost{project: project, day: "2026-11-02", amount: a}
		}
		p.costs(rows...)
		list := items(p.get("admin", "/api/cost/rollups?project_id="+project))
		got, ok := new(big.Rat).SetString(fmt.Sprint(list[0]["amount"]))
		if !ok || got.Cmp(sum) != 0 {
			rt.Fatalf("sum of %v is %v, want %s", amounts, list[0]["amount"], sum.FloatString(38))
		}
	})
}

func TestCostPages(t *testing.T) {
	p := newPortal(t)
	var rows []cost
	for i := range 40 {
		rows = append(rows, cost{day: fmt.Sprintf("2026-%02d-01", i%3+1), provider: fmt.Sprint(i % 5), service: fmt.Sprint(i % 7), region: "", amount: "1", currency: []string{"EUR", "USD"}[i%2]})
	}
	p.costs(rows...)
	all := items(p.get("one", "/api/cost/rollups?limit=200"))
	var paged []map[string]any
	next := ""
	for {
		page := p.get("one", "/api/cost/rollups?limit=7"+next)
		paged = append(paged, items(page)...)
		if page["next_cursor"] == nil {
			break
		}
		next = "&cursor=" + url.QueryEscape(page["next_cursor"].(string))
	}
	if fmt.Sprint(paged) != fmt.Sprint(all) {
		t.Errorf("pages differ from the whole:\n%v\n%v", paged, all)
	}
}
