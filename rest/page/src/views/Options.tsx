import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Options, Preview } from '../api';

interface OptionsProps {
  options: Options;
  /** What was detected; undefined when the file could not be read. */
  preview: Preview | undefined;
  busy: boolean;
  onApply: (options: Options) => void;
}

const encodings: [string, string][] = [['utf-8', 'UTF-8'], ['utf-16', 'UTF-16'], ['windows-1252', 'Windows-1252 (Latin-1)']];
const delimiters: [string, string][] = [[',', 'comma ,'], [';', 'semicolon ;'], ['\t', 'tab'], ['|', 'vertical bar |'], [':', 'colon :'], [' ', 'space']];

/** ReadingOptions is where one says how a file is to be read, when that was not detected right. */
export function ReadingOptions({ options, preview, busy, onApply }: OptionsProps): VNode {
  const [encoding, setEncoding] = useState(options.encoding ?? '');
  const [delimiter, setDelimiter] = useState(options.delimiter ?? '');
  const [header, setHeader] = useState(options.headerRow?.toString() ?? '');
  const [sheet, setSheet] = useState(options.sheet ?? '');
  const [nulls, setNulls] = useState((options.nullValues ?? []).join(', '));
  const apply = () => {
    const nullValues = nulls.split(',').map((text) => text.trim()).filter(Boolean);
    onApply({
      ...(encoding && { encoding }), ...(delimiter && { delimiter }), ...(header && Number(header) >= 0 && { headerRow: Math.floor(Number(header)) }),
      ...(sheet.trim() && { sheet: sheet.trim() }), ...(nullValues.length && { nullValues }),
    });
  };
  // Enter applies them: it is not the whole form that is ready.
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.target instanceof HTMLInputElement)) return;
    event.preventDefault();
    apply();
  };
  const isText = !preview || preview.delimiter !== undefined || preview.encoding !== undefined;
  return (
    <details class="reading" open={!preview}>
      <summary>Reading options</summary>
      <div class="fields" onKeyDown={onKey}>
        {isText && (
          <>
            <label for="encoding">Encoding</label>
            <Choice id="encoding" value={encoding} known={encodings} detected={preview?.encoding} onChange={setEncoding} />
            <label for="delimiter">Delimiter</label>
            <Choice id="delimiter" value={delimiter} known={delimiters} detected={preview?.delimiter} onChange={setDelimiter} />
          </>
        )}
        <label for="header-row">Header row</label>
        <input id="header-row" type="number" min={0} max={10000} value={header} placeholder={preview?.headerRow ? `detected: ${preview.headerRow}; 0 for none` : 'detected; 0 for none'}
          onInput={(event) => setHeader(event.currentTarget.value)} />
        {(!preview || options.sheet || preview.tables.length > 1) && (
          <>
            <label for="sheet">Sheet or table</label>
            <input id="sheet" maxLength={256} value={sheet} placeholder="all" onInput={(event) => setSheet(event.currentTarget.value)} />
          </>
        )}
        <label for="nulls">Missing values</label>
        <input id="nulls" value={nulls} placeholder="more spellings, with commas between: unknown, ?" onInput={(event) => setNulls(event.currentTarget.value)} />
      </div>
      <button type="button" disabled={busy} onClick={apply}>Read the file again</button>
    </details>
  );
}

function Choice(props: { id: string; value: string; known: [string, string][]; detected: string | undefined; onChange: (value: string) => void }): VNode {
  const { id, value, known, detected, onChange } = props;
  const words = known.find(([each]) => each === detected)?.[1] ?? detected;
  return (
    <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      <option value="">{words && !value ? `detected: ${words}` : 'detect'}</option>
      {known.map(([each, words]) => <option value={each}>{words}</option>)}
    </select>
  );
}
