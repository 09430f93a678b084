import type { VNode } from 'preact';
import type { Step } from '../run';
import { Icon } from './Icon';
import { Result } from './Result';

/** StepView shows a step of an answer. */
export function StepView({ step, number, last, question, onAsk }: { step: Step; number: number; last: boolean; question: string; onAsk?: (question: string) => void }): VNode {
  const title = step.instruction && step.instruction !== question ? step.instruction : 'Result';
  return (
    <details class="step" open={last}>
      <summary>
        <span class="step-mark">{number || <Icon name="check" />}</span>
        <span class="step-title">{title}</span>
        {step.verified && <span class="badge">Verified</span>}
        {step.likely && <span class="badge likely">Likely</span>}
      </summary>
      <Result step={step} name={(number && step.instruction) || question} onAsk={onAsk} />
    </details>
  );
}

/** toStep goes to a step of an answer. */
export function toStep(article: HTMLElement | null, index: number): void {
  const step = article?.querySelectorAll<HTMLDetailsElement>('details.step')[index];
  if (!step) return;
  step.open = true;
  step.querySelector('summary')?.focus();
  step.scrollIntoView({ block: 'start', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
}
