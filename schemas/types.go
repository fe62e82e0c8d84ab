package schemas

// Type is one of the thirteen event types. The zero value is Audit; values are
// stable within one build only, the wire form is [Type.String].
type Type uint8

// The event types in the order of their names.
const (
	Audit Type = iota
	Config
	Cost
	Deploy
	Error
	FeatureFlag
	Log
	Performance
	Repository
	Tenant
	Trace
	Video
	Webhook

	typeCount = 13
)

// typeNames are the wire names, indexed by Type.
var typeNames = [typeCount]string{
	Audit:       "audit",
	Config:      "config",
	Cost:        "cost",
	Deploy:      "deploy",
	Error:       "error",
	FeatureFlag: "feature_flag",
	Log:         "log",
	Performance: "performance",
	Repository:  "repository",
	Tenant:      "tenant",
	Trace:       "trace",
	Video:       "video",
	Webhook:     "webhook",
}

// String returns the wire name, such as "feature_flag", or "unknown" for a
// value that is no type.
func (t Type) String() string {
	if !t.Valid() {
		return "unknown"
	}
	return typeNames[t]
}

// Valid reports whether t is one of the thirteen.
func (t Type) Valid() bool { return t < typeCount }

// Module returns the name of the module that receives events of this type, as
// in GET /api/{module}/status: "errors" for Error, "webhooks" for Webhook, the
// type's own name for every other.
func (t Type) Module() string {
	switch t {
	case Error:
		return "errors"
	case Webhook:
		return "webhooks"
	default:
		return t.String()
	}
}

// ParseType finds a type by its wire name, exactly as written.
func ParseType(name string) (Type, bool) { return typeOf(name) }

// typeOf is ParseType over bytes or text. The type names differ in length or
// in their first two letters, so the switch compares one candidate.
func typeOf[S string | []byte](name S) (Type, bool) {
	if len(name) < 3 || len(name) > 12 {
		return 0, false
	}
	var t Type
	switch name[0] {
	case 'a':
		t = Audit
	case 'c':
		t = Config
		if len(name) == 4 {
			t = Cost
		}
	case 'd':
		t = Deploy
	case 'e':
		t = Error
	case 'f':
		t = FeatureFlag
	case 'l':
		t = Log
	case 'p':
		t = Performance
	case 'r':
		t = Repository
	case 't':
		t = Trace
		if name[1] == 'e' {
			t = Tenant
		}
	case 'v':
		t = Video
	case 'w':
		t = Webhook
	default:
		return 0, false
	}
	return t, string(name) == typeNames[t]
}

// Types returns all types in the order of their values. The caller owns the
// slice.
func Types() []Type {
	all := make([]Type, typeCount)
	for i := range all {
		all[i] = Type(i)
	}
	return all
}
