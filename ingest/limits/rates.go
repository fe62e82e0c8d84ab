package limits

// Rates are the limits of one project. Zero turns a rate off; negative counts as zero.
type Rates struct {
	EventsPerSecond  int
	BatchesPerSecond int
}

// Default is what the specification gives a project without settings of its own.
var Default = Rates{EventsPerSecond: 1000, BatchesPerSecond: 100}

// Off says that neither rate holds.
func (r Rates) Off() bool { return r.EventsPerSecond <= 0 && r.BatchesPerSecond <= 0 }
