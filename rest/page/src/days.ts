// Conversations as the list shows them: those that were searched for, by day.
import type { Summary } from './api';

export interface Day {
  label: string;
  list: Summary[];
}

/** found gives the conversations whose title has all words of a search. */
export function found(list: Summary[], search: string): Summary[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return list.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
}

/** byDay groups conversations, the latest first, by the day of their last question, in the reader's time zone. */
export function byDay(list: Summary[], now: Date): Day[] {
  const days: Day[] = [];
  for (const each of list) {
    const label = dayOf(new Date(each.updatedAt), now);
    const last = days.at(-1);
    if (last?.label === label) last.list.push(each);
    else days.push({ label, list: [each] });
  }
  return days;
}

function dayOf(date: Date, now: Date): string {
  const midnight = (at: Date) => new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
  const ago = Math.round((midnight(now) - midnight(date)) / 86_400_000); // a day has 23 to 25 hours
  if (ago <= 0) return 'Today';
  if (ago === 1) return 'Yesterday';
  const year = date.getFullYear() === now.getFullYear() ? {} : ({ year: 'numeric' } as const);
  return date.toLocaleDateString('en', { day: 'numeric', month: 'long', ...year });
}
