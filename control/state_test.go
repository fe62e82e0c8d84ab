package control

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/httpapi"
)

var t0 = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

const (
	keyA = "AAAAAAAAAAAA"
	keyB = "BBBBBBBBBBBB"
)

func on(project string, data fact) event {
	return event{at: t0, by: "admin", project: project, data: data}
}

func aKey(id string, scopes ...string) keyCreated {
	return keyCreated{ID: id, SHA256: make([]byte, 32), Scopes: scopes}
}

// stateOf folds events that must all make sense.
func stateOf(t testing.TB, events ...event) *state {
	t.Helper()
	s := newState()
	for _, e := range events {
		if err := s.apply(e); err != nil {
			t.Fatalf("%s: %v", e.data.kind(), err)
		}
	}
	return s
}

func TestFold(t *testing.T) {
	project := []event{on("prj_a", projectCreated{Name: "one"}), on("prj_b", projectCreated{Name: "two"})}
	withKey := slices.Concat(project, []event{on("prj_a", aKey(keyA, "ingest", "read"))})
	later := on("prj_a", keyRevoked{ID: keyA})
	later.at = t0.Add(time.Hour)
	for _, c := range []struct {
		name   string
		before []event
		then   event
		want   error
		check  func(s *state) bool
	}{
		{"created", nil, on("prj_a", projectCreated{Name: "one"}), nil, func(s *state) bool { return s.projects["prj_a"].created.Equal(t0) }},
		{"created twice: the first stays", project, on("prj_a", projectCreated{Name: "again"}), errDuplicate, func(s *state) bool { return s.projects["prj_a"].name == "one" && len(s.order) == 2 }},
		{"renamed", project, on("prj_a", projectRenamed{Name: "x"}), nil, func(s *state) bool { return s.projects["prj_a"].name == "x" && s.projects["prj_b"].name == "two" }},
		{"renamed, unknown", project, on("prj_c", projectRenamed{Name: "x"}), errNoProject, func(s *state) bool { return len(s.projects) == 2 }},
		{"secret", project, on("prj_a", secretSet{Sealed: "s"}), nil, func(s *state) bool { return s.projects["prj_a"].sealed == "s" }},
		{"secret, empty", project, on("prj_a", secretSet{}), errNonsense, nil},
		{"secret, unknown", nil, on("prj_a", secretSet{Sealed: "s"}), errNoProject, nil},
		{"operator", project, on("prj_a", operatorSet{Operator: true}), nil, func(s *state) bool { return s.projects["prj_a"].operator }},
		{"limits", project, on("prj_a", limitsSet{map[string]Limit{limitEvents: Is(5), limitBytes: Is(4096)}}), nil, func(s *state) bool {
			return s.projects["prj_a"].limits == Limits{EventsPerSecond: Is(5), BatchBytes: Is(4096)}
		}},
		{"limits of a newer node: the rest is taken", project, on("prj_a", limitsSet{map[string]Limit{limitEvents: Is(0), "colours_per_second": Is(3)}}), errNonsense, func(s *state) bool {
			return s.projects["prj_a"].limits == Limits{EventsPerSecond: Is(0)}
		}},
		{"limits out of range", project, on("prj_a", limitsSet{map[string]Limit{limitEvents: Is(-1)}}), errNonsense, func(s *state) bool { return s.projects["prj_a"].limits == Limits{} }},
		{"limits, unknown project", project, on("prj_c", limitsSet{}), errNoProject, nil},
		{"key", project, on("prj_a", aKey(keyA, "read", "ingest")), nil, func(s *state) bool { return s.keys[keyA].scopes == httpapi.ScopeIngest|httpapi.ScopeRead }},
		{"key with a scope of a newer node", project, on("prj_a", aKey(keyA, "read", "fly")), nil, func(s *state) bool { return s.keys[keyA].scopes == httpapi.ScopeRead }},
		{"key of an unknown project", project, on("prj_c", aKey(keyA)), errNoProject, func(s *state) bool { return len(s.keys) == 0 }},
		{"key twice", withKey, on("prj_a", aKey(keyA, "manage")), errDuplicate, func(s *state) bool { return !s.keys[keyA].scopes.Has(httpapi.ScopeManage) }},
		{"key twice, other project", withKey, on("prj_b", aKey(keyA)), errDuplicate, func(s *state) bool { return s.keys[keyA].project == "prj_a" }},
		{"key without a hash", project, on("prj_a", keyCreated{ID: keyA}), errNonsense, nil},
		{"key with a strange id", project, on("prj_a", aKey("x")), errNonsense, nil},
		{"revoked", withKey, on("prj_a", keyRevoked{ID: keyA}), nil, func(s *state) bool { return s.keys[keyA].revoked.Equal(t0) }},
		{"revoked twice: the first time stays", append(withKey[:3:3], on("prj_a", keyRevoked{ID: keyA})), later, nil, func(s *state) bool { return s.keys[keyA].revoked.Equal(t0) }},
		{"revoked at no time", withKey, event{project: "prj_a", data: keyRevoked{ID: keyA}}, nil, func(s *state) bool { return !s.keys[keyA].revoked.IsZero() }},
		{"revoked, unknown", withKey, on("prj_a", keyRevoked{ID: keyB}), errNoKey, nil},
		{"revoked through another project", withKey, on("prj_b", keyRevoked{ID: keyA}), errNoKey, func(s *state) bool { return s.keys[keyA].revoked.IsZero() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stateOf(t, c.before...)
			if err := s.apply(c.then); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if c.check != nil && !c.check(s) {
				t.Errorf("the state is wrong: %+v", s.projects["prj_a"])
			}
		})
	}
}

