// Package console tries the web page in a real browser: the real binary on embedded engines,
// Debian's Chromium without a window, driven by playwright-core. The steps are in browser.mjs,
// run by node; this package gets what they need, serves, and sends what the pages show.
package console
