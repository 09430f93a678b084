// Package llm does the agents' jobs with language models. [Jobs], [Extractor] and
// [Describer] are the jobs, in plain values; [Chat] does them with a chat model, llm/reader
// without one; [Models] has the configured ones.
//
// A model is written provider:model, for example "openai:gpt-4.1" or "ollama:llama3.2:3b";
// [Open] opens it. Keys and addresses come from [Config]: no provider's environment
// variables are read, only those of Go's HTTP client for its proxy. Every call ends in an
// answer or in an error that names the model and has no API key.
//
// What a model reads may have been written by anybody: rows, names, descriptions, files.
// Prompts separate it from the instructions, and what a model writes is not trusted: its
// form is checked, its queries run with the user's rights, and its texts link to no host
// that is not in the data.
package llm
