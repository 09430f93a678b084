// A question and what comes of it, followed through breaks of the connection.
import { computed, signal } from '@preact/signals';
import { ask, cancel, getTask, subscribe, tasksOf, type Agent, type Question } from './a2a';
import { answer, Refusal, say } from './api';
import { uuid } from './names';
import { pause } from './patience';
import { toRun, type Run } from './run';
import { ended, fold, waits, type Event, type Task } from './task';

export class Turn {
  readonly task = signal<Task | undefined>(undefined);
  /** lost is true while the connection is, and is being made again. */
  readonly lost = signal(false);
  readonly canceling = signal(false);
  /** answering is true while an answer is on its way; refusal says why the last one was not taken. */
  readonly answering = signal(false);
  readonly refusal = signal('');
  /** problem says why it cannot be asked, or not be followed. */
  readonly problem = signal('');
  readonly run = computed((): Run | undefined => this.task.value && toRun(this.task.value, this.question.text));
  readonly over = computed(() => this.problem.value !== '' || ended(this.task.value));
  private readonly stop = new AbortController();
  private following = false;

  private constructor(
    readonly agent: Agent,
    readonly question: Question,
  ) {}

  /** ask sends a question. */
  static ask(agent: Agent, question: Omit<Question, 'messageId'>): Turn {
    const turn = new Turn(agent, { ...question, messageId: uuid() });
    void turn.follow(() => ask(agent, turn.question, turn.stop.signal));
    return turn;
  }

  /** of takes up a question that was asked before. */
  static of(agent: Agent, task: Task, namespace: string): Turn {
    const turn = new Turn(agent, { text: '', namespace, contextId: task.contextId, messageId: '', model: '' });
    turn.task.value = task;
    if (!ended(task) && !waits(task)) void turn.follow(() => turn.rejoin());
    return turn;
  }

  get key(): string {
    return this.question.messageId || this.task.value!.id;
  }

  /** unheard is true of a question that the server has not taken, as far as one knows. */
  get unheard(): boolean {
    return !this.task.peek() && !this.problem.peek();
  }

  /** leave stops following. The run goes on. */
  leave(): void {
    this.stop.abort();
  }

  /** cancel ends the run, whose stream says when it has ended. A question that is still to be sent is not. */
  async cancel(): Promise<void> {
    const id = this.task.value?.id;
    if (!id) {
      this.leave();
      this.lost.value = false;
      this.problem.value = 'Stopped before the server had answered.';
      return;
    }
    this.canceling.value = true;
    try {
      await cancel(this.agent, id);
    } catch {
      // It has ended already, or the server is away: what is followed tells.
      this.canceling.value = false;
    }
    this.resume();
  }

  /** answer answers what the run asks. It is not waiting any more when somebody else has. */
  async answer(input: { option: string } | { text: string }): Promise<void> {
    this.answering.value = true;
    this.refusal.value = '';
    try {
      await answer(this.task.value!.id, input);
    } catch (error) {
      if (!(error instanceof Refusal && error.status === 409)) this.refusal.value = say(error);
    }
    this.answering.value = false;
    if (!this.refusal.value) this.resume();
  }

  /** resume follows the run again after it has waited. */
  private resume(): void {
    if (!this.following && !ended(this.task.value)) void this.follow(() => this.rejoin());
  }

  private async follow(open: () => AsyncIterable<Event>): Promise<void> {
    this.following = true;
    await this.listen(open);
    this.following = false;
  }

  /** listen follows the run to its end, or to a question to the user. */
  private async listen(open: () => AsyncIterable<Event>): Promise<void> {
    for (let attempt = 0; !this.stop.signal.aborted; attempt++) {
      try {
        for await (const event of open()) {
          attempt = 0;
          this.lost.value = false;
          this.task.value = fold(this.task.value, event);
        }
      } catch (error) {
        if (this.stop.signal.aborted) return;
        if (isFinal(error)) {
          this.problem.value = say(error);
          return;
        }
      }
      if (ended(this.task.value) || waits(this.task.value)) break;
      this.lost.value = true;
      await pause(250 * 2 ** attempt, this.stop.signal);
      open = () => this.rejoin();
    }
    this.lost.value = false;
  }

  /**
   * rejoin catches up. When not even the first event came, the question may not
   * have arrived: it is looked for by its message, and sent again if it is not
   * there.
   */
  private async *rejoin(): AsyncGenerator<Event> {
    const { signal } = this.stop;
    const task = this.task.value ?? (await this.find());
    if (!task) return yield* ask(this.agent, this.question, signal);
    let begun = false;
    try {
      for await (const event of subscribe(this.agent, task.id, signal)) {
        begun = true;
        yield event;
      }
    } catch (error) {
      if (begun || signal.aborted) throw error;
      // A task that has ended cannot be subscribed to.
      yield { task: await getTask(this.agent, task.id, signal) };
    }
  }

  private async find(): Promise<Task | undefined> {
    const { contextId, messageId } = this.question;
    const tasks = await tasksOf(this.agent, contextId, this.stop.signal);
    return tasks.find((task) => task.history.some((message) => message.messageId === messageId));
  }
}

/** isFinal tells what will not be better later: a refusal, in HTTP or in A2A, whose errors name their reason. */
function isFinal(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof Refusal) return !at.temporary;
    if ('reason' in at && typeof at.reason === 'string' && at.reason !== 'INTERNAL_ERROR') return true;
  }
  return false;
}
