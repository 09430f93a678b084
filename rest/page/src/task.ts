// An A2A task and what its events make of it.

export interface Part {
  text?: string;
  data?: unknown;
}

export interface Message {
  messageId: string;
  role: string;
  parts: Part[];
}

export interface Artifact {
  artifactId: string;
  parts: Part[];
  metadata?: Record<string, unknown>;
}

export interface Status {
  state: string;
  message?: Message;
}

export interface Task {
  id: string;
  contextId: string;
  status: Status;
  history: Message[];
  artifacts: Artifact[];
  metadata?: Record<string, unknown>;
}

/** Event is what a stream brings, as it goes over the wire. */
export interface Event {
  task?: Partial<Task>;
  statusUpdate?: { taskId: string; contextId: string; status: Status; metadata?: Record<string, unknown> };
  artifactUpdate?: { taskId: string; contextId: string; artifact: Artifact };
}

/** whole fills in what proto3-JSON leaves out when it is empty. */
export function whole(task: Partial<Task>): Task {
  return {
    id: task.id ?? '',
    contextId: task.contextId ?? '',
    status: task.status ?? { state: 'TASK_STATE_SUBMITTED' },
    history: (task.history ?? []).map((m) => ({ ...m, parts: m.parts ?? [] })),
    artifacts: (task.artifacts ?? []).map((a) => ({ ...a, parts: a.parts ?? [] })),
    ...(task.metadata && { metadata: task.metadata }),
  };
}

/**
 * fold gives the task after an event. An artifact has its id and a message its
 * own: what comes again, after a break, takes its old place.
 */
export function fold(task: Task | undefined, event: Event): Task | undefined {
  if (event.task) return whole(event.task);
  const update = event.statusUpdate ?? event.artifactUpdate;
  if (!update) return task;
  const now = task ?? whole({ id: update.taskId, contextId: update.contextId });
  if (event.statusUpdate) {
    const said = now.status.message;
    const history = said && !now.history.some((m) => m.messageId === said.messageId) ? [...now.history, said] : now.history;
    return { ...now, history, status: event.statusUpdate.status, metadata: { ...now.metadata, ...event.statusUpdate.metadata } };
  }
  const artifact = event.artifactUpdate!.artifact;
  const at = now.artifacts.findIndex((a) => a.artifactId === artifact.artifactId);
  const made = { ...artifact, parts: artifact.parts ?? [] };
  return { ...now, artifacts: at < 0 ? [...now.artifacts, made] : now.artifacts.with(at, made) };
}

const ends = ['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED'];

/** waits is true of a task that has asked its user something. */
export const waits = (task: Task | undefined): boolean => task?.status.state === 'TASK_STATE_INPUT_REQUIRED' || task?.status.state === 'TASK_STATE_AUTH_REQUIRED';

export const ended = (task: Task | undefined): boolean => task !== undefined && ends.includes(task.status.state);
