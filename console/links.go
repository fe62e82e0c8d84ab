package console

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

// linkLife is how long a sign-in link can be used, once.
const linkLife = time.Hour

// maxLinks bounds the links waiting to be used.
const maxLinks = 64

// links are the sign-in links that were given out by this process.
type links struct {
	mu      sync.Mutex
	waiting map[[sha256.Size]byte]waiting
}

type waiting struct {
	bearer string
	until  time.Time
}

func newLinks() *links { return &links{waiting: map[[sha256.Size]byte]waiting{}} }

// SignInLink makes a link that signs its first user in with the bearer, within the hour. What it
// carries stands behind the #, which browsers send to no server, so it is in no log. base is the
// server's address without a slash at its end.
func (c *Console) SignInLink(base, bearer string) string {
	return base + "/signin#link=" + c.links.give(bearer, c.now())
}

func (l *links) give(bearer string, now time.Time) string {
	code := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, w := range l.waiting {
		if len(l.waiting) >= maxLinks || now.After(w.until) {
			delete(l.waiting, id)
		}
	}
	l.waiting[sha256.Sum256([]byte(code))] = waiting{bearer, now.Add(linkLife)}
	return code
}

func (l *links) take(code string, now time.Time) (bearer string, ok bool) {
	id := sha256.Sum256([]byte(code))
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.waiting[id]
	delete(l.waiting, id)
	return w.bearer, ok && now.Before(w.until)
}
