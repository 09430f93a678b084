import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { checkReceipt, receiptOf, type Receipt, type ReceiptCheck } from '../api';
import { plain } from '../entities';
import { download } from '../files';
import { inLocale } from '../locale';
import { Dialog, Problem, useWork } from './Dialog';
import { IconButton } from './Icon';

/** ReceiptButton says how an answer was found, and finds it again. */
export function ReceiptButton({ run }: { run: string }): VNode {
  const [open, setOpen] = useState(false);
  return (
    <>
      <IconButton icon="receipt" label="How do we know?" onClick={() => setOpen(true)} />
      {open && <ReceiptDialog run={run} onClose={() => setOpen(false)} />}
    </>
  );
}

function ReceiptDialog({ run, onClose }: { run: string; onClose: () => void }): VNode {
  const [receipt, setReceipt] = useState<Receipt>();
  const [checked, setChecked] = useState<ReceiptCheck>();
  const { busy, problem, work } = useWork();
  useEffect(() => void work(async () => setReceipt(await receiptOf(run))), []);
  return (
    <Dialog title="How do we know?" wide onClose={onClose}>
      {receipt && (
        <>
          <p>{receipt.askedBy} asked “{receipt.question}” on {new Date(receipt.askedAt).toLocaleString()}.</p>
          {receipt.steps.map((step, i) => <StepFacts key={i} step={step} title={receipt.steps.length > 1 ? `Step ${i + 1}` : ''} />)}
        </>
      )}
      {receipt?.steps.length === 0 && <p>It has no query.</p>}
      <p class="hint" role="status">{!receipt && !problem ? 'Reading…' : busy ? 'Running it again…' : checked && outcome(checked)}</p>
      <Problem text={problem} />
      {receipt && (
        <footer>
          <button type="button" onClick={() => download(`receipt-${receipt.runId}.json`, 'application/json', JSON.stringify(receipt, null, 2))}>Download the receipt</button>
          <button type="button" class="primary" disabled={busy} onClick={() => void work(async () => setChecked(await checkReceipt(receipt)))}>Run it again</button>
        </footer>
      )}
    </Dialog>
  );
}

/** The characters that are shown of a hash. */
const shortHash = 12;

function StepFacts({ step, title }: { step: Receipt['steps'][number]; title: string }): VNode {
  return (
    <section>
      {title && <h3>{title}: {plain(step.instruction)}</h3>}
      {step.reading && <p class="reasoning">{plain(step.reading)}</p>}
      {step.query && <pre class="query" tabIndex={0}><code>{step.query}</code></pre>}
      <dl class="facts">
        {step.datasets.map(({ dataset, version, hash }) => (
          <><dt>{dataset}</dt><dd>{version && hash ? <>version {inLocale(version)}, files <code title={hash}>{hash.slice(0, shortHash)}</code></> : 'the rows that you see'}</dd></>
        ))}
        <dt>Result</dt><dd>{inLocale(step.rowCount)} {step.rowCount === 1 ? 'row' : 'rows'}{step.truncated && ', cut off'}, hash <code title={step.rowsHash}>{step.rowsHash.slice(0, shortHash)}</code></dd>
        {step.verifiedBy && <><dt>Query verified by</dt><dd>{step.verifiedBy}</dd></>}
      </dl>
    </section>
  );
}

/** outcome says what running the queries again has shown. */
function outcome({ signed, problem, same, steps }: ReceiptCheck): string {
  const reasons = steps.map((step) => step.reason).filter(Boolean);
  return [same ? 'The same: all queries give the same rows now.' : 'Not the same.', ...reasons, signed ? '' : `This server did not sign the receipt: ${problem}.`].filter(Boolean).join(' ');
}
