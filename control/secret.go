package control

import (
	"fmt"
	"log/slog"
)

// Redacted is what a Secret prints as.
const Redacted = "[redacted]"

// Secret holds text that no log, error or printed struct may show. The text
// is inside a function, because fmt prints the unexported fields of a struct
// without asking their methods, and under some verbs also what a pointer
// points to; of a function it knows the address only. The zero Secret is empty.
type Secret struct{ text func() []byte }

// NewSecret keeps text.
func NewSecret(text string) Secret { return secretOf([]byte(text)) }

func secretOf(b []byte) Secret { return Secret{func() []byte { return b }} }

// Reveal returns the text: for the one answer that shows it, or to write a key file.
func (s Secret) Reveal() string { return string(s.Bytes()) }

// Bytes returns the text without a copy: read it only.
func (s Secret) Bytes() []byte {
	if s.text == nil {
		return nil
	}
	return s.text()
}

// Empty says whether there is no text.
func (s Secret) Empty() bool { return len(s.Bytes()) == 0 }

// Format prints Redacted for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Redacted)) }

// String returns Redacted.
func (Secret) String() string { return Redacted }

// LogValue logs Redacted.
func (Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText encodes Redacted: who means to send the text must Reveal it.
func (Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }
