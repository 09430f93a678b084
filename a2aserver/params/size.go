package params

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
)

// longString is from which length on a string is not counted by Structure.
const longString = 1 << 10

// Structure returns the size of a JSON text without its long strings, such as files: a
// program needs many times that to hold it.
func Structure(text []byte) int {
	size := len(text)
	for {
		start := bytes.IndexByte(text, '"')
		if start < 0 {
			return size
		}
		text = text[start+1:]
		length := stringLength(text)
		if length > longString {
			size -= length
		}
		text = text[min(length+1, len(text)):]
	}
}

// stringLength returns the length of a JSON string up to its closing quote.
func stringLength(text []byte) int {
	for at := 0; ; {
		next := bytes.IndexAny(text[at:], `"\`)
		if next < 0 {
			return len(text)
		}
		at += next
		if text[at] == '"' {
			return at
		}
		if at += 2; at > len(text) { // an escaped character
			return len(text)
		}
	}
}

// The numbers of fields on the way to the file of a message: SendMessageRequest.message,
// Message.parts and Part.raw.
var rawPath = []protowire.Number{2, 5, 2}

// StructureOfMessage is Structure for a SendMessageRequest of gRPC, as it is sent, without
// its files.
func StructureOfMessage(wire []byte) int { return len(wire) - rawBytes(wire, rawPath) }

func rawBytes(wire []byte, path []protowire.Number) (size int) {
	for len(wire) > 0 {
		number, kind, n := protowire.ConsumeTag(wire)
		if n < 0 {
			return size
		}
		wire = wire[n:]
		if n = protowire.ConsumeFieldValue(number, kind, wire); n < 0 {
			return size
		}
		if number == path[0] && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(wire)
			if len(path) == 1 {
				size += len(value)
			} else {
				size += rawBytes(value, path[1:])
			}
		}
		wire = wire[n:]
	}
	return size
}
