package grouping

import "strings"

// numbered are names that have a number of their own, which says what they are and not which
// one: utf-8, HTTP/1.1, python3.11, log4j2, SHA-256. The number stays.
var numbered = wordSet(`utf ucs iso cp windows latin koi big gb euc ansi ascii ebcdic base http https spdy quic tls tlsv ssl sslv ssh smtp
	imap pop ftp rfc sha md aes des rc rsa ed crc hmac bcrypt blake argon pbkdf pkcs x509 x ipv ip arm armv aarch amd i mips riscv ppc s ec h mp
	mpeg av vp e utf8 python py pypy java jdk jre kotlin scala php ruby jruby perl lua node nodejs deno bun go golang rust c cpp es ecmascript
	typescript dotnet net netstandard netcoreapp log4j slf4j junit spring boot hibernate angular vue react jquery bootstrap webpack babel
	postgres postgresql pg mysql mariadb sqlite oracle mssql redis kafka mongodb elasticsearch cassandra rabbitmq nginx apache tomcat jetty
	ubuntu debian centos rhel fedora alpine macos ios android linux darwin win chrome firefox safari edge opera mozilla webkit applewebkit
	gpt claude llama llm v version int uint float double vec vec mat simd sse avx bit k8s i18n l10n oauth openid jwt rs hs ps web layer level
	tier phase gen usb hdmi wifi lte ieee cve cwe ora tns pls sqlstate xml yaml json soap grpc proto protobuf thrift avro cuda opencl vulkan opengl gl directx
	d3d dx p q u f r t w l b n o a d g j k m y z id3 ext fat ntfs raid zip gzip gz bz bzip lz xz zstd zlib deflate brotli mp4 fn fips nist sigv sig ssd core ts pgrst`)

// dashed are those of them that keep their number after a dash: kafka-0 is one of many, utf-8 is not.
var dashed = wordSet(`utf ucs iso cp windows latin big gb euc koi sha md aes rfc ipv tls ssl gpt claude llama cve cwe ora tns pls layer level
	phase base http es ecma mp mpeg rsa ed fips ieee tier x jdk jre java python php`)

// counted are nouns whose number tells one of many from another, even if it is short: worker3, shard-7.
var counted = wordSet(`user users worker workers shard thread pod host server replica partition task job item order customer client account
	session request req queue instance tenant machine vm disk table row record page broker consumer producer conn connection goroutine
	process proc pid cpu gpu eth db app cache slot chunk block segment batch message msg event attempt step test run build order invoke invoice cart product
	device port channel stream topic bucket region zone rack node cluster group team project file image upload transaction tx txn index idx line column col id`)

// isCountedNoun says whether the letters before a number are such a noun.
func isCountedNoun(letters string) bool { return len(letters) < 16 && counted[lowered(letters)] }

// lowered gives s in lower case without allocation for what is so already.
func lowered(s string) string {
	for i := range len(s) {
		if isUpper(s[i]) {
			return strings.ToLower(s)
		}
	}
	return s
}

// keptWord gives the length of the name with a number that s begins with, or 0.
func keptWord(s string) int {
	letters := 0
	for letters < len(s) && letters < 16 && isLetter(s[letters]) {
		letters++
	}
	if letters == 0 || letters >= len(s) {
		return 0
	}
	c := s[letters]
	if !isDigit(c) && (strings.IndexByte("-_/.", c) < 0 || letters+1 >= len(s) || !isDigit(s[letters+1])) {
		return 0
	}
	name := s[:letters]
	if !isDigit(c) && letters == 1 || !numbered[lowered(name)] || c == '-' && !dashed[lowered(name)] {
		return dottedProduct(s, letters)
	}
	start := letters
	if !isDigit(c) {
		start++
	}
	return keptNumber(s, start, letters)
}

// dottedProduct reads product/1.2 and product-1.2.3 of any name: numbers with dots after a name are its version.
func dottedProduct(s string, letters int) int {
	if letters < 2 || s[letters] != '/' && s[letters] != '-' {
		return 0
	}
	n := letters + 1
	d := digitsLength(s[n:])
	if d > 3 || n+d+1 >= len(s) || s[n+d] != '.' || !isDigit(s[n+d+1]) || isIPv4(s[n:]) {
		return 0
	}
	return versionEnd(s, n)
}

// isIPv4 says whether s begins with an address.
func isIPv4(s string) bool { return ipv4Length(s) > 0 }

// keptNumber gives where the number of a numbered name ends, or 0 when it is too long to be one or goes on as an
// id would.
func keptNumber(s string, start, letters int) int {
	end := versionEnd(s, start)
	limit := min(letters+2, 5)
	if digitsLength(s[start:]) > limit {
		return 0
	}
	if letters == 1 && end < len(s) && isAlnum(s[end]) {
		return 0
	}
	w := wordLength(s[end:])
	if w > 4 || w > 0 && letters < 3 && w > 2 {
		return 0
	}
	if total := end + w; w > 0 && start == letters && total >= 7 && (isHex(s[:total]) || isRandom(s[:total])) {
		return 0
	}
	return end + w
}

// versionEnd gives the end of the digits from i on, with further ones after dots, dashes and underscores.
func versionEnd(s string, i int) int {
	i += digitsLength(s[i:])
	for i+1 < len(s) && strings.IndexByte(".-_", s[i]) >= 0 && isDigit(s[i+1]) {
		n := digitsLength(s[i+1:])
		if n > 5 {
			break
		}
		i += 1 + n
	}
	return i
}

// keptDigitWord gives the length of a word that begins with a digit and is a name: 4xx, 3D, 2FA, 64-bit.
func keptDigitWord(s string) int {
	d := digitsLength(s)
	if d == 0 || d > 3 || d >= len(s) {
		return 0
	}
	for _, bits := range []string{"-bit", "bit"} {
		if strings.HasPrefix(s[d:], bits) && ends(s[d+len(bits):]) {
			return d + len(bits)
		}
	}
	w := wordLength(s[d:])
	if d == 1 && w > 0 {
		switch s[:d+w] {
		case "4xx", "5xx", "3xx", "2xx", "1xx", "3D", "2D", "2FA", "3DES", "3DS":
			return d + w
		}
	}
	return 0
}
