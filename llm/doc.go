// Package llm opens chat models by name, so that the rest of Parley does not
// know who serves them. A model is written provider:model, for example
// "openai:gpt-4.1" or "ollama:llama3.2:3b"; [Open] turns that and a key into a
// [Model] that can be asked.
//
// Whatever a provider does, a call ends in an answer or in an error that says
// which model was asked and holds no API key. Keys and addresses come in
// through [Config]: no provider's environment variables are read here, only
// those that Go's HTTP client takes its proxy from. Deadlines come with the
// context; retries and limits are the caller's.
package llm
