package grouping

import "strings"

// parseRuby reads Exception#full_message or a joined backtrace:
//
//	app/models/cart.rb:12:in `block in total': divided by 0 (ZeroDivisionError)
//		from app/models/cart.rb:9:in `each'
//	app/models/db.rb:3:in 'Db#query': late (Timeout::Error)
//
// The last line, without "from", is the cause of what stands above it. Ruby up to 3.3 opens the name with
// a backquote, 3.4 with a quote and the class.
func (t *trace) parseRuby(text string) {
	headed := false
	for l := (lines{rest: text}); l.next(); {
		s := strings.TrimSpace(l.line)
		s, from := strings.CutPrefix(s, "from ")
		f, message, ok := rubyFrame(s)
		switch {
		case !ok:
			if len(t.frames) == 0 && !headed {
				headed = t.headRuby(s)
			}
			continue
		case message != "" && !from:
			typ, text := rubyMessage(message)
			relation := "cause"
			if len(t.links) == 0 {
				relation = ""
			}
			if !t.open(typ, text, relation) {
				return
			}
		}
		t.add(f)
	}
}

// headRuby takes a line before the frames: "Type: message", "Type (message):" or "message (Type)".
func (t *trace) headRuby(s string) bool {
	if typ, message := rubyMessage(s); typ != "" {
		return t.open(typ, message, "")
	}
	if looksLikeHeader(s) {
		typ, message := splitHeader(s)
		return t.open(typ, message, "")
	}
	if typ, message, ok := strings.Cut(s, " ("); ok && isTypeName(typ) && strings.HasSuffix(s, "):") {
		return t.open(typ, strings.TrimSuffix(message, "):"), "")
	}
	return false
}

// rubyMessage takes "message (Type)" apart.
func rubyMessage(s string) (typ, message string) {
	i := strings.LastIndex(s, " (")
	if i < 0 || !strings.HasSuffix(s, ")") || !isTypeName(s[i+2:len(s)-1]) {
		return "", s
	}
	return s[i+2 : len(s)-1], s[:i]
}

// rubyFrame reads "path:12:in `name'" and the message that may follow it.
func rubyFrame(s string) (f Frame, message string, ok bool) {
	i := strings.Index(s, ":in `")
	if i < 0 {
		i = strings.Index(s, ":in '")
	}
	if i < 0 {
		return f, "", false
	}
	file, line, found := cutNumber(s[:i])
	if !found {
		return f, "", false
	}
	name := s[i+5:]
	if j := strings.Index(name, "': "); j >= 0 {
		name, message = name[:j], name[j+3:]
	}
	return Frame{Function: strings.TrimSuffix(name, "'"), File: file, Line: line}, message, true
}

// rubyFunction writes a method without class, block and rescue marks: Ruby before 3.4 doesn't print the
// class, and an optimisation may add or remove block frames. Numbers of compiled templates go.
func rubyFunction(dst []byte, s string) []byte {
	if i := strings.LastIndex(s, " in "); i >= 0 {
		s = s[i+4:]
	}
	if i := strings.LastIndexAny(s, "#."); i >= 0 && i+1 < len(s) {
		s = s[i+1:]
	}
	if strings.HasPrefix(s, "_app_") {
		s, _, _ = strings.Cut(s, "__")
	}
	return append(dst, s...)
}

// isRubyCore says whether a frame is a method written in C: Ruby prints it at the place of its caller,
// and which methods are in C changes with the version.
func isRubyCore(f *Frame) bool {
	if strings.HasPrefix(f.File, "<internal:") {
		return true
	}
	name := f.Function
	if i := strings.LastIndexAny(name, "#."); i >= 0 && i+1 < len(name) {
		name = name[i+1:]
	}
	switch name {
	case "each", "each_with_index", "each_with_object", "each_pair", "each_slice", "map", "flat_map", "filter_map", "select", "reject", "inject",
		"reduce", "sum", "times", "upto", "loop", "tap", "then", "yield_self", "sort_by", "group_by", "find", "detect",
		"any?", "all?", "to_h", "fetch", "public_send", "send", "__send__", "instance_eval", "instance_exec", "class_eval", "require", "require_relative", "load",
		"new", "catch", "Integer", "Float", "raise", "synchronize", "open", "/", "+", "-", "*", "%":
		return true
	}
	return false
}
