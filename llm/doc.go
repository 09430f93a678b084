// Package llm has language models do the agents' jobs, so that the rest of Parley
// knows neither who serves them nor how they are asked. [Jobs], [Extractor] and
// [Describer] are the jobs, in plain values; [Chat] does them with a chat model,
// llm/reader without one; [Models] holds those that are set and gives the one that
// a request names.
//
// A model is written provider:model, for example "openai:gpt-4.1" or
// "ollama:llama3.2:3b"; [Open] turns that and a key into a [Model] that can be
// asked. Keys and addresses come in through [Config]: no provider's environment
// variables are read here, only those that Go's HTTP client takes its proxy from.
// Whatever a provider does, a call ends in an answer or in an error that says
// which model was asked and holds no API key.
//
// What a model reads may have been written by anybody: rows, names, descriptions,
// files. Prompts keep it apart from what the model is told to do, and nothing that
// a model writes is trusted: it is checked for its form, its queries are run as
// the asker's own, and its words lead to no host that is not in the data.
package llm
