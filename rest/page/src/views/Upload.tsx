import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { say, type Dataset, type Sent } from '../api';
import { add, waitingWords, type Adding, type Imported } from '../data/importing';
import { inLocale } from '../locale';
import { listWords } from '../names';
import { go, hrefOf, hrefOfDataset } from '../place';
import { cellsFile, pasted } from '../data/paste';
import { rowsWords } from '../rows';
import { upload } from '../data/upload';
import { Dialog, Problem } from './Dialog';
import { Icon } from './Icon';
import { ImportForm } from './Import';
import { ReportView } from './Report';

/** What becomes of the file. */
type Stage =
  | { is: 'choosing'; why: string }
  | { is: 'sending'; file: File; bytes: number }
  | { is: 'sent'; filename: string; sent: Sent }
  | { is: 'done'; all: Imported[] }
  | { is: 'left' };

const formats = '.csv,.tsv,.json,.jsonl,.ndjson,.geojson,.parquet,.xlsx,.xlsm,.html,.htm,.sqlite,.sqlite3,.db,.txt,.md,.docx,.pdf,.gz,.zip';

/** UploadDialog takes a file, shows what is in it, and imports it. */
export function UploadDialog({ adding, onClose }: { adding: Adding; onClose: () => void }): VNode {
  const [stage, setStage] = useState<Stage>({ is: 'choosing', why: '' });
  const stop = useRef(new AbortController());
  const { into, next = [] } = adding;
  const take = async (file: File | undefined) => {
    if (!file) return;
    if (file.size === 0) return setStage({ is: 'choosing', why: `${file.name} is empty. Choose another file.` });
    const { signal } = stop.current;
    setStage({ is: 'sending', file, bytes: 0 });
    try {
      const sent = await upload(file, (bytes) => signal.aborted || setStage({ is: 'sending', file, bytes }), signal);
      setStage({ is: 'sent', filename: file.name, sent });
    } catch (error) {
      if (!signal.aborted) setStage({ is: 'choosing', why: say(error) });
    }
  };
  useEffect(() => {
    void take(adding.file);
    if (adding.again) setStage({ is: 'sent', filename: adding.again.filename, sent: adding.again.sent });
    return () => stop.current.abort();
  }, []);
  const goOn = () => add(next, into, adding.total);
  /** leave closes the dialog. Where files wait that were not shown yet, it says so first. */
  const leave = () => {
    if (next.length === 0 || stage.is === 'done' || stage.is === 'left') return onClose();
    stop.current.abort();
    setStage({ is: 'left' });
  };
  const adds = into ? `Add rows to ${into.name}` : 'Add a file';
  const titles = { choosing: adds, sending: adds, sent: 'Check what will be imported', done: 'Imported', left: 'More files' };
  const waiting = waitingWords(adding);
  return (
    <Dialog key={stage.is === 'left'} title={titles[stage.is]} wide={stage.is === 'sent' || stage.is === 'done'} onClose={leave}>
      {waiting && stage.is !== 'left' && stage.is !== 'done' && <p class="hint">{waiting}</p>}
      {stage.is === 'choosing' && !adding.again && <Choose onFiles={([file, ...next]) => (next.length > 0 ? add([file!, ...next], into) : void take(file))} why={stage.why} />}
      {stage.is === 'sending' && <Sending file={stage.file} bytes={stage.bytes} />}
      {stage.is === 'sent' && <ImportForm filename={stage.filename} sent={stage.sent} adding={adding} onDone={(all) => setStage({ is: 'done', all })} />}
      {stage.is === 'done' && <Done all={stage.all} next={next[0]} onNext={goOn} onClose={onClose} />}
      {stage.is === 'left' && (
        <>
          <p>{listWords(next.map((file) => file.name))} {next.length === 1 ? 'waits' : 'wait'} to be imported.</p>
          <footer>
            <button type="button" onClick={onClose}>{next.length === 1 ? 'Leave it out' : 'Leave them out'}</button>
            <button type="button" class="primary" onClick={goOn}>Next file: {next[0]!.name}</button>
          </footer>
        </>
      )}
    </Dialog>
  );
}

function Choose({ why, onFiles }: { why: string; onFiles: (files: File[]) => void }): VNode {
  const [cells, setCells] = useState('');
  return (
    <>
      <label class="drop" for="file">
        <Icon name="file" />
        <span>Drop files here, or choose some: CSV, Excel, JSON, Parquet, HTML, SQLite, PDF, Word, text; also zipped</span>
        <input id="file" type="file" multiple accept={formats} onChange={(event) => onFiles([...(event.currentTarget.files ?? [])])} />
      </label>
      <label class="paste" for="cells">Or paste cells from a spreadsheet</label>
      <textarea id="cells" rows={3} value={cells} placeholder="Copy cells in a spreadsheet, then paste them here, with the names of the columns on top"
        onPaste={(event) => onFiles([pasted(event) ?? []].flat())} onInput={(event) => setCells(event.currentTarget.value)} />
      {cells.trim() && <footer><button type="button" class="primary" onClick={() => onFiles([cellsFile(cells)])}>Use these cells</button></footer>}
      <p class="hint">You see what is in it before anything is stored.</p>
      <Problem text={why} />
    </>
  );
}

function Sending({ file, bytes }: { file: File; bytes: number }): VNode {
  const percent = file.size ? Math.floor((bytes / file.size) * 100) : 0;
  return (
    <div>
      <p role="status"><strong>{file.name}</strong>: {percent}% of {sizeWords(file.size)}</p>
      <progress aria-label="Uploading" max={file.size} value={bytes} />
    </div>
  );
}

function Done({ all, next, onNext, onClose }: { all: Imported[]; next: File | undefined; onNext: () => void; onClose: () => void }): VNode {
  const { to } = all.find((each) => !each.failure)!;
  const leave = (rest?: 'data') => {
    onClose();
    go(rest ? hrefOfDataset(to) : hrefOf(to.owner, to.namespace));
  };
  return (
    <div class="done">
      {all.map((each) => (
        <section key={each.to.name}>
          {each.failure ? <Problem text={`${nameOf(each.to)}: ${each.failure}`} /> : (
            <p role="status"><Icon name="check" /> <strong>{nameOf(each.to)}</strong>: {countWords(each)}</p>
          )}
          {each.attempt && !each.failure && <ReportView report={each.attempt.attributes} />}
        </section>
      ))}
      <footer>
        <button type="button" onClick={onClose}>Close</button>
        <button type="button" onClick={() => leave('data')}>Show the data</button>
        <button type="button" class={next ? undefined : 'primary'} onClick={() => leave()}>Ask about it</button>
        {next && <button type="button" class="primary" onClick={onNext}>Next file: {next.name}</button>}
      </footer>
    </div>
  );
}

const nameOf = (to: Dataset): string => `${to.namespace}/${to.name}`;

/** countWords is what the server says of a dataset that had rows: "now 240 rows (was 120)". */
const countWords = ({ attempt, metadata }: Imported): string => attempt?.statusMessage || rowsWords(metadata!.rowCount);

function sizeWords(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  return `${inLocale(bytes / 1024 ** power, { maximumFractionDigits: 1 })} ${units[power]}`;
}
