// Command weir is the portal: one binary with a file per role and per verb.
package main

func main() {}