func TestDecodeEvent(t *testing.T) {
	for _, c := range []struct {
		in   string
		want error
	}{
		{`{"v":1,"kind":"project.created","at":"2026-11-21T03:00:00Z","project":"prj_a","data":{"name":"x","colour":"red"},"more":1}`, nil},
		{`{"v":2,"kind":"project.created","project":"prj_a","data":{}}`, errNewerVersion},
		{`{"v":1,"kind":"project.exploded","project":"prj_a","data":{}}`, errUnknownKind},
		{`{"v":1,"kind":"project.created","data":{"name":"x"}}`, errUndecodable},
		{`{"v":1,"kind":"project.created","project":"prj_a"}`, errUndecodable},
		{`{"v":1,"kind":"project.created","project":"prj_a","data":{"name":7}}`, errUndecodable},
		{`{"v":1,"kind":"project.created","project":"prj_a","at":"soon","data":{}}`, errUndecodable},
		{``, errUndecodable}, {`null`, errUnknownKind}, {`[]`, errUndecodable}, {"\x00", errUndecodable},
		{strings.Repeat(`[`, 100000), errUndecodable},
	} {
		if _, err := decodeEvent([]byte(c.in)); !errors.Is(err, c.want) {
			t.Errorf("%.60s: got %v, want %v", c.in, err, c.want)
		}
	}
}

// TestEventFormat keeps the log readable for ever: never change these, add new kinds or a new version.
func TestEventFormat(t *testing.T) {
	const head = `{"v":1,"kind":"`
	const mid = `","at":"2026-11-21T03:00:00Z","by":"admin","project":"prj_a","data":`
	for _, c := range []struct {
		data fact
		want string
	}{
		{&projectCreated{Name: "x"}, head + "project.created" + mid + `{"name":"x"}}`},
		{&projectRenamed{Name: "y"}, head + "project.renamed" + mid + `{"name":"y"}}`},
		{&secretSet{Sealed: "s1.a.b"}, head + "project.secret_set" + mid + `{"sealed":"s1.a.b"}}`},
		{&limitsSet{map[string]Limit{limitEvents: Is(5), limitBytes: {}}}, head + "project.limits_set" + mid + `{"limits":{"batch_bytes":null,"events_per_second":5}}}`},
		{&operatorSet{Operator: true}, head + "project.operator_set" + mid + `{"operator":true}}`},
		{&keyCreated{ID: keyA, SHA256: []byte{1, 2}, Scopes: []string{"read"}}, head + "key.created" + mid + `{"id":"AAAAAAAAAAAA","sha256":"AQI=","scopes":["read"]}}`},
		{&keyRevoked{ID: keyA}, head + "key.revoked" + mid + `{"id":"AAAAAAAAAAAA"}}`},
	} {
		got, err := on("prj_a", c.data).encode()
		if err != nil || string(got) != c.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
		}
		back, err := decodeEvent(got)
		if err != nil || back.data.kind() != c.data.kind() {
			t.Errorf("%s does not read back: %v", got, err)
		}
	}
}

func FuzzFold(f *testing.F) {
	e, _ := on("prj_a", projectCreated{Name: "x"}).encode()
	f.Add(e)
	e, _ = on("prj_a", aKey(keyA, "read")).encode()
	f.Add(e)
	f.Fuzz(func(t *testing.T, value []byte) {
		s := stateOf(t, on("prj_a", projectCreated{Name: "one"}))
		if e, err := decodeEvent(value); err == nil {
			_ = s.apply(e)
		}
	})
}
