package grouping

// Bounds of the work done for one occurrence. What lies beyond them is kept in the log
// and in the occurrence, but takes no part in grouping.
const (
	// maxStackBytes is how much of a stack's text is parsed: more than any runtime prints.
	maxStackBytes = 1 << 20
	// maxFrames is how many frames of all links together are looked at.
	maxFrames = 10_000
	// maxLinks is how long an exception chain may be; it also ends cyclic ones.
	maxLinks = 32
	// maxUsedFrames is how many different frames of one link can decide.
	maxUsedFrames = 48
	// maxBrowserFrames is the number of JavaScript frames that can decide: V8 prints ten, other
	// engines up to a hundred, and V8's ten may hold natives that the others leave out.
	maxBrowserFrames = 7
	// maxNameBytes is how much of a function's name or a file's path is looked at.
	maxNameBytes = 1 << 10
	// maxLineBytes is how much of one line of a stack is looked at.
	maxLineBytes = 4 << 10
	// maxMessageBytes is how much of a message is normalised.
	maxMessageBytes = 16 << 10
	// maxNormalBytes is how much of a normalised message is hashed. It is much smaller
	// than maxMessageBytes, so that a cut message still gives the same text as its longer sisters.
	maxNormalBytes = 1 << 10
	// maxTokenBytes is how far the normaliser looks ahead for one value.
	maxTokenBytes = 256
	// maxQuotedBytes is how far it looks for a closing quote.
	maxQuotedBytes = 1 << 10
	// maxTitleBytes and maxShownBytes bound what Result shows.
	maxTitleBytes = 512
	maxShownBytes = 8 << 10
)
