// Checks the documents: spelling, the length of sentences, how hard they are to read,
// and terms that have a standard replacement. Code is not checked.
//
//   npm run check              all documents
//   npm run check -- FILE …    only these
import { readFile } from "node:fs/promises";
import dictionary from "dictionary-en";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import remarkRetext from "remark-retext";
import retextEnglish from "retext-english";
import retextPassive from "retext-passive";
import retextReadability from "retext-readability";
import retextSpell from "retext-spell";
import { unified } from "unified";
import { visit } from "unist-util-visit";
import { VFile } from "vfile";
import { reporter } from "vfile-reporter";
import { LineCounter, parseDocument, visit as visitYAML } from "yaml";

const maxWords = 30; // in a sentence; code counts as one word
const maxPassive = 0.15; // of the sentences of a document with 20 or more
const age = 18; // of a reader who understands every sentence

const terms = JSON.parse(await readFile("terms.json", "utf8"));
const termPattern = new RegExp(`\\b(${Object.keys(terms).join("|")})\\b`, "gi");
const personal = await readFile("words.txt", "utf8");

// remark-retext leaves tables out: check their cells as paragraphs.
function tablesAsParagraphs() {
  return (tree) =>
    visit(tree, (node) => {
      if (node.type === "table") node.type = "blockquote";
      if (node.type !== "tableRow") return;
      node.type = "blockquote";
      node.children = node.children.flatMap((cell) => [
        { ...cell, type: "paragraph" },
        { type: "text", value: "\n\n", position: cell.position },
      ]);
    });
}

function standardTerms() {
  return (tree, file) =>
    visit(tree, ["text"], (node) => {
      for (const [term] of node.value.replaceAll("\n", " ").matchAll(termPattern)) {
        file.message(`Write “${terms[term.toLowerCase()]}” instead of “${term}”`, node);
      }
    });
}

// The parser takes a full stop before a number, code or a lower-case word as part of the word
// before it. There are no abbreviations in the documents: end the sentence there.
function endSentences() {
  return (tree) =>
    visit(tree, "ParagraphNode", (paragraph) => {
      paragraph.children = paragraph.children.flatMap((node) => (node.type === "SentenceNode" ? sentencesOf(node) : node));
    });
}

function sentencesOf({ children }) {
  const sentences = [[]];
  for (const child of children) {
    sentences.at(-1).push(child);
    if (child.type === "WordNode" && child.children.length > 1 && child.children.at(-1).value === ".") {
      sentences.at(-1).push(child.children.pop());
      sentences.push([]);
    }
  }
  return sentences
    .filter((nodes) => nodes.length > 0)
    .map((nodes) => ({
      type: "SentenceNode",
      children: nodes,
      position: nodes[0].position && { start: nodes[0].position.start, end: nodes.at(-1).position.end },
    }));
}

function shortActiveSentences() {
  return (tree, file) => {
    let sentences = 0;
    visit(tree, "SentenceNode", (sentence) => {
      const words = sentence.children.filter((child) => child.type === "WordNode" || child.type === "SourceNode").length;
      if (words > 3) sentences++;
      if (words > maxWords) file.message(`This sentence has ${words} words, at most ${maxWords} are allowed`, sentence);
    });
    const passive = file.messages.filter((message) => message.source === "retext-passive");
    if (sentences >= 20 && passive.length > sentences * maxPassive) {
      const lines = passive.map((message) => message.line).join(", ");
      file.message(`${passive.length} of ${sentences} sentences are passive, at most ${maxPassive * 100} % are allowed; lines ${lines}`);
    }
    file.messages = file.messages.filter((message) => message.source !== "retext-passive");
  };
}

const spelling = unified().use(retextEnglish).use(endSentences).use(retextSpell, { dictionary, personal, max: 3 });
const style = unified()
  .use(retextEnglish)
  .use(endSentences)
  .use(retextReadability, { age, minWords: 12 })
  .use(retextPassive)
  .use(shortActiveSentences);

// A changelog lists facts in long items, and the benchmarks' report is generated: only their spelling is checked.
const spellingOnly = /CHANGELOG\.md$|docs\/bench\//;

async function check(file) {
  const markdown = unified().use(remarkParse).use(remarkGfm).use(tablesAsParagraphs);
  const tree = await markdown.run(markdown.parse(file), file);
  await unified().use(remarkRetext, spelling).run(tree, file);
  if (!spellingOnly.test(file.path)) {
    await unified().use(standardTerms).use(remarkRetext, style).run(tree, file);
  }
  return file;
}

// The texts of a document: all of it, or the descriptions in OpenAPI.
async function textsOf(path) {
  const value = await readFile(path, "utf8");
  if (!path.endsWith(".yaml")) return [new VFile({ path, value })];
  const lineCounter = new LineCounter();
  const texts = [];
  visitYAML(parseDocument(value, { lineCounter }), {
    Pair(_, { key, value: text }) {
      if (["description", "summary"].includes(key.value) && typeof text.value === "string") {
        texts.push(new VFile({ path: `${path}:${lineCounter.linePos(key.range[0]).line}`, value: text.value }));
      }
    },
  });
  return texts;
}

const texts = (await Promise.all(process.argv.slice(2).map(textsOf))).flat();
const files = await Promise.all(texts.map(check));
console.error(reporter(files, { quiet: true }));
process.exitCode = files.some((file) => file.messages.length > 0) ? 1 : 0;
