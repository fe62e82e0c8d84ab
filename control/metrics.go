package control

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	folded   prometheus.Counter
	ignored  *prometheus.CounterVec
	failures prometheus.Counter
	commands *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, d *Directory) *metrics {
	m := &metrics{
		folded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_control_records_folded_total", Help: "Records of weir.control folded into the Directory.",
		}),
		ignored: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_control_records_ignored_total", Help: "Records of weir.control left out of the fold, by reason.",
		}, []string{"reason"}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "weir_control_fetch_failures_total", Help: "Failed fetches of weir.control; each is tried again.",
		}),
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_control_commands_total", Help: "Control commands, by name and outcome: done, refused, failed.",
		}, []string{"command", "outcome"}),
	}
	if reg == nil {
		return m
	}
	reg.MustRegister(m.folded, m.ignored, m.failures, m.commands,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "weir_control_next_offset", Help: "Offset up to which weir.control is folded on this node.",
		}, func() float64 { return float64(d.Next()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "weir_control_silence_seconds", Help: "How long weir.control has not answered this node.",
		}, func() float64 { return d.Silence().Seconds() }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "weir_control_unreadable_secrets", Help: "Projects whose webhook secret no master key of this node opens.",
		}, func() float64 { return float64(d.UnreadableSecrets()) }),
	)
	return m
}
