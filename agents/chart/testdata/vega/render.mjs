// Reads lines {name, spec, rows}, checks each specification and its choices against the
// schema of Vega-Lite, draws them and prints {name, svg, problems}.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import Ajv from 'ajv';
import * as vega from 'vega';
import { expressionInterpreter } from 'vega-interpreter';
import * as vegaLite from 'vega-lite';

const schema = createRequire(import.meta.url)('vega-lite/vega-lite-schema.json');
// To optimize the code of the schema takes longer than to run it as it is.
const ajv = new Ajv({ allErrors: true, strict: false, code: { optimize: false }, formats: { 'color-hex': true, uri: true, 'uri-reference': true } });
const validate = ajv.compile(schema);

const logger = (problems) => {
  const note = (level) => function (...words) { problems.push(`${level}: ${words.join(' ')}`); return this; };
  const quiet = function () { return this; };
  return { level: () => vega.Warn, error: note('error'), warn: note('warning'), info: quiet, debug: quiet };
};

async function draw(spec, rows) {
  const problems = [];
  if (!validate(spec)) problems.push(...validate.errors.slice(0, 5).map((e) => `schema: ${e.instancePath} ${e.message}`));
  const log = logger(problems);
  let svg = '';
  try {
    vegaLite.compile(spec, { logger: log });
    // There is no container here.
    const compiled = vegaLite.compile({ ...spec, width: 640, datasets: { rows } }, { logger: log }).spec;
    // Expressions are interpreted, as where a policy forbids to compile them.
    const view = new vega.View(vega.parse(compiled, null, { ast: true }), { renderer: 'none', logger: log, expr: expressionInterpreter });
    svg = await view.toSVG();
  } catch (error) {
    problems.push(`error: ${error.stack}`);
  }
  return { svg, problems };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { name, spec, rows } = JSON.parse(line);
  const drawn = await draw(spec, rows);
  for (const choice of spec.usermeta?.choices ?? []) {
    const { svg, problems } = await draw({ ...spec, ...choice.spec }, rows);
    drawn.problems.push(...problems.map((problem) => `${choice.title}: ${problem}`));
    if (!svg.includes('aria-roledescription')) drawn.problems.push(`${choice.title}: nothing is drawn`);
  }
  console.log(JSON.stringify({ name, ...drawn }));
}
