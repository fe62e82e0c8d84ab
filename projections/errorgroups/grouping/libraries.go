package grouping

import "strings"

// goStandard are the first elements of the standard library's import paths.
var goStandard = map[string]bool{}

func init() {
	for _, p := range strings.Fields(`archive bufio bytes cmp compress container context crypto database debug embed
		encoding errors expvar flag fmt go hash html image index io iter log maps math mime net os path plugin reflect
		regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor`) {
		goStandard[p] = true
	}
}

// javaLibraries are the packages of the platform and of libraries that are in most stacks.
var javaLibraries = prefixesOf(
	"java.", "javax.", "jakarta.", "jdk.", "sun.", "com.sun.", "kotlin.", "kotlinx.", "scala.", "groovy.", "clojure.",
	"org.springframework.", "org.apache.", "org.hibernate.", "org.eclipse.", "org.codehaus.", "org.junit.", "junit.", "org.jboss.",
	"org.postgresql.", "org.mockito.", "org.slf4j.", "org.mongodb.", "org.elasticsearch.", "org.redisson.", "org.aspectj.",
	"org.gradle.", "org.jetbrains.", "org.glassfish.", "org.h2.", "org.mariadb.", "org.quartz.", "org.wildfly.", "org.xnio.", "org.bouncycastle.",
	"io.netty.", "io.undertow.", "io.reactivex.", "io.micronaut.", "io.quarkus.", "io.vertx.", "io.grpc.", "io.micrometer.",
	"io.opentelemetry.", "io.lettuce.", "io.ktor.", "io.smallrye.", "io.helidon.", "reactor.", "rx.", "akka.", "play.", "feign.", "brave.", "okhttp3.",
	"okio.", "retrofit2.", "redis.clients.", "net.bytebuddy.", "net.sf.cglib.", "ch.qos.logback.", "graphql.", "javassist.", "oracle.",
	"com.google.", "com.fasterxml.", "com.zaxxer.", "com.mysql.", "com.mongodb.", "com.rabbitmq.", "com.amazonaws.", "software.amazon.",
	"com.microsoft.", "com.netflix.", "com.datastax.", "com.github.benmanes.", "com.squareup.", "com.android.", "android.", "androidx.", "dalvik.", "zio.", "cats.",
)

// jsLibraryNames are names that bundles of libraries have on pages.
var jsLibraryNames = []string{
	"jquery", "react-dom", "react.", "vue.", "vue@", "angular.", "lodash", "polyfill", "zone.js", "zone-", "vendor", "framework-", "chunk-vendors", "webpack-runtime", "runtime.", "runtime~", "bootstrap.", "require.", "sentry", "bundle.tracing",
}

// dotNetLibraries are the namespaces of the platform and of libraries that are in most stacks.
var dotNetLibraries = prefixesOf(
	"System.", "Microsoft.", "MS.", "Internal.", "Mono.", "Newtonsoft.", "Npgsql.", "Dapper.", "MediatR.", "Autofac.", "Castle.",
	"NHibernate.", "Polly.", "Serilog.", "NLog.", "log4net.", "StackExchange.", "MongoDB.", "RabbitMQ.", "Grpc.", "Xunit.", "NUnit.", "Moq.",
	"FluentValidation.", "AutoMapper.", "Hangfire.", "MassTransit.", "Amazon.", "Azure.", "Swashbuckle.", "UnityEngine.", "UnityEditor.",
	"MySql.", "MySqlConnector.", "Oracle.", "Confluent.", "Quartz.", "RestSharp.", "Refit.", "lambda_method", "DynamicClass.", "FSharp.",
)

// prefixes is a set of prefixes, found by their first byte.
type prefixes [128][]string

// prefixesOf makes the set of the prefixes given, which are ASCII.
func prefixesOf(list ...string) *prefixes {
	var set prefixes
	for _, p := range list {
		set[p[0]] = append(set[p[0]], p)
	}
	return &set
}

// has says whether s begins with one of the set.
func (p *prefixes) has(s string) bool {
	return s != "" && s[0] < 128 && hasAnyPrefix(s, p[s[0]])
}
