package receipts

import "github.com/prometheus/client_golang/prometheus"

type counts struct {
	replayed prometheus.Counter
	foreign  prometheus.Counter
}

func newCounts(reg prometheus.Registerer, b *Book) counts {
	c := counts{
		replayed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_ingest_replays_total", Help: "Requests answered from the receipt of their idempotency key.",
		}),
		foreign: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_ingest_receipts_unread_total", Help: "Records of the receipts topic that this version can't read and skipped.",
		}),
	}
	if reg != nil {
		reg.MustRegister(c.replayed, c.foreign, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "weir_ingest_idempotency_keys", Help: "Idempotency keys whose answers are remembered.",
		}, func() float64 { return float64(b.Keys()) }))
	}
	return c
}
