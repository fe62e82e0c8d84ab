package webhooks

import (
	"net/http"
	"strings"
)

const redacted = "[redacted]"

// Bounds of what is kept of an answer's headers.
const (
	maxShownHeaders = 50
	maxShownValue   = 1024
)

// secretHeaders are never shown, whoever sent them.
var secretHeaders = map[string]bool{
	"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "Set-Cookie": true, "Www-Authenticate": true,
	"X-Api-Key": true, "X-Auth-Token": true, "X-Amz-Security-Token": true,
}

// secretsOf are texts of an endpoint that a receiver could send back to us.
func secretsOf(ep *Endpoint) []string {
	var all []string
	for _, value := range ep.Headers {
		if v := value(); len(v) >= minSecret {
			all = append(all, v)
		}
	}
	if ep.Kind != KindHTTP && ep.Address != nil {
		all = append(all, ep.Address())
		if _, path, ok := strings.Cut(strings.TrimPrefix(ep.Address(), "https://"), "/"); ok && len(path) >= minSecret {
			all = append(all, path)
		}
	}
	return all
}

// minSecret is the shortest text looked for: hiding every "1" would hide everything.
const minSecret = 6

func hide(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, redacted)
	}
	return text
}

// shownHeaders are headers as the history keeps them: lower-case names, values
// joined, secret ones hidden, few and short.
func shownHeaders(h http.Header, secrets []string) map[string]string {
	if len(h) == 0 {
		return nil
	}
	shown := make(map[string]string, min(len(h), maxShownHeaders))
	for name, values := range h {
		if len(shown) == maxShownHeaders {
			break
		}
		text := redacted
		if !secretHeaders[name] {
			text = hide(strings.Join(values, ", "), secrets)
		}
		if len(text) > maxShownValue {
			text = text[:maxShownValue] + "…"
		}
		shown[strings.ToLower(name)] = strings.ToValidUTF8(text, "�")
	}
	return shown
}
